"""Which evidence wins, one priority at a time, with answers computed by hand."""

import pytest

MS = 1_000_000
JIT = "libdnnl.so:Xbyak::CodeGenerator"
PYTHON = "libpython3.12.so:_PyEval_EvalFrameDefault"


def test_nothing_seen_is_unattributed(make):
    assert make.causes() == {"unattributed": 100}


def test_the_tool_itself_is_taken_out_of_the_span_around_it(make):
    make.span("import", "torch", 0, 80).span("cost", "on_import torch", 10, 15)
    assert make.causes() == {"import_python": 75, "measurement": 5, "unattributed": 20}


def test_the_innermost_span_wins(make):
    make.span("import", "torch", 0, 100).span("import.compile", "torch/x.py", 10, 30)
    make.span("gc", "gen2", 15, 18)
    assert make.causes() == {
        "import_python": 80,
        "import_bytecode_compile": 17,
        "python_gc": 3,
    }


def test_overhead_inside_a_call_is_booked_by_its_own_kind(make):
    make.span("cuda.runtime", "cudaFuncGetAttributes_v3020", 0, 40, link=1)
    make.span("cuda.overhead", "RUNTIME_TRIGGERED_MODULE_LOADING", 0, 38, thread=None, link=1)
    make.span("cuda.overhead", "ACTIVITY_BUFFER_REQUEST", 38, 39, thread=None)
    assert make.causes() == {
        "module_load": 38,
        "lazy_kernel_load": 1,
        "measurement": 1,
        "unattributed": 60,
    }


def test_a_driver_call_with_the_ends_of_the_runtime_call_around_it_is_the_inner_one(make):
    make.span("cuda.driver", "cuMemHostAlloc", 0, 9, link=1)
    make.span("cuda.runtime", "cudaMalloc_v3020", 0, 9, link=1)
    assert make.causes() == {"pinned_alloc": 9, "unattributed": 91}


def test_spans_of_two_clocks_may_overlap_without_nesting(make):
    make.span("import", "a", 0, 50).span("cuda.driver", "cuInit", 40, 60)
    assert make.causes() == {"import_python": 40, "driver_init": 20, "unattributed": 40}


def test_a_synchronise_costs_what_the_device_did(make):
    make.span("cuda.runtime", "cudaDeviceSynchronize_v3020", 10, 60)
    make.op("kernel", "mine", 0, 30).op("HtoD", "copy", 30, 45)
    assert make.causes() == {
        "device_compute": 20,
        "host_to_device": 15,
        "kernel_launch": 15,
        "unattributed": 50,
    }


def test_without_device_records_a_synchronise_is_device_work(make):
    make.span("cuda.runtime", "cudaDeviceSynchronize_v3020", 10, 60)
    assert make.causes() == {"device_compute": 50, "unattributed": 50}


def test_a_read_waits_for_the_kernel_before_it(make):
    make.span("cuda.driver", "cuMemcpyDtoHAsync_v2", 0, 30, link=5)
    make.op("kernel", "mine", 0, 20).op("DtoH", "copy", 20, 29, moved=4096, link=5)
    assert make.causes() == {"device_compute": 20, "device_to_host": 10, "unattributed": 70}


@pytest.mark.parametrize(
    ("kind", "cause"),
    [("HtoD", "host_to_device"), ("DtoH", "device_to_host"), ("DtoD", "kernel_launch")],
)
def test_a_copy_without_a_direction_takes_that_of_its_copy(make, kind, cause):
    make.span("cuda.runtime", "cudaMemcpyAsync_v3020", 0, 30, link=5)
    make.op(kind, "copy", 40, 50, moved=4096, link=5)
    assert make.causes() == {cause: 30, "unattributed": 70}


def test_candidates_of_a_compiler_are_a_search_and_the_pauses_between_them_too(make):
    make.span("jax", "backend_compile", 0, 90)
    make.span("cuda.driver", "cuLaunchKernel", 40, 40.5, thread=1, link=1)
    make.span("cuda.driver", "cuLaunchKernel", 51, 51.5, thread=1, link=2)
    make.op("kernel", "candidate 1", 41, 50, link=1).op("kernel", "candidate 2", 52, 60, link=2)
    assert make.causes() == {"compile": 70, "algorithm_search": 20, "unattributed": 10}


def test_candidates_far_apart_are_two_searches(make):
    make.span("jax", "backend_compile", 0, 100)
    make.op("kernel", "candidate 1", 10, 20).op("kernel", "candidate 2", 30, 40)
    assert make.causes() == {"compile": 80, "algorithm_search": 20}


def test_a_kernel_that_the_program_launched_while_another_thread_compiles_is_no_candidate(make):
    make.span("jax", "backend_compile", 0, 100, thread=1)
    make.span("cuda.driver", "cuLaunchKernel", 10, 11, link=1)
    make.span("cuda.driver", "cuStreamSynchronize", 11, 41).op("kernel", "mine", 11, 41, link=1)
    make.off(41, 100)
    assert make.causes() == {
        "unattributed": 10,
        "kernel_launch": 1,
        "device_compute": 30,
        "compile": 59,
    }


def test_a_search_is_known_by_its_checks_where_the_compiler_has_no_span(make):
    make.span("cuda.driver", "cuStreamSynchronize", 0, 80)
    make.op("kernel", "RedzoneAllocatorKernelImpl", 10, 11).op("kernel", "gemm 1", 12, 30)
    make.op("kernel", "RedzoneAllocatorKernelImpl", 31, 32).op("kernel", "mine", 40, 70)
    assert make.causes() == {
        "algorithm_search": 22,
        "device_compute": 30,
        "kernel_launch": 28,
        "unattributed": 20,
    }


def test_a_launch_into_a_full_queue_waits_for_the_device(make):
    make.span("cuda.runtime", "cudaLaunchKernel_v7000", 0, 50, link=1).op("kernel", "k", 0, 90)
    make.span("cuda.overhead", "COMMAND_BUFFER_FULL", 5, 45)
    assert make.causes() == {"device_compute": 40, "kernel_launch": 10, "unattributed": 50}


def test_several_kernels_that_no_later_run_uses_are_a_search(make):
    make.run(200, 220).run(220, 240)
    for i in range(3):
        make.op("kernel", f"try {i}", 10 * i, 10 * i + 10)
    make.op("kernel", "winner", 30, 40).op("kernel", "winner", 205, 215)
    make.op("kernel", "winner", 225, 235)
    make.span("cuda.runtime", "cudaStreamSynchronize_v3020", 0, 40)
    assert make.causes() == {"algorithm_search": 30, "device_compute": 10, "unattributed": 60}


def test_one_kernel_that_does_not_come_back_is_no_search(make):
    make.run(200, 220).op("kernel", "seed", 0, 10).op("kernel", "winner", 10, 20)
    make.op("kernel", "winner", 205, 215)
    make.span("cuda.runtime", "cudaStreamSynchronize_v3020", 0, 20)
    assert make.causes() == {"device_compute": 20, "unattributed": 80}


def test_a_wait_follows_the_thread_that_compiles(make):
    make.off(0, 60).span("triton", "compile", 10, 50, thread=2)
    assert make.causes() == {"compile": 40, "lock_wait": 20, "unattributed": 40}


def test_a_wait_follows_the_samples_of_a_worker(make):
    make.off(0, 20).sampled(0, 20, JIT, thread=4)
    assert make.causes() == {"compile": 20, "unattributed": 80}


def test_a_compiler_is_followed_before_another_worker(make):
    make.off(0, 20).span("jax", "backend_compile", 0, 10, thread=2)
    make.span("cuda.driver", "cuMemAlloc", 0, 20, thread=3)
    assert make.causes() == {"compile": 10, "device_alloc": 10, "unattributed": 80}


def test_another_threads_set_up_is_followed_before_the_device(make):
    make.off(0, 30).op("kernel", "mine", 0, 20)
    make.span("cuda.driver", "cuModuleLoadData", 0, 10, thread=3)
    make.span("cuda.driver", "cuLaunchKernel", 10, 30, thread=3)
    assert make.causes() == {
        "module_load": 10,
        "device_compute": 10,
        "kernel_launch": 10,
        "unattributed": 70,
    }


def test_a_short_wait_after_starting_a_thread_is_part_of_starting_it(make):
    make.event("threads", 10, 1).off(10.5, 15).span("wait", "futex", 10.5, 15)
    make.event("threads", 30, 1).off(30.5, 60).event("threads", 69, 1, thread=1).off(70, 75)
    make.sampled(10, 20, PYTHON, thread=1)
    assert make.causes() == {"thread_start": 4.5, "lock_wait": 34.5, "unattributed": 61}


def test_a_new_thread_that_compiles_is_waited_for_its_compile(make):
    make.event("threads", 10, 1).off(10, 20).span("triton", "compile", 12, 18, thread=1)
    assert make.causes() == {"compile": 6, "thread_start": 4, "unattributed": 90}


def test_a_wait_for_a_thread_that_waits_for_a_cpu_is_a_wait_for_a_cpu(make):
    make.off(0, 30).span("jax", "trace", 0, 20, thread=2).off(10, 20, thread=2, runnable=True)
    make.span("cuda.driver", "cuInit", 15, 25, thread=3)
    assert make.causes() == {
        "trace": 10,
        "run_queue": 5,
        "driver_init": 10,
        "lock_wait": 5,
        "unattributed": 70,
    }


def test_a_wait_that_ends_with_a_child_was_for_the_child(make):
    make.off(10, 60).child("/usr/bin/g++ -O3 x.cpp", 12, 59)
    first = make.ledgers()[0]
    lines = {line.cause.value: line for line in first.lines}
    assert lines["child_process"].ns == 47_000_000
    assert lines["child_process"].evidence.items[0].label == "g++ -O3 x.cpp"
    assert lines["lock_wait"].ns == 3_000_000


def test_a_child_whose_exit_ended_the_wait_comes_before_a_compiler_and_the_device(make):
    make.off(10, 60).child("ptxas", 12, 59).op("kernel", "mine", 0, 90)
    make.span("torch", "dynamo", 0, 90, thread=1)
    assert make.causes() == {"child_process": 47, "trace": 3, "unattributed": 50}


def test_an_idle_pool_is_not_waited_for_but_a_busy_child_is(make):
    make.off(10, 30).child("pool", 0, 900, cpu=5)
    assert make.causes() == {"lock_wait": 20, "unattributed": 80}
    make.child("ptxas", 0, 900, cpu=800, pid=501)
    assert make.causes() == {"child_process": 20, "unattributed": 80}


def test_the_reason_that_the_kernel_shows_names_a_wait(make):
    make.off(0, 60)
    make.span("wait", "disk", 0, 10).span("wait", "network", 10, 20).span("wait", "sleep", 20, 30)
    make.span("wait", "futex", 30, 40).span("wait", "memory map", 40, 50)
    make.span("triton", "compile", 0, 40, thread=1)
    assert make.causes() == {
        "page_in": 10,
        "network_wait": 10,
        "lock_wait": 20,
        "compile": 10,
        "page_fault": 10,
        "unattributed": 40,
    }


def test_a_wait_inside_a_call_that_says_what_it_does_changes_nothing(make):
    make.span("cuda.driver", "cuInit", 0, 50).span("wait", "device", 10, 40).off(10, 40)
    assert make.causes() == {"driver_init": 50, "unattributed": 50}


def test_off_the_cpu_while_reading_files_is_page_in(make):
    make.span("import", "m", 0, 50).span("dlopen", "m", 10, 40).off(20, 30)
    assert make.causes() == {
        "import_python": 20,
        "library_load": 20,
        "page_in": 10,
        "unattributed": 50,
    }


def test_major_faults_explain_a_wait(make):
    make.off(20, 30).off(50, 60).event("fault.major", 20, 1)
    assert make.causes() == {"page_in": 10, "lock_wait": 10, "unattributed": 80}


def test_a_preempted_thread_waits_for_the_cpu_whatever_it_was_doing(make):
    make.span("cuda.driver", "cuInit", 0, 50).off(10, 15, runnable=True)
    make.off(70, 75, runnable=True)
    assert make.causes() == {"driver_init": 45, "run_queue": 10, "unattributed": 45}


def test_a_preemption_during_a_synchronise_is_covered_by_the_device(make):
    make.span("cuda.runtime", "cudaDeviceSynchronize_v3020", 0, 50)
    make.off(10, 15, runnable=True).op("kernel", "mine", 0, 50)
    assert make.causes() == {"device_compute": 50, "unattributed": 50}


def test_samples_speak_for_time_without_a_span(make):
    make.sampled(0, 10, JIT, PYTHON).sampled(10, 20, "[kernel]:exc_page_fault", PYTHON)
    assert make.causes() == {"compile": 10, "page_fault": 14.5, "unattributed": 75.5}


def test_a_gap_between_samples_is_filled_to_five_periods_on_either_side(make):
    make.sample(20, JIT).sample(40, JIT)
    assert make.causes() == {"compile": 20, "unattributed": 80}


def test_a_sample_inside_a_named_call_does_not_leak_out_of_it(make):
    make.span("cuda.driver", "cuInit", 10, 20).sampled(10, 20, "libcuda.so.1:")
    assert make.causes() == {"driver_init": 10, "unattributed": 90}


def test_samples_refine_an_import_but_its_interpreter_time_stays_import(make):
    make.span("import", "torch", 0, 40)
    make.sampled(0, 10, "ld-linux-x86-64.so.2:do_lookup_x", PYTHON)
    make.sampled(10, 20, "[kernel]:clear_page_erms", "[kernel]:exc_page_fault", PYTHON)
    make.sampled(20, 40, PYTHON)
    assert make.causes() == {
        "library_load": 10,
        "page_fault": 10,
        "import_python": 20,
        "unattributed": 60,
    }


def test_a_sample_inside_one_import_says_nothing_about_the_next(make):
    make.span("import", "a", 0, 4).span("import", "b", 4, 8)
    make.sample(3, "ld-linux-x86-64.so.2:do_lookup_x", PYTHON)
    assert make.causes() == {"library_load": 4, "import_python": 4, "unattributed": 92}


def test_a_switched_out_thread_has_no_running_code(make):
    make.sampled(0, 10, JIT).off(10, 20)
    # the next sample is due after a period of CPU time: for that long the last one speaks
    assert make.causes() == {"compile": 11, "lock_wait": 10, "unattributed": 79}


def test_samples_count_cpu_time_so_that_a_starved_thread_is_known_too(make):
    make.sample(0.5, JIT).sample(89.5, JIT)
    for at in range(1, 89, 11):
        make.off(at, at + 10.9, runnable=True)
    found = make.causes()
    assert found["run_queue"] == pytest.approx(87.2)
    assert found["compile"] == pytest.approx(1 + 0.8 + 1.0 + 5 - 1, abs=1.5)


def test_a_cut_stack_belongs_to_the_stretch_around_it(make):
    make.sampled(0, 4, JIT).sampled(4, 6, "libc.so.6:").sampled(6, 10, JIT)
    assert make.causes() == {"compile": 14.5, "unattributed": 85.5}


def test_page_faults_do_not_tell_what_code_they_interrupt(make):
    fault = "[kernel]:exc_page_fault", "libc.so.6:"
    make.sampled(0, 4, *fault).sampled(4, 6, "libc.so.6:").sampled(6, 10, *fault)
    assert make.causes() == {"page_fault": 8 + 4.5, "unattributed": 2 + 85.5}


def test_mapping_the_stack_of_a_new_thread_is_part_of_its_start(make):
    make.sample(10, "[kernel]:do_mmap", "libc.so.6:mmap").event("threads", 10.1, 1)
    assert make.causes() == {"thread_start": 10, "unattributed": 90}
    make.sample(50, "[kernel]:do_mmap", "libc.so.6:mmap")
    assert make.causes() == {"thread_start": 10, "unattributed": 90}


def test_a_cut_stack_between_two_causes_stays_open(make):
    make.sampled(0, 4, JIT).sampled(4, 6, "libc.so.6:").sampled(6, 10, "ld-linux-x86-64.so.2:x")
    assert make.causes()["unattributed"] == 2 + 85.5


def test_a_stay_in_the_driver_that_ends_with_a_call_on_record_is_its_start(make):
    make.sampled(0, 20, "[nvidia]:osDevReadReg032", "libcuda.so.1:")
    make.span("cuda.driver", "cuDeviceGetCount", 20, 21)
    assert make.causes() == {"driver_init": 20.5, "unattributed": 79.5}


def test_host_time_beside_the_loads_of_a_library_is_its_start(make):
    make.span("cuda.driver", "cuLibraryLoadData", 10, 20)
    make.span("cuda.driver", "cuLibraryLoadData", 30, 40)
    make.span("cuda.runtime", "cudaLaunchKernel_v7000", 45, 46)
    assert make.causes() == {
        "module_load": 20,
        "library_handle": 15,
        "kernel_launch": 1,
        "unattributed": 64,
    }


def test_a_sample_that_only_says_driver_does_not_hide_the_start_of_a_library(make):
    make.span("cuda.driver", "cuLibraryLoadData", 0, 10)
    make.span("cuda.driver", "cuLibraryLoadData", 14, 20)
    make.sampled(10, 14, "libcuda.so.1:")
    assert make.causes() == {"module_load": 16, "library_handle": 4, "unattributed": 80}


def test_driver_code_is_named_by_the_call_on_its_stack_or_stays_open(make):
    make.sampled(0, 5, "[nvidia]:rm_ioctl", "libcuda.so.1:", "libcuda.so.1:cuMemCreate", PYTHON)
    make.sampled(20, 25, "libcuda.so.1:", PYTHON)
    assert make.causes() == {"pool_reserve": 9.5, "kernel_launch": 14, "unattributed": 76.5}
    make.span("cuda.driver", "cuInit", 90, 91)
    assert make.causes() == {"pool_reserve": 9.5, "driver_init": 1, "unattributed": 89.5}


def test_overhead_without_a_thread_belongs_to_the_call_around_it(make):
    make.span("cuda.runtime", "cudaMalloc", 0, 50, thread=2)
    make.span("cuda.overhead", "CUPTI_BUFFER_FLUSH", 10, 20, thread=None)
    make.span("cuda.overhead", "ACTIVITY_BUFFER_REQUEST", 60, 65, thread=None)
    assert make.causes() == {"measurement": 5, "unattributed": 95}


def test_the_process_start_and_exit_frame_the_launch(make):
    from msgspec.structs import replace

    make.process = replace(
        make.launch().processes[0],
        start_ns=2_000_000,
        ready_ns=50_000_000,
        agent_ns=5_000_000,
        main_end_ns=900_000_000,
    )
    whole = make.ledgers()[-1]
    found = {line.cause.value: line.ns for line in whole.lines}
    assert whole.scope == "launch"
    assert found == {
        "interpreter_start": 50_000_000,
        "process_exit": 100_000_000,
        "unattributed": 845_000_000,
    }
    assert whole.measurement_ns == 5_000_000


def test_a_program_that_replaces_another_in_its_process_starts_too(make):
    """An interpreter that calls exec has two starts, both on the main thread of one process."""
    from msgspec.structs import replace

    from coldsoak import ledger

    launch = make.launch()
    first = replace(launch.processes[0], ready_ns=30 * MS, agent_ns=5 * MS, end_ns=100 * MS)
    second = replace(first, start_ns=100 * MS, ready_ns=140 * MS, end_ns=1000 * MS)
    made = ledger.attribute(make.trace(), replace(launch, processes=(first, second)))
    found = {line.cause.value: line.ns // MS for line in made[-1].lines}
    assert found == {"interpreter_start": 70, "unattributed": 920}
    assert made[-1].measurement_ns == 10 * MS
