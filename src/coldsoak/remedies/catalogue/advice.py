"""What only the user can change, with the seconds at stake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause
from coldsoak.remedies.catalogue.ort_optimized_model import OptimizedModel, session_seconds

if TYPE_CHECKING:
    from coldsoak.model.recipe import RemedyKind
    from coldsoak.remedies.base import Context

__all__ = ["CudnnBenchmark", "ImportTrim", "OptimisedModel", "Persistence"]

IMPORT_SHARE = 0.05
SLOW_DRIVER_S = 0.7
SLOW_SESSION_S = 0.05


class ImportTrim:
    """Import less, or later.

    A package that the first result does not need can be imported where it is used. The table of
    imports says what each one takes.
    """

    id = "py.import_trim"
    title = "import less, or later"
    kind: RemedyKind = "avoid"
    causes = frozenset({Cause.IMPORT_PYTHON, Cause.LIBRARY_LOAD, Cause.IMPORT_BYTECODE_COMPILE})

    def text(self, context: Context) -> str:
        """Name the packages that take a notable part of the goal."""
        total = sum(context.seconds.values())
        imports = {
            name: estimate.point
            for summary in context.diagnosis.summaries[:1]
            for name, estimate in summary.imports.items()
            if name != "(other)" and total and estimate.point > IMPORT_SHARE * total
        }
        if not imports:
            return ""
        ranked = sorted(imports, key=lambda name: -imports[name])
        named = ", ".join(f"{name} {imports[name]:.2f} s" for name in ranked[:5])
        return f"Own time of imports: {named}. Import inside a function what the first result does not need."


class CudnnBenchmark:
    """Leave `torch.backends.cudnn.benchmark` off for short programs.

    With it PyTorch times every algorithm for each new shape of a convolution.
    """

    id = "lib.cudnn_benchmark"
    title = "cudnn.benchmark off"
    kind: RemedyKind = "avoid"
    causes = frozenset({Cause.ALGORITHM_SEARCH})

    def text(self, context: Context) -> str:
        """Say what the search takes in a program that uses torch."""
        seconds = context.at_stake(self.causes)
        if "torch" not in context.imported or seconds < IMPORT_SHARE * sum(
            context.seconds.values()
        ):
            return ""
        return (
            f"Searching algorithms takes {seconds:.2f} s. If the program sets "
            "torch.backends.cudnn.benchmark = True, leave it off for runs this short; "
            "later runs may be slower and the last digits may differ."
        )


class OptimisedModel:
    """Let a model be loaded as it was optimised before, where `ort.optimized_model` does not apply.

    That remedy needs a model that is given as a path and runs on the processor. Where the program
    reads the model itself, give `InferenceSession` the path. Otherwise write the optimised model once
    with `SessionOptions.optimized_model_filepath`, and load it with
    `graph_optimization_level = ORT_DISABLE_ALL`.
    """

    id = "ort.optimised_by_hand"
    title = "an optimised model file"
    kind: RemedyKind = "cache"
    causes = OptimizedModel.causes

    def text(self, context: Context) -> str:
        """Say why the remedy is out where making sessions takes a notable time."""
        seconds = session_seconds(context)
        why = OptimizedModel().applies(context)
        if "onnxruntime" not in context.imported or not why or seconds < SLOW_SESSION_S:
            return ""
        return (
            f"Up to {seconds:.2f} s go into making sessions, and {OptimizedModel.id} does not apply: "
            f"{why}. "
            "Give InferenceSession a path where the program reads the model itself; or set "
            "SessionOptions.optimized_model_filepath once, then load that file with "
            "graph_optimization_level = ORT_DISABLE_ALL. The file fits one kind of processor."
        )


class Persistence:
    """Keep the driver awake between programs.

    Without persistence mode the driver gives up the card when its last program ends, and sets it up
    again for the next one.
    """

    id = "cuda.persistence"
    title = "persistence mode"
    kind: RemedyKind = "shift"
    causes = frozenset({Cause.DRIVER_INIT})

    def text(self, context: Context) -> str:
        """Say it where starting the driver takes long."""
        seconds = context.at_stake(self.causes)
        if seconds < SLOW_DRIVER_S:
            return ""
        return (
            f"The driver takes {seconds:.2f} s to start. If persistence mode is off, "
            "`nvidia-smi -pm 1` (root, host-wide) or nvidia-persistenced keeps it awake."
        )
