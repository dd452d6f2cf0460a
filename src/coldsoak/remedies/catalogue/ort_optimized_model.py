"""ONNX Runtime sessions made of models that an earlier start has optimised."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from coldsoak.inject.coldsoak_agent.ort import CPU, known
from coldsoak.model.causes import Cause
from coldsoak.model.recipe import Preheat
from coldsoak.remedies.base import Change, Verified
from coldsoak.remedies.evidence import stages
from coldsoak.remedies.setting import Setting

if TYPE_CHECKING:
    from coldsoak.remedies.base import Context, Seen

__all__ = ["OptimizedModel", "session_seconds"]

STAGE = "ort"
FOLDER = "ort-models"
PACKAGES = ("onnxruntime", "onnxruntime-gpu")
_LOADED = re.compile(r"kept models loaded: \d")


class OptimizedModel(Setting):
    """Load models as ONNX Runtime optimised them at an earlier start.

    To make a session ONNX Runtime reads the model into memory, rewrites its graph and packs the
    weights for its kernels, at each start anew. The first start with this remedy has it written to
    the recipe's folder; later ones map that into memory, with the optimisations switched off that are
    done. The same kernels run on the same graph, so outputs are the same bit for bit. It is for
    models that are given as paths and run on the processor. The model file, the session's options,
    the version of ONNX Runtime and the processor have to be those of the start that wrote it; models
    with data in other files, with random numbers and such that ONNX Runtime cannot write are left
    alone.
    """

    id = "ort.optimized_model"
    title = "models kept as optimised"
    kind = "cache"
    causes = frozenset({Cause.PLAN_BUILD, Cause.PAGE_FAULT})
    risks = (
        "the first start with a model, and with a new version of it, takes longer and more memory",
        "the folder holds up to twice the size of each model",
        "warnings that ONNX Runtime gives while it optimises are not given again",
    )
    needs = PACKAGES
    packages = ("onnxruntime",)

    def applies(self, context: Context) -> str:
        """Want a version that is known, and a session on the processor of a model with a path."""
        if "onnxruntime" not in context.imported:
            return "the command does not import onnxruntime"
        version = context.version(*PACKAGES)
        if not known(version):
            return f"onnxruntime {version or 'of unknown version'} is not known to the stage"
        here = [one for one in context.sessions if _is_on_processor(one)]
        if context.sessions and not here:
            return "its sessions run on other providers than the processor"
        if here and not any(map(_has_path, here)):
            return "its models are given as bytes and not as paths"
        return super().applies(context)

    def change(self, context: Context) -> Change:
        """Name the folder to the stage; the first launch fills it."""
        folder = str(context.store / FOLDER)
        return Change(preheat=Preheat(memos={STAGE: folder}), fill=True)

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Read how many sessions the stage made of kept models."""
        told = [one.text for one in stages(context, seen.launch) if one.name == STAGE]
        loaded = any(map(_LOADED.search, told))
        return Verified(effect=loaded, proof="; ".join(told) or "no session was made")


def session_seconds(context: Context) -> float:
    """Return what making sessions takes within the goal, at the most."""
    return context.at_stake(OptimizedModel.causes)


def _is_on_processor(session: str) -> bool:
    """Tell whether a session, as the trace describes it, has no other provider."""
    return f"providers=['{CPU}']" in session


def _has_path(session: str) -> bool:
    return not session.endswith("model=bytes")
