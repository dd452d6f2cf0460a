"""What the checks say of what they read: pure, so without any machine."""

import pytest

from coldsoak.machine.checks import gpu, host, observers, residency, threads
from coldsoak.machine.checks.bytecode import Bytecode, Modules
from coldsoak.machine.nvml import Card, Cards, User


def judged(check, seen):
    return [(one.code, one.state) for one in check.judge(seen)]


@pytest.mark.parametrize(("busy", "state"), [(0.2, "ok"), (1.0, "ok"), (2.0, "warn"), (3.5, "bad")])
def test_load_is_compared_with_the_cores_that_may_be_used(busy, state):
    assert judged(host.Load(), host.Busy(busy=busy, load=0.0, cores=4)) == [("load", state)]


def test_a_quota_that_stops_threads_is_bad_and_one_that_hides_is_doubtful():
    fine = host.Limit(cores=4, affinity=4, periods=100, throttled=2)
    small = host.Limit(cores=1.5, affinity=4)
    used_up = host.Limit(cores=2, affinity=4, periods=100, throttled=30)
    assert judged(host.Quota(), fine) == [("cpu-quota", "ok")]
    assert judged(host.Quota(), used_up) == [("cpu-quota", "bad")]
    (verdict,) = host.Quota().judge(small)
    assert (verdict.state, verdict.do) == ("warn", "export OMP_NUM_THREADS=1")


def test_governors():
    assert judged(host.Governor(), {}) == [("governor", "ok")]
    assert judged(host.Governor(), {"performance": 8}) == [("governor", "ok")]
    assert judged(host.Governor(), {"performance": 4, "powersave": 4}) == [("governor", "warn")]


def test_an_extreme_limit_of_open_files_is_worst_beside_the_persistence_daemon():
    check, extreme = host.OpenFiles(), 1_073_741_816
    assert judged(check, host.Files(soft=1 << 20, daemon=True)) == [("open-files", "ok")]
    assert judged(check, host.Files(soft=extreme, daemon=False)) == [("open-files", "warn")]
    assert judged(check, host.Files(soft=extreme, daemon=True)) == [("open-files", "bad")]


@pytest.mark.parametrize(
    ("asked", "state"),
    [({}, "ok"), ({"OMP_NUM_THREADS": "2"}, "ok"), ({"OMP_NUM_THREADS": "2,1"}, "ok"),
     ({"OMP_NUM_THREADS": "16"}, "bad"), ({"MKL_NUM_THREADS": "all"}, "warn"),
     ({"OMP_NUM_THREADS": "0"}, "warn")],
)  # fmt: skip
def test_thread_settings_are_compared_with_cores(asked, state):
    assert judged(threads.Threads(), threads.Pools(cores=2.0, asked=asked)) == [
        ("compute-threads", state)
    ]


def test_a_card_in_order_gives_no_complaint():
    card = Card(
        index=0, name="Card", persistence=True, mig=False, compute_mode="default", slowdown=1,
        sm_mhz=345, sm_max_mhz=1980,
    )  # fmt: skip
    for check in (gpu.Persistence(), gpu.Mig(), gpu.ComputeMode(), gpu.Neighbours(), gpu.Clocks()):
        assert [one.state for one in check.judge((card,))] == ["ok"], check


def test_no_card_no_word_on_its_state():
    for check in (gpu.Persistence(), gpu.Mig(), gpu.ComputeMode(), gpu.Neighbours(), gpu.Clocks()):
        assert list(check.judge(())) == []


def test_persistence_off_is_worse_while_nothing_holds_the_card():
    idle = Card(index=0, persistence=False)
    held = Card(index=0, persistence=False, users=(User(pid=1),))
    assert judged(gpu.Persistence(), (idle,)) == [("persistence-off", "bad")]
    assert judged(gpu.Persistence(), (held,)) == [("persistence-off", "warn")]
    assert judged(gpu.Persistence(), (Card(index=0),)) == [("persistence-off", "unknown")]


def test_what_is_wrong_with_a_card_is_named():
    hot = Card(index=1, slowdown=0x20 | 0x01, temperature_c=92)
    (verdict,) = gpu.Clocks().judge((hot,))
    assert verdict.state == "bad"
    assert "software thermal slowdown at 92 °C" in verdict.what
    used = Card(index=0, users=(User(pid=77, name="python"),), used_bytes=2**31)
    (verdict,) = gpu.Neighbours().judge((used,))
    assert "python (77), 2.0 GiB in use" in verdict.what
    assert judged(gpu.ComputeMode(), (Card(index=0, compute_mode="prohibited"),)) == [
        ("compute-mode", "bad")
    ]
    sliced = Card(index=0, mig=True, mig_uuids=("MIG-1", "MIG-2"))
    (verdict,) = gpu.Mig().judge((sliced,))
    assert (verdict.state, verdict.do) == ("warn", "export CUDA_VISIBLE_DEVICES=MIG-1")


def test_many_visible_cards_unless_one_was_chosen():
    cards = Cards(driver="580", cards=(Card(index=0, name="A"), Card(index=1, name="A")))
    check = gpu.Present()
    seen = gpu.Sight(cards=cards, expecting=(), visible=None)
    assert judged(check, seen) == [("many-visible-gpus", "warn")]
    chosen = gpu.Sight(cards=cards, expecting=(), visible="0")
    assert judged(check, chosen) == [("cards", "ok")]


def test_a_missing_card_matters_where_gpu_builds_are_installed():
    check, none = gpu.Present(), Cards(reason="No driver answers.")
    plain = gpu.Sight(cards=none, expecting=(), visible=None)
    build = gpu.Sight(cards=none, expecting=("cupy-cuda13x",), visible=None)
    assert judged(check, plain) == [("cards", "ok")]
    assert judged(check, build) == [("cards", "warn")]


@pytest.mark.parametrize(
    ("driver", "state"), [("13.0", "ok"), ("13.2", "ok"), ("12.8", "bad"), ("", None)]
)
def test_the_drivers_cuda_must_cover_the_builds(driver, state):
    builds = dict(gpu._builds({"torch": "2.11.0+cu130", "numpy": "2.4"}))
    assert builds == {"torch": "13.0"}
    seen = gpu.Versions(driver=driver, builds=builds)
    assert [one.state for one in gpu.DriverVersion().judge(seen)] == ([state] if state else [])


def test_an_older_minor_version_is_only_doubtful():
    builds = dict(gpu._builds({"nvidia-cuda-runtime-cu12": "12.8.57", "jax-cuda12-plugin": "0.10"}))
    assert builds == {"nvidia-cuda-runtime-cu12": "12.8", "jax-cuda12-plugin": "12.0"}
    seen = gpu.Versions(driver="12.4", builds=builds)
    assert [one.state for one in gpu.DriverVersion().judge(seen)] == ["warn"]


def test_bytecode_that_can_be_kept_is_doubtful_and_that_cannot_is_bad():
    check = Bytecode()
    fine = Modules(package="a", modules=100, missing=3)
    kept = Modules(package="b", modules=100, missing=90, executable="py", folder="/b")
    never = Modules(package="c", modules=100, missing=100, writable=False)
    assert judged(check, (fine,)) == [("bytecode", "ok")]
    assert judged(check, (fine, kept, never)) == [
        ("bytecode-unwritable", "bad"),
        ("bytecode-missing", "warn"),
    ]
    (verdict,) = check.judge((kept,))
    assert verdict.do == "py -m compileall -q /b"


def test_libraries_on_the_disk_only():
    warm = residency.Resident(package="torch", resident=90 << 20, total=300 << 20)
    cold = residency.Resident(package="jaxlib", resident=0, total=200 << 20)
    assert judged(residency.Residency(), (warm,)) == [("page-cache", "ok")]
    assert judged(residency.Residency(), (warm, cold)) == [("page-cache", "warn")]


def test_what_a_traced_launch_would_see():
    perf, cupti = observers.Perf(), observers.Cupti()
    assert judged(perf, observers.Kernel(allowed=True, paranoid="2")) == [("perf", "ok")]
    assert judged(perf, observers.Kernel(allowed=False, paranoid="4")) == [("perf", "warn")]
    assert judged(cupti, observers.Tracer(cards=0, library="")) == [("cupti", "ok")]
    assert judged(cupti, observers.Tracer(cards=1, library="")) == [("cupti", "bad")]
    assert judged(cupti, observers.Tracer(cards=1, library="/l")) == [("cupti", "ok")]
    other = observers.Tracer(cards=1, library="/l", injected="CUDA_INJECTION64_PATH")
    assert judged(cupti, other) == [("cupti", "bad")]
