"""Which files are the user's own."""

import ast
import os
import sysconfig

import pytest

STDLIB = sysconfig.get_path("stdlib")


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/home/someone/train.py", True),
        ("/home/someone/project/lib/tools.py", True),
        ("relative.py", True),
        (f"{STDLIB}/json/__init__.py", False),
        (f"{STDLIB}/site-packages/numpy/__init__.py", False),
        ("/usr/lib/python3/dist-packages/apt.py", False),
        ("/home/someone/venv/lib/python3.11/site-packages/torch/__init__.py", False),
        ("<string>", False),
        ("<frozen importlib._bootstrap>", False),
        (None, False),
    ],
)
def test_is_user_file(agent_module, monkeypatch, path, own):
    monkeypatch.chdir("/tmp")
    assert agent_module("userfiles").is_user_file(path) is own


def test_the_agent_is_not_the_users(agent_module):
    userfiles = agent_module("userfiles")
    assert not userfiles.is_user_file(userfiles.__file__)


def test_named_prefixes_are(agent_module, monkeypatch):
    monkeypatch.setenv("COLDSOAK_USER", os.pathsep.join(["/a/site-packages/mine", "/b/"]))
    userfiles = agent_module("userfiles")
    assert userfiles.is_user_file("/a/site-packages/mine/x.py")
    assert userfiles.is_user_file("/b/dist-packages/y.py")
    assert not userfiles.is_user_file("/a/site-packages/other.py")


def test_source_without_clocks_is_left_to_cpython(agent_module):
    compile_source = agent_module("userfiles").compile_source
    assert compile_source(b"x = 1\n", "/home/x.py", "x") is None
    assert compile_source(b"import time\nx = (\n", "/home/x.py", "x") is None
    code = compile_source(b"import time\nx = time.time()\n", "/home/x.py", "x")
    assert code.co_filename == "/home/x.py"


def test_what_another_loader_made_of_the_source_is_left_to_cpython(agent_module):
    compile_source = agent_module("userfiles").compile_source
    text = "import time\nx = time.time()\n"
    for made in (text, ast.parse(text)):
        assert compile_source(made, "/home/x.py", "x") is None


def test_packages_installed_into_a_folder_of_the_path_are_not(agent_module, monkeypatch, tmp_path):
    """``pip install --target`` leaves its metadata beside the packages; own modules have none."""
    for dist, names in (("Some_Dist-1.0", "other\n_native\n"), ("plain-2.0", None)):
        (tmp_path / f"{dist}.dist-info").mkdir()
        if names:
            (tmp_path / f"{dist}.dist-info" / "top_level.txt").write_text(names)
    monkeypatch.syspath_prepend(str(tmp_path))
    userfiles = agent_module("userfiles")
    assert not userfiles.is_user_file(str(tmp_path / "other" / "deep" / "module.py"))
    assert not userfiles.is_user_file(str(tmp_path / "plain" / "__init__.py"))
    assert userfiles.is_user_file(str(tmp_path / "handler.py"))
    assert userfiles.is_user_file(str(tmp_path / "mine" / "plain.py"))
