"""Causes in the driver, the libraries of the device and its memory."""

from __future__ import annotations

from coldsoak.ledger.pages.page import Page
from coldsoak.model.causes import Cause

__all__ = ["PAGES"]

PAGES = (
    Page(
        cause=Cause.DRIVER_INIT,
        title="the driver starts",
        what="`cuInit` opens the devices and reads their state; queries of properties and of the driver's entry points follow. "
        "About 0.1 s on one card; seconds where no other process keeps the driver loaded (persistence mode off).",
        scales="the number of visible GPUs.",
        evidence="`cuInit`, device counts, properties and attributes, symbol look-ups.",
        remedies=(
            ("cuda.visible_devices", "show the process only the cards that it uses."),
            ("cuda.context_overlap", "start the driver on a thread beside the imports."),
            ("cuda.persistence", "keep the driver loaded between processes (needs root)."),
        ),
        traps="in containers with a huge file limit the persistence socket itself can cost half a minute.",
    ),
    Page(
        cause=Cause.CONTEXT_CREATE,
        title="a context is created on the device",
        what="The first call that needs the device makes its primary context, and gets the blame: `.cuda()`, `cudaFree(0)`, "
        "a synchronise, the first copy. 0.1 to 0.5 s, whatever the size of the data. Streams and events count here too.",
        scales="one per process and GPU; processes that start together wait for each other.",
        evidence="`cuDevicePrimaryCtxRetain`, `cuCtxCreate`, `cudaSetDevice`, or the first long call of the runtime in a process "
        "that has no such call.",
        remedies=(
            ("cuda.context_overlap", "create it on a background thread during the imports."),
            ("", "A server shares one context among processes."),
            ("", "Resume a process that has it."),
        ),
        traps="nothing removes it; it can only be shared, moved or hidden. Never fork after it exists.",
    ),
    Page(
        cause=Cause.MODULE_LOAD,
        title="device code is loaded onto the card",
        what="A library's kernels are unpacked and copied to the device when it is first used: `cuLibraryLoadData`, "
        "`cuModuleLoad*`, and loads that the runtime triggers inside another call.",
        scales="bytes of device code: per library, with lazy loading per module.",
        evidence="load calls and the driver's own records of module loading.",
        remedies=(
            (
                "cuda.module_loading",
                "make sure that `CUDA_MODULE_LOADING=EAGER` is not set; it can double the start.",
            ),
            ("lib.blas_overlap", "use the library once on a thread beside the imports."),
            ("", "Keep only the code for this card's architecture."),
        ),
    ),
    Page(
        cause=Cause.LAZY_KERNEL_LOAD,
        title="kernels are loaded at their first launch",
        what="With lazy loading each kernel is brought to the device when it is first asked for, inside the launch or the query that "
        "needs it. It may wait until the device is idle and hold up other threads.",
        scales="distinct kernels; a new shape pays again only if it picks another kernel.",
        evidence="the driver's lazy-loading records and the launches around them, `cuModuleGetFunction`, `cudaFuncGetAttributes`.",
        remedies=(
            (
                "",
                "Ask for the recorded kernels by name while the program still starts.",
            ),
            (
                "cuda.module_loading",
                "eager loading moves it all to the start; worth it for few, small modules only.",
            ),
        ),
    ),
    Page(
        cause=Cause.PTX_JIT,
        title="the driver compiles PTX for this card",
        what="The program has no machine code for this GPU, so the driver compiles its PTX: seconds to half an hour, one core busy and "
        "the GPU idle. The result is cached in `~/.nv/ComputeCache` if that is writable, large enough, and kept.",
        scales="bytes of PTX, not the size of the data.",
        evidence="the driver's compiler records, JIT records other than cache reads, `cuLink*`.",
        remedies=(
            (
                "",
                "Install or build with code for this architecture (`cuobjdump --list-elf`).",
            ),
            (
                "cuda.compute_cache",
                "`CUDA_CACHE_PATH` on a disk that stays, `CUDA_CACHE_MAXSIZE=4294967296`.",
            ),
        ),
        traps="the PTX may sit in a dependency and not in the framework; `CUDA_CACHE_DISABLE` may be set elsewhere.",
    ),
    Page(
        cause=Cause.LIBRARY_HANDLE,
        title="a numeric library starts",
        what="cuBLAS, cuDNN, cuSOLVER and their like set themselves up at the first operation of their kind: handle, tables, "
        "workspace, unpacking of kernels. The first matrix product pays for it however small it is. Device allocations and module "
        "loads inside it are booked under their own names.",
        scales="libraries used; some again per thread or stream.",
        evidence="host samples inside the library, or the host time between its module loads.",
        remedies=(
            ("lib.blas_overlap", "create the handle on a thread beside the imports."),
            ("", "A smaller workspace, where the algorithm does not need it."),
        ),
        traps="a library started by a large problem is taken for a cost of the size.",
    ),
    Page(
        cause=Cause.PLAN_BUILD,
        title="an execution plan is built",
        what="cuDNN finalises an engine (and may compile it at run time), cuFFT plans, cuBLASLt asks its heuristics, a CUDA graph "
        "is captured and instantiated, oneDNN picks an implementation, ONNX Runtime makes a session. Warm-up with another shape does not help.",
        scales="distinct shapes, types and layouts, often once per thread.",
        evidence="samples in plan functions of the libraries, graph capture and instantiation calls.",
        remedies=(
            (
                "ort.optimized_model",
                "ONNX Runtime loads models as it optimised them at an earlier start.",
            ),
            ("", "Keep plans over shapes and threads where the framework can."),
            ("", "Exclude engines that are compiled at run time."),
            ("", "Keep the heuristics' answers."),
            ("", "Pad or bucket shapes so that few plans are needed."),
        ),
    ),
    Page(
        cause=Cause.ALGORITHM_SEARCH,
        title="candidates are run to find the fastest algorithm",
        what="XLA, cuDNN (`benchmark=True`), Triton's `@autotune` and others time candidates on the device, with your shape, before the "
        "first result. It looks like compiling from outside, but the GPU is busy, and the time grows with the work itself: "
        "a large product can spend minutes here.",
        scales="candidates times the cost of one run: with N³ for square matrix products.",
        evidence="kernels launched while a compiler was at work, or several kernels in the first run that no later run uses, "
        "or the checks that XLA runs around its candidates; with the pauses between them.",
        remedies=(
            ("xla.autotune_cache", "keep XLA's choices: a directory for the autotune cache."),
            ("jax.autotune_level", "a lower `--xla_gpu_autotune_level` searches less."),
            ("lib.cudnn_benchmark", "no search where shapes vary."),
            ("triton.autotune_cache", "`TRITON_CACHE_AUTOTUNING=1` keeps Triton's choices."),
            ("", "ONNX Runtime: heuristic instead of exhaustive search."),
        ),
        traps="without the search the steady state can be slower; `fix` measures both.",
    ),
    Page(
        cause=Cause.DEVICE_ALLOC,
        title="device memory is allocated",
        what="`cudaMalloc` and `cudaFree` until the framework's allocator has what it needs. Freeing waits for the device.",
        scales="calls, then bytes.",
        evidence="allocation calls below the size of a pool.",
        remedies=(
            ("", "Allocate the largest block first, early."),
            ("", "Let the framework's pool keep the memory."),
        ),
        traps="a card that is nearly full makes every run allocate and flush, which looks like endless warm-up.",
    ),
    Page(
        cause=Cause.POOL_RESERVE,
        title="a framework reserves most of the card",
        what="JAX and TensorFlow take 75 % or more of the memory at the start. On a 141 GB card that took 1.75 s, "
        "more than the whole computation.",
        scales="bytes reserved.",
        evidence="an allocation of a quarter of the card or more (4 GiB where its size is unknown), memory pools, "
        "reserved and mapped address ranges.",
        remedies=(
            (
                "tf.allow_growth",
                "let the memory grow on demand (`TF_FORCE_GPU_ALLOW_GROWTH=true`).",
            ),
            (
                "",
                "`XLA_PYTHON_CLIENT_PREALLOCATE=false`, or a small `XLA_PYTHON_CLIENT_MEM_FRACTION`.",
            ),
        ),
        traps="memory that grows on demand can fragment in long runs.",
    ),
    Page(
        cause=Cause.PINNED_ALLOC,
        title="host memory is pinned",
        what="Page-locked memory makes copies fast and is slow to get: every page is touched and locked. Large buffers take seconds.",
        scales="bytes, about 0.25 s per GB.",
        evidence="`cudaHostAlloc`, `cuMemHostAlloc`, `cudaHostRegister` and their releases.",
        remedies=(
            ("", "Pin less, or pin once and reuse."),
            ("", "Pin on a background thread while the program starts."),
        ),
    ),
    Page(
        cause=Cause.HOST_TO_DEVICE,
        title="data moves to the device",
        what="The usual suspect, and usually innocent: the copy of a 1000 × 1000 matrix takes a fraction of a millisecond. The first "
        "copy also sets up staging buffers.",
        scales="bytes over the speed of the link; pageable memory is staged and slower.",
        evidence="copy calls with their direction, and copies that a wait was for. Bytes are those of the copies.",
        remedies=(
            ("", "Copy from pinned memory."),
            ("", "Copy while something else computes."),
            ("", "Create weights on the device instead of copying them."),
        ),
    ),
    Page(
        cause=Cause.DEVICE_TO_HOST,
        title="data moves back to the host",
        what="Reading a result (`.cpu()`, `.numpy()`, `float(x)`). The call also waits for the work before it, "
        "which is booked as that work.",
        scales="bytes; and a fixed wait per read.",
        evidence="copy calls to the host, less the kernels that ran meanwhile.",
        remedies=(("", "Read fewer results, or later."),),
    ),
)
