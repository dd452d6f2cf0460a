"""Where clock readings and loop counters flow in one source file.

A flow-insensitive analysis over the syntax tree. Its atoms are local names (by scope), attributes
(by name, whatever the object), the results of calls, and the results of functions. Assignments,
unpacking, walrus, loop targets, ``with`` targets, stores into containers, arguments of calls and
returned values are edges between atoms; bits travel along the edges until nothing changes. It
errs on the side of too many: what is marked goes through a hook that looks at the values.

Bits: VALUE (may hold a clock reading), CLOCK (may be a clock function), MAKER (a function of this
file that returns a reading), COUNTER (merely counts runs), CASE (names a workload).
"""

# ruff: noqa: N802, N815 - visitors are named after the node classes
# ruff: noqa: SIM905, B905 - word lists; Python 3.9 has no strict zip

import _ast

from coldsoak_agent.graph import (
    CALLED, CASE, CLOCK, COMPILED, COUNTER, END, FLOW, RETURNED, START, WITH_ARGUMENTS,
    WORDS, Graph, last_name,
)  # fmt: skip

__all__ = ["CASE", "COUNTER", "END", "START", "Flow"]

_READERS = frozenset("pop popleft get get_nowait values items copy popitem result __next__".split())
_WRITERS = frozenset(
    "append appendleft add insert extend put put_nowait setdefault set_result update send".split()
)
_TRANSPARENT = frozenset(
    "list tuple set dict sorted reversed zip enumerate min max float next iter deque pairwise "
    "islice array chain tqdm accumulate".split()
)
REFERENCES = (
    _ast.Name, _ast.Attribute, _ast.Subscript, _ast.Call, _ast.NamedExpr, _ast.IfExp, _ast.Await,
    _ast.BoolOp,
)  # fmt: skip
_COMPREHENSION = {
    "ListComp": "<listcomp>",
    "SetComp": "<setcomp>",
    "DictComp": "<dictcomp>",
    "GeneratorExp": "<genexpr>",
}


class Flow(Graph):
    """One file, analysed; ``Graph`` holds the answers."""

    def __init__(self, tree):
        super().__init__()
        self._memo, self._blocks = {}, []
        self._dispatch = {
            getattr(_ast, name[6:]): getattr(self, name)
            for name in dir(self)
            if name.startswith("visit_") and hasattr(_ast, name[6:])
        }
        for name in _COMPREHENSION:
            self._dispatch[getattr(_ast, name)] = self._comprehension
        self._children(tree)
        self.solve()

    # -- visiting -------------------------------------------------------------------------------

    def _visit(self, node):
        handler = self._dispatch.get(type(node))
        if handler is not None:
            return handler(node)
        self._children(node)
        return []

    def _children(self, node):
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, _ast.AST):
                        self._visit(item)
            elif isinstance(value, _ast.AST):
                self._visit(value)

    def _union(self, nodes):
        atoms = []
        for node in nodes:
            if node is not None:
                found = self._memo[id(node)] = self._visit(node)
                atoms += found
        return atoms

    def _bind(self, target, atoms, value=None):
        kind = type(target)
        if kind is _ast.Name:
            self._scope.bind(target.id)
            self._edge(atoms, self._name(target.id))
        elif kind in (_ast.Tuple, _ast.List):
            parts = value.elts if type(value) in (_ast.Tuple, _ast.List) else ()
            same = len(parts) == len(target.elts) and not any(
                type(e) is _ast.Starred for e in [*parts, *target.elts]
            )
            for i, element in enumerate(target.elts):
                part = parts[i] if same else None
                self._bind(element, self._memo.get(id(part), atoms) if same else atoms, part)
        elif kind is _ast.Starred:
            self._bind(target.value, atoms)
        elif kind is _ast.Attribute:
            self._visit(target.value)
            self._edge(atoms, self._atom("attribute", target.attr))
        elif kind is _ast.Subscript:
            base = self._visit(target.value)
            self._visit(target.slice)
            for atom in base:
                self._edge(atoms, atom, FLOW)

    def _bind_loop(self, target, iterable, atoms):
        called = type(iterable) is _ast.Call and last_name(iterable.func)
        elements = target.elts if type(target) in (_ast.Tuple, _ast.List) else ()
        if called == "enumerate" and len(elements) == 2 and iterable.args:
            self._bind(elements[0], [self._counts])
            inner = iterable.args[0]
            self._bind_loop(elements[1], inner, self._memo.get(id(inner), atoms))
        elif called == "zip" and len(elements) == len(iterable.args):
            for element, inner in zip(elements, iterable.args):
                self._bind_loop(element, inner, self._memo.get(id(inner), atoms))
        elif called == "tqdm" and iterable.args:
            inner = iterable.args[0]
            self._bind_loop(target, inner, self._memo.get(id(inner), atoms))
        else:
            self._bind(target, atoms)
            self._case_names(target, "loop")

    def _case_names(self, target, how):
        if type(target) is _ast.Name:
            block = self._blocks[-1] if self._blocks else (0, 1 << 30)
            self._scope.cases.setdefault(target.id, (how, []))[1].append(block)
        for element in getattr(target, "elts", ()):
            self._case_names(element, how)

    # -- statements -----------------------------------------------------------------------------

    def _function(self, node):
        for decorator in node.decorator_list:
            self._visit(decorator)
        names = [last_name(d.func if type(d) is _ast.Call else d) for d in node.decorator_list]
        outer = self._scope
        outer.bind(node.name)
        defaults = self._defaults(node.args)
        line = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        scope = self._open("function", node.name, line)
        scope.method = outer.kind == "class" and "staticmethod" not in names
        scope.skipped = scope.skipped or any(name in COMPILED for name in names)
        self._defs.setdefault(node.name, []).append(scope)
        self._parameters(node.args, defaults, scope)
        for statement in node.body:
            self._visit(statement)
        self._scope = outer
        self._edge([scope.result], self._name(node.name), RETURNED)
        if outer.kind == "class":
            attribute = self._atom("attribute", node.name)
            self._edge([scope.result], attribute, RETURNED)
            if "property" in names or "cached_property" in names:
                self._edge([scope.result], attribute, FLOW)
        return []

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def _defaults(self, args):
        positional = [*args.posonlyargs, *args.args]
        pairs = list(zip(positional[len(positional) - len(args.defaults) :], args.defaults))
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None]
        return [(arg.arg, self._visit(default)) for arg, default in pairs]

    def _parameters(self, args, defaults, scope):
        scope.params = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]
        for name in scope.params:
            scope.bind(name)
            scope.cases[name] = ("parameter", [(0, 1 << 30)])
        for extra in (args.vararg, args.kwarg):
            if extra is not None:
                scope.bind(extra.arg)
        for name, atoms in defaults:
            self._edge(atoms, self._name(name, scope), FLOW)

    def visit_Lambda(self, node):
        defaults = self._defaults(node.args)
        outer = self._scope
        scope = self._open("function", "<lambda>", node.lineno)
        self._parameters(node.args, defaults, scope)
        self._edge(self._visit(node.body), scope.result)
        self._scope = outer
        function = self._atom("lambda", id(node))
        self._edge([scope.result], function, RETURNED)
        return [function]

    def visit_ClassDef(self, node):
        for child in [*node.decorator_list, *node.bases, *node.keywords]:
            self._visit(child)
        outer = self._scope
        outer.bind(node.name)
        line = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        scope = self._open("class", node.name, line)
        self._classes.setdefault(node.name, []).append(scope)
        for statement in node.body:
            self._visit(statement)
        self._scope = outer
        for name in scope.bound:
            self._edge([self._name(name, scope)], self._atom("attribute", name), FLOW)
        return []

    def _comprehension(self, node):
        outer = self._scope
        first = self._memo[id(node.generators[0].iter)] = self._visit(node.generators[0].iter)
        scope = self._open("comprehension", _COMPREHENSION[type(node).__name__], node.lineno)
        self._blocks.append((node.lineno, node.end_lineno))
        for i, generator in enumerate(node.generators):
            atoms = first if i == 0 else self._union([generator.iter])
            self._bind_loop(generator.target, generator.iter, atoms)
            for condition in generator.ifs:
                self._visit(condition)
        if type(node) is _ast.DictComp:
            self._visit(node.key)
        atoms = self._visit(node.value if type(node) is _ast.DictComp else node.elt)
        self._scope = outer
        self._blocks.pop()
        # since Python 3.12 its targets are seen in the frame around
        outer.rebound |= scope.bound | scope.rebound
        self._edge(atoms, scope.result)
        return [scope.result]

    def visit_Assign(self, node):
        atoms = self._union([node.value])
        for target in node.targets:
            self._bind(target, atoms, node.value)
            if self._picks(node.value):
                self._case_names(target, "loop")
        return []

    def _picks(self, value):
        """Tell whether a value is like ``shapes[i]`` with a loop's ``i``."""
        index = value.slice if type(value) is _ast.Subscript else None
        return type(index) is _ast.Name and index.id in self._scope.cases

    def visit_AnnAssign(self, node):
        if self._scope.kind == "class" and type(node.target) is _ast.Name:
            self._scope.fields.append(node.target.id)
        if node.value is not None:
            self._bind(node.target, self._union([node.value]), node.value)
        return []

    def visit_Delete(self, node):
        for target in node.targets:
            self._bind(target, [])
        return []

    def visit_AugAssign(self, node):
        atoms = self._visit(node.value)
        self._bind(node.target, atoms)
        if type(node.target) is _ast.Name and type(node.op) in (_ast.Add, _ast.Sub):
            self._augs.append((node, self._scope, self._name(node.target.id), atoms))
        return []

    def _for(self, node):
        atoms = self._union([node.iter])
        self._blocks.append((node.lineno, node.end_lineno))
        self._bind_loop(node.target, node.iter, atoms)
        for statement in [*node.body, *node.orelse]:
            self._visit(statement)
        self._blocks.pop()
        return []

    visit_For = visit_AsyncFor = _for

    def _with(self, node):
        self._blocks.append((node.lineno, node.end_lineno))
        for item in node.items:
            atoms = self._union([item.context_expr])
            if item.optional_vars is not None:
                self._bind(item.optional_vars, atoms, item.context_expr)
                self._case_names(item.optional_vars, "loop")
        for statement in node.body:
            self._visit(statement)
        self._blocks.pop()
        return []

    visit_With = visit_AsyncWith = _with

    def _import(self, node):
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self._scope.bind(name)
            if type(node) is _ast.ImportFrom and alias.name in WORDS | WITH_ARGUMENTS:
                self._bits[self._name(name)] |= CLOCK
        return []

    visit_Import = visit_ImportFrom = _import

    def visit_Global(self, node):
        for name in node.names:
            self._scope.outer[name] = "global"
        return []

    def visit_Nonlocal(self, node):
        for name in node.names:
            self._scope.outer[name] = "nonlocal"
        return []

    def visit_ExceptHandler(self, node):
        if node.name:
            self._scope.bind(node.name)
        self._children(node)
        return []

    def _result(self, node):
        if node.value is not None:
            scope = self._scope
            while scope.kind == "comprehension":
                scope = scope.parent
            self._edge(self._visit(node.value), scope.result)
        return []

    visit_Return = visit_Yield = visit_YieldFrom = _result

    def visit_TypeAlias(self, node):
        self._scope.bind(node.name.id)
        return []

    def visit_Match(self, node):
        atoms = self._visit(node.subject)
        for case in node.cases:
            self._pattern(case.pattern, atoms)
            self._children(case)
        return []

    def _pattern(self, node, atoms):
        for name in (getattr(node, "name", None), getattr(node, "rest", None)):
            if isinstance(name, str):
                self._scope.bind(name)
                self._edge(atoms, self._name(name))
        for field in node._fields:
            value = getattr(node, field, None)
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, _ast.pattern):
                    self._pattern(item, atoms)

    # -- expressions ----------------------------------------------------------------------------

    def visit_Name(self, node):
        return [self._name(node.id)]

    def visit_Attribute(self, node):
        self._visit(node.value)
        return [self._atom("attribute", node.attr)]

    def visit_Subscript(self, node):
        atoms = self._visit(node.value)
        self._visit(node.slice)
        return atoms

    def visit_Constant(self, node):
        return [self._names_case] if type(node.value) in (int, float, str) else []

    def _elements(self, node):
        return self._union(node.elts)

    visit_Tuple = visit_List = visit_Set = _elements

    def _inner(self, node):
        return self._visit(node.value)

    visit_Starred = visit_Await = _inner

    def visit_Dict(self, node):
        for key in node.keys:
            if key is not None:
                self._visit(key)
        return self._union(node.values)

    def visit_BoolOp(self, node):
        return self._union(node.values)

    def visit_IfExp(self, node):
        self._visit(node.test)
        return self._union([node.body, node.orelse])

    def visit_UnaryOp(self, node):
        return self._visit(node.operand)

    def visit_NamedExpr(self, node):
        atoms = self._visit(node.value)
        scope = self._scope
        while scope.kind == "comprehension":
            scope = scope.parent
        scope.bind(node.target.id)
        self._edge(atoms, self._name(node.target.id, scope))
        return atoms

    def visit_BinOp(self, node):
        left, right = self._visit(node.left), self._visit(node.right)
        operator = type(node.op)
        if operator is _ast.Sub and isinstance(node.left, REFERENCES):
            if isinstance(node.right, REFERENCES):
                self._subs.append((node, self._scope, left, right))
        elif operator in (_ast.Pow, _ast.LShift) and type(node.right) is _ast.Name:
            self._edge([self._names_case], self._name(node.right.id))  # 2 ** n names a size
        elif operator is _ast.Add:
            self._set_aside(node.left, node.right)
        text = operator is _ast.Mod and type(getattr(node.left, "value", None)) is str
        if text or operator in (_ast.Add, _ast.Sub):
            return self._still_counts(node, left + right)
        return []

    def _still_counts(self, node, atoms):
        """A counter plus one, or in a text, is a counter: ``bench(i + 1, f"run {i}")``."""
        result = self._atom("made", id(node))
        self._edge(atoms, result, COUNTER)
        return [result]

    def visit_JoinedStr(self, node):
        return self._still_counts(node, self._union(node.values))

    def visit_FormattedValue(self, node):
        if node.format_spec is not None:
            self._visit(node.format_spec)
        return self._visit(node.value)

    def visit_Compare(self, node):
        self._set_aside(node.left, *node.comparators)
        self._children(node)
        return []

    def _set_aside(self, *nodes):
        """``while time() < limit`` and ``limit = time() + 5`` read a clock, but bound nothing."""
        self._aside.update(id(node) for node in nodes if type(node) is _ast.Call)

    def visit_Call(self, node):
        name, function = last_name(node.func), node.func
        base = []
        if type(function) is _ast.Attribute:
            base = self._visit(function.value)
            functions = [self._atom("attribute", function.attr)]
        else:
            functions = self._visit(function)
        args = [(last_name(a), self._union([a])) for a in node.args]
        keywords = [(k.arg, (last_name(k.value), self._union([k.value]))) for k in node.keywords]
        result = self._atom("call", id(node))
        self._edge(functions, result, CALLED)
        if not (args or keywords) or name in WITH_ARGUMENTS:
            self._calls.append((node, self._scope, functions, result))
        self._pending.append((name, args, keywords, result))
        for keyword, (_, atoms) in keywords:
            if keyword is not None:
                self._edge(atoms, self._atom("attribute", keyword), FLOW)
        self._known_call(node, name, base, [atoms for _, atoms in args], result)
        return [result]

    def _known_call(self, node, name, base, args, result):
        if name in _READERS:
            self._edge(base, result)
        if name in _WRITERS:
            for target in base:
                for atoms in args:
                    self._edge(atoms, target, FLOW)
        if name in ("str", "repr", "int", "format"):
            for atoms in args:
                self._edge(atoms, result, COUNTER)
        if name in _TRANSPARENT:
            for atoms in args:
                self._edge(atoms, result)
        elif name in ("range", "count", "trange", "arange"):
            self._edge(_range_kind(node, self._counts, self._names_case), result)
        elif name in ("getattr", "setattr") and len(args) > 1:
            word = getattr(node.args[1], "value", None)
            attribute = self._atom("attribute", word if isinstance(word, str) else "time")
            if name == "getattr":
                self._edge([attribute], result, FLOW)
            elif len(args) > 2:
                self._edge(args[2], attribute, FLOW)


def _range_kind(node, counter, case):
    """``range(10)`` counts; ``range(100, 1000, 100)`` is a sweep; other starts are left open."""
    values = [getattr(a, "value", None) for a in node.args]
    if len(values) > 2 and values[2] not in (1, -1) and type(node.args[2]) is not _ast.UnaryOp:
        return [case]
    if len(values) == 2 and isinstance(values[0], int) and values[0] > 1:
        return []
    return [counter]
