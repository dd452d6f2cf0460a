"""What the checks read from a file system of the test's own."""

import os
import py_compile
import sys
from pathlib import Path

import pytest

from coldsoak.machine.checks import (
    bytecode,
    folders,
    host,
    interpreter,
    observers,
    residency,
    variables,
)
from coldsoak.machine.checks.interpreter import Interpreter
from coldsoak.machine.checks.subject import Subject
from coldsoak.machine.nvml import Card, Cards

TAG = sys.implementation.cache_tag


def put(file, text=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "site" / "pack"
    for name in ("__init__", "a", "b", "tests/test_a"):
        put(folder / f"{name}.py", "x = 1\n")
    return folder


def python(package, **more):
    return Interpreter(executable="python", tag=TAG, packages={"pack": str(package)}, **more)


def modules(package, **more):
    subject = Subject(environment={}, python=python(package, **more))
    (found,) = bytecode.Bytecode().read(subject)
    return found


def test_modules_without_bytecode_are_counted_and_tests_are_not(package):
    assert (modules(package).modules, modules(package).missing) == (3, 3)
    py_compile.compile(str(package / "a.py"), doraise=True)
    assert modules(package).missing == 2


def test_bytecode_older_than_its_source_does_not_count(package):
    py_compile.compile(str(package / "a.py"), doraise=True)
    put(package / "a.py", "x = 2  # longer than before\n")
    assert modules(package).missing == 3


def test_hashed_bytecode_counts_whatever_the_time(package):
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(package / "a.py"), doraise=True, invalidation_mode=mode)
    os.utime(package / "a.py", (1, 1))
    assert modules(package).missing == 2


def test_bytecode_is_looked_for_under_the_prefix(package, tmp_path):
    prefix = tmp_path / "prefix"
    target = Path(str(prefix) + str(package)) / f"a.{TAG}.pyc"
    target.parent.mkdir(parents=True)
    py_compile.compile(str(package / "a.py"), cfile=str(target), doraise=True)
    assert modules(package, prefix=str(prefix)).missing == 2


def test_an_interpreter_that_writes_nothing_cannot_keep_bytecode(package):
    assert modules(package).writable
    assert not modules(package, writes_bytecode=False).writable


def test_cache_folders_are_measured(tmp_path):
    cache = tmp_path / "jax"
    put(cache / "one", "abc")
    environment = {"JAX_COMPILATION_CACHE_DIR": str(cache), "TMPDIR": str(tmp_path / "t")}
    subject = Subject(environment=environment, python=Interpreter(versions={"jax": "0.10"}))
    (found,) = folders.Caches().read(subject)
    assert (found.exists, found.writable, found.entries, found.size) == (True, True, 1, 3)


def test_a_cache_below_a_file_cannot_be_written(tmp_path):
    put(tmp_path / "file")
    environment = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "file" / "cache")}
    subject = Subject(environment=environment, python=Interpreter(versions={"jax": "0.10"}))
    check = folders.Caches()
    assert [one.code for one in check.judge(check.read(subject))] == ["cache-unwritable"]


def folder(**more):
    known = folders.KNOWN[0]
    return folders.Folder(cache=known, path="/c", **{"writable": True, "kind": "ext4", **more})


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (folder(), "cache"),
        (folder(writable=False), "cache-unwritable"),
        (folder(kind="tmpfs"), "cache-in-temporary-place"),
        (folder(temporary=True), "cache-in-temporary-place"),
        (folder(kind="nfs4"), "cache-on-network"),
        (folder(kind="overlay"), "cache-in-container"),
    ],
)
def test_where_a_cache_lies_decides(seen, code):
    assert [one.code for one in folders.Caches().judge((seen,))] == [code]


def test_temporary_places():
    assert folders.is_temporary("/tmp/x", {})
    assert folders.is_temporary("/scratch/x", {"TMPDIR": "/scratch"})
    assert not folders.is_temporary("/home/me/.cache", {})
    assert not folders.is_temporary("/tmpfiles", {})


def said(environment, *, versions=None, cuda=""):
    subject = Subject(
        environment=environment,
        python=Interpreter(versions=versions or {}),
        cards=Cards(cuda=cuda, cards=(Card(index=0),) if cuda else ()),
    )
    check = variables.Variables()
    return {one.code: one.state for one in check.judge(check.read(subject))}


def test_nothing_set_nothing_said():
    assert said({"HOME": "/root"}) == {"variable": "ok"}


@pytest.mark.parametrize(
    ("environment", "state"),
    [
        ({"CUDA_MODULE_LOADING": "EAGER"}, "bad"),
        ({"CUDA_CACHE_DISABLE": "1"}, "bad"),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, "bad"),
        ({"PYTHONDONTWRITEBYTECODE": "1"}, "warn"),
        ({"PYTHONPYCACHEPREFIX": "/not/there"}, "warn"),
        ({"LD_BIND_NOW": "1"}, "warn"),
    ],
)
def test_variables_that_hurt_or_do_nothing(environment, state):
    (name,) = environment
    assert said(environment) == {f"variable:{name}": state}


@pytest.mark.parametrize(
    "environment",
    [{"CUDA_CACHE_DISABLE": "0"}, {"CUDA_LAUNCH_BLOCKING": "0"}, {"PYTHONDONTWRITEBYTECODE": ""}],
)
def test_the_same_variables_switched_off_are_fine(environment):
    assert said(environment) == {"variable": "ok"}


def test_lazy_loading_is_called_useless_only_where_it_is_the_default():
    assert said({"CUDA_MODULE_LOADING": "LAZY"}, cuda="13.0") == {
        "variable:CUDA_MODULE_LOADING": "warn"
    }
    assert said({"CUDA_MODULE_LOADING": "LAZY"}, cuda="12.1") == {"variable": "ok"}


def test_a_frameworks_variable_matters_only_with_the_framework():
    environment = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}
    assert said(environment) == {"variable": "ok"}
    assert said(environment, versions={"torch": "2.13"}) == {
        "variable:TORCHINDUCTOR_FX_GRAPH_CACHE": "warn"
    }


def test_jax_needs_thresholds_beside_its_folder():
    alone = {"JAX_COMPILATION_CACHE_DIR": "/c"}
    both = {**alone, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    jax = {"jax": "0.10.2"}
    assert said(alone, versions=jax) == {"variable:JAX_COMPILATION_CACHE_DIR": "warn"}
    assert said(both, versions=jax) == {"variable": "ok"}


def test_the_quota_and_the_governor_are_read_from_the_root(tmp_path):
    put(tmp_path / "proc/self/cgroup", "0::/\n")
    put(tmp_path / "sys/fs/cgroup/cpu.max", "50000 100000\n")
    put(tmp_path / "sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 200\nnr_throttled 40\n")
    put(tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
    subject = Subject(environment={}, root=tmp_path)
    limit = host.Quota().read(subject)
    assert (limit.cores, limit.periods, limit.throttled) == (0.5, 200, 40)
    assert host.Governor().read(subject) == {"powersave": 1}


def test_residency_sums_the_large_libraries(tmp_path):
    lib = tmp_path / "pack" / "lib.so"
    lib.parent.mkdir()
    lib.write_bytes(b"\0" * (2 << 20))
    put(tmp_path / "pack" / "small.so", "x")
    subject = Subject(
        environment={},
        python=Interpreter(packages={"pack": str(lib.parent)}),
        resident=lambda _: (1 << 20, 2 << 20),
    )
    (found,) = residency.Residency().read(subject)
    assert (found.resident, found.total) == (1 << 20, 2 << 20)


def test_libcupti_is_found_where_the_interpreter_looks_for_packages(tmp_path):
    put(tmp_path / "nvidia/cuda_cupti/lib/libcupti.so.12")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "CUDA_HOME": str(tmp_path)}
    subject = Subject(
        environment=environment,
        python=interpreter.ask(sys.executable, environment),
        cards=Cards(cards=(Card(index=0),)),
    )
    found = observers.Cupti().read(subject).library
    assert found == str(tmp_path / "nvidia/cuda_cupti/lib/libcupti.so.12")


def test_an_interpreter_describes_itself_without_importing_a_framework(tmp_path):
    put(tmp_path / "torch/__init__.py", "raise SystemExit('imported')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    found = interpreter.ask(sys.executable, environment)
    assert (found.error, found.tag, found.writes_bytecode) == ("", TAG, False)
    assert found.packages["torch"] == str(tmp_path / "torch")
    assert "pytest" in found.versions


def test_an_interpreter_that_does_not_answer_is_an_answer(tmp_path):
    assert "No such file" in interpreter.ask(str(tmp_path / "python"), {}).error
    sleeper = put(tmp_path / "sleeper", "#!/bin/sh\nexec sleep 30\n")
    sleeper.chmod(0o755)
    assert interpreter.ask(str(sleeper), dict(os.environ), timeout=0.2).error == (
        "no answer within 0.2 s"
    )
    loud = put(tmp_path / "loud", "#!/bin/sh\necho broken >&2\n")
    loud.chmod(0o755)
    assert interpreter.ask(str(loud), dict(os.environ)).error == "broken"


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("print('x' * 10)", "it said nothing"),
        ("print('COLDSOAK-ANSWER {broken')", "its answer cannot be read"),
        ("print('COLDSOAK-ANSWER []')", "its answer cannot be read"),
        ("raise SystemExit('no such codec')", "no such codec"),
    ],
)
def test_an_interpreter_that_answers_something_else_is_a_failure(monkeypatch, program, error):
    monkeypatch.setattr(interpreter, "_SCRIPT", program)
    assert error in interpreter.ask(sys.executable, os.environ).error


def test_what_an_interpreter_says_at_its_exit_is_no_part_of_the_answer(monkeypatch):
    last = (
        "import atexit; atexit.register(print, 'COLDSOAK is gone'); atexit.register(print, 'bye')"
    )
    monkeypatch.setattr(interpreter, "_SCRIPT", interpreter._SCRIPT + last)
    found = interpreter.ask(sys.executable, os.environ)
    assert (found.error, found.tag) == ("", TAG)
