"""The time implies more arithmetic than the device can do

The work of a run divided by its time is more than the device's peak, so the time cannot be that of
the work. Usually the clock was read before the device was done; sometimes a compiler took the work
away because nobody used its result.

It fires at more than 105 % of the peak. The work is known for `coldsoak bench`; for `coldsoak run`
it is read from the source, when sizes and loops are written there as numbers, and the number of
matrix kernels in the trace must agree. A GPU's peak comes from its architecture, multiprocessors
and clock; of a CPU the most is assumed that any core of any make does.

Wait for the device before the second reading of the clock, and use the result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from coldsoak.findings.advice import waiting_lines
from coldsoak.findings.cards import cpu_ceiling
from coldsoak.findings.patterns import device_of, devices_of
from coldsoak.findings.products import Product, products_of
from coldsoak.findings.words import plural, rate_text, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.facts import Card, Work
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Series

CODE = "impossible-rate"
SEVERITY: Severity = "mistake"

OVER_PEAK = 1.05
"""Times the peak: clocks above the nominal one make a few per cent."""
_MATRIX = re.compile(r"gemm|xmma|cutlass|matmul|cublas", re.IGNORECASE)
_TENSOR = re.compile(r"tf32|f16|bf16|h884|h1688|s1688|hmma", re.IGNORECASE)
_PLAIN = re.compile(r"sgemm|ffma|f32f32_f32f32", re.IGNORECASE)


@dataclass(frozen=True)
class _Ceiling:
    flops: float
    words: str


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each series that is quicker than its device."""
    for arm, series, _ in view.each():
        own = [run.wall for row in view.runs(arm, series.id) for run in row[1:] or row]
        work = _work(view, arm, series)
        if not own or work is None:
            continue
        flops, words, sure = work
        ceiling = _ceiling(view, arm, series)
        rate = flops / max(median(own), 1e-9)
        if ceiling is None or rate <= OVER_PEAK * ceiling.flops:
            continue
        file, line = view.place(series.end)
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=(
                f"{seconds_text(median(own))} for {view.name(series.id)} would be "
                f"{rate_text(rate)}; {ceiling.words} does at most {rate_text(ceiling.flops)}."
            ),
            evidence=(words, f"the work takes at least {seconds_text(flops / ceiling.flops)}"),
            advice=waiting_lines(view, arm, series),
            confidence="measured" if sure else "likely",
            settle="" if sure else "A trace of the device would confirm the number of products.",
            file=file,
            line=line,
            series=series.id,
            arm=arm,
            seconds=flops / ceiling.flops,
        )


def _work(view: View, arm: str, series: Series) -> tuple[float, str, bool] | None:
    """Return floating-point operations of a run, how they are known, and whether for certain."""
    case = view.case(arm)
    if case is not None:
        if series.kind != "bench" or not case.flops:
            return None
        return case.flops, f"a run of {case.workload} is {rate_text(case.flops, 'FLOP')}", True
    source = view.source(series.end.file) if series.end else None
    found = products_of(source, series) if source else []
    if not found or source is None:
        return None
    count = sum(product.count for product in found)
    seen = _matrix_kernels(view, arm, series.id)
    if seen is not None and seen != count:
        return None
    return sum(p.flops for p in found), _words(found, seen), seen is not None


def _words(found: list[Product], seen: int | None) -> str:
    first = found[0]
    size = f"{first.m} × {first.k} × {first.n}"
    confirmed = f"; the trace has {plural(seen, 'matrix kernel')}" if seen is not None else ""
    count = sum(product.count for product in found)
    flops = rate_text(sum(p.flops for p in found), "FLOP")
    return f"line {first.line}: {plural(count, 'product')} of {size} are {flops}{confirmed}"


def _later_works(view: View, arm: str, series: str) -> list[Work]:
    return [work for row in view.work(arm, series) for work in (row[1:] or row)]


def _matrix_kernels(view: View, arm: str, series: str) -> int | None:
    """Return the matrix kernels of a later run; None when no trace saw any device work in it."""
    works = [work for work in _later_works(view, arm, series) if work.kernel_count]
    if not works:
        return None
    return int(median(sum(k.count for k in w.kernels if _MATRIX.search(k.name)) for w in works))


def _ceiling(view: View, arm: str, series: Series) -> _Ceiling | None:
    works = [work for work in _later_works(view, arm, series.id) if work.kernel_count]
    cards = [card for facts in view.facts(arm) for card in facts.cards if card.peaks]
    case = view.case(arm)
    named = [device for _, device in devices_of(series)]
    if case is not None:
        asked = device_of(case.device)
        named = [asked] if asked else []
    if works or any(kind == "gpu" for kind, _ in named):
        names = " ".join(kernel.name for work in works for kernel in work.kernels)
        way = "" if case is None or case.dtype == "float32" else case.dtype
        return _card_ceiling(cards[0], names, way) if cards else None
    other = case is not None and case.dtype != "float32"
    if other or (view.gpus and not named):
        return None  # half precision, or no telling where it ran
    cores = view.result.machine.cores or 1
    return _Ceiling(cpu_ceiling(cores), f"a CPU with {plural(cores, 'core')}")


def _card_ceiling(card: Card, kernels: str, dtype: str) -> _Ceiling:
    """Return the peak of the way in which the kernels compute; the highest when they do not tell."""
    plain = bool(_PLAIN.search(kernels)) and not _TENSOR.search(kernels)
    if dtype in {"float16", "bfloat16"}:
        way = "fp16"
    elif dtype == "float64":
        way = "fp64"
    else:
        way = "fp32" if plain else "tf32"
    best = max(card.peaks.values())
    flops = card.peaks.get(way, best if way != "tf32" else card.peaks.get("fp32", best))
    words = {"fp32": "float32", "tf32": "TF32", "fp16": "half precision", "fp64": "float64"}
    return _Ceiling(flops, f"the {card.name} in {words[way]}")
