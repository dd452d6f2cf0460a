"""Host samples: from the symbols and libraries of a stack to a cause.

Symbols may be mangled or demangled. A stack is judged by two things: which *marks* any of its
frames carry (a page fault on top of a loader is the loader's work), and the first frame from the
leaf whose library says what kind of code ran. Frames of the C library, the allocator and the
kernel in general are neutral: their caller decides.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from coldsoak.ledger.rules.cuda import api_cause_of_symbol
from coldsoak.model.causes import Cause

__all__ = ["FRAMEWORKS", "GAP", "LEAVES", "MARKS", "FrameClass", "classify", "is_framework"]

GAP = 5
"""A sample speaks for the time around it up to this many sampling periods on either side, and a
cut stack is completed by neighbours at most as far away."""


class _Mark(NamedTuple):
    cause: Cause
    symbol: re.Pattern[str] | None
    library: re.Pattern[str] | None


def _mark(cause: Cause, symbol: str = "", library: str = "") -> _Mark:
    return _Mark(
        cause,
        re.compile(symbol) if symbol else None,
        re.compile(library) if library else None,
    )


MARKS: tuple[_Mark, ...] = (
    # XLA's and TensorFlow's pool keeps a word per 256 bytes of the card on the host: reserving
    # three quarters of 141 GB touches 3.5 GB of host memory, which takes longer than the device's part
    _mark(Cause.POOL_RESERVE, r"BFCAllocator.*(Extend|RegionManager|AllocationRegion)"),
    _mark(
        Cause.PAGE_IN,
        r"^(page_cache_(a?sync_)?ra\w*|read_pages|submit_bio\w*|io_schedule\w*"
        r"|folio_wait_bit\w*|filemap_fault_wait|mpage_readahead|ext4_mpage_readpages|ext4_readahead|xfs_vm_readahead|fuse_readahead|virtblk_\w+|blk_mq_submit_bio)$",
    ),
    _mark(
        Cause.PYTHON_GC,
        r"^(gc_collect\w*|_PyGC_Collect\w*|collect_generations|deduce_unreachable|subtract_refs|update_refs"
        r"|move_unreachable|visit_decref|visit_reachable|_Py_RunGC|gc_collect_main)(\.\w+)*$",
    ),
    _mark(
        Cause.IMPORT_BYTECODE_COMPILE,
        r"^(_PyAST_Compile|_PyPegen_\w+|_PyParser_\w+|Py_CompileStringObject|_PyCompile_\w+|compiler_\w+|_PyAST_Optimize|_PySymtable_Build\w*|builtin_compile)(\.\w+)*$",
    ),
    _mark(
        Cause.LIBRARY_LOAD,
        r"^_?_?(dl_open\w*|_?dl_relocate\w*|_?dl_map\w*|_?dl_lookup\w*|do_lookup_x|dlopen\w*|_?dl_init|call_init|_dl_catch_exception|elf_dynamic_do\w*)(\.\w+)*$",
        r"(^|/)ld-linux[\w.-]*|(^|/)ld-\d[\d.]*\.so|(^|/)ld-musl[\w.-]*",
    ),
    _mark(Cause.PTX_JIT, "", r"libnvidia-(ptxjitcompiler|nvvm|gpucomp)"),
    _mark(
        Cause.COMPILE,
        r"[Xx]byak|jit_\w*generate|jit_generator|create_kernel|xbyak_gemm|4llvm|llvm::|4mlir|mlir::|HloPass|hlo_pass"
        r"|xla\w*(::|\d).*(Compil|RunHloPasses|RunBackend)|CpuCompiler|GpuCompiler|grappler|LLVM[A-Z]\w+|slinky\w*(simplif|rewrite|constant_evaluator|evaluate_constant|substitut|optimiz|build_pipeline)|dnnl_primitive_create|create_primitive|primitive_create|primitive_cache_iface|nvrtcCompile|nvPTXCompiler\w*|nvJitLink\w*",
        r"libnvrtc|libnvJitLink|libnvptxcompiler|libnvvm|libLLVM|libllvmlite|libtriton|(^|/)ptxas$|libMLIR|libclang|libcutlass_compiler",
    ),
    _mark(
        Cause.TRACE,
        r"GraphConstructor|ConvertGraphDefToGraph|FunctionLibraryDefinition|InstantiateFunction|jaxpr|_dynamo|fx_tracer",
    ),
    _mark(
        Cause.THREAD_START,
        r"^_*(clone3?|pthread_create\w*|copy_process|kernel_clone|do_fork|create_thread|allocate_stack|gomp_team_start|__kmp_create_worker|__kmp_allocate_team|blas_thread_init)(@.*|\.\w+)*$",
    ),
    _mark(
        Cause.PLAN_BUILD,
        r"cudnnBackendFinalize|cudnnGet\w*Algorithm|cufftMakePlan|cufftPlan|AlgoGetHeuristic|primitive_desc|TensorRT|IBuilder|execution_plan",
        r"libnvinfer|libcufft",
    ),
    _mark(
        Cause.PAGE_FAULT,
        r"^(asm_)?exc_page_fault$|^handle_mm_fault$|^__handle_mm_fault$|^do_user_addr_fault$|^do_anonymous_page$|^clear_(huge_)?page\w*$|^do_fault\w*$|^filemap_fault$|^filemap_map_pages$|^do_wp_page$|^vma_alloc_folio\w*$|^clear_subpage$|^(unmap_region|exit_mmap|zap_pte_range|unmap_page_range|do_madvise|madvise_vma\w*|tlb_flush_mmu|do_munmap|__do_munmap|do_vmi_munmap)$",
    ),
    _mark(
        Cause.NETWORK_WAIT,
        r"^(tcp_|inet_|sock_recvmsg|__sys_connect|ssl_read|SSL_read|SSL_do_handshake)",
    ),
)
"""Judged on every frame of a stack; the first that any frame carries decides."""

_COMPUTE_SYMBOL = (
    r"gemm|Gemm|GEMM|mkl_blas|mkl_lapack|mkl_dnn|[Ee]igen.*([Cc]ontraction|[Pp]acket|gebp|product|Executor)|jit_\w+_kernel_t|dnnl\w*(execute|kernel)"
    r"|at6native|at::native|Mlas|ynn|xnn_|slinky|openblas|conv(olution)?_?(forward|kernel|2d)|_kernel\b|_omp_fn|\.omp_outlined|omp_fn|blas_thread_server|Philox|inner_product|[dsz]dot_|(^|_)DOUBLE_|(^|_)FLOAT_|pocketfft|gomp_(team_)?barrier\w*|__kmp_\w*(wait|barrier)\w*"
)
_LIBRARIES: tuple[tuple[str, Cause], ...] = (
    (
        r"libcublas|libcusolver|libcusparse|libcurand|libcudnn|libnccl|libcutensor|libmagma|libnvshmem",
        Cause.LIBRARY_HANDLE,
    ),
    (
        r"libmkl|openblas|libblis|libatlas|libxnnpack|libgomp|libiomp|libomp|\[jit\]|\[?anon\]?:?jit|perf-\d+\.map|libmvec|_multiarray_umath|_umath_linalg|libscipy|pocketfft",
        Cause.HOST_COMPUTE,
    ),
    (
        r"libtorch|libc10|_pywrap_tensorflow|libtensorflow|libjax|xla_extension|jaxlib|onnxruntime|libshm|libpjrt|xla_cuda|cupy|numba|triton|libtvm|libmxnet|functorch|libaoti|tensorflow",
        Cause.FRAMEWORK_HOST,
    ),
    (r"libcuda\.so|libcudart|libnvidia|libcupti|\[nvidia\w*\]", Cause.KERNEL_LAUNCH),
    (r"\.cpython-\d+|\.abi3\.so", Cause.HOST_COMPUTE),
    (r"libpython|(^|/)python[\d.]*$", Cause.HOST_COMPUTE),
)
LEAVES = tuple((re.compile(pattern), cause) for pattern, cause in _LIBRARIES)
FRAMEWORKS = _LIBRARIES[2][0]
_FRAMEWORK = re.compile(FRAMEWORKS)
_COMPUTE = re.compile(_COMPUTE_SYMBOL)
_PYTHON = LEAVES[-1][0]
_START = re.compile(
    r"^(Py_InitializeFromConfig|pyinit_core|init_interp_main|Py_InitializeEx|_PyRuntime_Initialize)$"
)
_CPU_INIT = re.compile(
    r"mkl_serv_|MKL_Detect|mkl_detect|openblas_\w*init|gotoblas_init|blas_cpu_number"
)


def is_framework(library: str) -> bool:
    """Whether a library belongs to a framework, so that interpreter time may be its Python half."""
    return _FRAMEWORK.search(library) is not None


class FrameClass(NamedTuple):
    """What one frame says: the marks it carries (bits of :data:`MARKS`) and its own kind of code."""

    marks: int
    leaf: Cause | None
    """None for neutral code."""
    python: bool
    call: Cause | None
    """Of an exported call of the driver or the runtime."""


def classify(library: str, symbol: str) -> FrameClass:
    """Judge one frame by its symbol, then by its library."""
    marks = sum(1 << bit for bit, mark in enumerate(MARKS) if _carries(mark, library, symbol))
    return FrameClass(
        marks,
        _leaf(library, symbol),
        _PYTHON.search(library) is not None,
        api_cause_of_symbol(symbol),
    )


def _carries(mark: _Mark, library: str, symbol: str) -> bool:
    if symbol == "__tls_get_addr":  # in the loader's file, but hot code calls it
        return False
    if mark.symbol is not None and mark.symbol.search(symbol):
        return True
    return mark.library is not None and mark.library.search(library) is not None


def _leaf(library: str, symbol: str) -> Cause | None:
    if _START.match(symbol):
        return Cause.INTERPRETER_START
    if _CPU_INIT.search(symbol):
        return Cause.LIBRARY_HANDLE
    called = api_cause_of_symbol(symbol)
    if called is not None:
        return called
    if _COMPUTE.search(symbol) and "libcu" not in library:
        return Cause.HOST_COMPUTE
    for pattern, cause in LEAVES:
        if pattern.search(library):
            return cause
    return None
