"""``coldsoak doctor`` as a process."""

import json
import os
import subprocess
import sys

import pytest

COLDSOAK = [sys.executable, "-m", "coldsoak", "doctor"]


def doctor(*words, env=None):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "OMP_", "PYTHON"))}
    return subprocess.run(
        [*COLDSOAK, *words],
        check=False,
        capture_output=True,
        text=True,
        env={**base, "COLUMNS": "80", **(env or {})},
        timeout=120,
    )


def verdicts(done):
    return {one["code"]: one for section in json.loads(done.stdout)["sections"]
            for one in section["verdicts"]}  # fmt: skip


def test_it_fits_eighty_columns_and_puts_what_is_bad_first():
    done = doctor(env={"CUDA_LAUNCH_BLOCKING": "1"})
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "bad for first runs" in lines[0]
    assert "bad      CUDA_LAUNCH_BLOCKING=1 hurts." in done.stdout
    assert "Try: unset CUDA_LAUNCH_BLOCKING" in done.stdout


def test_json_has_every_verdict_and_the_status_follows_it():
    done = doctor("--json")
    states = [one["state"] for one in verdicts(done).values()]
    assert done.returncode == int("bad" in states)
    assert {"load", "cpu-quota", "perf"} <= set(verdicts(done))


def test_strict_counts_what_is_doubtful():
    done = doctor("--json", "--strict", env={"LD_BIND_NOW": "1"})
    assert verdicts(done)["variable:LD_BIND_NOW"]["state"] == "warn"
    assert done.returncode == 1


def test_the_commands_interpreter_is_looked_at(tmp_path):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    done = doctor("--json", "--", str(python), "train.py", "--strict")
    assert json.loads(done.stdout)["interpreter"] == str(python)


def test_a_command_that_is_no_python_is_told():
    done = doctor("--json", "--", "sh", "-c", "true")
    assert verdicts(done)["interpreter"]["state"] == "unknown"


def test_a_command_that_does_not_exist_is_a_usage_error():
    done = doctor("--", "no-such-program-anywhere")
    assert done.returncode == 2
    assert "was not found" in done.stderr


def test_no_framework_and_no_cuda_enters_the_process():
    code = (
        "import sys\n"
        "from coldsoak.cli import main\n"
        "try: main(['doctor', '--json'])\n"
        "except SystemExit: pass\n"
        "names = {'torch', 'jax', 'tensorflow', 'numpy', 'cupy'} & set(sys.modules)\n"
        "maps = open('/proc/self/maps').read()\n"
        "print('ENTERED', sorted(names), 'libcuda.so' in maps)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.rstrip().endswith("ENTERED [] False")


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_names_the_exit_status(word):
    done = doctor(word)
    assert done.returncode == 0
    assert "Exit status" in done.stdout
