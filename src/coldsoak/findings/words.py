"""Figures as findings write them; the tables have their own in ``report.numbers``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coldsoak.model.result import SourceState

__all__ = [
    "bytes_text",
    "plural",
    "rate_text",
    "runs_text",
    "seconds_text",
    "share_text",
    "source_text",
]

_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def _rounded(value: float) -> float:
    """Return ``value`` with the three significant digits that are shown, which may be one more."""
    return float(f"{value:.2e}")


def _digits(value: float) -> str:
    """Three significant digits, never an exponent."""
    if value == 0:
        return "0"
    places = max(2 - math.floor(math.log10(abs(_rounded(value)))), 0)
    return f"{value:,.{places}f}"


def seconds_text(seconds: float) -> str:
    """Return a time with its unit: ``1.84 s``, ``543 µs``."""
    unit, scale = next((u for u in _TIMES if _rounded(abs(seconds)) >= u[1]), _TIMES[-1])
    return f"{_digits(seconds / scale)} {unit}"


def rate_text(rate: float, unit: str = "FLOP/s") -> str:
    """Return a rate in thousands: ``143 TFLOP/s``."""
    index = 0
    while _rounded(rate) >= 1000 and index < 5:
        rate /= 1000
        index += 1
    return f"{_digits(rate)} {('', 'k', 'M', 'G', 'T', 'P')[index]}{unit}"


def bytes_text(count: float) -> str:
    """Return a size in binary units: ``32.0 MiB``; bytes are whole."""
    if count < 1024:
        return f"{count:,.0f} B"
    index = 0
    while round(count) >= 1024 and index < 4:
        count /= 1024
        index += 1
    return f"{_digits(count)} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[index]}"


def share_text(share: float) -> str:
    """Return a share as whole per cent."""
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def runs_text(count: int) -> str:
    """Return the later runs in words: ``runs 1 to 9``, ``run 1``, or ``the run``."""
    if count < 2:
        return "the run"
    return "run 1" if count == 2 else f"runs 1 to {count - 1}"


def plural(count: int, one: str, many: str = "") -> str:
    """Return ``count`` with the noun in the right number."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def source_text(source: SourceState) -> str:
    """Return what keeps a source from being whole: ``off (no device)``, ``lost 7 records``."""
    if source.lost:
        return f"lost {plural(source.lost, 'record')}"
    reason = f" ({source.reason})" if source.reason else ""
    return f"lost records{reason}" if source.state == "lost" else f"{source.state}{reason}"
