"""Numbers as a reader wants them: digits by the width of the interval, one unit per column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.model.estimate import Estimate

__all__ = [
    "DASH",
    "TIMES",
    "Unit",
    "byte_size",
    "decimals",
    "duration",
    "half_width",
    "interval",
    "percent",
    "point",
    "quantity",
    "rate",
    "show",
    "sum_scale",
    "time_unit",
]

DASH = "–"
"""What a cell shows when there is no value."""

TIMES = "×"
ELLIPSIS = " … "


@dataclass(frozen=True)
class Unit:
    """A unit of display; ``scale`` is its size in the unit that the model stores."""

    symbol: str
    scale: float


SECONDS = Unit("s", 1.0)
TIME_UNITS = (SECONDS, Unit("ms", 1e-3), Unit("µs", 1e-6), Unit("ns", 1e-9))
TIMES_UNIT = Unit(TIMES, 1.0)
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
_FLOPS = ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s")


def time_unit(values: Iterable[float | None]) -> Unit:
    """Return the unit for a column of ``values`` in seconds.

    The largest unit in which the smallest value is at least 1, unless the largest value then has
    five digits: such a column reads better with zeros after the point.
    """
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return TIME_UNITS[1]
    least = next((i for i, u in enumerate(TIME_UNITS) if min(sizes) >= u.scale), 3)
    while least and max(sizes) >= 1e4 * TIME_UNITS[least].scale:
        least -= 1
    return TIME_UNITS[least]


def sum_scale(total: float) -> tuple[Unit, int]:
    """Return unit and digits for a column of parts that add up to ``total`` seconds.

    Four significant digits of the total, so that small parts are more than a zero.
    """
    unit = next((u for u in reversed(TIME_UNITS[:3]) if abs(total) < 1e4 * u.scale), SECONDS)
    return unit, min(max(1 + decimals(total / unit.scale, 0.0), 0), 3)


def half_width(estimate: Estimate) -> float:
    """Return the uncertainty of ``estimate`` in its own unit: half its interval, else its range."""
    if estimate.low is not None and estimate.high is not None:
        return (estimate.high - estimate.low) / 2
    return (estimate.maximum - estimate.minimum) / 2


def decimals(value: float, uncertainty: float) -> int:
    """Return the digits after the point for ``value`` (negative: round to tens, hundreds).

    Two significant digits of ``uncertainty`` when its first digit is 1 or 2, else one; never fewer
    than two or more than four significant digits of ``value``; three when nothing is known, but
    four decimals at most.
    """
    if value == 0 or not math.isfinite(value):
        return 0
    magnitude = math.floor(math.log10(abs(value)))
    if uncertainty <= 0 or not math.isfinite(uncertainty):
        return min(2 - magnitude, 4)
    exponent = math.floor(math.log10(uncertainty))
    wanted = -exponent + (1 if uncertainty / 10**exponent < 3 else 0)
    return min(max(wanted, 1 - magnitude), 3 - magnitude)


def show(value: float, digits: int) -> str:
    """Return ``value`` with ``digits`` after the point and commas from 10,000 up."""
    rounded = round(value, digits)
    text = (
        f"{rounded:,.{max(digits, 0)}f}"
        if abs(rounded) >= 10_000
        else (f"{rounded:.{max(digits, 0)}f}")
    )
    return text.replace("-", "−")


def point(estimate: Estimate | None, unit: Unit) -> str:
    """Return the median of ``estimate`` in ``unit``, without the unit."""
    if estimate is None:
        return DASH
    value = estimate.point / unit.scale
    return show(value, decimals(value, half_width(estimate) / unit.scale))


def interval(estimate: Estimate | None, unit: Unit, *, whole_range: bool = False) -> str:
    """Return ``low … high`` in ``unit``; the range when asked, a dash when n allows none."""
    if estimate is None:
        return DASH
    low, high = (
        (estimate.minimum, estimate.maximum) if whole_range else (estimate.low, estimate.high)
    )
    if low is None or high is None or estimate.n < 2:
        return DASH
    value = estimate.point / unit.scale
    digits = decimals(value, half_width(estimate) / unit.scale)
    return f"{show(low / unit.scale, digits)}{ELLIPSIS}{show(high / unit.scale, digits)}"


def quantity(estimate: Estimate | None) -> str:
    """Return the median of ``estimate`` with a unit of its own: ``443 ms``, ``4.21 s``, ``443×``."""
    if estimate is None:
        return DASH
    if estimate.unit == "ratio":
        return point(estimate, TIMES_UNIT) + TIMES
    unit = time_unit([estimate.point])
    return f"{point(estimate, unit)} {unit.symbol}"


def duration(seconds: float) -> str:
    """Return a single time with three significant digits: ``1.84 s``, ``12.3 ms``."""
    unit = time_unit([seconds])
    value = seconds / unit.scale
    return f"{show(value, max(decimals(value, 0.0), 0))} {unit.symbol}"


def percent(share: float) -> str:
    """Return a share as whole per cent; ``<1 %`` for what would round to a zero that it is not."""
    if 0 < abs(share) < 0.005:
        return "<1 %"
    return f"{show(100 * share, 0)} %"


def byte_size(count: float) -> str:
    """Return ``count`` bytes in binary units: ``32 MiB``."""
    return _scaled(count, 1024.0, _BYTES)


def rate(flops: float) -> str:
    """Return floating-point operations per second with a unit: ``1.43 TFLOP/s``."""
    return _scaled(flops, 1000.0, _FLOPS)


def _scaled(value: float, base: float, symbols: tuple[str, ...]) -> str:
    index = 0
    while abs(value) >= base and index < len(symbols) - 1:
        value /= base
        index += 1
    digits = max(decimals(value, 0.0), 0) if index else 0
    return f"{show(value, digits)} {symbols[index]}"
