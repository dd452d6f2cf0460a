from __future__ import annotations

from pathlib import Path

import pytest

from coldsoak.launch import perfready
from coldsoak.launch.procsampler import FILE_NAME


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("sources", [("perf", "io"), ("io",), ()])
def test_nothing_is_left_open(tmp_path, sources):
    before = descriptors()
    with perfready.looking(tmp_path, sources):
        pass
    assert descriptors() == before


@pytest.mark.parametrize(("sources", "watches"), [(("perf",), True), (("io",), False)])
def test_threads_are_watched_only_where_perf_is_wanted_and_refused(
    tmp_path, monkeypatch, sources, watches
):
    monkeypatch.setattr(perfready, "_open", lambda: -1)
    with perfready.looking(tmp_path, sources):
        pass
    assert (tmp_path / FILE_NAME).exists() is watches


def test_an_unknown_machine_is_refused(monkeypatch):
    monkeypatch.setattr(perfready.platform, "machine", lambda: "vax")
    with perfready.perf_ready() as allowed:
        assert not allowed
