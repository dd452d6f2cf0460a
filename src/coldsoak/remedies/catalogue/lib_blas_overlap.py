"""cuBLAS loaded and started while the program imports."""

from __future__ import annotations

from pathlib import Path

from coldsoak.model.causes import Cause
from coldsoak.model.recipe import Preheat
from coldsoak.remedies.base import Change, Context, Seen, Verified
from coldsoak.remedies.catalogue.cuda_context_overlap import device_of, unfit, verify_stage
from coldsoak.remedies.setting import Setting

__all__ = ["BlasBesideImports", "blas_libraries"]

NAMES = ("libcublasLt.so.", "libcublas.so.")
"""In the order in which they are opened."""


class BlasBesideImports(Setting):
    """Make the CUDA context and start cuBLAS on a thread while the program imports.

    The first matrix product of a process loads cuBLAS, makes a handle with a workspace and loads
    kernels. After the context this stage opens the libraries of the environment and runs two small
    products, so that all of that is done when the program asks for it.
    """

    id = "lib.blas_overlap"
    title = "context and cuBLAS beside imports"
    kind = "overlap"
    causes = frozenset(
        {
            Cause.DRIVER_INIT,
            Cause.CONTEXT_CREATE,
            Cause.LIBRARY_HANDLE,
            Cause.MODULE_LOAD,
            Cause.LAZY_KERNEL_LOAD,
        }
    )
    risks = (
        "a start that ends before it needs CUDA holds a context for nothing",
        "memory statistics of the first moments differ",
    )
    covers = ("cuda.context_overlap",)
    on_gpu = True

    def applies(self, context: Context) -> str:
        """Want what the context wants, and the libraries."""
        if context.gpu and not blas_libraries(context):
            return "libcublas is not found in the environment"
        return super().applies(context) or unfit(context)

    def change(self, context: Context) -> Change:
        """Ask for the stage with the paths of the libraries."""
        return Change(
            preheat=Preheat(
                context=True,
                device=device_of(context),
                blas=True,
                libraries=blas_libraries(context),
            )
        )

    def verify(self, context: Context, seen: Seen) -> Verified:
        """Read when the products were done."""
        return verify_stage("products", context, seen)


def blas_libraries(context: Context) -> tuple[str, ...]:
    """Return the paths of cuBLASLt and cuBLAS, both from one folder.

    The folder is one from which either was loaded in the diagnosis, else one of the environment.
    """
    loaded = (Path(path) for key, path in context.info.items() if key.startswith("library:"))
    folders = sorted({path.parent for path in loaded if path.name.startswith(NAMES)})
    if context.site:
        folders += sorted(Path(context.site).glob("nvidia/*/lib"))
    for folder in folders:
        found = [sorted(folder.glob(f"{name}[0-9]*")) for name in NAMES]
        if all(found):
            return tuple(str(paths[0]) for paths in found)
    return ()
