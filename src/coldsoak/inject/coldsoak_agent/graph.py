"""Atoms, edges and bits: the solving half of ``flow``, which explains them."""

# ruff: noqa: SIM905, B905 - word lists; Python 3.9 has no strict zip

VALUE, CLOCK, MAKER, COUNTER, CASE = 1, 2, 4, 8, 16
START, END = 1, 2
FLOW = VALUE | CLOCK | MAKER
ALL = FLOW | COUNTER | CASE
CALLED, RETURNED = -1, -2  # edges that change the bit: a call of, a function returning

WORDS = frozenset(
    "time perf_counter monotonic process_time thread_time time_ns perf_counter_ns monotonic_ns "
    "process_time_ns thread_time_ns clock_gettime clock_gettime_ns "
    "now utcnow today default_timer timer clock".split()
)
WITH_ARGUMENTS = frozenset(("now", "utcnow", "clock_gettime", "clock_gettime_ns"))
COMPILED = frozenset(
    "jit njit vectorize guvectorize stencil cfunc generated_jit jitclass compile kernel".split()
)


class Scope:
    """One code object of the file, with the names that it binds."""

    __slots__ = ("bound", "cases", "fields", "kind", "line", "method", "name", "outer", "params",
                 "parent", "qualname", "rebound", "result", "skipped")  # fmt: skip

    def __init__(self, kind, name, parent, line, result):
        self.kind, self.name, self.parent, self.line = kind, name, parent, line
        self.bound, self.outer, self.cases, self.params, self.fields = set(), {}, {}, [], []
        self.method, self.result, self.rebound = False, result, set()
        self.skipped = parent is not None and parent.skipped
        self.qualname = name
        if parent is not None and parent.kind != "module":
            inner = ".<locals>." if parent.kind != "class" else "."
            self.qualname = parent.qualname + inner + name

    def bind(self, name):
        """Take note of a name that is bound here; of a second time, too."""
        (self.rebound if name in self.bound else self.bound).add(name)


class Graph:
    """The analysed file: ``clocks``, ``differences`` and ``updates`` are what to rewrite.

    ``clocks``: (call node, scope, role bits). ``differences``: (subtraction node, scope).
    ``updates``: (augmented assignment to a plain name, scope). ``scopes``: all scopes.
    """

    def __init__(self):
        self._index, self._keys, self._bits, self._edges = {}, [], [], []
        self._defs, self._classes, self._pending, self._compiled = {}, {}, [], set()
        self._calls, self._subs, self._augs, self._aside = [], [], [], set()
        self.scopes = []
        self._counts, self._names_case = self._atom("counter"), self._atom("case")
        self._bits[self._counts], self._bits[self._names_case] = COUNTER, CASE
        self._scope = self._open("module", "<module>", 1)

    def solve(self):
        """Let the bits travel; decide what to rewrite and in which role."""
        self._connect_calls()
        self._canon = [self._resolve(key, i) for i, key in enumerate(self._keys)]
        self._spread()
        self._decide()

    # -- atoms and edges ------------------------------------------------------------------------

    def _atom(self, *key):
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self._keys)
            self._keys.append(key)
            word = key[-1] if key[0] in ("name", "attribute") else None
            self._bits.append(CLOCK if word in WORDS else 0)
        return found

    def _edge(self, sources, target, mode=ALL):
        for source in sources:
            self._edges.append((source, target, mode))

    def _open(self, kind, name, line):
        parent = getattr(self, "_scope", None)
        scope = Scope(kind, name, parent, line, self._atom("result", len(self.scopes)))
        self.scopes.append(scope)
        self._scope = scope
        return scope

    def _name(self, name, scope=None):
        return self._atom("name", scope or self._scope, name)

    def _resolve(self, key, index):
        """The atom of the scope that really binds a name used in another one."""
        if key[0] != "name":
            return index
        _, scope, name = key
        first = scope
        while scope.parent is not None:
            how = scope.outer.get(name)
            if how == "global":
                break
            if how is None and name in scope.bound and (scope.kind != "class" or scope is first):
                return self._atom("name", scope, name)
            scope = scope.parent
        return self._atom("name", self.scopes[0], name)

    def _spread(self):
        canon, bits = self._canon, self._bits
        canon.extend(range(len(canon), len(bits)))
        for i, target in enumerate(canon):
            bits[target] |= bits[i]
        forward = {}
        for source, target, mode in self._edges:
            forward.setdefault(canon[source], []).append((canon[target], mode))
        work = [i for i, value in enumerate(bits) if value]
        while work:
            source = work.pop()
            have = bits[source]
            for target, mode in forward.get(source, ()):
                if mode == CALLED:
                    gain = VALUE if have & (CLOCK | MAKER) else 0
                elif mode == RETURNED:
                    gain = MAKER if have & VALUE else 0
                else:
                    gain = have & mode
                if gain & ~bits[target]:
                    bits[target] |= gain
                    work.append(target)

    def _any(self, atoms, bit):
        return any(self._bits[self._canon[a]] & bit for a in atoms)

    def bits_of(self, scope, name):
        """Bits of a local name of ``scope``."""
        atom = self._index.get(("name", scope, name))
        return 0 if atom is None else self._bits[self._canon[atom]]

    def _decide(self):
        wanted = {}
        self.differences, self.updates, self.clocks = [], [], []
        for node, scope, left, right in self._subs:
            if not scope.skipped and self._any(left + right, VALUE):
                self.differences.append((node, scope))
                wanted.update(
                    (a, wanted.get(a, 0) | END) for a in map(self._canon.__getitem__, left)
                )
                wanted.update(
                    (a, wanted.get(a, 0) | START) for a in map(self._canon.__getitem__, right)
                )
        for node, scope, target, value in self._augs:
            if not scope.skipped and self._any(value, VALUE):
                self.updates.append((node, scope))
                wanted.update((self._canon[a], START | END) for a in [target, *value])
        roles = self._roles(wanted)
        for call, scope, functions, result in self._calls:
            aside = scope.skipped or id(call) in self._aside
            if not aside and self._any(functions, CLOCK):
                self.clocks.append((call, scope, roles.get(self._canon[result], 0)))

    def _roles(self, wanted):
        """Walk the edges backwards: which readings end up right or left of a minus."""
        backward = {}
        for source, target, mode in self._edges:
            if mode > 0 and mode & VALUE:
                backward.setdefault(self._canon[target], []).append(self._canon[source])
        work = list(wanted)
        while work:
            target = work.pop()
            for source in backward.get(target, ()):
                if wanted[target] & ~wanted.get(source, 0):
                    wanted[source] = wanted.get(source, 0) | wanted[target]
                    work.append(source)
        return wanted

    def _connect_calls(self):
        for name, args, keywords, result in self._pending:
            scopes = list(self._defs.get(name, ()))
            for cls in self._classes.get(name, ()):
                inits = [d for d in self._defs.get("__init__", ()) if d.parent is cls]
                scopes += inits
                if not inits:
                    for field, (_, atoms) in zip(cls.fields, args):
                        self._edge(atoms, self._atom("attribute", field), FLOW)
            for scope in scopes:
                self._edge([scope.result], result, FLOW)
                self._pass_arguments(scope, args, keywords)
            if name in COMPILED:
                self._compiled.update(ref for ref, _ in args)
            for reference, _ in args + [pair[1] for pair in keywords]:
                for scope in self._defs.get(reference, ()) if reference else ():
                    for other, atoms in args + [pair[1] for pair in keywords]:
                        if other != reference:
                            for param in scope.params:
                                self._edge(atoms, self._name(param, scope), VALUE)
        for scope in self.scopes:
            outer = scope.parent
            scope.skipped = scope.skipped or (outer is not None and outer.skipped)
            if scope.kind == "function" and scope.name in self._compiled:
                scope.skipped = True

    def _pass_arguments(self, scope, args, keywords):
        params = scope.params[1:] if scope.method else scope.params
        for i, (_, atoms) in enumerate(args):
            if i < len(params):
                self._edge(atoms, self._name(params[i], scope))
        for name, (_, atoms) in keywords:
            if name in params:
                self._edge(atoms, self._name(name, scope))


def last_name(node):
    return getattr(node, "attr", None) or getattr(node, "id", None)
