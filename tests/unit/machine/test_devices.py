"""Which names are one card, what is said about it, and probes that fail."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coldsoak.launch import proc
from coldsoak.machine import devices, nvml
from coldsoak.machine.devices import Framework, Seen, Survey
from coldsoak.machine.identity import physical
from coldsoak.machine.nvml import Card, Cards, User
from coldsoak.report.devices import headline

FIRST = Card(index=0, name="A", uuid="GPU-01ab", pci="00000000:02:00.0", memory_bytes=16 << 30)
SECOND = Card(index=1, name="B", uuid="GPU-02cd", pci="00000000:af:00.0", memory_bytes=80 << 30)


def gpu(name, **facts):
    return Seen(name=name, kind="gpu", **facts)


def test_names_are_joined_by_uuid_whatever_the_order_and_by_address_else():
    seen = [
        ("torch", gpu("cuda:0", uuid="GPU-02CD")),  # fastest first: not NVML's order
        ("torch", gpu("cuda:1", uuid="gpu-01ab")),
        ("jax", gpu("gpu:0", pci="0000:AF:00.0")),
        ("torch", Seen(name="cpu", kind="cpu")),
    ]
    first, second, cpu = physical((FIRST, SECOND), seen, cpu="EPYC")
    assert first.names == {"torch": ("cuda:1",)}
    assert second.names == {"torch": ("cuda:0",), "jax": ("gpu:0",)}
    assert (cpu.kind, cpu.names) == ("cpu", {"torch": ("cpu",)})


def test_slices_stand_apart_from_their_card():
    card = Card(
        index=0,
        name="A",
        uuid="GPU-01",
        pci="00000000:02:00.0",
        mig=True,
        mig_uuids=("MIG-aa", "MIG-bb"),
    )
    seen = [
        ("torch", gpu("cuda:0", uuid="GPU-aa", pci="0000:02:00.0", description="A MIG 1g")),
        ("cupy", gpu("cuda:0", uuid="MIG-aa", pci="0000:02:00.0")),
    ]
    whole, slice_, _ = physical((card,), seen, cpu="EPYC")
    assert whole.names == {}
    assert slice_.name == "A MIG 1g"
    assert slice_.names == {"torch": ("cuda:0",), "cupy": ("cuda:0",)}


def test_a_gpu_that_nvml_does_not_know_stands_alone():
    other, cpu = physical((), [("torch", gpu("cuda:0", description="Radeon"))], cpu="EPYC")
    assert (other.name, other.kind, cpu.kind) == ("Radeon", "gpu", "cpu")


def test_what_has_no_identity_is_no_card_of_ours():
    """A driver that tells neither UUID nor address makes no two devices one."""
    sliced = Card(index=0, name="A", uuid="GPU-01", mig=True, mig_uuids=("",))
    bare = Card(index=1, name="B")
    for pci in ("", "somewhere"):
        found = physical((sliced, bare), [("cupy", gpu("cuda:0", pci=pci))], cpu="EPYC")
        assert [one.names for one in found] == [{}, {}, {"cupy": ("cuda:0",)}, {}]


def survey(cards, *frameworks):
    return Survey(
        cpu="EPYC",
        cores=16,
        cores_usable=8.0,
        memory_bytes=64 << 30,
        cards=cards,
        frameworks=frameworks,
    )


def test_rows_tell_what_matters_about_a_card():
    card = Card(
        index=0,
        name="A",
        uuid="GPU-01",
        memory_bytes=16 << 30,
        used_bytes=3 << 30,
        persistence=False,
        mig=True,
        mig_uuids=("MIG-1",),
        compute_mode="exclusive process",
        users=(User(pid=42, name="python", memory_bytes=2 << 30),),
    )
    first, cpu = devices.rows(survey(Cards(cards=(card,))))
    assert (first.label, first.memory) == ("GPU 0", "16.0 GiB")
    said = "; ".join(first.remarks)
    for fact in ("persistence off", "MIG on, 1 slice", "exclusive", "3.0 GiB in use", "pid 42"):
        assert fact in said
    assert (cpu.label, cpu.name, cpu.remarks) == ("CPU", "EPYC", ())


def test_cards_that_are_numbered_alike_are_named_together():
    cards = Cards(cards=tuple(Card(index=n, name="A", uuid=f"GPU-{n}") for n in range(4)))
    names = ("cuda:0", "cuda:1", "cuda:2", "cuda:3")
    mixed = ("cuda:0", "cuda:1", "cuda:3", "cuda:2")
    asked = [
        Framework(
            name=framework,
            state="ok",
            seconds=1.0,
            devices=tuple(gpu(name, uuid=f"GPU-{n}") for n, name in enumerate(used)),
        )
        for framework, used in (("torch", names), ("jax", mixed), ("cupy", names[:2]))
    ]
    torch, jax, cupy = devices.answers(survey(cards, *asked))
    assert torch.sees == "GPU 0 … GPU 3 as cuda:0 … cuda:3"
    assert jax.sees == "GPU 0 as cuda:0, GPU 1 as cuda:1, GPU 2 as cuda:3, GPU 3 as cuda:2"
    assert cupy.sees == "GPU 0 as cuda:0, GPU 1 as cuda:1"


def test_answers_tell_names_and_failures():
    torch = Framework(
        name="torch",
        state="ok",
        seconds=2.34,
        versions={"torch": "2.11"},
        devices=(Seen(name="cpu", kind="cpu"), gpu("cuda:0", uuid="GPU-01ab")),
    )
    jax = Framework(name="jax", state="timeout", seconds=60.0, error="no answer within 60 s")
    cupy = Framework(name="cupy", state="ok", seconds=1.0)
    one, two, three = devices.answers(survey(Cards(cards=(FIRST,)), torch, jax, cupy))
    assert (one.version, one.took, one.sees) == ("2.11", "2.3 s", "GPU 0 as cuda:0, CPU as cpu")
    assert two.sees == "no answer within 60 s"
    assert three.sees == "no device"


def test_the_headline_says_in_one_line_that_there_is_no_gpu():
    line = headline(survey(Cards(reason="No NVIDIA driver answers (x).")))
    assert line.startswith("No GPU is seen. No NVIDIA driver answers")
    assert "\n" not in line
    line = headline(survey(Cards(driver="580.1", cuda="13.0", cards=(FIRST, SECOND))))
    assert "2 GPUs: A, B; driver 580.1" in line


def test_a_framework_is_really_asked_in_its_own_process():
    found = devices.survey(("numpy",), missing={"cupy": "pip install cupy"})
    (numpy,) = found.frameworks
    assert (numpy.state, numpy.devices) == ("ok", (Seen(name="cpu", kind="cpu"),))
    assert numpy.versions["numpy"]
    assert found.missing == {"cupy": "pip install cupy"}
    assert found.devices[-1].names == {"numpy": ("cpu",)}


def test_a_framework_that_hangs_is_given_up_with_its_children(tmp_path, monkeypatch):
    """The probe is replaced by a program that starts a child and sleeps."""
    probe = tmp_path / "probe.py"
    mark = tmp_path / "child.pid"
    probe.write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setattr(devices, "_PROBE", probe)
    (hung,) = devices.survey(("torch",), timeout=2.0).frameworks
    assert (hung.state, hung.devices) == ("timeout", ())
    assert "within 2 s" in hung.error
    child = int(mark.read_text())
    assert _ends(child)


def _ends(pid):
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("raise SystemExit('libcudart.so: cannot open')", "libcudart.so: cannot open"),
        ("pass", "the probe printed nothing"),
        ("print('COLDSOAK-REPORT {broken')", "the probe printed nothing"),
    ],
)
def test_a_framework_that_fails_says_why(tmp_path, monkeypatch, program, error):
    probe = tmp_path / "probe.py"
    probe.write_text(program)
    monkeypatch.setattr(devices, "_PROBE", probe)
    (failed,) = devices.survey(("torch",), timeout=30.0).frameworks
    assert (failed.state, failed.error) == ("failed", error)


def test_what_a_framework_says_at_its_exit_does_not_hide_its_answer(tmp_path, monkeypatch):
    probe = tmp_path / "probe.py"
    answer = """{"versions": {"torch": "2"}, "devices": [{"name": "cpu", "kind": "cpu"}]}"""
    probe.write_text(f"print('COLDSOAK-REPORT {answer}')\nprint('shut down')\n")
    monkeypatch.setattr(devices, "_PROBE", probe)
    (found,) = devices.survey(("torch",), timeout=30.0).frameworks
    assert (found.state, [one.name for one in found.devices]) == ("ok", ["cpu"])


def test_an_interpreter_that_is_not_there_is_a_failure():
    (failed,) = devices.survey(("torch",), python="/no/python").frameworks
    assert failed.state == "failed"
    assert "/no/python" in failed.error


class FakeNvml:
    """Answers as the driver of a card would; what it lacks raises NVMLError."""

    class NVMLError(Exception):
        pass

    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0
    NVML_COMPUTEMODE_DEFAULT = 0
    NVML_COMPUTEMODE_PROHIBITED = 2
    NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3

    def __getattr__(self, name):
        if not name.startswith("nvml"):
            raise AttributeError(name)
        answers = {
            "nvmlDeviceGetCount": 1,
            "nvmlSystemGetCudaDriverVersion_v2": 12040,
            "nvmlSystemGetDriverVersion": b"550.54",
            "nvmlDeviceGetHandleByIndex": object(),
            "nvmlDeviceGetName": "Card",
            "nvmlDeviceGetUUID": "GPU-77",
            "nvmlDeviceGetPersistenceMode": 0,
            "nvmlDeviceGetComputeMode": 3,
        }

        def ask(*_):
            if name not in answers:
                raise self.NVMLError(name)
            return answers[name]

        return ask


def test_what_the_driver_does_not_tell_stays_unknown():
    cards = nvml._read(FakeNvml())
    assert (cards.driver, cards.cuda) == ("550.54", "12.4")
    (card,) = cards.cards
    assert (card.name, card.uuid, card.compute_mode) == ("Card", "GPU-77", "exclusive process")
    assert card.persistence is False
    assert (card.memory_bytes, card.mig, card.users) == (None, None, ())


def test_without_nvml_the_reason_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml.read().cards == ()
    assert nvml.read().reason.startswith("NVML cannot be asked")


def test_ctrl_c_does_not_wait_for_the_answers(tmp_path):
    (tmp_path / "probe.py").write_text("import time; time.sleep(60)")
    code = (
        "from pathlib import Path\n"
        "from coldsoak.machine import devices\n"
        f"devices._PROBE = Path({str(tmp_path / 'probe.py')!r})\n"
        "print('asking', flush=True)\n"
        "try: devices.survey(('one', 'two', 'three'))\n"
        "except KeyboardInterrupt: print('stopped')\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert asking.stdout.readline() == "asking\n"
    deadline = time.monotonic() + 20
    while len(proc.children(asking.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    begin = time.monotonic()
    asking.send_signal(signal.SIGINT)
    assert asking.communicate(timeout=30)[0] == "stopped\n"
    assert time.monotonic() - begin < 20
