"""The stages that replay recorded answers: a wrong record is never used."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from coldsoak.remedies.apply import INJECT

HERE = Path(__file__).parent

TRIALS = """
from torch._inductor import cpu_vec_isa as c
print([type(isa).__name__ for isa in c.valid_vec_isa_list()])
"""
KEYS = """
from torch._inductor.codecache import torch_key
from triton.compiler.compiler import triton_key
print(torch_key().hex(), triton_key())
print(torch_key().hex(), triton_key())
"""


def standin():
    spec = spec_from_file_location("standin_torch", HERE / "standin_torch.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STANDIN = standin()


@pytest.fixture(params=[STANDIN.OWN_CACHE, STANDIN.MOVED_CACHE], ids=["2.11", "2.13"])
def packages(request, tmp_path):
    """The folder of the program with a torch and a Triton in it."""
    STANDIN.write(tmp_path, request.param)
    return tmp_path


@pytest.fixture
def record(tmp_path, libraries):
    """Record the answers for a stage in a process of its own; returns the file."""

    def run(stage, status=0):
        file = tmp_path / "memos" / f"{stage}.json"
        code = (
            f"import sys; sys.path.append({INJECT!r})\n"
            f"from coldsoak_agent import preheat_{stage} as stage\n"
            f"stage.record({str(file)!r})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | {"LD_LIBRARY_PATH": str(libraries)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        worked(tmp_path)
        return file if status == 0 else done.stderr

    return run


def worked(folder):
    """Return what was really worked out since the last call."""
    log = folder / "worked"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


def edit(file, change):
    table = json.loads(file.read_text())
    change(table)
    file.write_text(json.dumps(table))


# Trials of vector instructions


def test_trials_that_succeeded_are_answered_and_one_that_failed_is_made_again(
    preheated, packages, record
):
    stock = preheated(TRIALS)
    assert len(worked(packages)) == 6
    ran = preheated(TRIALS, f"isa {record('isa')}")
    assert (ran.out, ran.err) == (stock.out, "")
    assert worked(packages) == ["trial Wide fails", "trial VecISA fails"]
    assert ran.stages["isa"] == ("done", "4 trials answered from the record, 2 made")


def test_a_trial_of_other_code_flags_or_kind_is_made(preheated, packages, record):
    program = (
        "from torch._inductor.cpu_vec_isa import VecISA, Wide\n"
        "class Other(VecISA): pass\n"
        "class Flags(VecISA): pass\n"
        "Flags.__name__ = 'VecISA'; Flags._arch_flags = '-my'\n"
        "print(Wide().check_build('new'), Other().check_build('loads'), "
        "Flags().check_build('loads'), Wide().check_build('loads'))\n"
    )
    ran = preheated(program, f"isa {record('isa')}")
    assert ran.out == "True True True True\n"
    assert len(worked(packages)) == 3
    assert ran.stages["isa"] == ("done", "1 trials answered from the record, 3 made")


def another_library(packages):
    os.utime(packages / "torch" / "lib" / "libtorch_cpu.so", ns=(1, 1))


def another_module(packages):
    file = packages / "torch" / "_inductor" / "cpu_vec_isa.py"
    file.write_text(file.read_text() + "# changed\n")


def another_version(packages):
    file = packages / "torch" / "__init__.py"
    file.write_text(file.read_text().replace("2.11.0", "2.11.1"))


def another_commit(packages):
    (packages / "torch" / "version.py").write_text("git_version = 'abd'\n")


@pytest.mark.parametrize(
    "change", [another_library, another_module, another_version, another_commit]
)
def test_another_torch_switches_the_answers_off(preheated, packages, record, change):
    memo = record("isa")
    change(packages)
    assert_trials_are_made(preheated(TRIALS, f"isa {memo}"), packages, "another torch")


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"STANDIN_COMPILER": "compiler 13"}, "another compiler"),
        ({"CPATH": "/elsewhere"}, "another environment"),
        ({"LD_LIBRARY_PATH": "/elsewhere"}, "another environment"),
    ],
)
def test_another_compiler_or_place_of_libraries_switches_them_off(
    preheated, packages, record, environment, word
):
    ran = preheated(TRIALS, f"isa {record('isa')}", **environment)
    assert_trials_are_made(ran, packages, word)


@pytest.mark.parametrize(
    ("name", "feature"), [("flags", "avx9"), ("Features", "sve9"), ("model", "9999")]
)
def test_another_processor_switches_them_off(preheated, packages, record, name, feature):
    memo = record("isa")

    def change(table):
        processor = table["conditions"]["processor"]
        processor[name] = processor.get(name, "") + " " + feature

    edit(memo, change)
    assert_trials_are_made(preheated(TRIALS, f"isa {memo}"), packages, "another processor")


def assert_trials_are_made(ran, packages, reason):
    assert ran.out == "['Wide', 'VecISA']\n"
    assert ran.err == f"coldsoak: preheat: isa off: it was recorded with {reason}\n"
    assert ran.stages["isa"] == ("off", f"it was recorded with {reason}")
    assert len(worked(packages)) == 6


def test_trials_that_another_version_makes_otherwise_are_left_alone(preheated, packages, record):
    memo = record("isa")
    file = packages / "torch" / "_inductor" / "cpu_vec_isa.py"
    text = file.read_text().replace("check_build(self, code)", "check_build(self, code, env=None)")
    file.write_text(text)
    ran = preheated(TRIALS, f"isa {memo}")
    assert ran.out == "['Wide', 'VecISA']\n"
    assert "isa off: torch 2.11.0 makes its trials in a way that is not known" in ran.err
    assert "in a way that is not known" in record("isa", status=1)


# Keys of caches


def test_keys_are_taken_from_the_record(preheated, packages, record):
    stock = preheated(KEYS)
    assert worked(packages) == ["torch_key", "triton_key"]
    ran = preheated(KEYS, f"keys {record('keys')}")
    assert (ran.out, ran.err) == (stock.out, "")
    assert worked(packages) == []
    assert ran.stages["torch_key"] == ("done", "torch_key answered from the record")
    assert ran.stages["triton_key"] == ("done", "triton_key answered from the record")


def test_a_cleared_key_is_the_same_again(preheated, packages, record):
    program = f"{KEYS}\ntorch_key.clear(); triton_key.cache_clear()\nprint(torch_key().hex(), triton_key())"
    ran = preheated(program, f"keys {record('keys')}")
    assert len(set(ran.out.splitlines())) == 1
    assert worked(packages) == ["torch_key"], "Triton's is looked up again, torch's worked out"


def test_a_key_that_the_program_sets_stays(preheated, packages, record):
    program = (
        "from torch._inductor.codecache import torch_key\n"
        "torch_key.set(b'own')\nprint(torch_key(), torch_key())"
    )
    ran = preheated(program, f"keys {record('keys')}")
    assert (ran.out, ran.err) == ("b'own' b'own'\n", "")


def source(packages):
    file = packages / "torch" / "_inductor" / "config.py"
    file.write_text("setting = 2\n")  # as long as before
    return "torch_key", file


def stamp(packages):
    file = packages / "torch" / "version.py"
    os.utime(file, ns=(1, 1))
    return "torch_key", file


def added(packages):
    file = packages / "torch" / "_inductor" / "new.py"
    file.touch()
    return "torch_key", file.parent


def removed(packages):
    file = packages / "torch" / "_inductor" / "config.py"
    file.unlink()
    return "torch_key", file


def library(packages):
    file = packages / "triton" / "_C" / "libtriton.so"
    file.write_text("more bytes")
    return "triton_key", file


@pytest.mark.parametrize("change", [source, stamp, added, removed, library])
def test_a_file_that_changed_switches_its_key_off(preheated, packages, record, change):
    memo = record("keys")
    name, path = change(packages)
    stock = preheated(KEYS)
    worked(packages)
    ran = preheated(KEYS, f"keys {memo}")
    assert ran.out == stock.out
    assert worked(packages) == [name], "the other key is still taken from the record"
    assert f"coldsoak: preheat: {name} off: {path} " in ran.err
    assert ran.stages[name][0] == "off"


def test_bytecode_may_come_and_go(preheated, packages, record):
    memo = record("keys")
    (packages / "torch" / "lib" / "__pycache__").mkdir()
    (packages / "torch" / "__pycache__").mkdir(exist_ok=True)
    (packages / "torch" / "__pycache__" / "late.pyc").touch()
    ran = preheated(KEYS, f"keys {memo}")
    assert (ran.err, worked(packages)) == ("", [])


def test_another_version_switches_the_keys_off(preheated, packages, record):
    memo = record("keys")
    edit(memo, lambda table: table["keys"]["triton_key"]["conditions"].update(triton=["3.5", ""]))
    ran = preheated(KEYS, f"keys {memo}")
    assert ran.err == "coldsoak: preheat: triton_key off: it was recorded with another triton\n"
    assert worked(packages) == ["triton_key"]


def test_a_key_that_is_kept_in_another_way_is_left_alone(preheated, packages, record):
    memo = record("keys")
    STANDIN.write(packages, STANDIN.NO_SETTER)
    ran = preheated(KEYS, f"keys {memo}")
    assert "torch_key off: this torch keeps its key in a way that is not known" in ran.err
    assert "torch_key" in worked(packages)
    assert "in a way that is not known" in record("keys", status=1)


def test_torch_without_triton_has_one_key(preheated, packages, record, tmp_path):
    shutil.rmtree(tmp_path / "triton")
    program = "from torch._inductor.codecache import torch_key\nprint(torch_key().hex())"
    stock = preheated(program)
    worked(packages)
    ran = preheated(program, f"keys {record('keys')}")
    assert (ran.out, ran.err, worked(packages)) == (stock.out, "", [])
    assert set(ran.stages) == {"torch_key"}


# Both


DAMAGED = [
    ("no JSON", "the record cannot be read"),
    ("[]", "no record of this version"),
    ('{"format": 2}', "no record of this version"),
    ('{"format": 1}', "KeyError"),
    (None, "is not there"),
]


@pytest.mark.parametrize("stage", ["isa", "keys"])
@pytest.mark.parametrize("damage", DAMAGED, ids=[reason for _, reason in DAMAGED])
def test_a_damaged_record_is_said_and_not_used(preheated, packages, stage, damage):
    text, reason = damage
    file = packages / "record.json"
    if text is not None:
        file.write_text(text)
    program = TRIALS + KEYS
    stock = preheated(program)
    done = worked(packages)
    ran = preheated(program, f"{stage} {file}")
    assert (ran.status, ran.out) == (0, stock.out)
    assert reason in ran.err
    assert worked(packages) == done


def test_a_program_that_imports_no_torch_gets_none(preheated, packages, record):
    program = (
        "import sys\n"
        "print('torch' in sys.modules, 'triton' in sys.modules, 'json' in sys.modules)\n"
        "import decimal\n"
    )
    stock = preheated(program)
    ran = preheated(program, f"isa {record('isa')}", f"keys {record('keys')}")
    assert (ran.out, ran.err) == (stock.out, "")
    assert ran.out.startswith("False False")
    assert {stage: state for stage, (state, _) in ran.stages.items()} == {
        "isa": "running",
        "torch_key": "running",
    }


def test_the_hook_is_gone_when_all_is_imported(preheated, packages, record):
    program = (
        "import _frozen_importlib as f\n"
        "print(f._find_and_load.__name__)\n"
        "import torch._inductor.cpu_vec_isa\n"
        "print(f._find_and_load.__name__)\n"
    )
    assert preheated(program, f"isa {record('isa')}").out == "find_and_load\n_find_and_load\n"


def test_the_hook_stays_out_of_tracebacks(preheated, packages, record):
    plan = f"isa {record('isa')}", f"keys {record('keys')}"
    for program in ("import not_there_at_all", "import broken"):
        (packages / "broken.py").write_text("raise ValueError('no luck')\n")
        stock = preheated(program)
        assert "Error" in stock.err
        assert preheated(program, *plan).err == stock.err


def test_it_goes_together_with_the_stage_of_the_collector(preheated, packages, record):
    plan = "gc torch", f"isa {record('isa')}", f"keys {record('keys')}"
    ran = preheated(TRIALS + KEYS, *plan)
    assert ran.err == ""
    assert {stage: state for stage, (state, _) in ran.stages.items()} == {
        "gc": "done",
        "isa": "done",
        "torch_key": "done",
        "triton_key": "done",
    }


def test_a_module_that_is_there_already_is_met_at_once(preheated, packages, record):
    program = (
        "import sys, torch._inductor.cpu_vec_isa, torch._inductor.codecache, triton.runtime.cache\n"
        f"sys.path.append({INJECT!r})\n"
        "from coldsoak_agent import preheat\n"
        f"preheat.start('isa {record('isa')}\\nkeys {record('keys')}')\n" + TRIALS + KEYS
    )
    ran = preheated(program)
    assert (ran.status, ran.err) == (0, "")
    assert worked(packages) == ["trial Wide fails", "trial VecISA fails"]
