"""Compile a user's file so that its clock readings and their differences pass through hooks.

Three expressions change, in place and with their positions, so that tracebacks, ``inspect``,
coverage and debuggers see the file as it is:

    CLOCK(args)      ->  __coldsoak_clock__(token, CLOCK)(args)
    a - x            ->  __coldsoak_minus__(token, a, x) - x
    a - b            ->  __coldsoak_left__(token, a) - __coldsoak_right__(token, b)
    x -= b, x += b   ->  x -= __coldsoak_update__(token, sign, x, b)

where ``x`` is a plain name, whose value may be asked for twice. The first hook returns what it was
given unless that is a real clock; the others return the operand that they stand for and only look
at it. So every operation of the program still happens in the program's own frame. The names end in two underscores, hence are not mangled inside classes. ``flow`` says which
expressions may have to do with clocks. Annotations, and functions that a compiler reads as
bytecode (``numba.njit``, ``torch.compile``), are left alone.

A token is a text that says all about its place, because functions travel between processes
(cloudpickle) and numbers would mean something else there.
"""

import _ast
import sys

from coldsoak_agent import flow

__all__ = ["compile_user", "names_of", "parse", "remember", "rewrite"]

SEPARATOR = "\x1f"
_PARSE_ONLY = 0x400  # ast.PyCF_ONLY_AST without the 5 ms of importing ast
ARGUMENTS = 4  # bit of a token's role, beside those of flow: the call has arguments
_MOVES_CALLS = sys.version_info >= (3, 10)
"""CPython gives a method call over several lines the position of the method's name."""
_files = {}
"""File name -> {(function, first line): names that may tell one case from another}."""


def compile_user(source, filename, module=""):
    """Return the code object of a user's file, rewritten where it reads clocks.

    Args:
        source: The bytes (or text) of the file; encoding cookies and BOM as CPython reads them.
        filename: What tracebacks shall show.
        module: Its module name, for the note in case of a failure.

    Raises:
        SyntaxError, ValueError: As ``compile`` would for the plain file.

    """
    code = _compile_rewritten(source, filename, module)
    return compile(source, filename, "exec", dont_inherit=True) if code is None else code


def _compile_rewritten(source, filename, module):
    from coldsoak_agent import readings

    try:
        tree = parse(source, filename)
        rewrite(tree, filename)
        readings.install()
        return compile(tree, filename, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    except Exception as error:
        text = "%s (%s): its clock readings are not seen: %r" % (filename, module, error)
        readings.agent.note("rewrite_failed", text)
        return None


def parse(source, filename):
    """Return the ``_ast.Module`` of a source."""
    return compile(source, filename, "exec", _PARSE_ONLY, dont_inherit=True)


def rewrite(tree, filename, unique=""):
    """Insert the hooks into ``tree``, in place; return how many.

    ``unique`` tells apart trees that share a file name and positions (notebook cells).
    """
    found = flow.Flow(tree)
    remember(filename, found)
    for call, scope, role in found.clocks:
        shape = ARGUMENTS if call.args or call.keywords else 0
        _hook_clock(call, _token(call, scope, _text(call.func), role | shape, filename, unique))
    for node, scope in found.differences:
        token = _token(node, scope, "-", 0, filename, unique)
        if type(node.right) is _ast.Name:
            again = _ast.Name(id=node.right.id, ctx=_ast.Load(), **_place(node.right))
            both = [_constant(token, node.left), node.left, again]
            node.left = _call("__coldsoak_minus__", both, node.left)
            continue
        node.left = _wrap("__coldsoak_left__", [_constant(token, node.left)], node.left)
        node.right = _wrap("__coldsoak_right__", [_constant(token, node.right)], node.right)
    for node, scope in found.updates:
        token = _token(node, scope, "+-", 0, filename, unique)
        sign = -1 if type(node.op) is _ast.Sub else 1
        read = _ast.Name(id=node.target.id, ctx=_ast.Load(), **_place(node.target))
        extra = [_constant(token, node.value), _constant(sign, node.value), read]
        node.value = _wrap("__coldsoak_update__", extra, node.value)
    return len(found.clocks) + len(found.differences) + len(found.updates)


def _hook_clock(call, token):
    function = call.func
    call.func = _wrap("__coldsoak_clock__", [_constant(token, function)], function)
    if _MOVES_CALLS and type(function) is _ast.Attribute and call.lineno != function.end_lineno:
        width = len(function.attr)
        call.lineno = function.end_lineno
        call.col_offset = max(0, function.end_col_offset - width)


def _wrap(hook, arguments, node):
    return _call(hook, [*arguments, node], node)


def _call(hook, arguments, node):
    name = _ast.Name(id=hook, ctx=_ast.Load(), **_place(node))
    return _ast.Call(func=name, args=arguments, keywords=[], **_place(node))


def _constant(value, node):
    return _ast.Constant(value=value, kind=None, **_place(node))


def _place(node):
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": node.end_lineno,
        "end_col_offset": node.end_col_offset,
    }


def _token(node, scope, text, role, filename, unique):
    place = "%d:%d:%d%s" % (node.lineno, node.col_offset, role, unique)
    return SEPARATOR.join((place, scope.qualname, text, filename))


def _text(node):
    """Write a dotted name as it stands; what else may stand before the last dot is ``…``."""
    if type(node) is _ast.Name:
        return node.id
    if type(node) is _ast.Attribute:
        return _text(node.value) + "." + node.attr
    return "…"


def remember(filename, found):
    """Keep which local names of each function of a file may name a case.

    A name comes with whether an integer in it may just as well count the runs (the file itself
    does not show that it names a workload), with the lines on which it does name the case, and with
    whether it is a parameter that keeps what the caller gave it.
    """
    table = _files[filename] = {}
    for scope in found.scopes:
        target = scope
        while target is not None:
            names = table.setdefault((target.name, target.line), {})
            for name, (free, blocks, keeps) in _telling(found, scope).items():
                # lambdas of one line share the entry
                names[name] = (free, blocks, keeps and names.get(name, (0, 0, True))[2])
            if scope.kind == "function":
                table[target.name, target.line, "around"] = _around(found, scope)
            # since Python 3.12 a comprehension runs in the frame around it
            target = target.parent if target.kind == "comprehension" else None


def _telling(found, scope):
    names = {}
    for name, (how, blocks) in scope.cases.items():
        bits = found.bits_of(scope, name) & (flow.COUNTER | flow.CASE)
        if bits != flow.COUNTER:
            free = not (bits == flow.CASE or (how == "loop" and not bits))
            names[name] = (free, blocks, how == "parameter" and name not in scope.rebound)
    return names


def _around(found, scope):
    """Return what the parameters of the functions around tell: a decorator's ``function``."""
    names = {}
    outer = scope.parent
    while outer is not None:
        if outer.kind == "function":
            for name, how in _telling(found, outer).items():
                if outer.cases[name][0] == "parameter":
                    names.setdefault(name, how)
        outer = outer.parent
    return names


def names_of(code):
    """Return the names that may tell one case from another in ``code``, or None if unknown."""
    table = _files.get(code.co_filename)
    if table is None:
        return None
    names = table.get((code.co_name, code.co_firstlineno))
    if names is None and code.co_name[:1] == "<":  # IPython renames its cells' modules
        names = table.get(("<module>", 1))
    around = table.get((code.co_name, code.co_firstlineno, "around"))
    if around and code.co_freevars:
        names = {**{name: around[name] for name in code.co_freevars if name in around}, **names}
    return names or {}
