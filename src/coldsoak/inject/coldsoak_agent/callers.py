"""The series key of a reading, without looking again at what cannot have changed.

``keys.key_of`` looks at every frame of the stack and at the values in them. Here a tree remembers
its answers: from the outermost frame inwards, each step is a code object with the labels of those
parameters that it never binds again, then the instruction at which it stands with the labels of its
other case values. The innermost step has the key, and gets it only if looking at everything again
leads to the same step.

A function's frame gets a mark, the node of the tree at which it was found. While the function runs,
those parameters stay what they are, and its callers stand still. So its own parameters are not read
again, and where the callers cannot have changed either, the walk ends at the mark. What may change
all the same is looked at each time: names in modules and classes, names that a closure shares,
loop targets of the function itself, lists. Generators and coroutines may be resumed by others, so
for theirs, and below any such value, the walk goes on.

The mark is the frame's ``f_trace``, because that dies with the frame and keeps nothing alive. The
interpreter uses it only while a Python trace function is set, and the mark then answers as if there
were none. Debuggers put theirs in its place. While such a function is set, nothing is marked and
``keys`` is asked. Before Python 3.10 a frame with an ``f_trace`` had wrong line numbers, so this
module is not used there.

Limits: what is written into the ``f_locals`` of a running caller (Python 3.13), and a new name for a
function that a running caller was given, are not seen while that runs.
"""

from sys import getrefcount, gettrace

from coldsoak_agent import keys
from coldsoak_agent.keys import FRAMES, LONG, WALK, WIDTH, code_of, label, opaque

__all__ = ["key_of"]

_OPTIMIZED, _RESUMED = 0x1, 0x20 | 0x80 | 0x100 | 0x200
"""Flags of the code of functions, and of generators and coroutines of all kinds (``inspect.CO_…``)."""
_NEAR, _FAR, _FAR_WALKS = 32, 1000, 200
"""Frames up to which a walk always pays; frames of the longest walk; walks beyond ``_NEAR``."""
_LOOK = (list, None, 0)
"""The label of a parameter that is kept, but may change in itself: a list."""
_NODES = 20_000
"""Steps that the tree may have before it is begun anew."""


class _Callers:
    """The frames above a function: where each stands and what its names hold."""

    __slots__ = ("code", "entered", "first", "fixed", "root")

    def __init__(self, fixed, root=None):
        self.fixed = fixed  # they stay like this while the function runs
        self.root = root or self
        self.entered = {}  # id of a code object -> _Entered
        self.code = self.first = None  # the first of them, which mostly is the only one


class _Entered:
    """A code object below certain callers."""

    __slots__ = ("activations", "fixed", "kept", "known", "latest", "root", "whole")

    def __init__(self, known, callers):
        code = known.code
        self.known, self.fixed, self.root = known, callers.fixed, callers.root
        self.whole = callers.fixed and not code.co_flags & _RESUMED
        own = set(code.co_varnames).difference(code.co_cellvars, code.co_freevars)
        self.kept = tuple(
            (name, name in known.counters)
            for name, (_, _, keeps) in known.names.items()
            if keeps and name in own and code.co_flags & _OPTIMIZED
        )
        self.latest = (None, ())  # an activation, its names and values, to tell it by identity
        self.activations = {}  # labels of the kept parameters -> _Activation


class _Activation:
    """A code object below certain callers with certain parameters: the mark of its frames.

    It is called by nothing but the interpreter's tracing, which it tells that the frame has no
    trace function; it is false because debuggers ask so whether there is one.
    """

    __slots__ = (
        "entered", "holds", "idle", "keys", "labels", "look", "marks", "root", "spots", "tells",
        "whole",
    )  # fmt: skip

    def __init__(self, entered, labels):
        self.entered, self.root, self.labels = entered, entered.root, labels
        self.whole = entered.root if entered.whole else None  # nothing above need be looked at
        self.keys = {}  # instruction -> id of the key, where nothing else can have changed
        known = len(labels) == len(entered.kept)
        self.marks = known and (entered.whole or labels != ())
        self.look = {pair for pair, found in zip(entered.kept, labels) if found is _LOOK}  # noqa: B905
        self.tells = any(map(_tells, labels))
        self.idle = labels != () and not self.tells
        self.holds = _may_hold(labels, entered.kept)
        self.spots = {}  # instruction -> _Spot

    def __call__(self, *_event):
        return None

    def __bool__(self):
        return False


class _Spot:
    """An instruction of an activation, and the names that have to be read there."""

    __slots__ = ("activation", "case", "cases", "copies", "latest", "names", "place", "stable")

    def __init__(self, activation, frame):
        entered, code = activation.entered, frame.f_code
        known = entered.known
        self.activation, self.copies = activation, known.copies
        self.place = known.place(frame) if known.user else None
        every = [(name, name in known.counters) for name in self.place.names] if known.user else ()
        self.names = tuple(
            pair for pair in every if pair not in entered.kept or pair in activation.look
        )
        shared = {*code.co_cellvars, *code.co_freevars}
        self.stable = code.co_flags & _OPTIMIZED and not any(n in shared for n, _ in self.names)
        self.latest = (None, ())
        self.cases = {}  # labels -> _Case
        self.case = None if self.names else _Case(self, (), every)


class _Case:
    """A spot with certain values."""

    __slots__ = ("callers", "fixed", "holds", "idle", "key")

    def __init__(self, spot, labels, names):
        activation = spot.activation
        lasting = bool(not labels or (spot.stable and all(map(_lasts, labels))))
        self.fixed = activation.entered.fixed and lasting
        self.idle = bool(names) and not activation.tells and not any(map(_tells, labels))
        self.holds = _may_hold(labels, spot.names)
        self.key = self.callers = None


def _lasts(found):
    return type(found) is not tuple or found[2]


def _tells(found):
    return found is not None


_root, _nodes, _far_left = _Callers(fixed=True), 0, _FAR_WALKS


def _restart():
    """Begin the tree anew; the marks on frames are void with it."""
    global _root, _nodes
    _root, _nodes = _Callers(fixed=True), 0


keys.at_change(_restart)


def key_of(frame):
    """Return the id of the key for a reading in ``frame``: what ``keys.key_of`` would say."""
    mark = frame.f_trace
    whole = type(mark) is _Activation and mark.whole is _root
    if whole:
        key = mark.keys.get(frame.f_lasti)
        if key is not None:
            return key
    if gettrace() is not None:
        return keys.key_of(frame)
    key = None
    if whole:
        spot = mark.spots.get(frame.f_lasti)
        if spot is not None and spot.names:
            case = _vary(spot, frame)
            key = None if case.idle else case.key
    elif mark is None:
        key = _key_below(frame, frame.f_back)
    return _look(frame) if key is None else key


def _key_below(frame, above):
    """Return the key of a reading in a new frame whose caller is marked; None if that is not all."""
    mark = None if above is None else above.f_trace
    if type(mark) is not _Activation or mark.whole is not _root:
        return None
    spot = mark.spots.get(above.f_lasti)
    if spot is None:
        return None
    case = spot.case or _vary(spot, above)
    callers = case.callers
    if callers is None or case.idle:
        return None
    entered = callers.first if callers.code is frame.f_code else None
    if entered is None or not entered.kept:
        mark = _enter(callers, frame)
    elif entered.known.quiet and frame.f_lasti in entered.known.quiet:
        mark = _activation(entered, ())
    else:
        mark = _read(frame, entered)
        if mark.marks:
            frame.f_trace = mark
    key = None if mark.idle else mark.keys.get(frame.f_lasti)
    if key is None:
        spot = mark.spots.get(frame.f_lasti)
        if spot is not None:
            case = spot.case or _vary(spot, frame)
            key = None if case.idle else case.key
    return key


def _look(frame):
    case = _find(frame)
    if case is None:
        return keys.key_of(frame)
    key = case.key
    if key is None:
        key = keys.key_of(frame)
        if _find(frame, trusting=False) is not case:
            return key  # somebody changed a value meanwhile
        case.key = key
    mark = frame.f_trace
    if type(mark) is _Activation and mark.whole is _root:
        spot = mark.spots.get(frame.f_lasti)
        if spot is not None and spot.case is case:
            mark.keys[frame.f_lasti] = key
    return key


def _find(frame, trusting=True):
    """Return the case of a reading; None where a walk would not pay.

    ``trusting`` the marks on the way, or looking at all again that ``keys.key_of`` looks at.
    """
    root = callers = _root
    chain, mark = _climb(frame, root) if trusting else _climb_all(frame, root)
    idle, case = (), None
    while chain:
        step = chain.pop()
        if mark is None:
            mark = _enter(callers, step, trusting)
        spot = mark.spots.get(step.f_lasti) or _new_spot(mark, step)
        case = spot.case or _vary(spot, step)
        if case.idle:
            idle += (spot.place,)
        callers = case.callers
        if callers is None:
            callers = case.callers = _Callers(case.fixed, root)
        mark = None
    if idle and case.key is not None and trusting:
        for place in idle:
            place.count_idle()
    return case


def _climb(frame, root):
    """Return the frames from a reading up to one whose mark says all about those above it; the mark.

    That is the outermost frame if there is no such mark; nothing where a walk would not pay.
    """
    chain = []
    while frame is not None:
        chain.append(frame)
        mark = frame.f_trace
        if type(mark) is _Activation and mark.whole is root:
            return chain, mark
        if len(chain) > _NEAR and not _may_go_on(len(chain)):
            return [], None
        frame = frame.f_back
    return chain, None


def _climb_all(frame, root):
    """Do the same, and go at least as far as ``keys.key_of``."""
    chain, users = [], 0
    while frame is not None and users < FRAMES and len(chain) < users + WALK:
        chain.append(frame)
        users += code_of(frame).user
        frame = frame.f_back
    if frame is None:
        return chain, None
    above, mark = _climb(frame, root)
    return (chain + above if above else []), mark


def _may_go_on(length):
    """Tell whether a long walk may become longer: its marks make the next one short."""
    global _far_left
    if length == _NEAR + 1:
        _far_left -= 1
    return _far_left >= 0 and length < _FAR


def _enter(callers, frame, trusting=True):
    """Return the activation of ``frame`` below its callers; mark the frame with it."""
    code = frame.f_code
    entered = callers.entered.get(id(code))
    if entered is None:
        _count_node()
        entered = callers.entered[id(code)] = _Entered(code_of(frame), callers)
        if callers.code is None:
            callers.first, callers.code = entered, code
    mark = frame.f_trace
    free = mark is None
    if not entered.kept:
        activation = _activation(entered, ())
    elif type(mark) is _Activation and trusting and mark.root is callers.root:
        if mark.entered is entered:
            return mark
        free, activation = True, _activation(entered, mark.labels)
    elif frame.f_lasti in entered.known.quiet:  # a place that is not looked at any more
        activation = _activation(entered, ())
    else:
        activation = _read(frame, entered)
    if activation.marks and activation is not mark and (free or type(mark) is _Activation):
        frame.f_trace = activation
    return activation


def _activation(entered, labels):
    found = entered.activations.get(labels)
    if found is None:
        _count_node()
        found = entered.activations[labels] = _Activation(entered, labels)
    return found


def _new_spot(activation, frame):
    """Return the spot of ``frame``; in code that is not the user's all instructions are one."""
    _count_node()
    spots = activation.spots
    found = None if activation.entered.known.user else spots.get(None)
    if found is None:
        found = _Spot(activation, frame)
        if not activation.entered.known.user:
            spots[None] = found
    spots[frame.f_lasti] = found
    return found


def _count_node():
    global _nodes
    _nodes += 1
    if _nodes > _NODES:
        _restart()


# Values


def _read(frame, entered):
    """Return the activation of a frame for what its parameters hold."""
    values = frame.f_locals
    latest, held = entered.latest
    for name, value in held:
        if values[name] is not value:
            latest = None
            break
    if latest is not None and (not entered.known.copies or len(values) == len(held)):
        return latest  # it is no copy, or one that holds nothing else
    if latest is None:
        labels = _labels(values, entered.kept)
        labels = tuple([found if _lasts(found) else _LOOK for found in labels])
        latest = _activation(entered, labels)
        if latest.holds:
            entered.latest = _held(latest, values, labels, entered.kept)
    if entered.known.copies and getrefcount(values) <= 3:  # the frame, this function, the argument
        values.clear()  # or the copy would keep the program's arrays alive
    return latest


def _vary(spot, frame):
    """Return the case of a spot for what its names hold now."""
    values = frame.f_locals
    case, held = spot.latest
    for name, value in held:
        if values.get(name) is not value:
            case = None
            break
    if case is None:
        labels = _labels(values, spot.names)
        case = spot.cases.get(labels)
        if case is None:
            _count_node()
            case = spot.cases[labels] = _Case(spot, labels, spot.names)
        if case.holds:
            spot.latest = _held(case, values, labels, spot.names)
    if spot.copies and getrefcount(values) <= 3:
        values.clear()
    return case


def _may_hold(labels, names):
    """Tell whether values with these labels may be kept, as far as the labels tell."""
    return all(type(found) is not tuple or found[2] == 2 for found in labels) and not any(
        counts for _, counts in names
    )


def _held(what, values, labels, names):
    """Return ``what`` with the names and values that lead to it, if these keep nothing alive."""
    held = []
    for (name, _), found in zip(names, labels):  # noqa: B905
        value = values.get(name)
        if found is None and value is not None:
            return (None, ())
        held.append((name, value))
    return (what, held)


def _labels(values, names):
    """Return what each name adds to a series key; an integer that counts runs adds nothing."""
    get = values.get
    labels = []
    for name, counts in names:
        value = get(name)
        kind = type(value)
        if kind is str:
            labels.append(value if len(value) <= WIDTH else LONG)
        elif kind is int:
            labels.append(0 if counts else value)
        elif value is None or kind in opaque:
            labels.append(None)
        else:
            labels.append(label(value, kind))
    return tuple(labels)
