"""The state of NVIDIA cards through NVML, which reads without making a CUDA context."""

from __future__ import annotations

import ctypes
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coldsoak.machine.nvml import slowdowns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CoolDown", "GpuState", "Gpus"]

_LIBRARY = "libnvidia-ml.so.1"


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
    """Every visible card. Use :meth:`open`; it returns None where there is no driver.

    An open NVML keeps the driver of an idle card loaded, which would hide a part of the cold start
    from the launches. Unless every card is in persistence mode, where the driver stays loaded
    anyway, NVML is therefore opened for each reading and closed again.
    """

    def __init__(self, nvml: Any) -> None:  # noqa: ANN401 - pynvml has no types
        self._nvml = nvml
        nvml.nvmlInit()
        try:
            self._cards = self._handles()
            self._persistent = all(self._try(self._persistence(card)) for card in self._cards)
        except nvml.NVMLError:
            nvml.nvmlShutdown()
            raise
        if not self._persistent:
            nvml.nvmlShutdown()

    @classmethod
    def open(cls) -> Gpus | None:
        """Return the cards, or None without a driver, a card or the ``pynvml`` module."""
        try:
            ctypes.CDLL(_LIBRARY)
            import pynvml
        except (OSError, ImportError):
            return None
        try:
            gpus = cls(pynvml)
        except pynvml.NVMLError:
            return None
        return gpus if gpus._cards else None

    def read(self) -> tuple[GpuState, ...]:
        """Return the state of each card; empty when the driver has gone away."""
        try:
            with self._opened() as cards:
                return tuple(self._state(card) for card in cards)
        except self._nvml.NVMLError:
            return ()

    @contextmanager
    def _opened(self) -> Iterator[list[Any]]:
        if self._persistent:
            yield self._cards
            return
        self._nvml.nvmlInit()
        try:
            yield self._handles()
        finally:
            self._nvml.nvmlShutdown()

    def _handles(self) -> list[Any]:
        nvml = self._nvml
        return [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]

    def _state(self, card: Any) -> GpuState:  # noqa: ANN401
        nvml = self._nvml
        asked: dict[str, Callable[[], Any]] = {
            "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM),
            "memory_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM),
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(card) / 1000,
            "slowdown": lambda: slowdowns(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)),
        }
        values = {
            name: value for name, ask in asked.items() if (value := self._try(ask)) is not None
        }
        running = self._try(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(card)) or []
        uuid = self._try(lambda: nvml.nvmlDeviceGetUUID(card)) or ""
        return GpuState(uuid=str(uuid), values=values, pids=tuple(p.pid for p in running))

    def _persistence(self, card: Any) -> Callable[[], Any]:  # noqa: ANN401
        return lambda: self._nvml.nvmlDeviceGetPersistenceMode(card)

    def _try(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401
        try:
            return ask()
        except self._nvml.NVMLError:
            return None


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
