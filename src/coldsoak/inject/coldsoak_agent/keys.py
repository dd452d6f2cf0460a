"""What tells one use of a region from another: the series key.

A key is the stack of the user's frames from the reading outwards (file, line, function) and the
short values that name the case: loop targets, parameters (those of the functions around a closure
too: a decorator's function), ``with`` targets, and picks such as
``shape = shapes[i]`` in those frames. Values are texts, numbers, booleans, short tuples and lists
of them, functions and classes (by name), members of enumerations, and objects of a few known
types such as ``torch.device``; no other object's ``repr`` is ever called.

What merely counts the runs is left out. The file itself shows most counters (``flow``: targets of
``range``, the index of ``enumerate``, a parameter that only ever receives one). An integer that
the file leaves open counts as a counter once it has gone up by one from each new key to the next
while all else was equal: from 0 to 1, or three times from elsewhere. A name that took more than
64 values in one place is data and no case. In both cases the keys that were written before are
written again under the same id, without the name; so the last record of an id counts, and readers
group by (stack, case).

Limits: 16 user frames, 256 frames in all; a frame whose function calls ``locals`` or ``vars``
gives no values before Python 3.13, nor does any function while a debugger traces (reading the
locals would show); a place whose names held nothing of use 32 times is not looked at again; a sweep over 0, 1, 2, ... that arrives through another module is taken for a
counter.
"""

import sys
from _thread import RLock
from sys import getrefcount, gettrace
from time import monotonic_ns
from types import BuiltinFunctionType, FunctionType, ModuleType

from coldsoak_agent import flow, rewrite, userfiles
from coldsoak_agent.core import agent

__all__ = [
    "FRAMES", "LONG", "WALK", "WIDTH", "at_change", "code_of", "is_rewritten", "key_of", "label",
    "opaque", "reset", "show", "shown_file",
]  # fmt: skip

FRAMES, WALK = 16, 256
"""Frames of the user's in a key, and others that are passed on the way."""
_ITEMS, _VALUES = 8, 64
_IDLE, _MANY = 32, 20_000
WIDTH = 60
"""Characters that the text of a value may have."""
_OPTIMIZED = 0x1  # inspect.CO_OPTIMIZED
_COPIES = sys.version_info < (3, 13)  # f_locals is a copy that keeps its values alive
_PEEKS = frozenset(("locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe"))
_KNOWN_TYPES = frozenset((
    "torch.device", "torch.dtype", "torch.Size", "torch.layout", "torch.memory_format",
    "tensorflow.python.framework.dtypes.DType",
    "tensorflow.python.framework.tensor_shape.TensorShape",
    "jaxlib._jax.Device", "jaxlib.xla_extension.Device", "numpy.ufunc",
    "pathlib.PosixPath", "pathlib._local.PosixPath",
))  # fmt: skip

_NAMED = frozenset((FunctionType, BuiltinFunctionType, type))

_codes = {}
_places = {}
"""The places of each code object of the user's by instruction, None for other code; by id."""
_cache = {}
_ids = {}
_families = {}
_kept = {}
"""Values that are simple and never change, with their labels, by id."""
opaque = set()
"""Types whose objects have no short text."""
_lock = RLock()  # a signal handler may read a clock, too
_listeners = []
LONG = (str, None, 1)
"""The label of a text that is too long to name a case."""


def at_change(function):
    """Call ``function()`` whenever the same frames and values may have another key than before."""
    _listeners.append(function)


def _changed():
    for function in _listeners:
        function()


def reset():
    """Forget the keys (in a forked child, whose file has none of them)."""
    global _lock
    _lock = RLock()
    _cache.clear()
    _ids.clear()
    _families.clear()
    _changed()


class _Code:
    """What is known of a code object that was met on a stack."""

    __slots__ = ("code", "copies", "counters", "hot", "names", "places", "quiet", "user")

    def __init__(self, code):
        self.code = code  # keeps its id() taken
        self.user = _is_user(code.co_filename)
        self.copies = bool(_COPIES and code.co_flags & _OPTIMIZED)
        self.names, self.counters, self.places = {}, set(), {}
        self.hot = self.places if self.user else None
        self.quiet = set()  # instructions of the places that are not looked at any more
        if self.user and not (self.copies and _PEEKS.intersection(code.co_names)):
            found = rewrite.names_of(code)
            if found is None:
                found = _analyse(code)
            self.names = found

    def place(self, frame):
        """Return the place at which ``frame`` is."""
        lasti = frame.f_lasti
        found = self.places.get(lasti)
        if found is None:
            found = self.places[lasti] = _Place(self, frame.f_lineno or 0)
        return found

    def forget(self, name):
        """Let a name tell nothing any more."""
        self.names = {other: how for other, how in self.names.items() if other != name}
        self.places.clear()
        self.quiet.clear()
        _changed()


class _Place:
    """An instruction of a code object, and the names that may name a case there."""

    __slots__ = ("copies", "counters", "idle", "known", "names")

    def __init__(self, known, line):
        self.known, self.copies, self.counters = known, known.copies, known.counters
        self.names = tuple(
            name
            for name, (_, blocks, _) in known.names.items()
            if any(first <= line <= last for first, last in blocks)
        )
        self.idle = 0

    def count_idle(self):
        """Look no more at a place whose names have held nothing of use."""
        self.idle += 1
        if self.idle == _IDLE:
            self.names = ()
            places = self.known.places
            self.known.quiet.update(lasti for lasti in places if places[lasti] is self)
            _changed()


def _is_user(filename):
    return filename in rewrite._files or userfiles.is_user_file(filename)


def is_rewritten(code):
    """Tell whether a code object is of a file or cell that was rewritten."""
    return code.co_filename in rewrite._files


def _analyse(code):
    """Look for the case names of a user's file that was not rewritten, once."""
    start = monotonic_ns()
    filename = code.co_filename
    rewrite._files[filename] = {}
    try:
        with open(filename, "rb") as file:
            rewrite.remember(filename, flow.Flow(rewrite.parse(file.read(), filename)))
    except Exception:
        return {}
    finally:
        agent.cost("rewrite", start, monotonic_ns())
    return rewrite.names_of(code) or {}


def key_of(frame, head=()):
    """Return the id of the key for what happens in ``frame``.

    ``head`` is what else belongs to the key: (name, text) pairs of a declared region.
    """
    parts = [head]
    add = parts.append
    users = skipped = 0
    first = frame
    while frame is not None:
        places = _places.get(id(frame.f_code), _places)
        if places is _places:
            places = _learn(frame.f_code).hot
        if places is None:
            skipped += 1
            if skipped == WALK:
                break
        else:
            place = places.get(frame.f_lasti)
            if place is None:
                place = _codes[id(frame.f_code)].place(frame)
            add(place)
            if place.names:
                _values(frame, place, add)
            users += 1
            if users == FRAMES:
                break
        frame = frame.f_back
    found = tuple(parts)
    key = _cache.get(found)
    return _new_key(first, head, found) if key is None else key


def code_of(frame):
    """Return what is known of the code of a frame."""
    return _codes.get(id(frame.f_code)) or _learn(frame.f_code)


def _learn(code):
    if len(_codes) > _MANY:  # a program that makes code without end
        _codes.clear()
        _places.clear()
        _cache.clear()
        _changed()
    known = _codes[id(code)] = _Code(code)
    _places[id(code)] = known.hot
    return known


def _values(frame, place, add):
    copies = place.copies
    if copies and gettrace() is not None:
        return
    values = frame.f_locals
    get = values.get
    idle = True
    for name in place.names:
        value = get(name)
        kind = type(value)
        if kind is str:
            found = value if len(value) <= WIDTH else LONG
        elif kind is int:
            found = 0 if name in place.counters else value
        elif value is None or kind in opaque:
            found = None
        else:
            found = label(value, kind)
        add(found)
        if found is not None:
            idle = False
    if idle:
        place.count_idle()
    if copies:
        value = get = None
        if getrefcount(values) <= 3:  # the frame, this function, the argument
            values.clear()  # or the copy would keep the program's arrays alive


def label(value, kind):
    """Return (type, text, how lasting) of a value, or None if it can have no text.

    Values with equal labels have equal texts. How lasting: 0 if the text may become another one
    (there is a list in the value), 2 if the value may be kept to be recognised, else 1.
    """
    if kind in _NAMED:
        text = value.__qualname__
        return (kind, text if len(text) <= WIDTH else None, 1)
    if kind is bool:
        return (kind, value, 2)
    if kind is list:
        return _label_list(value)
    known = _kept.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    text = show(value)
    if kind in opaque:
        return None
    found = (kind, text, _lasting(value, kind))
    if found[2] == 2 and kind is not float:
        _keep(value, value, found)
    return found


def _label_list(value):
    if len(value) > _ITEMS:
        return (list, None, 0)
    known = _kept.get(id(value))
    shown = None if known is None else known[0]
    if type(shown) is list and len(shown) == len(value):
        pairs = zip(shown, value)  # noqa: B905 - Python 3.9 has no strict
        if all([one is other for one, other in pairs]):  # noqa: C419 - faster than a generator
            return known[1]
    found = (list, show(value), 0)
    if _lasting(tuple(value), tuple) == 2:
        _keep(value, value[:], found)
    return found


def _keep(value, shown, found):
    if len(_kept) > _VALUES * 16:
        _kept.clear()
    _kept[id(value)] = (shown, found)


def _lasting(value, kind):
    if kind is tuple:
        return min([2, *(_lasting(item, type(item)) for item in value[: _ITEMS + 1])])
    if kind is list:
        return 0
    return 1 if kind in _NAMED or kind in opaque or kind is ModuleType else 2


def show(value, depth=0):
    """Return a short text for a value that can name a case, else None."""
    kind = type(value)
    if kind in (str, int, float, bool):
        if kind is str and len(value) > WIDTH:
            return None
        text = repr(value)
    elif kind in (tuple, list):
        text = _show_items(value, kind, depth)
    elif kind in _NAMED:
        text = value.__qualname__
    elif kind is ModuleType:
        text = value.__name__
    else:
        text = _show_known(value, kind)
        if text is None:
            opaque.add(kind)
    return text if text is not None and len(text) <= WIDTH else None


def _show_items(value, kind, depth):
    if len(value) > _ITEMS or depth > 1:
        return None
    texts = []
    for item in value:
        text = show(item, depth + 1)
        if text is None:
            return None
        texts.append(text)
    inner = ", ".join(texts)
    if kind is list:
        return "[" + inner + "]"
    return "(" + inner + (",)" if len(texts) == 1 else ")")


def _show_known(value, kind):
    module, name = kind.__module__, kind.__qualname__
    try:
        if module == "numpy.dtypes" or "%s.%s" % (module, name) in _KNOWN_TYPES:
            return repr(value)
        if any(base.__name__ == "Enum" and base.__module__ == "enum" for base in kind.__mro__):
            return "%s.%s" % (name, object.__getattribute__(value, "__dict__")["_name_"])
    except Exception:
        return None
    return None


# Keys that are new: cases, counters


class _Family:
    """The keys of one stack: they differ in their case alone."""

    __slots__ = ("dropped", "keys", "last", "runs", "seen", "stack")

    def __init__(self, stack):
        self.stack = stack
        self.keys, self.runs, self.seen = {}, {}, {}
        self.last, self.dropped = None, set()


def _new_key(frame, head, found):
    with _lock:
        stack, case, skipped = [], [(None, name, text, None) for name, text in head], 0
        while frame is not None and skipped < WALK and len(stack) < FRAMES:
            known = code_of(frame)
            if known.user:
                stack.append(_where(frame))
                case += _case(frame, known)
            else:
                skipped += 1
            frame = frame.f_back
        stack = tuple(stack)
        family = _families.get((head, stack))
        if family is None:
            family = _families[head, stack] = _Family(stack)
        key = _cache[found] = _enter(family, case)
        return key


def _where(frame):
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return (shown_file(code.co_filename), frame.f_lineno or 0, name)


def shown_file(filename):
    """Return the name of a file; that of a notebook's cell without what differs from run to run.

    IPython counts the executions in it, and ipykernel has a folder for each process.
    """
    if filename.startswith("<ipython-input-"):
        head, _, rest = filename[15:].partition("-")
        return "<ipython-input-" + (rest or head)
    if "/ipykernel_" in filename:
        return "ipykernel/" + filename.rpartition("/")[2]
    return filename


def _case(frame, known):
    """Return (code info, name, text, integer that may be a counter) for each value that counts."""
    parts = []
    names = known.place(frame).names
    if not names or (known.copies and gettrace() is not None):
        return parts
    values = frame.f_locals
    for name in names:
        value = values.get(name)
        text = None if value is None else show(value)
        integer = type(value) is int
        if text is None or (integer and name in known.counters):
            continue
        free = integer and known.names[name][0]
        parts.append((known, name, text, value if free else None))
    if known.copies:
        value = None
        if getrefcount(values) <= 3:
            values.clear()
    return parts


def _enter(family, case):
    """Return the id of a case in its family; may find that a name of it is a counter."""
    case = [entry for entry in case if entry[:2] not in family.dropped]
    doomed = _counting(family, case) or _flooding(family, case)
    family.last = {entry[:2]: entry for entry in case}
    if doomed is not None:
        _drop(family, doomed)
        family.last.pop(doomed, None)
        case = [entry for entry in case if entry[:2] != doomed]
    shown = _shown(case)
    key = family.keys.get(shown)
    if key is None:
        key = family.keys[shown] = len(_ids)
        _ids[key] = shown
        agent.emit("key", key, list(family.stack), list(shown))
    return key


def _shown(case):
    return tuple(dict.fromkeys((name, text) for _, name, text, _ in case))


def _counting(family, case):
    """Return the (code, name) of an integer that goes up by one while all else is equal."""
    last = family.last
    if last is None or len(last) != len(case):
        return None
    changed = [entry for entry in case if last.get(entry[:2], entry)[2] != entry[2]]
    if len(changed) != 1 or changed[0][3] is None:
        family.runs.clear()
        return None
    entry = changed[0]
    before = last[entry[:2]][3]
    if before is None or entry[3] != before + 1:
        family.runs.clear()
        return None
    count = family.runs[entry[:2]] = family.runs.get(entry[:2], 0) + 1
    return entry[:2] if before == 0 or count >= 3 else None


def _flooding(family, case):
    """Return the (code, name) of a value that took too many forms to be a case."""
    for entry in case:
        if entry[0] is not None:
            seen = family.seen.setdefault(entry[:2], set())
            seen.add(entry[2])
            if len(seen) > _VALUES:
                return entry[:2]
    return None


def _drop(family, doomed):
    """Write the keys of the family again, without the name."""
    known, name = doomed
    family.dropped.add(doomed)
    if name in known.counters or len(family.seen.get(doomed, ())) > _VALUES:
        known.forget(name)
    known.counters.add(name)
    _changed()
    merged = {}
    for shown, key in family.keys.items():
        rest = tuple(pair for pair in shown if pair[0] != name)
        merged.setdefault(rest, key)
        agent.emit("key", key, list(family.stack), list(rest))
    family.keys = merged
