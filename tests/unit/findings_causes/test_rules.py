"""Each finding about a cause: what makes it fire, and what must not."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from coldsoak.findings.registry import GROUPS, find, rules
from coldsoak.findings.stakes import fix
from coldsoak.findings.view import View
from coldsoak.model.causes import Cause
from coldsoak.model.facts import Memory, Repeat, Work
from coldsoak.model.result import Child

CODES = [code for code, rule in rules().items() if ".causes." in rule.__name__]


def test_all_causes_have_their_module():
    assert set(CODES) >= {
        *("bytecode-missing", "bytecode-unwritable", "pool-reserved", "ptx-jit", "recompiles"),
        *("cache-configured-but-missed", "cache-in-temporary-place", "autotune-each-process"),
        *("import-inside-region", "probe-children", "eager-module-loading", "persistence-off"),
        *("many-visible-gpus", "disk-cold", "network-at-start", "stale-lock"),
        "thread-oversubscription",
    }
    assert "causes" in GROUPS


def test_remedies_that_findings_name_are_in_the_catalogue():
    from coldsoak.findings import causes
    from coldsoak.remedies.registry import REMEDIES

    folder = Path(causes.__path__[0])
    texts = [file.read_text(encoding="utf-8") for file in folder.glob("*.py")]
    named = {name for text in texts for name in re.findall(r'"([a-z]+\.[a-z_]{3,})"', text)}
    known = {remedy.id for remedy in REMEDIES}
    assert named & known
    assert named - {"torch.compile", "tf.function", "cuda.jit"} <= known


@pytest.mark.parametrize(
    ("kind", "words"),
    [("run", "python a.py"), ("fix", "python a.py"), ("bench", "python script.py")],
)
def test_the_line_that_tries_a_remedy_names_the_measured_command(make, kind, words):
    view = View(replace(make.result(), kind=kind))
    assert fix(view, "py.pyc") == f"coldsoak fix --remedy py.pyc -- {words}"
    assert not fix(view, "")


@pytest.mark.parametrize("code", CODES)
def test_a_clean_result_gives_no_finding(code, make, found):
    clean = make.result(
        facts=make.facts(make.event("jax", "backend_compile", ms=5)),
        ledgers=[make.ledger([make.line(Cause.IMPORT_PYTHON, 900)])],
        cards=1,
    )
    assert found(code, clean) == []


@pytest.mark.parametrize("code", CODES)
def test_a_result_without_any_launch_gives_no_finding(code, make, found):
    from msgspec.structs import replace

    assert found(code, replace(make.result(), launches=(), summaries=())) == []


@pytest.mark.parametrize(
    ("env", "code"),
    [({"PYTHONDONTWRITEBYTECODE": "1"}, "bytecode-missing"), ({}, "bytecode-unwritable")],
)
def test_bytecode_compiled_in_every_launch(env, code, make, found):
    slow = make.result(packages={"torch": 700.0, "sympy": 90.0}, env=env)
    (finding,) = found(code, slow)
    assert finding.seconds == pytest.approx(0.79)
    assert "torch 700 ms" in finding.evidence[0]
    other = {"bytecode-missing", "bytecode-unwritable"} - {code}
    assert found(other.pop(), slow) == []


def test_bytecode_that_was_taken_away_on_purpose_is_no_finding(make, found):
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    asked = make.result(packages={"torch": 700.0}, env=env, cold=("bytecode",))
    assert found("bytecode-missing", asked) == []


def test_a_little_compiling_is_left_alone(make, found):
    little = make.result(packages={"torch": 12.0}, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert found("bytecode-missing", little) == []


def pool(make, gib, ms=0.0, packages=None):
    memory = Memory(kind="device", count=3, total=gib << 30, largest=gib << 30, largest_ns=0)
    lines = [make.line(Cause.POOL_RESERVE, ms)] if ms else []
    return make.result(
        packages=packages or {"jax": 0.0},
        facts=make.facts(memory=(memory,), cards=(make.card(),)),
        ledgers=[make.ledger(lines)],
        cards=1,
    )


def test_a_pool_of_most_of_the_card(make, found):
    (finding,) = found("pool-reserved", pool(make, 75, ms=1500))
    assert finding.seconds == pytest.approx(1.5)
    assert "75.0 GiB, 75 % of the card" in finding.text
    assert finding.advice[0] == "export XLA_PYTHON_CLIENT_PREALLOCATE=false"
    (finding,) = found("pool-reserved", pool(make, 90, packages={"tensorflow": 0.0}))
    assert (finding.seconds, finding.advice[0]) == (None, "export TF_FORCE_GPU_ALLOW_GROWTH=true")
    assert found("pool-reserved", pool(make, 4, ms=3)) == []


FOLDER = {"JAX_COMPILATION_CACHE_DIR": "/home/me/jax"}


def jax_cache(make, *, hits, reads=5, writes=0, cold=("process",), env=FOLDER):
    events = [make.event("jax", "cache_read", reads), make.event("jax", "backend_compile", ms=900)]
    if hits:
        events.append(make.event("jax", "cache_hits", hits))
    if writes:
        events.append(make.event("jax", "cache_misses", writes))
    return make.result(packages={"jax": 0.0}, facts=make.facts(*events), cold=cold, env=env)


def test_a_jax_cache_that_keeps_nothing(make, found):
    code = "cache-configured-but-missed"
    (finding,) = found(code, jax_cache(make, hits=0))
    assert "asked for 5 programs and had 0 of them" in finding.text
    assert finding.advice[0] == "export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0"
    (finding,) = found(code, jax_cache(make, hits=1, writes=4))
    assert "keys are new in each process" in finding.evidence[0]
    assert finding.advice[0] == "export JAX_EXPLAIN_CACHE_MISSES=1"


def test_hits_or_an_emptied_cache_are_no_finding(make, found):
    code = "cache-configured-but-missed"
    assert found(code, jax_cache(make, hits=5)) == []
    assert found(code, jax_cache(make, hits=4)) == []
    assert found(code, jax_cache(make, hits=0, cold=("cache",))) == []


def test_programs_that_were_asked_for_before_the_cache_was_on(make, found):
    code = "cache-configured-but-missed"
    kept = {**FOLDER, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    assert found(code, jax_cache(make, hits=1, env=kept)) == []
    assert len(found(code, jax_cache(make, hits=0, env=kept))) == 1
    assert len(found(code, jax_cache(make, hits=1))) == 1


def test_jax_without_a_cache_folder_asks_in_vain_and_that_is_no_finding(make, found):
    assert found("cache-configured-but-missed", jax_cache(make, hits=0, env={})) == []


def test_processes_that_miss_the_same_key(make, found):
    code, misses = "cache-stampede", {"jit_f-1": 3, "jit_g-2": 3}
    (finding,) = found(code, make.result(facts=make.facts(shared_misses=misses)))
    assert finding.text.startswith("6 compilations of 2 programs: up to 3 processes")
    plain = make.result(packages={"jax": 0.0}, facts=make.facts(shared_misses=misses))
    assert found(code, plain) == []
    kept = make.event("jax", "cache_misses", 6)
    filled = make.result(packages={"jax": 0.0}, facts=make.facts(kept, shared_misses=misses))
    assert len(found(code, filled)) == 1


def test_a_cache_of_torch_compile_that_misses(make, found):
    events = [make.event("torch", "fx_graph_cache_miss", 2), make.event("torch", "backend_compile")]
    (finding,) = found("cache-configured-but-missed", make.result(facts=make.facts(*events)))
    assert finding.text.startswith("The cache of torch.compile was asked for 2 programs")


@pytest.mark.parametrize(
    ("env", "fires"),
    [
        ({}, True),
        ({"TORCHINDUCTOR_CACHE_DIR": "/home/me/cache"}, False),
        ({"TORCHINDUCTOR_CACHE_DIR": "/scratch/c", "TMPDIR": "/scratch"}, True),
        ({"TMPDIR": "/home/me/tmp"}, True),
    ],
)
def test_compiled_code_in_a_temporary_folder(env, fires, make, found):
    facts = make.facts(make.event("torch", "autograd_cache_hit"))
    result = make.result(env=env, facts=facts)
    assert bool(found("cache-in-temporary-place", result)) is fires


def ptx(make, ms, name="COMPILE", **more):
    event = make.event("cuda.jit", name, 40, ms, details=("PTX_TO_CUBIN 9000 bytes ",))
    return make.result(facts=make.facts(event, cards=(make.card(),), **more), cards=1)


def test_ptx_compiled_by_the_driver_names_the_library(make, found):
    (finding,) = found("ptx-jit", ptx(make, 5000, jit_callers={"libold.so": 90, "libx.so": 2}))
    assert finding.text == (
        "libold.so has no machine code for sm_90: the driver compiled PTX for 5.00 s."
    )
    assert "40 compilations" in finding.evidence[0]
    (finding,) = found("ptx-jit", ptx(make, 5000))
    assert finding.settle
    assert found("ptx-jit", ptx(make, 5000, name="CACHE_LOAD")) == []
    assert found("ptx-jit", ptx(make, 3)) == []


def test_a_search_in_every_process(make, found):
    code = "autotune-each-process"
    lines = [make.line(Cause.ALGORITHM_SEARCH, 300, items=[("gemm", 200)])]
    ledgers = [make.ledger(lines)]
    (finding,) = found(code, make.result(packages={"jax": 0.0}, ledgers=ledgers))
    assert finding.seconds == pytest.approx(0.3)
    assert "XLA_FLAGS" in finding.advice[0]
    assert found(code, make.result(ledgers=ledgers, cold=("cache",))) == []
    little = [make.ledger([make.line(Cause.ALGORITHM_SEARCH, 30)])]
    assert found(code, make.result(ledgers=little)) == []


def again(make, source, name, text, *, ms=60, function="step", **more):
    repeat = Repeat(source=source, name=name, function=function, count=3, ns=ms * 1_000_000,
                    details=(f"fn_name={function}, reason=tensor size mismatch",))  # fmt: skip
    return make.result(facts=make.facts(repeats=(repeat,), **more), sources={"a.py": text})


def test_a_function_of_the_users_that_is_compiled_again(make, found):
    jax = again(make, "jax", "trace", "def step(x):\n    return x\n",
                explained=("step: at x, now f32[]{weak_type=False}", "other: at y"))  # fmt: skip
    (finding,) = found("recompiles", jax)
    assert finding.evidence == ("reason: at x, now f32[]{weak_type=False}",)
    assert "JAX made step 3 times in one process" in finding.text
    torch = again(make, "torch", "dynamo", "def step(x):\n    return x\n")
    (finding,) = found("recompiles", torch)
    assert finding.settle


def test_a_compiler_that_this_version_does_not_know_is_named_as_it_is(make, found):
    (finding,) = found("recompiles", again(make, "mojo", "compile", "def step(x):\n    return x\n"))
    assert finding.text.startswith("mojo made step 3 times")
    assert finding.advice == ()
    assert (finding.evidence, finding.settle) == (("reason: tensor size mismatch",), "")


def test_functions_of_libraries_and_quick_ones_are_left_alone(make, found):
    text = "def work(x):\n    return x\n"
    assert found("recompiles", again(make, "jax", "trace", text)) == []
    assert found("recompiles", again(make, "jax", "trace", "def step(x): ...", ms=2)) == []


def region(make, ms, cause=Cause.IMPORT_PYTHON, *, items=(), total=1000.0, size=0):
    return make.ledger([make.line(cause, ms, items, size)], scope="region", series="s", total=total)


def test_imports_inside_the_first_run_of_a_region(make, found):
    code = "import-inside-region"
    items = [("torch._dynamo", 300), ("torch._inductor", 200)]
    facts = make.facts(modules={"s": 1417})
    slow = make.result(ledgers=[region(make, 500, items=items)], facts=facts)
    (finding,) = found(code, slow)
    assert "importing 1,417 modules of torch." in finding.text
    assert (finding.file, finding.line, finding.seconds) == ("a.py", 3, 0.5)
    assert finding.advice[0] == "import torch._dynamo  # above line 3"
    assert found(code, make.result(ledgers=[region(make, 60)])) == []
    assert found(code, make.result(ledgers=[region(make, 10, total=50)])) == []


def test_children_that_only_try_whether_code_loads(make, found):
    code = "probe-children"
    probe = ("python", "-c", "import torch\nfrom ctypes import cdll; cdll.LoadLibrary('x.so')")
    child = make.process(argv=probe, pid=11, start=0, end=400.0)
    (finding,) = found(code, make.result(processes=(child, child)))
    assert finding.seconds == pytest.approx(0.8)
    worker = make.process(argv=("python", "compile_worker.py"), pid=11, end=900.0)
    assert found(code, make.result(processes=(worker,))) == []
    short = make.process(argv=probe, pid=11, end=40.0)
    assert found(code, make.result(processes=(short,))) == []
    assert Child(pid=1, ppid=0, argv=probe, start_ns=0, end_ns=None).end_ns is None


def test_eager_loading_needs_the_variable_and_a_card(make, found):
    code, env = "eager-module-loading", {"CUDA_MODULE_LOADING": "EAGER"}
    ledgers = [make.ledger([make.line(Cause.MODULE_LOAD, 1200)])]
    (finding,) = found(code, make.result(env=env, ledgers=ledgers, cards=1))
    assert finding.seconds == pytest.approx(1.2)
    assert found(code, make.result(env=env, ledgers=ledgers)) == []
    assert found(code, make.result(ledgers=ledgers, cards=1)) == []


def test_persistence_off_needs_a_slow_start_of_the_driver(make, found):
    code = "persistence-off"
    slow = [make.ledger([make.line(Cause.DRIVER_INIT, 900), make.line(Cause.CONTEXT_CREATE, 200)])]
    quick = [make.ledger([make.line(Cause.DRIVER_INIT, 100)])]
    (finding,) = found(code, make.result(ledgers=slow, cards=1, persistence=False))
    assert finding.seconds == pytest.approx(1.1)
    assert found(code, make.result(ledgers=quick, cards=1, persistence=False)) == []
    assert found(code, make.result(ledgers=slow, cards=1)) == []


def test_many_cards_visible_and_one_used(make, found):
    code = "many-visible-gpus"
    ledgers = [make.ledger([make.line(Cause.DRIVER_INIT, 400)])]

    def result(used, env=None, cards=8):
        work = Work(series="s", run=0, busy_ns=1, tail_ns=0, devices=used)
        facts = make.facts(work=(work,), device_seen=True)
        return make.result(ledgers=ledgers, cards=cards, facts=facts, env=env)

    (finding,) = found(code, result((2,)))
    assert finding.advice[0] == "export CUDA_VISIBLE_DEVICES=2"
    assert found(code, result((0, 1))) == []
    assert found(code, result((0,), env={"CUDA_VISIBLE_DEVICES": "0"})) == []
    assert found(code, result((0,), cards=1)) == []


def test_reading_from_storage(make, found):
    code = "disk-cold"
    whole = make.ledger([make.line(Cause.PAGE_IN, 600)])
    launch = make.ledger([make.line(Cause.PAGE_IN, 600, size=150 << 20)], scope="launch")
    (finding,) = found(code, make.result(ledgers=[whole, launch]))
    assert "150 MiB were read" in finding.text
    assert finding.severity == "cause"
    (finding,) = found(code, make.result(ledgers=[whole], cold=("disk",)))
    assert finding.severity == "note"
    assert found(code, make.result(ledgers=[whole], seen=("io",))) == []
    assert len(found(code, make.result(ledgers=[whole, launch], seen=("io",)))) == 1
    quick = make.ledger([make.line(Cause.PAGE_IN, 7)])
    assert len(found(code, make.result(ledgers=[quick, launch]))) == 1
    assert found(code, make.result(ledgers=[quick])) == []
    part = region(make, 300, Cause.PAGE_IN)
    (finding,) = found(code, make.result(ledgers=[make.ledger([]), part]))
    assert finding.line == 3
    assert found(code, make.result(ledgers=[make.ledger([make.line(Cause.PAGE_IN, 15)])])) == []


def test_waiting_for_the_network(make, found):
    code = "network-at-start"
    ledgers = [region(make, 400, Cause.NETWORK_WAIT)]
    (finding,) = found(code, make.result(ledgers=ledgers))
    assert (finding.line, finding.advice) == (3, ())
    (finding,) = found(code, make.result(packages={"huggingface_hub": 0.0}, ledgers=ledgers))
    assert finding.advice[0] == "export HF_HUB_OFFLINE=1"
    assert found(code, make.result(ledgers=[region(make, 30, Cause.NETWORK_WAIT)])) == []


def test_waiting_for_a_lock_file(make, found):
    code = "stale-lock"
    locked = make.facts(make.event("wait", "lock file", ms=900))
    (finding,) = found(code, make.result(facts=locked))
    assert finding.confidence == "measured"
    polled = make.event("torch", "cpp_extension", ms=900, details=("name=mine",))
    (finding,) = found(code, make.result(facts=make.facts(polled)))
    assert "the extension name=mine" in finding.text
    built = make.facts(polled, make.event("child", "ninja", ms=800))
    assert found(code, make.result(facts=built)) == []


def test_more_threads_than_cores(make, found):
    code = "thread-oversubscription"
    ledgers = [region(make, 300, Cause.RUN_QUEUE)]
    asked = {"OMP_NUM_THREADS": "16"}
    (finding,) = found(code, make.result(ledgers=ledgers, env=asked))
    assert "OMP_NUM_THREADS=16 on 4 usable cores" in finding.text
    (finding,) = found(code, make.result(ledgers=ledgers, cores=(16, 2.0)))
    assert "16 cores are visible and 2 may be used" in finding.text
    assert found(code, make.result(ledgers=ledgers)) == []
    assert found(code, make.result(ledgers=ledgers, env={"OMP_NUM_THREADS": "4"})) == []
    little = [region(make, 20, Cause.RUN_QUEUE)]
    assert found(code, make.result(ledgers=little, env=asked)) == []


def test_causes_stand_behind_mistakes_and_larger_ones_first(make):
    ledgers = [make.ledger([make.line(Cause.PAGE_IN, 600), make.line(Cause.NETWORK_WAIT, 900)])]
    codes = [one.code for one in find(make.result(ledgers=ledgers))]
    assert codes.index("network-at-start") < codes.index("disk-cold")
