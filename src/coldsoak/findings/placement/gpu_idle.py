"""A GPU is there and nothing ran on it

The machine has a card and the program imported a framework that can use it, yet not one kernel ran.
A library that was not found, a build for the CPU, or a forgotten `.to("cuda")` are the usual
reasons; the first run then is that of the CPU.

It fires when CUPTI recorded the traced launches and saw no device work at all, no region or option
names the CPU, and the card was not hidden with `CUDA_VISIBLE_DEVICES`.

`coldsoak devices` shows which frameworks see the card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.patterns import devices_of
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity
    from coldsoak.model.result import Arm

CODE = "gpu-idle"
SEVERITY: Severity = "warning"

_ABLE = ("torch", "tensorflow", "jax", "cupy", "onnxruntime")
_HIDDEN = {"", "-1", "none", "None", "NoDevFiles"}


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each arm that left the card alone."""
    for arm in view.result.arms:
        facts = view.facts(arm.name)
        able = [name for name in _ABLE if name in view.packages(arm.name)]
        if not view.gpus or not able or not facts or _wants_cpu(view, arm):
            continue
        if any(not one.device_seen or one.kernels or one.work for one in facts):
            continue
        messages = tuple(dict.fromkeys(m[:160] for one in facts for m in one.messages))
        yield Finding(
            code=CODE,
            severity=SEVERITY,
            text=f"{view.gpus[0].name} is there, {able[0]} was imported, and no kernel ran on it.",
            evidence=messages[:2],
            advice=("coldsoak devices",),
            confidence="measured" if messages else "likely",
            settle="" if messages else "If the CPU is what you wanted, this is as it should be.",
            arm=arm.name,
        )


def _wants_cpu(view: View, arm: Arm) -> bool:
    if arm.case is not None:
        return arm.case.device.startswith("cpu")
    env = view.env(arm.name)
    hidden = env.get("CUDA_VISIBLE_DEVICES", "0") in _HIDDEN
    platform = env.get("JAX_PLATFORMS", env.get("JAX_PLATFORM_NAME", ""))
    named = {kind for series in view.series.values() for _, (kind, _) in devices_of(series)}
    asked = any("cpu" in word.lower() for word in arm.argv[1:])
    return hidden or platform == "cpu" or named == {"cpu"} or asked
