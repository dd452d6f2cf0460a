"""Findings about measuring, on programs that run: each with the program without its reason."""

import sys
from pathlib import Path

import pytest

from coldsoak import api

VICTIMS = Path(__file__).parents[1] / "victims" / "findings"

FOUND = {
    "every-third": "periodic",
    "second": "second-run-slow-too",
    "shape": "per-shape-first-run",
    "thread": "per-thread-first-run",
    "pause": "slow-after-idle",
}
MEASURING = {
    *FOUND.values(),
    "first-run-in-average",
    *("async-timing", "impossible-rate", "no-steady-state", "queue-filling"),
    *("unequal-work", "warm-up-too-short"),
}


def codes(monkeypatch, tmp_path, *words):
    monkeypatch.setenv("COLDSOAK_HOME", str(tmp_path))
    result = api.run([sys.executable, str(VICTIMS / words[0]), *words[1:]], launches=2, trace=False)
    return {finding.code: finding for finding in result.findings if finding.code in MEASURING}


@pytest.mark.parametrize("reason", sorted(FOUND))
def test_the_reason_is_found_and_nothing_else(reason, monkeypatch, tmp_path):
    found = codes(monkeypatch, tmp_path, "waits.py", reason)
    assert set(found) == {FOUND[reason]}
    assert found[FOUND[reason]].file.endswith("waits.py")


@pytest.mark.parametrize("reason", sorted(FOUND))
def test_without_the_reason_nothing_is_found(reason, monkeypatch, tmp_path):
    assert codes(monkeypatch, tmp_path, "waits.py", "none", reason) == {}


def test_a_mean_with_the_first_run_is_saved_and_found_anew(monkeypatch, tmp_path):
    found = codes(monkeypatch, tmp_path, "average.py")
    assert set(found) == {"first-run-in-average"}
    assert "statistics.mean(times[1:])" in found["first-run-in-average"].advice[0]
    saved = api.load("last")
    assert [f for f in saved.findings if f.code in MEASURING] == list(found.values())
    assert [file.rpartition("/")[2] for file in saved.sources] == ["average.py"]


def test_a_mean_of_the_later_runs(monkeypatch, tmp_path):
    assert codes(monkeypatch, tmp_path, "average_later.py") == {}
