"""The state of NVIDIA cards through NVML, which reads without making a CUDA context."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CoolDown", "GpuState", "Gpus"]

_LIBRARY = "libnvidia-ml.so.1"

_SLOWDOWN = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""Bits of nvmlClocksEventReasons that mean trouble; idle and power cap are everyday states."""


@dataclass(frozen=True, kw_only=True)
class GpuState:
    """One card at one moment; what the driver does not tell is left out of ``values``.

    ``values`` may hold ``sm_mhz``, ``memory_mhz``, ``temperature_c``, ``power_w``, ``slowdown``.
    """

    uuid: str
    values: dict[str, Any] = field(default_factory=dict)
    pids: tuple[int, ...] = ()
    """Processes with a compute context, as the driver numbers them."""


class Gpus:
    """A handle on every visible card. Use :meth:`open`; it is None where there is no driver."""

    def __init__(self, nvml: Any) -> None:  # noqa: ANN401 - pynvml has no types
        self._nvml = nvml
        self._cards = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]

    @classmethod
    def open(cls) -> Gpus | None:
        """Return the cards, or None without a driver, a card or the ``pynvml`` module."""
        try:
            ctypes.CDLL(_LIBRARY)
            import pynvml
        except (OSError, ImportError):
            return None
        try:
            pynvml.nvmlInit()
            gpus = cls(pynvml)
        except pynvml.NVMLError:
            return None
        return gpus if gpus._cards else None

    def read(self) -> tuple[GpuState, ...]:
        """Return the state of each card."""
        return tuple(self._state(card) for card in self._cards)

    def _state(self, card: Any) -> GpuState:  # noqa: ANN401
        nvml = self._nvml
        asked: dict[str, Callable[[], Any]] = {
            "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM),
            "memory_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM),
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(card) / 1000,
            "slowdown": lambda: _names(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)),
        }
        values = {
            name: value for name, ask in asked.items() if (value := self._try(ask)) is not None
        }
        running = self._try(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(card)) or []
        uuid = self._try(lambda: nvml.nvmlDeviceGetUUID(card)) or ""
        return GpuState(uuid=str(uuid), values=values, pids=tuple(p.pid for p in running))

    def _try(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


def _names(bits: int) -> list[str]:
    return [name for bit, name in _SLOWDOWN.items() if bits & bit]


class CoolDown:
    """Waits between launches until the cards are near the temperature that the session began at.

    Args:
        gpus: The cards.
        margin_c: Degrees above the start that are near enough.
        patience_s: Longest wait.

    """

    def __init__(self, gpus: Gpus, *, margin_c: float = 5.0, patience_s: float = 10.0) -> None:
        self._gpus = gpus
        self._margin = margin_c
        self._patience = patience_s
        self._start = self._hottest()

    def __call__(self) -> float:
        """Wait, and return the seconds waited."""
        begin = time.monotonic()
        while self._hottest() > self._start + self._margin:
            if time.monotonic() - begin >= self._patience:
                break
            time.sleep(0.25)
        return time.monotonic() - begin

    def _hottest(self) -> float:
        return max((s.values.get("temperature_c", 0.0) for s in self._gpus.read()), default=0.0)
