"""Causes in compilers, in the work itself, and the two that are no causes."""

from __future__ import annotations

from coldsoak.ledger.pages.page import Page
from coldsoak.model.causes import Cause

__all__ = ["PAGES"]

PAGES = (
    Page(
        cause=Cause.TRACE,
        title="Python is traced into a graph",
        what="Before a compiler sees the program, its Python is executed with stand-ins: `tf.function` and AutoGraph, `jax.jit` "
        "(trace and lowering), Dynamo and AOTAutograd. It happens even when every compile cache hits.",
        scales="operations in the program after unrolling; again for each new shape, type or Python value.",
        evidence="trace and lowering spans of the frameworks.",
        remedies=(
            ("", "An `input_signature`, so that new shapes do not trace again."),
            ("", "Export the lowered program, or loop with `scan` instead of unrolling."),
            ("", "Compile the repeated block once instead of the whole model."),
            ("", "Ship what Dynamo has captured."),
        ),
        traps="one warm-up call does not cover the other shapes.",
    ),
    Page(
        cause=Cause.COMPILE,
        title="a compiler makes machine code",
        what="XLA, Inductor, Triton, NVRTC, Numba and LLVM at work; also oneDNN and Eigen, which write their matrix kernels as machine "
        "code at the first call and are most of a first eager product on a CPU. Time on other threads counts when this thread waits for them.",
        scales="programs, and faster than linearly with their size; oneDNN per shape class.",
        evidence="compile spans of the frameworks, samples in a compiler's code, waits for a compiling thread.",
        remedies=(
            (
                "jax.cache_thresholds",
                "a persistent cache that also keeps programs that compile in under a second.",
            ),
            ("", "Carry Inductor's caches from machine to machine."),
            ("", "Compile ahead of time, load a package."),
            ("tf.xla_cache", "keep XLA's results for `jit_compile`."),
            ("", "A `TRITON_CACHE_DIR` that stays."),
            ("numba.cache_dir", "`@njit(cache=True)` and a directory that stays."),
            ("", "Answer first, compile beside."),
        ),
        traps="a cache that is configured need not be hit, and a hit is not free: look at `cache_lookup` and `trace`.",
    ),
    Page(
        cause=Cause.CACHE_LOOKUP,
        title="a compile cache is read or written",
        what="Keys are hashed, entries are read, checked and loaded; after a miss they are written. Cheap when it hits on a local "
        "disk, dear on a network disk or when many ranks meet in one directory.",
        scales="entries and their bytes.",
        evidence="cache spans of the frameworks, cache reads of the driver's JIT.",
        remedies=(
            (
                "torch.caches_on_disk",
                "a local directory per host, filled before the first process.",
            ),
            (
                "torch.keys_memo",
                "take the keys of torch's and Triton's caches from a record.",
            ),
            ("cuda.compute_cache", "the driver's cache on a local disk."),
        ),
    ),
    Page(
        cause=Cause.KERNEL_LAUNCH,
        title="work is given to the device",
        what="The host's part of each launch: arguments, queues, stream bookkeeping, and the fixed cost of a synchronise with "
        "nothing to wait for. Microseconds a call in the steady state.",
        scales="calls.",
        evidence="launch and bookkeeping calls without any loading in them.",
        remedies=(
            ("", "Fewer, larger operations; a CUDA graph for many small ones."),
            ("torch.static_launcher", "cheaper launchers for compiled kernels."),
        ),
    ),
    Page(
        cause=Cause.DEVICE_COMPUTE,
        title="the device computes your result",
        what="The thread waits while kernels of the program run. This is the work itself: it should be the same in run 0 and later.",
        scales="the arithmetic and the bytes of the program.",
        evidence="a wait (synchronise, read, future) during which the device ran kernels that later runs use too.",
        remedies=(
            (
                "",
                "A better plan for the steady state may cost a longer first run.",
            ),
        ),
        traps="a region without a synchronise times the launches and not the work; coldsoak says so.",
    ),
    Page(
        cause=Cause.HOST_COMPUTE,
        title="the CPU computes your result",
        what="Matrix products, convolutions, element-wise loops and your own Python on the CPU.",
        scales="the arithmetic and the bytes of the program.",
        evidence="samples in compute kernels and numeric libraries, or in the interpreter of a program without a framework.",
        remedies=(("tf.onednn", "another kernel library can be faster for these shapes."),),
    ),
    Page(
        cause=Cause.FRAMEWORK_HOST,
        title="the framework's own code runs on the host",
        what="Dispatch, shape inference, registries, protocol buffers, allocators, and the Python of the framework between its "
        "calls. Registries are searched once per operation and kind of device.",
        scales="operations; in the first run also distinct operations.",
        evidence="samples in the framework's libraries that no better rule names, and interpreter time of programs that use one.",
        remedies=(
            ("py.import_trim", "a smaller part of the framework, where it exists."),
            ("jax.skip_cuda_checks", "leave out checks that the run does not need."),
        ),
        traps="a large share means that the rules do not know this library well: the items name the functions.",
    ),
    Page(
        cause=Cause.MEASUREMENT,
        title="coldsoak itself",
        what="Time that the agent and the tracing interface admit to have taken: buffers, callbacks, hooks, the agent's start. "
        "It is taken out of every cause, and shown. Headline times come from launches without tracing.",
        scales="records.",
        evidence="records of the agent's own cost and the overhead records of CUPTI.",
        remedies=(
            (
                "",
                "`--source-off NAME` leaves a source out; the sum stays right, the detail shrinks.",
            ),
        ),
    ),
    Page(
        cause=Cause.UNATTRIBUTED,
        title="nothing was seen that explains it",
        what="The thread ran, and no span, sample or wait tells with what. The line is always printed; a ledger that names "
        "everything would be lying.",
        scales="what the sources could not see.",
        evidence="none: this is the rest. `sources` in the report says what was on, off or lost.",
        remedies=(
            (
                "",
                "`coldsoak doctor` says why a source is off (often `perf_event_paranoid` or a missing CUPTI).",
            ),
            ("", "Declare regions around parts of the program to narrow it down."),
        ),
    ),
)
