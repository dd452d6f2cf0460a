"""The list of remedies."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from coldsoak.errors import UsageError
from coldsoak.remedies.catalogue.advice import (
    CudnnBenchmark,
    ImportTrim,
    OptimisedModel,
    Persistence,
)
from coldsoak.remedies.catalogue.cuda_compute_cache import ComputeCache
from coldsoak.remedies.catalogue.cuda_context_overlap import ContextBesideImports
from coldsoak.remedies.catalogue.cuda_module_eager import EagerLoading
from coldsoak.remedies.catalogue.cuda_module_loading import NoEagerLoading
from coldsoak.remedies.catalogue.cuda_visible_devices import OneVisibleDevice
from coldsoak.remedies.catalogue.cupy_cache import CupyCache
from coldsoak.remedies.catalogue.folklore import BindNow, FxGraphCache, LazyLoading, LoaderThreads
from coldsoak.remedies.catalogue.jax_cache import JaxCache
from coldsoak.remedies.catalogue.jax_preallocate import NoPreallocation
from coldsoak.remedies.catalogue.jax_skip_checks import SkipCudaChecks
from coldsoak.remedies.catalogue.lib_blas_overlap import BlasBesideImports
from coldsoak.remedies.catalogue.numba_cache import NumbaCache
from coldsoak.remedies.catalogue.ort_optimized_model import OptimizedModel
from coldsoak.remedies.catalogue.os_readahead import RecordedReadahead
from coldsoak.remedies.catalogue.placebo import Placebo
from coldsoak.remedies.catalogue.py_gc_imports import NoCollectionDuringImports
from coldsoak.remedies.catalogue.py_pyc import KeepBytecode
from coldsoak.remedies.catalogue.region_warm_up import WarmUpCall
from coldsoak.remedies.catalogue.tf_allow_growth import AllowGrowth
from coldsoak.remedies.catalogue.tf_onednn import NoOneDnn
from coldsoak.remedies.catalogue.tf_xla_cache import TensorFlowXlaCache
from coldsoak.remedies.catalogue.threads_usable import ThreadsForUsableCores
from coldsoak.remedies.catalogue.torch_caches import TorchCaches
from coldsoak.remedies.catalogue.torch_compile_threads import CompileInProcess
from coldsoak.remedies.catalogue.torch_isa_replay import RecordedTrials
from coldsoak.remedies.catalogue.torch_keys_memo import RecordedKeys
from coldsoak.remedies.catalogue.torch_static_launcher import StaticLauncher
from coldsoak.remedies.catalogue.torch_vec_isa_ok import VectorInstructionsAreFine
from coldsoak.remedies.catalogue.triton_autotune_cache import TritonAutotuneCache
from coldsoak.remedies.catalogue.xla_autotune_cache import AutotuneCache
from coldsoak.remedies.catalogue.xla_autotune_level import NoAutotuning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldsoak.remedies.base import Advice, Remedy

__all__ = ["ADVICE", "PLACEBO", "REMEDIES", "find"]

REMEDIES: tuple[Remedy, ...] = (
    KeepBytecode(),
    NoCollectionDuringImports(),
    RecordedReadahead(),
    ContextBesideImports(),
    BlasBesideImports(),
    OneVisibleDevice(),
    NoEagerLoading(),
    ComputeCache(),
    NoPreallocation(),
    JaxCache(),
    SkipCudaChecks(),
    AutotuneCache(),
    NoAutotuning(),
    AllowGrowth(),
    TensorFlowXlaCache(),
    NoOneDnn(),
    TorchCaches(),
    RecordedTrials(),
    RecordedKeys(),
    VectorInstructionsAreFine(),
    CompileInProcess(),
    StaticLauncher(),
    TritonAutotuneCache(),
    OptimizedModel(),
    CupyCache(),
    NumbaCache(),
    ThreadsForUsableCores(),
    EagerLoading(),
    BindNow(),
    LoaderThreads(),
    FxGraphCache(),
    LazyLoading(),
)
"""Every remedy that can be tried, in the order of the documentation."""

PLACEBO: Remedy = Placebo()
"""The arm that is in every trial."""

ADVICE: tuple[Advice, ...] = (
    ImportTrim(),
    WarmUpCall(),
    OptimisedModel(),
    CudnnBenchmark(),
    Persistence(),
)
"""What only the user can change."""


def find(names: Sequence[str]) -> list[Remedy]:
    """Return the remedies called ``names``.

    Raises:
        UsageError: There is no such remedy; says which one is near.

    """
    known = {remedy.id: remedy for remedy in REMEDIES}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            raise UsageError(
                f"There is no remedy {name}.",
                do=" or ".join(near) if near else f"one of: {', '.join(known)}",
            )
    return [known[name] for name in names]
