"""The most that a device can compute, by its architecture.

FLOPs per multiprocessor and clock of dense products: NVIDIA CUDA C++ Programming Guide, section
"Arithmetic Instructions" (fp32: results per clock, times two for a fused multiply-add), and the
architecture white papers for the tensor cores. Where models of one capability differ, the larger
figure stands: a peak that is too high hides a mistake, one that is too low accuses the innocent.
"""

from __future__ import annotations

__all__ = ["CPU_FLOPS_PER_CYCLE", "CPU_HZ", "cpu_ceiling", "peaks"]

_PER_CLOCK: dict[str, dict[str, int]] = {
    "5.0": {"fp32": 256},
    "5.2": {"fp32": 256},
    "5.3": {"fp32": 256, "fp16": 512},
    "6.0": {"fp32": 128, "fp16": 256, "fp64": 64},
    "6.1": {"fp32": 256},
    "7.0": {"fp32": 128, "fp16": 1024, "fp64": 64},
    "7.5": {"fp32": 128, "fp16": 1024},
    "8.0": {"fp32": 128, "tf32": 1024, "fp16": 2048, "fp64": 128},
    "8.6": {"fp32": 256, "tf32": 512, "fp16": 1024},
    "8.9": {"fp32": 256, "tf32": 512, "fp16": 1024},
    "9.0": {"fp32": 256, "tf32": 2048, "fp16": 4096, "fp64": 256},
    "10.0": {"fp32": 256, "tf32": 4096, "fp16": 8192, "fp64": 256},
    "12.0": {"fp32": 256, "tf32": 512, "fp16": 1024},
}

CPU_FLOPS_PER_CYCLE = 64
"""Two AVX-512 units, 16 single-precision lanes, multiply and add: no core does more in float32."""
CPU_HZ = 6.2e9
"""Above the highest boost clock that any core is sold with."""


def peaks(capability: str, multiprocessors: int, clock_hz: float) -> dict[str, float]:
    """Return FLOP/s by way of computing; empty for an architecture that is not in the table."""
    per_clock = _PER_CLOCK.get(capability, {})
    return {way: count * multiprocessors * clock_hz for way, count in per_clock.items()}


def cpu_ceiling(cores: int) -> float:
    """Return float32 FLOP/s that ``cores`` cannot exceed, whatever they are."""
    return cores * CPU_FLOPS_PER_CYCLE * CPU_HZ
