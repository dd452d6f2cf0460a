"""A source that is switched off: the ledger of real launches loses detail, never the sum."""

import os
import subprocess
import sys

import pytest

from coldsoak.launch.store import read_result

PROGRAM = """
import mmap, time
for _ in range(4):
    start = time.perf_counter()
    memory = mmap.mmap(-1, 64 << 20)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    print(time.perf_counter() - start)
"""
WAITING = ("cupti", "io", "jax", "numba", "nvrtc", "onnxruntime", "tensorflow", "torch", "triton")


@pytest.fixture
def run(tmp_path):
    """Measure the program without some sources; return the result and what was printed."""

    def measured(*off):
        script, answer = tmp_path / "program.py", tmp_path / "answer.json"
        script.write_text(PROGRAM)
        command = [sys.executable, "-m", "coldsoak", "run", "--launches", "1"]
        switches = [word for name in off for word in ("--source-off", name)]
        done = subprocess.run(
            [
                *command,
                "--force",
                "--json",
                str(answer),
                *switches,
                "--",
                sys.executable,
                str(script),
            ],
            env={**os.environ, "COLDSOAK_HOME": str(tmp_path / "home"), "COLUMNS": "500"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return read_result(answer), done.stdout

    return measured


def first_region(result):
    """The ledger of the first region; every ledger must add up."""
    for each in result.ledgers:
        assert sum(line.ns for line in each.lines) + each.measurement_ns == each.total_ns
    return next(each for each in result.ledgers if each.scope == "region")


def states(result):
    traced = next(launch for launch in result.launches if launch.kind == "traced")
    return {source.name: (source.state, source.reason) for source in traced.sources}


def page_fault(ledger):
    return sum(line.ns for line in ledger.lines if line.cause.value == "page_fault")


def test_samples_gone_page_faults_have_no_line_and_the_answer_says_so(run):
    seen, _ = run()
    if states(seen)["perf"][0] != "on":
        pytest.skip("this machine lets nobody sample")
    assert page_fault(first_region(seen)) > 0
    blind, text = run("perf")
    assert page_fault(first_region(blind)) == 0
    assert states(blind)["perf"] == ("off", "switched off")
    assert "perf off (switched off)" in text


def test_all_sources_that_wait_for_a_framework_can_be_switched_off_at_once(run):
    result, text = run(*WAITING)
    first_region(result)
    for name in WAITING:
        assert states(result)[name] == ("off", "switched off")
        assert f"{name} off (switched off)" in text
