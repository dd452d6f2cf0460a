"""The safety rules of the CUDA stages, each against a driver that logs what is asked of it."""

import pytest

CONTEXT = "context 0"
SAY_DONE = "print('the program ran')"


def off(ran):
    """The reason why the context was left alone; asserts that the program ran and said it."""
    assert (ran.status, ran.out) == (0, "the program ran\n"), ran.err
    state, why = ran.stages["context"]
    assert state == "off"
    assert f"coldsoak: preheat: context off: {why}\n" == ran.err
    assert not ran.called("retain")
    return why


def test_the_context_is_made_on_a_thread_of_its_own(preheated):
    program = "import threading; print(threading.get_native_id())"
    ran = preheated(program, CONTEXT)
    assert [call.name for call in ran.calls] == ["cuInit", "cuInit-done", "retain", "current"]
    threads = {call.thread for call in ran.calls}
    assert len(threads) == 1
    assert threads != {int(ran.out)}
    assert ran.stages["context"] == ("done", "")


def test_the_thread_calls_the_driver_alone(preheated):
    """Rules 1, 3 and 4: no CUDA runtime, no framework, no import, no library beside the driver."""
    program = (
        "import sys, time\n"
        "from coldsoak_agent import preheat\n"
        "before = set(sys.modules)\n"
        "preheat.handle.wait()\n"
        "print(sorted(set(sys.modules) - before))\n"
        "print([line.split()[-1] for line in open('/proc/self/maps') if 'standin' in line][-1])\n"
    )
    ran = preheated(program, CONTEXT, STANDIN_INIT_MS="200")
    new, mapped = ran.out.splitlines()
    assert new == "[]"
    assert mapped.endswith("libcuda.so.1")


def test_python_runs_on_while_the_driver_starts(preheated):
    program = (
        "import time\n"
        "from coldsoak_agent import preheat\n"
        "ticks = 0\n"
        "while not preheat.handle.wait(0):\n"
        "    time.sleep(0.005)\n"
        "    ticks += 1\n"
        "print(ticks)\n"
    )
    ran = preheated(program, CONTEXT, STANDIN_INIT_MS="800")
    assert int(ran.out) >= 20  # a held lock would leave one or two


def test_a_loader_that_is_busy_does_not_stop_the_thread(preheated, libraries):
    """Rule 2: all symbols were resolved before the thread began."""
    program = (
        "import ctypes\n"
        "dlopen = ctypes.CDLL(None).dlopen\n"
        f"dlopen({str(libraries / 'libslow.so').encode()!r}, 2)\n"
    )
    ran = preheated(program, CONTEXT, STANDIN_INIT_MS="500", STANDIN_CONSTRUCTOR_MS="2000")
    (begin,), (end,) = ran.called("constructor"), ran.called("constructor-done")
    (retained,) = ran.called("retain")
    assert begin.at_ns < retained.at_ns < end.at_ns


@pytest.mark.parametrize("recorded", ["env CUDA_VISIBLE_DEVICES=1", "env CUDA_CACHE_PATH=/x"])
def test_a_program_that_sets_the_environment_itself_starts_its_driver_itself(preheated, recorded):
    """Rule 5: the recorded run had a value at cuInit that is not there yet."""
    why = off(preheated(SAY_DONE, CONTEXT, recorded))
    name, _, value = recorded.removeprefix("env ").partition("=")
    assert why == f"{name} was {value} in the recorded run and is None here"


def test_a_variable_that_the_recorded_run_had_not_switches_the_context_off(preheated):
    why = off(preheated(SAY_DONE, CONTEXT, CUDA_VISIBLE_DEVICES="0"))
    assert why == "CUDA_VISIBLE_DEVICES was None in the recorded run and is 0 here"


def test_the_driver_starts_with_the_recorded_environment(preheated):
    ran = preheated(
        SAY_DONE, CONTEXT, "env CUDA_VISIBLE_DEVICES=1", CUDA_VISIBLE_DEVICES="1", STANDIN_COUNT="2"
    )
    assert [call.value for call in ran.called("cuInit")] == ["1"]


def test_an_environment_that_changes_afterwards_is_said(preheated):
    program = "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '3'; print('the program ran')"
    ran = preheated(program, CONTEXT)
    assert ran.status == 0
    assert ran.stages["environment"][0] == "failed"
    assert "CUDA_VISIBLE_DEVICES was set after the driver had started" in ran.err


def test_a_fork_waits_for_the_driver(preheated):
    """Rule 6: the child must not inherit a driver in the middle of its start."""
    program = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    print('fork', time.monotonic_ns(), flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    ran = preheated(program, CONTEXT, STANDIN_INIT_MS="600")
    assert ran.called("retain")[0].at_ns < int(ran.out.split()[1])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_work_and_do_not_preheat(preheated, method):
    program = (
        "import multiprocessing as mp, os\n"
        "def work(x):\n"
        "    return x * x, 'COLDSOAK_PREHEAT' in os.environ\n"
        "if __name__ == '__main__':\n"
        f"    with mp.get_context({method!r}).Pool(2) as pool:\n"
        "        print(pool.map(work, [2, 3]))\n"
    )
    ran = preheated(program, CONTEXT, "script program.py", STANDIN_INIT_MS="300")
    assert (ran.status, ran.out) == (0, "[(4, False), (9, False)]\n"), ran.err
    assert len(ran.called("cuInit")) == 1


def test_a_subprocess_does_not_wait_and_does_not_preheat(preheated):
    program = (
        "import subprocess, sys, time\n"
        "subprocess.run([sys.executable, 'program.py', 'child']) if len(sys.argv) == 1 else None\n"
        "print('ran', time.monotonic_ns())\n"
    )
    ran = preheated(program, CONTEXT, STANDIN_INIT_MS="2500")
    child = int(ran.out.split()[1])
    assert child < ran.called("cuInit-done")[0].at_ns
    assert len(ran.called("cuInit")) == 1


def test_only_the_recorded_device_is_used(preheated):
    """Rule 7."""
    ran = preheated(SAY_DONE, "context 2", STANDIN_COUNT="4")
    assert [call.value for call in ran.called("retain")] == ["2"]


def test_a_device_that_is_not_there_is_left_alone(preheated):
    why = off(preheated(SAY_DONE, "context 2", STANDIN_COUNT="2"))
    assert why == "device 2 of the recorded run is not there"


def test_other_ranks_of_a_node_have_devices_of_their_own(preheated):
    why = off(preheated(SAY_DONE, CONTEXT, LOCAL_RANK="1"))
    assert why == "LOCAL_RANK is 1: this process has a device of its own"
    assert preheated(SAY_DONE, CONTEXT, LOCAL_RANK="0").called("retain")


@pytest.mark.parametrize("argument", ["-h", "--help", "--version"])
def test_a_program_that_only_explains_itself_is_left_alone_in_silence(preheated, argument):
    """Rule 8."""
    ran = preheated(SAY_DONE, CONTEXT, arguments=[argument])
    assert (ran.out, ran.err) == ("the program ran\n", "")
    assert not ran.calls
    assert ran.stages["context"] == ("off", "")


def test_no_card(preheated):
    why = off(preheated(SAY_DONE, CONTEXT, extra='preheat_cuda.DEVICE_FILE = "/dev/no-card"'))
    assert why == "no NVIDIA device"


def test_no_driver_library(preheated):
    ran = preheated(SAY_DONE, CONTEXT, LD_LIBRARY_PATH="")
    assert (ran.status, ran.out) == (0, "the program ran\n")
    assert ran.stages["context"][0] == "failed"
    assert "libcuda.so.1" in ran.err


def test_the_exit_waits_for_the_driver_and_keeps_its_status(preheated):
    """Rule 9."""
    ran = preheated("raise SystemExit(3)", CONTEXT, STANDIN_INIT_MS="600")
    assert ran.status == 3
    assert ran.called("retain")
    assert ran.err == ""


def test_the_exit_waits_only_so_long_for_a_driver_that_hangs(preheated):
    ran = preheated(
        "raise SystemExit(3)",
        CONTEXT,
        extra="preheat.EXIT_WAIT_S = 0.3",
        STANDIN_INIT_MS="600000",
    )
    assert ran.status == 3
    assert not ran.called("cuInit-done")


def test_a_fork_waits_only_so_long_for_a_driver_that_hangs(preheated):
    program = "import os\nif os.fork() == 0: os._exit(0)\nos.wait(); print('forked')"
    extra = "preheat.EXIT_WAIT_S = preheat.FORK_WAIT_S = 0.2"
    ran = preheated(program, CONTEXT, extra=extra, STANDIN_INIT_MS="600000")
    assert (ran.status, ran.out) == (0, "forked\n")


def test_the_end_by_an_exception_or_a_signal_is_the_programs_own(preheated):
    failed = preheated("raise ValueError('mine')", CONTEXT, STANDIN_INIT_MS="200")
    assert failed.status == 1
    assert failed.err.endswith("ValueError: mine\n")
    killed = preheated("import os; os.kill(os.getpid(), 15)", CONTEXT, STANDIN_INIT_MS="200")
    assert killed.status == -15


@pytest.mark.parametrize("mode", ["1", "2", "3"])
def test_a_card_in_another_compute_mode_is_left_alone(preheated, mode):
    """Rule 11: a context of ours could be the one too many."""
    why = off(preheated(SAY_DONE, CONTEXT, STANDIN_MODE=mode))
    assert why == "the card is not in default compute mode"


def test_mps_keeps_the_driver_alone(preheated, tmp_path):
    (tmp_path / "pipes").mkdir()
    (tmp_path / "pipes" / "control").touch()
    where = str(tmp_path / "pipes")
    extra = f"preheat_cuda.MPS_PIPES = {where!r}"
    ran = preheated(SAY_DONE, CONTEXT, extra=extra)
    assert off(ran) == "the card is shared by MPS"
    assert not ran.calls
    ran = preheated(
        SAY_DONE,
        CONTEXT,
        f"env CUDA_MPS_PIPE_DIRECTORY={where}",
        CUDA_MPS_PIPE_DIRECTORY=where,
    )
    assert off(ran) == "the card is shared by MPS"


def test_mig_keeps_the_driver_alone(preheated, tmp_path):
    (tmp_path / "capabilities" / "gpu0" / "mig" / "gi1").mkdir(parents=True)
    extra = f"preheat_cuda.MIG_INSTANCES = {str(tmp_path / 'capabilities')!r}"
    ran = preheated(SAY_DONE, CONTEXT, extra=extra)
    assert off(ran) == "a card is cut into MIG instances"
    assert not ran.calls


def test_a_driver_that_fails_is_said_and_the_program_runs(preheated):
    ran = preheated(SAY_DONE, CONTEXT, STANDIN_INIT_ERROR="999")
    assert (ran.status, ran.out) == (0, "the program ran\n")
    assert ran.err == "coldsoak: preheat: context failed: cuInit gave error 999\n"


def test_quiet_says_nothing(preheated):
    ran = preheated(SAY_DONE, "quiet", CONTEXT, STANDIN_INIT_ERROR="999")
    assert (ran.status, ran.out, ran.err) == (0, "the program ran\n", "")


def test_the_small_products_leave_nothing_behind(preheated, libraries):
    ran = preheated(SAY_DONE, CONTEXT, f"library {libraries / 'libcublas.so.13'}")
    assert [call.value for call in ran.called("product")] == ["64", "1024"]
    assert len(ran.called("alloc")) == len(ran.called("free")) == 2
    assert len(ran.called("handle")) == len(ran.called("handle-gone")) == 1
    assert ran.stages["context"][0] == ran.stages["products"][0] == "done"


@pytest.mark.parametrize(
    ("library", "why"),
    [("/nowhere/libcublas.so", "cannot open /nowhere/libcublas.so"), (None, "has no cublasCreate")],
)
def test_a_library_that_does_not_fit_leaves_the_context(preheated, library, why):
    import _ctypes

    ran = preheated(SAY_DONE, CONTEXT, f"library {library or _ctypes.__file__}")
    assert (ran.status, ran.out) == (0, "the program ran\n")
    assert ran.called("retain")
    assert why in ran.stages["context"][1]


def test_a_product_that_fails_gives_its_memory_back(preheated, libraries):
    library = f"library {libraries / 'libcublas.so.13'}"
    ran = preheated(SAY_DONE, CONTEXT, library, STANDIN_PRODUCT_ERROR="13")
    assert len(ran.called("alloc")) == len(ran.called("free")) == 1
    assert ran.stages["context"] == ("failed", "cublasSgemm gave error 13")


RANDOM = """
import hashlib, random
import numpy as np

random.seed(5); np.random.seed(5)
state = random.getstate(), np.random.get_state()[1].tolist()
print(hashlib.sha256(repr(state).encode()).hexdigest(), random.random(), np.random.rand())
print((np.arange(900.0).reshape(30, 30) @ np.arange(900.0).reshape(30, 30)).tobytes().hex())
"""


def test_results_are_the_same_bit_for_bit(preheated, libraries):
    """Rules 10 and 12, for the generators of Python and NumPy."""
    stock = preheated(RANDOM)
    plan = ("gc numpy", CONTEXT, f"library {libraries / 'libcublas.so.13'}")
    ran = preheated(RANDOM, *plan)
    assert stock.out
    assert ran.out == stock.out
    assert ran.stages["gc"] == ("done", "numpy")


def test_random_numbers_are_not_consumed_before_the_program_seeds(preheated):
    """An unseeded generator has no state to compare; that nobody drew from it, one can see."""
    program = (
        "import sys\n"
        "print('random' in sys.modules, 'numpy' in sys.modules)\n"
        "from coldsoak_agent import preheat\n"
        "preheat.handle.wait()\n"
        "print('random' in sys.modules, 'numpy' in sys.modules)\n"
    )
    ran = preheated(program, CONTEXT)
    assert ran.out == "False False\nFalse False\n"


@pytest.mark.framework("torch")
def test_torch_draws_the_same_numbers_and_computes_the_same_bits(preheated, libraries):
    program = (
        "import random, numpy, torch\n"
        "random.seed(7); numpy.random.seed(7); torch.manual_seed(7)\n"
        "print(torch.initial_seed(), random.random(), numpy.random.rand())\n"
        "a = torch.rand(64, 64)\n"
        "print((a @ a).sum().item().hex(), torch.get_num_threads(), torch.is_grad_enabled())\n"
    )
    plan = ("gc torch", "context 0", f"library {libraries / 'libcublas.so.13'}")
    stock, ran = preheated(program), preheated(program, *plan)
    assert (stock.status, stock.out) == (0, ran.out), stock.err
    assert ran.stages["gc"] == ("done", "torch")
