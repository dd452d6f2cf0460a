"""What the package promises is there, and explained."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import coldsoak

SOURCE = Path(coldsoak.__file__).parent
MODULES = sorted(
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in SOURCE.rglob("*.py")
    if "inject" not in file.relative_to(SOURCE).parts
)


@pytest.mark.parametrize("name", coldsoak.__all__)
def test_every_public_name_exists(name):
    assert getattr(coldsoak, name) is not None


def test_dir_lists_the_public_names_and_nothing_else():
    assert dir(coldsoak) == sorted(coldsoak.__all__)


def test_an_unknown_name_is_refused_like_in_any_module():
    with pytest.raises(AttributeError, match="no attribute 'warp'"):
        coldsoak.warp  # noqa: B018


def test_importing_the_package_loads_nothing_else():
    code = "import sys, coldsoak; print([m for m in sys.modules if m.startswith('coldsoak')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "['coldsoak']"


def tree_of(module):
    folder = SOURCE.parent.joinpath(*module.split("."))
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def all_of(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return []


@pytest.mark.parametrize("module", MODULES)
def test_module_explains_itself_and_all_agrees_with_it(module):
    tree = tree_of(module)
    assert ast.get_docstring(tree), f"{module} has no docstring"
    if module.startswith(("coldsoak.backends.", "coldsoak.workloads.")):
        return  # these may need a framework; their own tests import them
    loaded = importlib.import_module(module)
    assert [name for name in all_of(tree) if not hasattr(loaded, name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_explained(module):
    tree = tree_of(module)
    public = set(all_of(tree))
    missing = [
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
        and node.name in public
        and not ast.get_docstring(node)
    ]
    assert missing == []
