"""The protocol between the bench worker and a framework, and what most frameworks share.

A third party implements :class:`Backend` (by subclassing it), names the class in the entry-point
group ``coldsoak.backends`` and runs ``coldsoak.backends.contract.check`` against it. Everything
here is standard library only and runs on Python 3.9, as it is loaded into the interpreter that the
user measures, where coldsoak itself need not be installed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module, metadata, util
from typing import TYPE_CHECKING, Any, ClassVar

from coldsoak.backends.errors import DeviceMissing, FrameworkMissing, Unsupported
from coldsoak.workloads.ops import Array, Ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from coldsoak.workloads.base import Workload

__all__ = ["Array", "Backend", "DeviceInfo", "Module", "Ops", "Runnable", "parse_device"]

Module = Any
"""An imported framework."""


@dataclass(frozen=True)
class DeviceInfo:
    """A device as a framework sees it; ``uuid`` and ``pci`` tell which names are one card."""

    name: str
    """As the framework spells it, and as ``--device`` takes it."""
    kind: str
    """``cpu`` or ``gpu``."""
    index: int = 0
    description: str = ""
    uuid: str = ""
    pci: str = ""
    memory_bytes: int | None = None


class Runnable:
    """A workload bound to a device, ready for its first run.

    Args:
        product: Evaluates one product and returns its output, possibly before it is computed.
        inner: Products in a run.
        finish: Blocks until the given outputs, and everything queued before them, are computed.
        checksum: Reduces an output to ``mean``, ``rms``, ``first``, ``edge`` (end of the first row)
            and ``last``, as floats.
        location: Returns the name of the device that holds an output.
        keep: Outputs to hold on to. One is enough where a device works in order; where products
            run concurrently, all of a run must be held to be waited for.
        scope: Entered around each run, for frameworks that choose the device that way.

    """

    def __init__(
        self,
        *,
        product: Callable[[], Array],
        inner: int,
        finish: Callable[[Sequence[Array]], None],
        checksum: Callable[[Array], dict[str, float]],
        location: Callable[[Array], str],
        keep: int = 1,
        scope: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self._product = product
        self._inner = inner
        self._finish = finish
        self._checksum = checksum
        self._location = location
        self._scope = scope
        self._outputs: deque[Array] = deque(maxlen=keep)

    def run(self) -> None:
        """Compute every product of one run; on an asynchronous device, queue them."""
        product, keep = self._product, self._outputs.append
        with self._scope():
            for _ in range(self._inner):
                keep(product())

    def wait(self) -> None:
        """Block until the device has computed all of the last run."""
        self._finish(self._outputs)

    def checksum(self) -> dict[str, float]:
        """Return ``mean``, ``rms``, ``first``, ``edge`` and ``last`` of the last output."""
        with self._scope():
            return self._checksum(self._outputs[-1])

    def location(self) -> str:
        """Return the device that holds the last output."""
        return self._location(self._outputs[-1])


class Backend(ABC):
    """A framework. The worker calls load, open, place, build in this order, each once a case."""

    name: ClassVar[str]
    """As ``--framework`` takes it."""
    module: ClassVar[str]
    """What is imported."""
    distributions: ClassVar[tuple[str, ...]]
    """Packages that bring ``module``, the usual one first; for versions."""
    install: ClassVar[str]
    """What to type to get it."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Other modules that the worker needs for this framework."""
    compilers: ClassVar[tuple[str, ...]]
    """Ways to execute; the first is what people use when they think of none."""
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64", "float16")
    kinds: ClassVar[tuple[str, ...]] = ("cpu", "gpu")
    """Kinds of devices that it can compute on at all."""

    lib: Module
    """The imported module, after :meth:`load`."""

    @classmethod
    def available(cls) -> bool:
        """Return whether the framework can be imported, without importing it."""
        try:
            return all(util.find_spec(module) is not None for module in (cls.module, *cls.needs))
        except (ImportError, ValueError):
            return False

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return the versions of the installed distributions among ``distributions``."""
        found = {name: _version(name) for name in cls.distributions}
        return {name: version for name, version in found.items() if version}

    def load(self) -> None:
        """Import the framework.

        Raises:
            FrameworkMissing: It is not installed in this interpreter.

        """
        for module in (self.module, *self.needs):
            try:
                loaded = import_module(module)
            except ModuleNotFoundError as error:
                if error.name is None or error.name.partition(".")[0] != module:
                    raise
                raise FrameworkMissing(self.name, module, self.install) from None
            if module == self.module:
                self.lib = loaded

    @abstractmethod
    def devices(self, kind: str = "") -> tuple[DeviceInfo, ...]:
        """Return the devices that the framework sees, of one kind or of all.

        This initialises drivers, so it is for worker processes only; asked for ``cpu``, it leaves
        the GPU driver alone where the framework itself does.
        """

    def resolve(self, text: str) -> DeviceInfo:
        """Return the device that ``text`` names: the framework's own name, ``gpu`` or ``cuda:1``.

        Raises:
            DeviceMissing: The framework sees no such device.

        """
        wanted = parse_device(text)
        for device in self.devices(wanted[0] if wanted else ""):
            if text == device.name or (device.kind, device.index) == wanted:
                return device
        raise DeviceMissing(self.name, text, [device.name for device in self.devices()])

    @abstractmethod
    def open(self, device: DeviceInfo) -> None:
        """Make the device ready: driver, context, a first small allocation."""

    @abstractmethod
    def place(self, workload: Workload, device: DeviceInfo) -> tuple[Array, ...]:
        """Return the workload's inputs on the device; they are there when this returns."""

    @abstractmethod
    def build(
        self, workload: Workload, inputs: tuple[Array, ...], device: DeviceInfo, compiler: str
    ) -> Runnable:
        """Return the workload ready to run; whatever compiles at the first call is not called."""

    def prepare(self, workload: Workload, device: DeviceInfo, compiler: str) -> Runnable:
        """Place the inputs and build, for callers that do not time the two apart."""
        self.check(workload, compiler)
        return self.build(workload, self.place(workload, device), device, compiler)

    def check(self, workload: Workload, compiler: str) -> None:
        """Raise :class:`Unsupported` when the framework lacks the dtype or the compiler."""
        if workload.dtype not in self.dtypes:
            raise Unsupported(self.name, "dtype", workload.dtype, self.dtypes)
        if compiler not in self.compilers:
            raise Unsupported(self.name, "mode", compiler, self.compilers)

    def precision(self) -> str:
        """Return how float32 products are rounded, where a framework may use less: ``tf32``."""
        return ""


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def parse_device(text: str) -> tuple[str, int] | None:
    """Return (kind, index) of a device name in any framework's spelling, None if it is not one."""
    match = re.fullmatch(r"/?(?:device:)?(cpu|gpu|cuda)(?::(\d+))?", text.strip().lower())
    if match is None:
        return None
    return ("cpu" if match[1] == "cpu" else "gpu", int(match[2] or 0))
