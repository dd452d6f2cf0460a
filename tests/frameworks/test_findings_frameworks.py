"""Findings about measuring in real frameworks on the CPU: JAX's early return, TensorFlow's devices."""

import importlib.util
import sys
from pathlib import Path

import pytest

from coldsoak import api

VICTIMS = Path(__file__).parents[1] / "victims" / "findings"


def findings(monkeypatch, tmp_path, script, *words, **options):
    if importlib.util.find_spec(options.pop("needs")) is None:
        pytest.skip("the framework is not installed")
    monkeypatch.setenv("COLDSOAK_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    result = api.run([sys.executable, str(VICTIMS / script), *words], launches=2, **options)
    return {finding.code: finding for finding in result.findings}


@pytest.mark.framework("jax")
def test_jax_returns_before_it_has_computed(monkeypatch, tmp_path):
    found = findings(monkeypatch, tmp_path, "asynchronous_jax.py", needs="jax", trace=False)
    assert "time the launch" in found["async-timing"].text
    assert found["async-timing"].advice[0].startswith("jax.block_until_ready(y)")


@pytest.mark.framework("jax")
def test_jax_that_is_waited_for(monkeypatch, tmp_path):
    found = findings(monkeypatch, tmp_path, "synchronised_jax.py", needs="jax", trace=False)
    assert "async-timing" not in found


@pytest.mark.framework("tensorflow")
def test_tensorflow_2_has_no_xla_gpu(monkeypatch, tmp_path):
    found = findings(
        monkeypatch, tmp_path, "sessions_xla_gpu.py", "eager", needs="tensorflow", trace=False
    )
    assert "XLA_GPU:0 is no device of TensorFlow 2" in found["device-not-there"].text
    assert found["device-not-there"].confidence == "measured"
    assert "unequal-work" not in found, "the eager form makes its inputs before the region"
