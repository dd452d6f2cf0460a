"""Where libcupti is sought, by the agent and by the doctor."""

from __future__ import annotations

import pytest

from coldsoak.inject.coldsoak_agent.cuda import find_cupti


@pytest.fixture
def put(tmp_path):
    """Make empty files below a folder of the test; return that folder."""

    def make(folder, *names):
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            (place / name).touch()
        return place

    return make


def test_the_newest_soname_is_taken_whoever_brings_it(tmp_path, put):
    """The long version of a toolkit's file is a date, which says nothing beside a soname."""
    put("packages/nvidia/cuda_cupti/lib", "libcupti.so.12")
    newest = put("packages/nvidia/cu13/lib", "libcupti.so.13", "libcupti_static.a")
    put("toolkit/extras/CUPTI/lib64", "libcupti.so", "libcupti.so.12", "libcupti.so.2025.1.1")
    home = {"CUDA_HOME": str(tmp_path / "toolkit")}
    packages = str(tmp_path / "packages")
    assert find_cupti([packages], home) == str(newest / "libcupti.so.13")
    assert find_cupti([], home) == str(tmp_path / "toolkit/extras/CUPTI/lib64/libcupti.so.12")
    assert find_cupti([packages], {}) == str(newest / "libcupti.so.13")


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_each_variable_of_the_toolkit_counts(tmp_path, put, variable):
    folder = put("extras/CUPTI/lib64", "libcupti.so.999")
    other = {"CUDA_HOME": "/nowhere", "CUDA_PATH": "/nowhere", variable: str(tmp_path)}
    assert find_cupti(["/nowhere", ""], other) == str(folder / "libcupti.so.999")


def test_other_libraries_of_nvidia_are_no_place_for_it(tmp_path, put, monkeypatch):
    monkeypatch.setattr("coldsoak.inject.coldsoak_agent.cuda._TOOLKIT", str(tmp_path / "none"))
    put("nvidia/cudnn/lib", "libcupti.so.12")
    put("nvidia/cuda_cupti/lib", "libcupti.so", "libcupti.so.2025.1.1", "libcuptix.so.12")
    assert find_cupti([str(tmp_path)], {}) is None
