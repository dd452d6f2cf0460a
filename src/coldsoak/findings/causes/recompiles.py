"""A function was compiled more than once

A compiled function is made for the shapes, types and values of its first call. Another shape, a
Python number in place of an array (JAX's weak types), a new Python value in `tf.function`, or a
failed guard in torch.compile make it again, in a later call that everybody took for warm.

It fires when a function of the program's own files was traced or compiled again in the same process
for at least 10 ms, or when torch.compile gave a reason for compiling again.

The reasons are the frameworks' own. For JAX they are printed with JAX_EXPLAIN_CACHE_MISSES=1, for
torch.compile with TORCH_LOGS=recompiles.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from coldsoak.findings.words import plural, seconds_text
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.facts import Repeat
    from coldsoak.model.finding import Severity

CODE = "recompiles"
SEVERITY: Severity = "cause"

_LEAST_S = 0.01
_WORD = {"jax": "JAX", "torch": "torch.compile", "tensorflow": "tf.function", "triton": "Triton"}
_ASK = {
    "jax": "export JAX_EXPLAIN_CACHE_MISSES=1",
    "torch": "export TORCH_LOGS=recompiles",
    "tensorflow": "tf.function(f, reduce_retracing=True)",
    "triton": "Warm up each class of integers: 1, multiples of 16, others.",
}
_REASON = re.compile(r"(?:^|, )(?:reason|signature)=(.*)")
_GENERIC = {"<lambda>", "<module>"}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each function of the user's that was compiled again."""
    for arm in view.result.arms:
        groups: dict[tuple[str, str], list[Repeat]] = defaultdict(list)
        for facts in view.facts(arm.name)[:1]:
            for one in facts.repeats:
                name = one.function.removeprefix("jit(").rstrip(")")
                if one.name != "autotune" and _own(view, name):
                    groups[one.source, name].append(one)
        for (source, name), found in groups.items():
            seconds = sum(one.ns for one in found if one.name != "recompile") / 1e9
            reasons = _reasons(view, arm.name, source, name, found)
            if seconds >= _LEAST_S:
                times = max(one.count for one in found)
                yield _finding(arm.name, (source, name), times, seconds, reasons)


def _own(view: View, name: str) -> bool:
    """Tell whether the user's files define a function of this name; libraries repeat theirs."""
    marks = (f"def {name}(", f"lambda {name}", f"{name} = ")
    return name not in _GENERIC and any(mark in one.text for one in view.files for mark in marks)


def _reasons(view: View, arm: str, source: str, name: str, found: list[Repeat]) -> tuple[str, ...]:
    details = [text for one in found for text in one.details]
    if source == "torch":
        events = view.events(arm, "torch", "recompile")
        details = [text for event in events for text in event.details if f"fn_name={name}" in text]
    reasons = [match[1] for text in details if (match := _REASON.search(text))]
    if source == "jax":
        said = (text for facts in view.facts(arm)[:1] for text in facts.explained)
        reasons = [text.partition(": ")[2] for text in said if text.startswith(f"{name}: ")]
    return tuple(dict.fromkeys(reason[:200] for reason in reasons))[:3]


def _finding(
    arm: str, function: tuple[str, str], times: int, seconds: float, reasons: tuple[str, ...]
) -> Finding:
    source, name = function
    ask = _ASK.get(source, "")
    unknown = f"The reason was not printed: {ask}" if ask else "The reason was not printed."
    return Finding(
        code=CODE,
        severity=SEVERITY,
        text=(
            f"{_WORD.get(source, source)} made {name} {plural(times, 'time')} in one process; all but the "
            f"first took {seconds_text(seconds)}."
        ),
        evidence=tuple(f"reason: {reason}" for reason in reasons),
        advice=(ask,) if ask else (),
        settle="" if reasons else unknown,
        arm=arm,
        seconds=seconds,
    )
