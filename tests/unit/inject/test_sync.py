"""Waiting for devices: which calls are made, and that nothing is loaded or initialised for it."""

import sys
import time
import types

import pytest


class Driver:
    """The part of libcuda's interface that is used: two devices, one of them in use."""

    def __init__(self, *, initialised=True, status=0):
        self.calls, self.initialised, self.status = [], initialised, status

    def __getattr__(self, name):
        def call(*args):
            self.calls.append(name)
            return self.answer(name, args)

        return call

    def answer(self, name, args):
        if name == "cuDeviceGetCount":
            args[0]._obj.value = 2
            return 0 if self.initialised else 3
        if name == "cuDevicePrimaryCtxGetState":
            args[2]._obj.value = int(args[0] == 1)
        return self.status if name == "cuCtxSynchronize" else 0


@pytest.fixture
def sync(agent_module):
    return agent_module("sync")


def test_without_a_device_it_only_reads_the_clock(sync):
    before = time.monotonic_ns()
    assert before <= sync.wait_devices() <= time.monotonic_ns()


def test_only_active_contexts_are_synchronised_and_given_back(sync, monkeypatch):
    driver = Driver()
    monkeypatch.setattr(sync, "_driver", lambda: driver)
    sync.wait_devices()
    assert driver.calls == [
        "cuDeviceGetCount",
        "cuDevicePrimaryCtxGetState",
        "cuDevicePrimaryCtxGetState",
        "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent_v2",
        "cuCtxSynchronize",
        "cuCtxPopCurrent_v2",
        "cuDevicePrimaryCtxRelease_v2",
    ]


def test_cuda_that_the_program_has_not_initialised_is_left_alone(sync, monkeypatch):
    driver = Driver(initialised=False)
    monkeypatch.setattr(sync, "_driver", lambda: driver)
    sync.wait_devices()
    assert driver.calls == ["cuDeviceGetCount"]


def test_a_failure_is_told_once(sync, agent_module, monkeypatch):
    notes = []
    monkeypatch.setattr(agent_module("core").agent, "note", lambda *note: notes.append(note))
    monkeypatch.setattr(sync, "_driver", lambda: Driver(status=700))
    for _ in range(3):
        sync.wait_devices()
    assert [code for code, _ in notes] == ["sync_failed"]
    assert "700" in notes[0][1]


def test_jax_arrays_are_waited_for_once_a_backend_exists(sync, monkeypatch):
    waited = []
    array = types.SimpleNamespace(
        is_deleted=lambda: False, block_until_ready=lambda: waited.append(1)
    )
    jax = types.SimpleNamespace(live_arrays=lambda: [array, array])
    monkeypatch.setitem(sys.modules, "jax", jax)
    sync.wait_devices()
    assert not waited
    bridge = types.SimpleNamespace(_backends={"cpu": 1})
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)
    sync.wait_devices()
    assert len(waited) == 2
