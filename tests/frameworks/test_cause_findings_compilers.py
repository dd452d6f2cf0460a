"""Findings about compilers and their caches on real frameworks, each with its negative control."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from coldsoak.model.result import Result

VICTIMS = Path(__file__).parents[1] / "victims" / "findings"


@pytest.fixture
def measured(tmp_path):
    """Return a function that runs the tool on a victim and gives its result."""

    def run(name, *, without=False, **env):
        target = tmp_path / f"{name}-{without}.json"
        folder = tmp_path / f"cache-{without}"
        done = subprocess.run(
            [sys.executable, "-m", "coldsoak", "run", "--launches", "2", "--json", str(target),
             "--", sys.executable, str(VICTIMS / f"{name}.py")],
            check=False, capture_output=True, text=True, timeout=280,
            env={**os.environ, "COLDSOAK_HOME": str(tmp_path / "home"),
                 "VICTIM_FOLDER": str(folder),
                 **({"VICTIM_WITHOUT": "1"} if without else {}), **env},
        )  # fmt: skip
        assert target.exists(), done.stderr
        return msgspec.json.decode(target.read_bytes(), type=Result)

    return run


def findings(result, code):
    return [one for one in result.findings if one.code == code]


@pytest.mark.framework("jax")
def test_a_jax_cache_with_the_default_thresholds(measured):
    code = "cache-configured-but-missed"
    (finding,) = findings(measured("cause_jax_thresholds"), code)
    assert "had 0 of them" in finding.text
    assert finding.advice[0] == "export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0"
    assert not findings(measured("cause_jax_thresholds", without=True), code)


@pytest.mark.framework("torch")
def test_a_guard_of_torch_compile_that_fails(measured):
    (finding,) = findings(measured("cause_recompile_torch"), "recompiles")
    assert "torch.compile made scaled 4 times" in finding.text
    assert "size mismatch" in " ".join(finding.evidence)
    assert not findings(measured("cause_recompile_torch", without=True), "recompiles")


@pytest.mark.framework("tensorflow")
def test_a_function_that_is_traced_for_each_number(measured):
    (finding,) = findings(measured("cause_retrace_tf"), "recompiles")
    assert "tf.function made powers 5 times" in finding.text
    assert not findings(measured("cause_retrace_tf", without=True), "recompiles")
