"""The CUDA devices of this process, asked from the driver itself.

Frameworks number devices as the driver does under ``CUDA_VISIBLE_DEVICES`` and
``CUDA_DEVICE_ORDER``, which is not NVML's order; UUID and PCI id tie the two together. Only
``cuInit`` is called, no context is made. Names of functions: CUDA Driver API, device management.
"""

from __future__ import annotations

import ctypes
import uuid
from typing import NamedTuple

__all__ = ["CudaDevice", "devices"]


class CudaDevice(NamedTuple):
    """One device of the driver; its place in the list is the ordinal that frameworks use."""

    name: str
    uuid: str
    """``GPU-`` and the UUID, as NVML and ``nvidia-smi`` print it."""
    pci: str
    """``domain:bus:device.0`` in lower case with eight domain digits, as NVML prints it."""
    memory_bytes: int


def devices() -> list[CudaDevice]:
    """Return the devices in the order of this process; empty without a driver or a card."""
    driver = _driver()
    if driver is None:
        return []
    count = ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_describe(driver, ordinal) for ordinal in range(count.value)]


def _driver() -> ctypes.CDLL | None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    return driver if driver.cuInit(0) == 0 else None


def _describe(driver: ctypes.CDLL, ordinal: int) -> CudaDevice:
    device = ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(device), ordinal)
    name = ctypes.create_string_buffer(256)
    driver.cuDeviceGetName(name, len(name), device)
    raw = (ctypes.c_ubyte * 16)()
    identify = getattr(driver, "cuDeviceGetUuid_v2", driver.cuDeviceGetUuid)  # v2 knows MIG slices
    identify(ctypes.byref(raw), device)
    pci = ctypes.create_string_buffer(32)
    driver.cuDeviceGetPCIBusId(pci, len(pci), device)
    memory = ctypes.c_size_t()
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    return CudaDevice(
        name=name.value.decode(errors="replace"),
        uuid=f"GPU-{uuid.UUID(bytes=bytes(raw))}",
        pci=_eight_domain_digits(pci.value.decode()),
        memory_bytes=memory.value,
    )


def _eight_domain_digits(pci: str) -> str:
    domain, _, rest = pci.lower().partition(":")
    return f"{domain:0>8}:{rest}"
