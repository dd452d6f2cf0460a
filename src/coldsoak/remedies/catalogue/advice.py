"""What only the user can change, with the seconds at stake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.model.causes import Cause

if TYPE_CHECKING:
    from coldsoak.model.recipe import RemedyKind
    from coldsoak.remedies.base import Context

__all__ = ["CudnnBenchmark", "ImportTrim", "OptimisedModel", "Persistence"]

IMPORT_SHARE = 0.05
SLOW_DRIVER_S = 0.7


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
    """Load a model that ONNX Runtime has optimised before.

    Write it once with `SessionOptions.optimized_model_filepath`, load it with
    `graph_optimization_level = ORT_DISABLE_ALL`.
    """

    id = "ort.optimised_model"
    title = "an optimised model file"
    kind: RemedyKind = "cache"
    causes = frozenset({Cause.COMPILE, Cause.PLAN_BUILD, Cause.FRAMEWORK_HOST})

    def text(self, context: Context) -> str:
        """Say it where ONNX Runtime is imported and the framework has time to lose."""
        seconds = context.at_stake(self.causes)
        if "onnxruntime" not in context.imported or seconds < 0.05:
            return ""
        return (
            f"Up to {seconds:.2f} s are spent building the session. Set "
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
