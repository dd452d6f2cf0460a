"""The protocol, without any framework but NumPy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coldsoak import backends, workloads
from coldsoak.backends import contract, cuda
from coldsoak.backends.arrays import ArrayOps
from coldsoak.backends.base import Backend, DeviceInfo, Runnable, parse_device
from coldsoak.backends.errors import (
    DeviceMissing,
    FrameworkMissing,
    Unsupported,
    out_of_memory,
)
from coldsoak.backends.numpy import Numpy
from coldsoak.backends.report import emit, find_report, parse_report
from coldsoak.backends.timing import Observer, enough

WORKER = Path(backends.__file__).with_name("worker.py")


def work(request, python=sys.executable):
    done = subprocess.run(
        [python, str(WORKER), json.dumps(request)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, parse_report(done.stdout), done.stderr


@pytest.mark.parametrize("name", ["tensorflow", "torch", "jax", "cupy", "onnxruntime", "numpy"])
def test_every_backend_declares_itself_without_its_framework(name):
    backend = backends.get(name)
    assert backend.name == name
    assert backend.compilers
    assert "float32" in backend.dtypes
    assert "pip install" in backend.install


def test_naming_and_finding_backends_imports_no_framework():
    code = (
        "import sys; from coldsoak import backends; backends.installed();"
        "print([m for m in ('numpy','torch','tensorflow','jax','onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cpu", ("cpu", 0)),
        ("gpu", ("gpu", 0)),
        ("cuda:1", ("gpu", 1)),
        ("/GPU:0", ("gpu", 0)),
        ("/device:CPU:0", ("cpu", 0)),
        ("tpu:0", None),
        ("gpu:", None),
    ],
)
def test_device_names_of_all_frameworks_are_understood(text, device):
    assert parse_device(text) == device


def test_numpy_keeps_the_contract():
    assert contract.check(Numpy) == ()


class _Transposed(ArrayOps):
    def matmul(self, a, b):
        return super().matmul(a, b).swapaxes(-1, -2)


class Wrong(Numpy):
    """Computes something else, and says that it did so on another device."""

    def build(self, workload, inputs, device, compiler):
        ops = _Transposed(self.lib)
        honest = super().build(workload, inputs, device, compiler)
        honest._product = lambda: workload.product(ops, *inputs)
        honest._location = lambda _: "cuda:0"
        return honest


def test_the_contract_catches_wrong_results_and_wrong_devices():
    faults = "\n".join(contract.check(Wrong))
    assert "matmul, eager, float32: edge is" in faults
    assert "elementwise, eager, float32: the output is on 'cuda:0', not on 'cpu'" in faults


class Broken(Numpy):
    def build(self, workload, inputs, device, compiler):
        raise RuntimeError("no kernel image")


def test_the_contract_reports_exceptions():
    assert "matmul, eager, float32: RuntimeError: no kernel image" in contract.check(Broken)


def test_every_product_is_computed_and_only_the_last_outputs_are_kept():
    made, waited = [], []
    runnable = Runnable(
        product=lambda: made.append(len(made)) or made[-1],
        inner=10,
        finish=lambda outputs: waited.append(list(outputs)),
        checksum=lambda output: {"mean": output},
        location=lambda _: "cpu",
        keep=3,
    )
    runnable.run()
    runnable.wait()
    assert made == list(range(10))
    assert waited == [[7, 8, 9]]
    assert runnable.checksum() == {"mean": 9}


def test_missing_frameworks_devices_and_dtypes_say_what_to_do():
    class Absent(Numpy):
        name = "absent"
        module = "a_module_that_is_not_there"
        install = "pip install absent"

    assert not Absent.available()
    with pytest.raises(FrameworkMissing) as missing:
        Absent().load()
    assert "pip install absent" in missing.value.do
    one = Numpy()
    one.load()
    with pytest.raises(DeviceMissing) as device:
        one.resolve("cuda:0")
    assert "cpu" in device.value.why
    matmul = workloads.get("matmul").at("4", dtype="bfloat16")
    with pytest.raises(Unsupported) as dtype:
        one.prepare(matmul, DeviceInfo("cpu", "cpu"), "eager")
    assert "float32" in dtype.value.do


def test_a_framework_with_a_broken_dependency_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import a_dependency_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)

    class Half(Numpy):
        module = "half_installed"

    with pytest.raises(ModuleNotFoundError, match="a_dependency"):
        Half().load()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"), True),
        (type("OutOfMemoryError", (Exception,), {})("x"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (ValueError("room for improvement"), False),
    ],
)
def test_out_of_memory_is_told_from_other_failures(error, expected):
    assert out_of_memory(error) is expected


def test_the_number_of_runs_follows_the_budget():
    assert enough(7, 0.0, 7, 5.0)
    assert not enough(6, 99.0, 7, 5.0)
    assert not enough(19, 5.0, None, 5.0)
    assert enough(20, 5.0, None, 5.0)
    assert not enough(20, 4.9, None, 5.0)
    assert enough(200, 0.01, None, 5.0)
    assert enough(3, 20.0, None, 5.0)
    assert not enough(2, 99.0, None, 5.0)


def test_a_naive_run_has_both_times(monkeypatch):
    clock = iter([1_000_000_000, 1_250_000_000, 3_000_000_000])
    monkeypatch.setattr("coldsoak.backends.timing.now", lambda: next(clock))
    monkeypatch.delitem(sys.modules, "coldsoak_agent", raising=False)

    class Job:
        done = ()

        def run(self):
            self.done += ("run",)

        def wait(self):
            self.done += ("wait",)

    job = Job()
    seen = Observer({}, naive=True).observe(job)
    assert job.done == ("run", "wait")
    assert seen == (0.25, 2.0)


def test_reports_survive_a_noisy_log(capsys):
    emit({"checksum": 1.5})
    log = "I0000 tf log COLDSOAK-REPORT {broken\n" + capsys.readouterr().out + "bye\n"
    assert parse_report(log)["checksum"] == 1.5
    assert parse_report("nothing") == {}
    assert parse_report('COLDSOAK-REPORT {"a": 1') == {}


def test_what_the_agent_was_told_comes_before_the_log():
    told = ['{"framework": "numpy", "runs": 2}', '{"cuda_environment": {}}']
    log = 'COLDSOAK-REPORT {"runs": 3}\n'
    assert find_report(told, log)["runs"] == 2
    assert find_report(told[1:], log)["runs"] == 3


def test_the_worker_reports_a_case():
    status, report, _ = work(
        {"workload": "matmul", "framework": "numpy", "shapes": [{"n": 16}], "runs": 4}
    )
    assert status == 0
    assert report["runs"] == len(report["seconds"]) == 4
    assert report["location"] == report["device"] == "cpu"
    assert set(report["steps_s"]) == {"load", "open", "place", "build"}
    assert "numpy" in report["versions"]
    expected = contract.reference(workloads.get("matmul").at("16"))
    assert not workloads.agree(expected, report["outputs"], 1e-6)


def test_the_worker_runs_several_shapes_in_one_process():
    status, report, _ = work(
        {"workload": "matmul", "framework": "numpy", "shapes": [{"n": 8}, {"n": 9}], "runs": 2}
    )
    assert status == 0
    assert [case["shape"] for case in report["cases"]] == [{"n": 8}, {"n": 9}]


@pytest.mark.parametrize(
    ("change", "kind", "advice"),
    [
        ({"framework": "nope"}, "UsageError", "numpy"),
        ({"device": "cuda:7"}, "DeviceMissing", "coldsoak devices"),
        ({"dtype": "bfloat16"}, "Unsupported", "float32"),
        ({"compiler": "xla"}, "Unsupported", "eager"),
        ({"shapes": [{"n": 10**9}]}, "OutOfMemory", "smaller --shape"),
    ],
)
def test_the_worker_explains_its_failures(change, kind, advice):
    request = {"workload": "matmul", "framework": "numpy", "shapes": [{"n": 4}], "runs": 1}
    status, report, stderr = work({**request, **change})
    assert status == 1
    assert report["error"]["kind"] == kind
    assert advice in report["error"]["do"]
    assert report["error"]["what"] in stderr


def test_the_worker_needs_neither_coldsoak_nor_its_environment(tmp_path):
    """A bare virtual environment of the same Python: no coldsoak, no msgspec, no framework."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    status, report, _ = work({"task": "installed", "framework": ""}, python)
    assert (status, report["installed"]) == (0, [])
    status, report, _ = work(
        {"workload": "matmul", "framework": "torch", "shapes": [{"n": 4}]}, python
    )
    assert status == 1
    assert report["error"]["kind"] == "FrameworkMissing"
    assert "pip install torch" in report["error"]["do"]


def test_modules_named_like_frameworks_do_not_shadow_them():
    """The worker's own folder, which Python puts first on the path, holds a numpy.py."""
    status, report, _ = work({"task": "devices", "framework": "numpy"})
    assert status == 0
    assert report["devices"] == [
        {
            "name": "cpu",
            "kind": "cpu",
            "index": 0,
            "description": "",
            "uuid": "",
            "pci": "",
            "memory_bytes": None,
        }
    ]


PLUGIN = """
from coldsoak.backends.contract import _flatten, _nested, _PythonOps, _row
from coldsoak.backends.base import Backend, DeviceInfo, Runnable

class Plain(Backend):
    name = "plain"
    module = "array"
    distributions = ("plain-backend",)
    install = "pip install plain-backend"
    compilers = ("interpreted",)
    dtypes = ("float32",)

    def devices(self, kind=""):
        return () if kind == "gpu" else (DeviceInfo("cpu", "cpu"),)

    def open(self, device):
        pass

    def place(self, workload, device):
        return tuple(_nested(tensor) for tensor in workload.inputs)

    def build(self, workload, inputs, device, compiler):
        def checksum(output):
            flat = _flatten(output)
            square = sum(x * x for x in flat) / len(flat)
            return {"mean": sum(flat) / len(flat), "rms": square**0.5, "first": flat[0],
                    "edge": _row(output)[-1], "last": flat[-1]}
        return Runnable(product=lambda: workload.product(_PythonOps(), *inputs), inner=workload.inner,
                        finish=lambda outputs: None, checksum=checksum, location=lambda _: "cpu")
"""


def test_a_backend_of_another_package_is_found_by_its_entry_point(tmp_path, monkeypatch):
    (tmp_path / "plain_backend.py").write_text(PLUGIN)
    info = tmp_path / "plain_backend-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-backend\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[coldsoak.backends]\nplain = plain_backend:Plain\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checked = subprocess.run(
        [sys.executable, "-m", "coldsoak.backends.contract", "plain_backend:Plain", "cpu"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (0, "plain keeps the contract\n")
    status, report, _ = work(
        {"workload": "matmul", "framework": "plain", "shapes": [{"n": 8}], "runs": 2}
    )
    assert status == 0
    assert report["versions"] == {"plain-backend": "1.2"}
    assert report["compiler"] == "interpreted"


def test_cuda_addresses_have_the_form_of_nvml():
    assert cuda._eight_domain_digits("0000:02:00.0") == "00000000:02:00.0"
    assert cuda._eight_domain_digits("0001:AF:00.0") == "00000001:af:00.0"


def test_backend_is_abstract():
    with pytest.raises(TypeError):
        Backend()
