"""Imports only point left, as docs/architecture.md says."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "coldsoak"

BASE = {"model", "errors"}
MEASURING = BASE | {"stats"}
ALLOWED = {
    "errors": set(),
    "model": {"errors"},
    "regions": set(),
    "stats": BASE,
    "workloads": BASE,
    "backends": BASE | {"workloads"},
    "machine": MEASURING,
    "launch": MEASURING | {"machine"},
    "ledger": MEASURING,
    "findings": MEASURING | {"ledger"},
    "remedies": MEASURING | {"ledger", "findings", "launch", "machine"},
    "report": MEASURING | {"ledger", "findings", "remedies", "machine"},
}
"""What each part may import besides itself; parts that are not named are the outermost layer."""

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


def test_the_reader_of_imports_sees_them_all(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text(
        "import coldsoak.cli.run\n"
        "from coldsoak import report\n"
        "def f():\n    from coldsoak.ledger.sweep import sweep\n"
        "import os\n"
    )
    assert sorted(imported_parts(file)) == ["cli", "ledger", "report"]
