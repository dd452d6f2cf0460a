"""The rule tables: real names of calls, events and symbols."""

import pytest

from coldsoak.ledger.rules import compilers, cuda, processes, samples, waits
from coldsoak.ledger.rules.base import Kind
from coldsoak.model.causes import Cause


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        ("cuInit", "driver_init"),
        ("cudaGetDeviceCount_v3020", "driver_init"),
        ("cuGetProcAddress_v2", "driver_init"),
        ("cudaDeviceGetAttribute_v5000", "driver_init"),
        ("cuDevicePrimaryCtxRetain", "context_create"),
        ("cuCtxCreate_v4", "context_create"),
        ("cudaSetDevice_v3020", "context_create"),
        ("cudaStreamCreateWithFlags_v5000", "context_create"),
        ("cuModuleLoadData", "module_load"),
        ("cuModuleLoadDataEx", "module_load"),
        ("cuLibraryLoadData", "module_load"),
        ("cuModuleGetFunction", "lazy_kernel_load"),
        ("cuLibraryGetKernel", "lazy_kernel_load"),
        ("cuKernelGetFunction", "lazy_kernel_load"),
        ("cudaFuncGetAttributes_v3020", "lazy_kernel_load"),
        ("cudaGetFuncBySymbol_v11000", "lazy_kernel_load"),
        ("cuLinkComplete", "ptx_jit"),
        ("cudaMalloc_v3020", "device_alloc"),
        ("cuMemAlloc_v2", "device_alloc"),
        ("cudaMallocAsync_ptsz_v11020", "device_alloc"),
        ("cudaFree_v3020", "device_alloc"),
        ("cuMemCreate", "pool_reserve"),
        ("cuMemSetAccess", "pool_reserve"),
        ("cuMemHostAlloc", "pinned_alloc"),
        ("cudaMallocHost_v3020", "pinned_alloc"),
        ("cudaHostRegister_v4000", "pinned_alloc"),
        ("cudaFreeHost_v3020", "pinned_alloc"),
        ("cuMemFreeHost", "pinned_alloc"),
        ("cuMemcpyHtoDAsync_v2", "host_to_device"),
        ("cuMemcpyDtoH_v2", "device_to_host"),
        ("cudaLaunchKernel_v7000", "kernel_launch"),
        ("cudaLaunchKernelExC_v11060", "kernel_launch"),
        ("cuLaunchKernelEx", "kernel_launch"),
        ("cudaGraphLaunch_v10000", "kernel_launch"),
        ("cudaGraphInstantiate_v12000", "plan_build"),
        ("cudaStreamBeginCapture_v10000", "plan_build"),
        ("cudaGetLastError_v3020", "kernel_launch"),
        ("cudaMemsetAsync_v3020", "kernel_launch"),
    ],
)
def test_cuda_calls(call, cause):
    assert cuda.api(call).cause.value == cause


@pytest.mark.parametrize(
    "call", ["cudaDeviceSynchronize_v3020", "cuStreamSynchronize", "cuEventSynchronize"]
)
def test_calls_that_wait_for_the_device(call):
    assert cuda.api(call).kind is Kind.SYNC


@pytest.mark.parametrize(
    ("record", "cause"),
    [
        ("DRIVER_COMPILER", "ptx_jit"),
        ("RUNTIME_TRIGGERED_MODULE_LOADING", "module_load"),
        ("LAZY_FUNCTION_LOADING", "lazy_kernel_load"),
        ("CUPTI_BUFFER_FLUSH", "measurement"),
        ("CUPTI_RESOURCE", "measurement"),
        ("CUPTI_INSTRUMENTATION", "measurement"),
        ("ACTIVITY_BUFFER_REQUEST", "measurement"),
        ("COMMAND_BUFFER_FULL", "kernel_launch"),
    ],
)
def test_overhead_records(record, cause):
    assert cuda.overhead(record).cause.value == cause


def test_reading_the_drivers_cache_is_no_compile():
    assert cuda.jit("CACHE_LOAD").cause is Cause.CACHE_LOOKUP
    assert cuda.jit("COMPILE").cause is cuda.jit("CACHE_STORE").cause is Cause.PTX_JIT


@pytest.mark.parametrize(
    ("source", "name", "cause"),
    [
        ("jax", "trace", "trace"),
        ("jax", "lower", "trace"),
        ("jax", "backend_compile", "compile"),
        ("jax", "cache_read", "cache_lookup"),
        ("jax", "cache_write", "cache_lookup"),
        ("jax", "backend_init", "framework_host"),
        ("torch", "dynamo", "trace"),
        ("torch", "_compile.compile_inner", "trace"),
        ("torch", "entire_frame_compile", "trace"),
        ("torch", "bytecode_tracing", "trace"),
        ("torch", "create_aot_dispatcher_function", "trace"),
        ("torch", "compile_fx.<locals>.fw_compiler_base", "compile"),
        ("torch", "GraphLowering.compile_to_fn", "compile"),
        ("torch", "inductor_compile", "compile"),
        ("torch", "async_compile.wait", "compile"),
        ("torch", "PyCodeCache.load_by_key_path", "compile"),
        ("torch", "CachingAutotuner.benchmark_all_configs", "algorithm_search"),
        ("torch", "inductor_codecache_torch_key", "cache_lookup"),
        ("torch", "recompile", "trace"),
        ("triton", "compile", "compile"),
        ("triton", "autotune", "algorithm_search"),
        ("numba", "compile", "compile"),
        ("numba", "cache_read", "cache_lookup"),
        ("nvrtc", "nvcc", "compile"),
        ("tensorflow", "trace", "trace"),
        ("tensorflow", "autograph", "trace"),
        ("tensorflow", "context", "framework_host"),
        ("onednn", "create:cache_miss", "compile"),
        ("onnxruntime", "create_session", "plan_build"),
        ("onnxruntime", "run on the CPU", "host_compute"),
        ("onnxruntime", "run", "framework_host"),
    ],
)
def test_spans_of_compilers(source, name, cause):
    assert compilers.verdict(source, name).cause.value == cause


@pytest.mark.parametrize(
    ("reason", "cause", "kind"),
    [
        ("disk", "page_in", Kind.FIXED),
        ("page fault", "page_in", Kind.FIXED),
        ("network", "network_wait", Kind.FIXED),
        ("socket.recv", "network_wait", Kind.FIXED),
        ("child", "child_process", Kind.WAIT),
        ("pipe", "child_process", Kind.WAIT),
        ("sleep", "lock_wait", Kind.FIXED),
        ("futex", "lock_wait", Kind.WAIT),
        ("lock file", "lock_wait", Kind.WAIT),
        ("poll", "lock_wait", Kind.WAIT),
        ("memory map", "page_fault", Kind.FIXED),
    ],
)
def test_reasons_of_waits(reason, cause, kind):
    assert waits.verdict(reason) == (Cause(cause), kind)


def judged(*frames):
    """The mark that decides a stack, else its first telling frame."""
    seen = [samples.classify(*frame.split(":", 1)) for frame in frames]
    for bit, mark in enumerate(samples.MARKS):
        if any(each.marks >> bit & 1 for each in seen):
            return mark.cause.value
    return next((each.leaf.value for each in seen if each.leaf), "unattributed")


@pytest.mark.parametrize(
    ("stack", "cause"),
    [
        (("libtensorflow_cc.so.2:_ZN5Xbyak13CodeGenerator3movE",), "compile"),
        (("libdnnl.so.3:_ZN4dnnl4impl3cpu3x6413jit_generator13create_kernelEv",), "compile"),
        (("libc.so.6:malloc", "libjax_common.so:_ZN4llvm11PassManagerE"), "compile"),
        (("libjax_common.so:_ZN4mlir9OperationE",), "compile"),
        (("libnvrtc.so.13:",), "compile"),
        (("libtriton.so:",), "compile"),
        (("libnvidia-ptxjitcompiler.so.580:",), "ptx_jit"),
        (
            ("ld-linux-x86-64.so.2:do_lookup_x", "libpython3.11.so:_PyEval_EvalFrameDefault"),
            "library_load",
        ),
        (("[kernel]:exc_page_fault", "ld-linux-x86-64.so.2:_dl_relocate_object"), "library_load"),
        (("[kernel]:clear_page_erms", "[kernel]:exc_page_fault", "libc.so.6:memset"), "page_fault"),
        (("[kernel]:submit_bio", "[kernel]:exc_page_fault", "libtorch_cpu.so:"), "page_in"),
        (("libpython3.11.so.1.0:deduce_unreachable",), "python_gc"),
        (("python3.12:gc_collect_main",), "python_gc"),
        (("python3.12:compiler_visit_stmt",), "import_bytecode_compile"),
        (("[kernel]:copy_process", "libc.so.6:clone3", "libgomp.so.1:"), "thread_start"),
        (("libcublasLt.so.13:", "libtorch_cuda.so:"), "library_handle"),
        (("libcudnn_graph.so.9:cudnnBackendFinalize",), "plan_build"),
        (("libtorch_cpu.so:mkl_blas_avx512_sgemm_kernel",), "host_compute"),
        (("libscipy_openblas64_.so:",), "host_compute"),
        (("[jit]:", "libtensorflow_cc.so.2:_ZN10tensorflow8OpKernelE"), "host_compute"),
        (("libc.so.6:malloc", "libtorch_cpu.so:_ZN3c1010Dispatcher4callE"), "framework_host"),
        (("ld-linux-x86-64.so.2:__tls_get_addr", "libscipy_openblas64_.so:"), "host_compute"),
        (("_mt19937.cpython-312-x86_64-linux-gnu.so:",), "host_compute"),
        (("libc.so.6:malloc", "[kernel]:do_syscall_64"), "unattributed"),
    ],
)
def test_stacks(stack, cause):
    assert judged(*stack) == cause


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (("/usr/bin/g++", "/cache/x/main.cpp", "-O3"), "g++ main.cpp -O3"),
        (("python", "-c", "import sys\nprint(1)"), "python -c"),
        (("ptxas", "-" * 80), "ptxas " + "-" * 53 + "…"),
        (
            ("ptxas", "/tmp/tempfile-host-4c3d2e1f-12-6617e6a0", "-o", "/tmp/tmpab12cd34"),
            "ptxas … -o …",
        ),
        ((), "process 7"),
    ],
)
def test_names_of_children(argv, shown):
    assert processes.label(argv, 7) == shown
