"""What ``nvidia-smi`` would show that matters to a first run, through NVML.

NVML makes no CUDA context. Without the library, a driver or a card, :func:`read` says so in one
line and lists nothing. Names of functions: NVIDIA Management Library reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from coldsoak.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Card", "Cards", "User", "read", "slowdowns"]

T = TypeVar("T")

_SLOWDOWN = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""Bits of nvmlClocksEventReasons that mean trouble; idle and power cap are everyday states."""


def slowdowns(bits: int) -> list[str]:
    """Return what slows a card down, of the reasons in ``bits``."""
    return [name for bit, name in _SLOWDOWN.items() if bits & bit]


Nvml = Any
"""The module ``pynvml``, which has no types."""


class User(Frozen, kw_only=True):
    """A process that has a compute context on a card."""

    pid: int
    name: str = ""
    memory_bytes: int | None = None


class Card(Frozen, kw_only=True):
    """One physical card; None and empty where the driver does not tell."""

    index: int
    """NVML's own, in PCI order; frameworks may count otherwise."""
    name: str = ""
    uuid: str = ""
    pci: str = ""
    """``domain:bus:device.function``, lower case, eight domain digits."""
    memory_bytes: int | None = None
    used_bytes: int | None = None
    persistence: bool | None = None
    """Off: the driver is set up anew whenever the last process has left the card."""
    mig: bool | None = None
    mig_uuids: tuple[str, ...] = ()
    compute_mode: str = ""
    capability: str = ""
    """Compute capability, ``9.0``."""
    sm_mhz: int | None = None
    sm_max_mhz: int | None = None
    slowdown: int = 0
    """The driver's bits for why the clocks are held down; 1 is idle."""
    temperature_c: int | None = None
    users: tuple[User, ...] = ()


class Cards(Frozen, kw_only=True):
    """All cards of the machine, or why there are none."""

    driver: str = ""
    cuda: str = ""
    """The newest CUDA that the driver supports, ``13.0``."""
    cards: tuple[Card, ...] = ()
    reason: str = ""


def read() -> Cards:
    """Return the cards as the driver sees them now."""
    try:
        import pynvml  # a dependency, but broken installations of it are common
    except ImportError as error:
        return Cards(reason=f"NVML cannot be asked: {error}.")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Cards(reason=f"No NVIDIA driver answers ({error}).")
    try:
        return _read(pynvml)
    finally:
        pynvml.nvmlShutdown()


def _read(nvml: Nvml) -> Cards:
    count = _ask(nvml, nvml.nvmlDeviceGetCount) or 0
    version = _ask(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
    return Cards(
        driver=_text(_ask(nvml, nvml.nvmlSystemGetDriverVersion)),
        cuda=f"{version // 1000}.{version % 1000 // 10}" if version else "",
        cards=tuple(_card(nvml, index) for index in range(count)),
        reason="" if count else "The NVIDIA driver is there, but it sees no card.",
    )


def _card(nvml: Nvml, index: int) -> Card:
    handle = _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:
        return Card(index=index, name="(the driver refuses access to this card)")
    memory = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    pci = _ask(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    persistence = _ask(nvml, nvml.nvmlDeviceGetPersistenceMode, handle)
    mig = _ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    return Card(
        index=index,
        name=_text(_ask(nvml, nvml.nvmlDeviceGetName, handle)),
        uuid=_text(_ask(nvml, nvml.nvmlDeviceGetUUID, handle)),
        pci=_text(pci.busId).lower() if pci else "",
        memory_bytes=memory.total if memory else None,
        used_bytes=memory.used if memory else None,
        persistence=None if persistence is None else bool(persistence),
        mig=None if mig is None else bool(mig[0]),
        mig_uuids=_slices(nvml, handle) if mig and mig[0] else (),
        compute_mode=_compute_mode(nvml, handle),
        capability=_capability(nvml, handle),
        sm_mhz=_ask(nvml, nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        sm_max_mhz=_ask(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        slowdown=_ask(nvml, nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0,
        temperature_c=_ask(nvml, nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        users=_users(nvml, handle),
    )


def _slices(nvml: Nvml, handle: Any) -> tuple[str, ...]:  # noqa: ANN401 (an opaque handle)
    most = _ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    slices = (_ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, i) for i in range(most))
    return tuple(_text(_ask(nvml, nvml.nvmlDeviceGetUUID, one)) for one in slices if one)


def _capability(nvml: Nvml, handle: Any) -> str:  # noqa: ANN401
    found = _ask(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    return ".".join(map(str, found)) if found else ""


def _compute_mode(nvml: Nvml, handle: Any) -> str:  # noqa: ANN401
    mode = _ask(nvml, nvml.nvmlDeviceGetComputeMode, handle)
    names = {
        nvml.NVML_COMPUTEMODE_DEFAULT: "default",
        nvml.NVML_COMPUTEMODE_PROHIBITED: "prohibited",
        nvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: "exclusive process",
    }
    return names.get(mode, "")


def _users(nvml: Nvml, handle: Any) -> tuple[User, ...]:  # noqa: ANN401
    running = _ask(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
    return tuple(
        User(
            pid=process.pid,
            name=_text(_ask(nvml, nvml.nvmlSystemGetProcessName, process.pid)),
            memory_bytes=process.usedGpuMemory,
        )
        for process in running
    )


def _ask(nvml: Nvml, question: Callable[..., T], *arguments: object) -> T | None:
    """Return the answer, or None where this driver or card does not give one."""
    try:
        return question(*arguments)
    except nvml.NVMLError:
        return None


def _text(value: object) -> str:
    """Return a string of pynvml, which older versions give as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
