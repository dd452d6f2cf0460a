import errno
import sys

import pytest

from coldsoak.errors import UsageError
from coldsoak.launch.command import explain_spawn_error, find_python, resolve, shebang


@pytest.fixture
def script(tmp_path):
    def make(name, text="", mode=0o755):
        file = tmp_path / name
        file.write_text(text)
        file.chmod(mode)
        return file

    return make


def refused(*argv, **where):
    with pytest.raises(UsageError) as caught:
        resolve(argv, **where)
    return caught.value


def test_found_in_path(script, tmp_path):
    file = script("tool")
    assert resolve(("tool",), path=str(tmp_path)) == str(file)


def test_found_by_path(script, tmp_path):
    file = script("tool")
    assert resolve((str(file),)) == str(file)
    assert resolve(("./tool",), cwd=str(tmp_path)) == str(file)


def test_links_are_kept(tmp_path):
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert resolve((str(link),)) == str(link)


def test_a_typing_error(script, tmp_path):
    script("torchrun")
    error = refused("torchrn", path=str(tmp_path))
    assert error.what == "torchrn was not found."
    assert "torchrun" in error.do


def test_a_typing_error_in_a_path(script, tmp_path):
    script("train.sh")
    error = refused("./trian.sh", cwd=str(tmp_path))
    assert "train.sh" in error.do


def test_a_script_without_python_in_front(script, tmp_path):
    script("train.py", mode=0o644)
    error = refused("train.py", "--lr", "1", path="/nowhere", cwd=str(tmp_path))
    assert error.do == "put its interpreter in front: python train.py --lr 1"


def test_not_executable(script, tmp_path):
    script("run.sh", mode=0o644)
    error = refused("./run.sh", cwd=str(tmp_path))
    assert "not executable" in error.what
    assert error.do == "put its interpreter in front: sh ./run.sh"


def test_a_directory(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").touch()
    error = refused("./package", cwd=str(tmp_path))
    assert "is a directory" in error.what
    assert error.do == "python ./package"


def test_no_command():
    assert "No command" in refused().what


def test_no_working_directory(tmp_path):
    assert "does not exist" in refused("true", cwd=str(tmp_path / "gone")).what


def test_python_behind_a_first_line(script):
    assert find_python(sys.executable) == sys.executable
    assert find_python(str(script("a", f"#!{sys.executable}\n"))) == sys.executable
    assert find_python(str(script("b", "#!/usr/bin/env -S python3 -u\n"))).endswith("python3")
    assert find_python(str(script("c", "#!/bin/sh\n"))) is None
    assert find_python(str(script("d", "#!\n"))) is None


def test_shebang_of_a_binary():
    assert shebang(sys.executable) == []
    assert shebang("/nowhere") == []


def test_a_missing_interpreter(script):
    file = str(script("tool", "#!/opt/gone/python\n"))
    error = explain_spawn_error(FileNotFoundError(errno.ENOENT, "x"), (file,), file)
    assert "/opt/gone/python" in error.why
    assert "python" in error.do


def test_a_script_without_a_first_line(script):
    file = str(script("tool.py", "print(1)\n"))
    error = explain_spawn_error(OSError(errno.ENOEXEC, "Exec format error"), (file,), file)
    assert error.do.endswith(f"python {file}")


def test_too_long():
    error = explain_spawn_error(OSError(errno.E2BIG, "x"), ("a",), "a")
    assert "too long" in error.what
