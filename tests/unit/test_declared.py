"""Declared outputs: what counts as the same value."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import coldsoak
from coldsoak.remedies.apply import INJECT

_SPEC = spec_from_file_location("agent_output", Path(INJECT, "coldsoak_agent", "output.py"))
agent = module_from_spec(_SPEC)
_SPEC.loader.exec_module(agent)


def test_outside_a_measured_process_nothing_is_imported_and_nothing_said():
    code = (
        "import sys, coldsoak; coldsoak.output([1, 2]); "
        "print(sorted(m for m in sys.modules if m.startswith(('coldsoak', 'hashlib'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['coldsoak', 'coldsoak.declared']"
    assert not done.stderr
    assert coldsoak.output(1) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(4.0), np.arange(4.0).copy()),
        (np.arange(8.0)[::2], np.array([0.0, 2.0, 4.0, 6.0])),
        ([1, "a"], (1, "a")),
        ({"a": 1}, {"a": 1}),
        (b"bytes", bytearray(b"bytes")),
    ],
)
def test_equal_values_have_the_same_digest(one, other):
    assert agent.digest(one) == agent.digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(4.0), np.arange(4.0) + 1e-15),
        (np.arange(4.0), np.arange(4.0).reshape(2, 2)),
        (np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int64)),
        ([1, 2], [2, 1]),
        ("1", 1),
    ],
)
def test_other_values_have_another(one, other):
    assert agent.digest(one) != agent.digest(other)


def test_a_path_stands_for_its_content(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("same")
    second.write_text("same")
    assert agent.digest(first) == agent.digest(str(second))
    second.write_text("other")
    assert agent.digest(first) != agent.digest(second)


def test_an_array_that_has_no_bytes_goes_by_its_repr():
    ragged = np.array([[1], [1, 2]], dtype=object)
    assert agent.digest(ragged) == agent.digest(ragged.copy())
