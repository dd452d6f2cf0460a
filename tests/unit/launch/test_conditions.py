# ruff: noqa: N802 - the fake card has the names of NVML's own functions
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from coldsoak.launch import conditions as module
from coldsoak.launch.conditions import Limits, Probe, Throttling, invalid_reason
from coldsoak.launch.gpu import CoolDown, Gpus, GpuState
from coldsoak.model.result import Conditions


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        (Conditions(), ""),
        (Conditions(throttled=0.05, foreign_cpu=0.75), ""),
        (Conditions(throttled=0.06), "the cgroup was throttled in 6 % of its periods"),
        (Conditions(foreign_cpu=0.9), "other programs used 90 % of the CPU time"),
        (Conditions(gpu_foreign_pids=(7, 9)), "another process was on the GPU (pid 7, 9)"),
        (
            Conditions(gpu=({"start": {}, "end": {"slowdown": ["power brake"]}},)),
            "the GPU was throttled: power brake",
        ),
    ],
)
def test_reasons(conditions, reason):
    assert invalid_reason(conditions) == reason


def test_limits_can_be_lifted():
    limits = Limits(throttled=None, foreign_cpu=None, gpu_foreign=False, gpu_throttled=False)
    bad = Conditions(
        throttled=1.0,
        foreign_cpu=1.0,
        gpu_foreign_pids=(1,),
        gpu=({"end": {"slowdown": ["power brake"]}},),
    )
    assert invalid_reason(bad, limits) == ""


def test_throttled_share():
    share = module._throttled_share
    assert share(Throttling(100, 10), Throttling(200, 15)) == 0.05
    assert share(Throttling(100, 10), Throttling(100, 10)) is None
    assert share(None, Throttling(1, 1)) is None


def test_counters_of_the_cgroup(tmp_path):
    file = tmp_path / "cpu.stat"
    file.write_text("usage_usec 5\nnr_periods 20\nnr_throttled 3\nthrottled_usec 9\n")
    assert module._throttling(file) == Throttling(20, 3)
    file.write_text("usage_usec 5\n")
    assert module._throttling(file) is None
    assert module._throttling(None) is None


def test_foreign_share_is_what_others_used(monkeypatch):
    monkeypatch.setattr(module.os, "cpu_count", lambda: 4)
    before = module._Cpu(busy=100.0, steal=1.0, own=10.0, at=0.0)
    after = module._Cpu(busy=104.0, steal=1.4, own=12.0, at=1.0)
    foreign, steal = module._shares(before, after)
    assert foreign == 0.5
    assert steal == pytest.approx(0.1)
    assert module._shares(before, module._Cpu(101.0, 1.0, 10.0, 0.05)) == (None, None)


BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_own_work_and_that_of_collected_children_is_own():
    before = module._cpu()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    between = module._cpu()
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    after = module._cpu()
    assert between.own - before.own >= 0.28
    assert after.own - between.own >= 0.18


class NVMLError(Exception):
    pass


class FakeNvml(SimpleNamespace):
    """One card whose power the driver does not tell."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    temperatures = (40,)
    reasons = 0x1
    pids = ()
    persistence = 1

    def __init__(self):
        super().__init__(reads=0, opened=0)

    def nvmlInit(self):
        self.opened += 1

    def nvmlShutdown(self):
        self.opened -= 1

    def nvmlDeviceGetPersistenceMode(self, card):
        return self.persistence

    def nvmlDeviceGetCount(self):
        return 1

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetClockInfo(self, card, clock):
        assert self.opened > 0
        return 1000 * clock

    def nvmlDeviceGetTemperature(self, card, sensor):
        self.reads += 1
        return self.temperatures[min(self.reads, len(self.temperatures)) - 1]

    def nvmlDeviceGetPowerUsage(self, card):
        raise NVMLError

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, card):
        return self.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, card):
        return [SimpleNamespace(pid=pid) for pid in self.pids]

    def nvmlDeviceGetUUID(self, card):
        return "GPU-1"


def test_state_of_a_card():
    nvml = FakeNvml()
    nvml.reasons = 0x08 | 0x40 | 0x04
    nvml.pids = (42,)
    expected = {
        "sm_mhz": 1000,
        "memory_mhz": 2000,
        "temperature_c": 40,
        "slowdown": ["hardware slowdown", "hardware thermal slowdown"],
    }
    assert Gpus(nvml).read() == (GpuState(uuid="GPU-1", values=expected, pids=(42,)),)


def test_a_process_on_the_card_before_or_after_is_foreign():
    nvml = FakeNvml()
    nvml.pids = (42,)
    probe = Probe(Gpus(nvml))
    nvml.pids = (43,)
    found = probe.finish()
    assert found.gpu_foreign_pids == (42, 43)
    assert found.gpu[0]["uuid"] == "GPU-1"
    assert found.gpu[0]["start"]["temperature_c"] == 40


@pytest.mark.parametrize("persistence", [0, 1])
def test_the_driver_is_not_kept_loaded_by_looking(persistence):
    nvml = FakeNvml()
    nvml.persistence = persistence
    gpus = Gpus(nvml)
    assert gpus.read()[0].values["sm_mhz"] == 1000
    assert nvml.opened == persistence


def test_a_driver_that_goes_away_is_no_error():
    nvml = FakeNvml()
    nvml.persistence = 0
    gpus = Gpus(nvml)

    def lost():
        raise NVMLError

    nvml.nvmlInit = lost
    assert gpus.read() == ()


def test_an_idle_card_is_not_throttled():
    probe = Probe(Gpus(FakeNvml()))
    assert invalid_reason(probe.finish(), Limits(foreign_cpu=None, throttled=None)) == ""


def test_cool_down_waits_until_near_the_start():
    nvml = FakeNvml()
    nvml.temperatures = (40, 60, 50, 44)
    wait = CoolDown(Gpus(nvml))
    assert wait() > 0
    assert nvml.reads == 4


def test_cool_down_is_bounded():
    nvml = FakeNvml()
    nvml.temperatures = (40, 90)
    assert CoolDown(Gpus(nvml), patience_s=0.0)() < 1.0


def test_without_a_driver_there_are_no_cards(monkeypatch):
    monkeypatch.setattr("coldsoak.launch.gpu._LIBRARY", "libnosuch.so.9")
    assert Gpus.open() is None
