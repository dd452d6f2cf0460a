"""The program of one bench launch: import, device, inputs, build, run 0, run 1, …

    python …/coldsoak/backends/worker.py '{"workload": "matmul", "framework": "torch", …}'

It is started by its path in the interpreter that is measured, which may be of another environment
without coldsoak, on Python 3.9 or later. So it makes the package known by its folder, without
putting that folder's neighbours on the path, and uses the standard library and the framework only.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coldsoak.backends import Backend, DeviceInfo, Runnable
    from coldsoak.backends.timing import Observation, Observer
    from coldsoak.workloads import Workload

__all__ = ["main"]


def _adopt() -> None:
    """Make ``coldsoak`` importable from this file's place, and nothing else beside it.

    The folder of a script comes first on the path; here it holds modules that are called like the
    frameworks, so it is taken off.
    """
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (pathlib costs ms)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]  # noqa: PTH100
    package = types.ModuleType("coldsoak")
    package.__path__ = [os.path.dirname(here)]  # noqa: PTH120
    sys.modules.setdefault("coldsoak", package)


def _execute(request: dict[str, Any]) -> dict[str, Any]:
    from coldsoak import backends, workloads
    from coldsoak.backends.timing import now

    backend = backends.get(request["framework"])()
    cls = workloads.get(request["workload"])
    cases = [
        cls(shape, request.get("dtype", "float32"), request.get("inner", 10))
        for shape in request["shapes"]
    ]
    compiler = request.get("compiler") or backend.compilers[0]
    backend.check(cases[0], compiler)
    times = [now()]
    backend.load()
    times.append(now())
    device = backend.resolve(request.get("device", "cpu"))
    backend.open(device)
    times.append(now())
    measured = [_case(backend, case, device, compiler, request) for case in cases]
    for one in measured:
        one["steps_s"] = {
            "load": (times[1] - times[0]) / 1e9,
            "open": (times[2] - times[1]) / 1e9,
            **one["steps_s"],
        }
    report = {
        "framework": backend.name,
        "compiler": compiler,
        "device": device.name,
        "device_description": device.description,
        "versions": backend.versions(),
        "precision": backend.precision() if device.kind == "gpu" else "",
        "python": sys.version.split()[0],
        **measured[0],
    }
    return {**report, "cases": measured} if len(measured) > 1 else report


def _case(
    backend: Backend,
    workload: Workload,
    device: DeviceInfo,
    compiler: str,
    request: dict[str, Any],
) -> dict[str, Any]:
    from coldsoak.backends.timing import Observer, now

    times = [now()]
    inputs = backend.place(workload, device)
    times.append(now())
    runnable = backend.build(workload, inputs, device, compiler)
    times.append(now())
    naive = bool(request.get("naive"))
    case = {"shape": workload.label()} if len(request["shapes"]) > 1 else {}
    observer = Observer(case, naive=naive)
    observed = _runs(runnable, observer, request.get("runs"), request.get("steady_s", 5.0))
    outputs = runnable.checksum()
    report = {
        "shape": dict(workload.dims),
        "dtype": workload.dtype,
        "runs": len(observed),
        "first_s": observed[0].seconds,
        "seconds": [one.seconds for one in observed],
        "steps_s": {"place": (times[1] - times[0]) / 1e9, "build": (times[2] - times[1]) / 1e9},
        "checksum": outputs["rms"],
        "outputs": outputs,
        "location": runnable.location(),
    }
    return {**report, "ready_seconds": [one.ready for one in observed]} if naive else report


def _runs(
    runnable: Runnable, observer: Observer, wanted: int | None, budget: float
) -> list[Observation]:
    from coldsoak.backends.timing import enough

    observed = [observer.observe(runnable)]
    elapsed = 0.0
    later = None if wanted is None else wanted - 1
    while not enough(len(observed) - 1, elapsed, later, budget):
        observed.append(observer.observe(runnable))
        elapsed += observed[-1].ready
    return observed


def _list_devices(framework: str) -> dict[str, Any]:
    from coldsoak import backends

    backend = backends.get(framework)()
    backend.load()
    devices = [vars(device) for device in backend.devices()]
    return {"framework": framework, "versions": backend.versions(), "devices": devices}


def _list_installed() -> dict[str, Any]:
    from coldsoak import backends

    return {"installed": backends.installed(), "python": sys.version.split()[0]}


def _explained(error: BaseException, request: dict[str, Any]) -> dict[str, str]:
    from coldsoak.backends.errors import OutOfMemory, out_of_memory
    from coldsoak.errors import ColdsoakError

    if out_of_memory(error):
        case = "{framework} {workload} {shapes}".format_map(
            {"workload": "", "shapes": "", **request}
        )
        error = OutOfMemory(case, str(error).strip().splitlines()[0] if str(error).strip() else "")
    if isinstance(error, ColdsoakError):
        known = {"what": error.what, "why": error.why, "do": error.do}
        return {"kind": type(error).__name__, **known}
    what = f"{request['framework']} failed: {type(error).__name__}: {error}"
    return {"kind": type(error).__name__, "what": what, "why": "", "do": "The traceback is above."}


def _tell(report: dict[str, Any]) -> None:
    """Hand the report to coldsoak's agent, to be saved with the launch's regions, or print it."""
    from coldsoak.backends.report import emit

    core = sys.modules.get("coldsoak_agent.core")
    if core is None:
        emit(report)
    else:
        core.agent.note("data", json.dumps(report))


def main(argv: list[str]) -> int:
    """Carry out the request in ``argv[0]`` (JSON) and report; return 0, or 1 on failure."""
    from coldsoak.errors import ColdsoakError

    request = json.loads(argv[0])
    task = request.get("task", "run")
    try:
        if task == "installed":
            report = _list_installed()
        elif task == "devices":
            report = _list_devices(request["framework"])
        else:
            report = _execute(request)
    except Exception as error:  # noqa: BLE001  (whatever a framework raises is explained)
        if not isinstance(error, ColdsoakError):
            sys.excepthook(type(error), error, error.__traceback__)
        explained = _explained(error, request)
        lines = [text for key in ("what", "why", "do") if (text := explained[key])]
        sys.stderr.write("\n".join(["", *lines, ""]))
        _tell({"framework": request["framework"], "error": explained})
        return 1
    _tell(report)
    return 0


if __name__ == "__main__":
    _adopt()
    sys.exit(main(sys.argv[1:]))
