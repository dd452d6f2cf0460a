"""Imports only point left, as docs/architecture.md says."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "coldsoak"

BASE = {"model", "errors"}
MEASURING = BASE | {"stats"}
ALLOWED = {
    "errors": set(),
    "model": {"errors"},
    "regions": set(),
    "inject": set(),
    "stats": BASE,
    "workloads": BASE,
    "backends": BASE | {"workloads"},
    "machine": MEASURING | {"backends", "inject"},
    "launch": MEASURING | {"inject", "machine"},
    "ledger": MEASURING,
    "findings": MEASURING | {"ledger"},
    "remedies": MEASURING | {"inject", "ledger", "findings", "launch", "machine"},
    "report": MEASURING | {"ledger", "findings", "remedies", "machine"},
}
"""What each part may import besides itself; parts that are not named are the outermost layer."""

SHARED = {"coldsoak.inject.coldsoak_agent.cuda", "coldsoak.inject.coldsoak_agent.ort"}
"""Modules of the agent that the parent imports as well."""

INNER = sorted(ALLOWED)


def imported_parts(file):
    """Yield the parts of coldsoak that ``file`` imports anywhere, type-checking blocks included."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "coldsoak":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("coldsoak."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from (name.split(".")[1] for name in names if name.startswith("coldsoak."))


def files_of(part):
    folder = SOURCE / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


@pytest.mark.parametrize("part", INNER)
def test_part_imports_only_what_stands_left_of_it(part):
    allowed = ALLOWED[part] | {part, "__version__"}
    wrong = {
        f"{file.relative_to(SOURCE)} imports {name}"
        for file in files_of(part)
        if file.exists()
        for name in imported_parts(file)
        if name not in allowed
    }
    assert not wrong


def test_every_package_has_a_place():
    packages = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert packages - set(ALLOWED) == {"cli"}


def test_the_agent_imports_nothing_of_coldsoak():
    for file in (SOURCE / "inject").rglob("*.py"):
        assert not set(imported_parts(file)), file


def test_only_modules_that_say_so_are_shared_with_the_agent():
    wanted = {
        node.module
        for part in INNER
        for file in files_of(part)
        if file.exists() and part != "inject"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("coldsoak.inject")
    }
    assert wanted == SHARED


@pytest.mark.parametrize("module", sorted(SHARED))
def test_a_shared_module_takes_the_standard_library_alone_and_does_nothing(module):
    tree = ast.parse((SOURCE.parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    assert "parent imports this module too" in ast.get_docstring(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert node.module.partition(".")[0] in sys.stdlib_module_names
            assert not node.level
    inert = ast.Expr | ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef | ast.If
    assert all(isinstance(node, inert) for node in tree.body)
    loose = [node.value for node in tree.body if isinstance(node, ast.Expr)]
    assert all(isinstance(value, ast.Constant) for value in loose)


def test_the_reader_of_imports_sees_them_all(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text(
        "import coldsoak.cli.run\n"
        "from coldsoak import report\n"
        "def f():\n    from coldsoak.ledger.sweep import sweep\n"
        "import os\n"
    )
    assert sorted(imported_parts(file)) == ["cli", "ledger", "report"]
