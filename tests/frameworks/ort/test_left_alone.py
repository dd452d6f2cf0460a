"""What the stage keeps its hands off, and says so."""

import pytest

pytestmark = [pytest.mark.framework("onnxruntime"), pytest.mark.timeout(600)]

HEAD = """
import numpy as np, onnxruntime as ort
options = ort.SessionOptions()
CPU = ["CPUExecutionProvider"]
def made(path="product.onnx", options=options, providers=CPU, **more):
    session = ort.InferenceSession(path, options, providers=providers, **more)
    print(session.run(None, dict(np.load("product.npz")))[0].sum())
"""
CASES = {
    "bytes": ('made(open("product.onnx", "rb").read())', "the model is given as bytes"),
    "another provider": (
        'made(providers=["AzureExecutionProvider", *CPU])',
        "another provider than the processor",
    ),
    "options of the provider": (
        'made(provider_options=[{"arena_extend_strategy": "kSameAsRequested"}])',
        "the provider has options",
    ),
    "options of the provider in a pair": (
        'made(providers=[("CPUExecutionProvider", {"some": "thing"})])',
        "the provider has options",
    ),
    "profile": ("options.enable_profiling = True; made()", "the session is profiled"),
    "own file": (
        'options.optimized_model_filepath = "own.onnx"; made()',
        "has the optimised model written itself",
    ),
    "no optimisation": (
        "options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL; made()",
        "switches optimisations off",
    ),
    "weights of its own": (
        """w = ort.OrtValue.ortvalue_from_numpy(np.ones((64, 64), np.float32))
options.add_initializer("w", w); made()""",
        "SessionOptions.add_initializer was called",
    ),
    "an entry that is not known": (
        'options.add_session_config_entry("ep.context_enable", "0"); made()',
        "the session options have an entry ep.context_enable",
    ),
    "options of a session": (
        """other = ort.InferenceSession(open("product.onnx", "rb").read())
made("product.onnx", other.get_session_options())""",
        "the session options were not made by the program itself",
    ),
    "own class of options": (
        "class Own(ort.SessionOptions): pass\nmade(options=Own())",
        "of a class of the program's own",
    ),
    "optimisers": (
        'made(disabled_optimizers=["MatMulAddFusion"])',
        "some optimisers are switched off",
    ),
    "options from the model": (
        'made(read_config_from_model="1")',
        "the options are read from the model",
    ),
    "ONNX Runtime's own format": (
        """options.optimized_model_filepath = "own.ort"; made()
options.optimized_model_filepath = ""; made("own.ort")""",
        "own.ort is in ONNX Runtime's own format already",
    ),
    "a small model": (
        """import onnx; m = onnx.load("product.onnx"); del m.metadata_props[:]
onnx.save(m, "small.onnx"); made("small.onnx")""",
        "small.onnx is so small that there is nothing to gain",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_left_alone_and_the_reason_is_told(ran, tmp_path, name):
    program, reason = CASES[name]
    stock = ran(HEAD + program, stage=False)
    assert stock.status == 0, stock.err
    other = ran(HEAD + program)
    assert (other.status, other.out) == (0, stock.out), other.err
    assert other.state == "off"
    assert reason in other.told
    assert other.err.count("coldsoak: preheat: ort off: ") == 1
    assert not list(tmp_path.glob("cache/*.json"))


REFUSED = {
    "random_numbers.onnx": (".run(None, {'x': np.ones((1, 64), np.float32)})", "random numbers"),
    "apart.onnx": (".run(None, dict(np.load('product.npz')))", "data in other files"),
}


@pytest.mark.parametrize("model", REFUSED)
def test_a_model_that_cannot_be_kept_is_tried_once(ran, tmp_path, model):
    call, reason = REFUSED[model]
    program = (
        "import numpy as np, onnxruntime as ort\n"
        f"print(ort.InferenceSession('{model}'){call}[0].shape)"
    )
    small = "preheat_ort_cache.SMALLEST = 0"
    first = ran(program, extra=small)
    assert first.status == 0, first.err
    assert reason in first.told
    assert [file.suffix for file in sorted((tmp_path / "cache").iterdir())] == [".json", ".lock"]
    forbidden = "def fail(*_): raise SystemExit(9)\npreheat_ort_keep.Keeper._optimised = fail"
    second = ran(program, extra=f"{small}\n{forbidden}")
    assert (second.status, second.told) == (0, first.told)


@pytest.mark.parametrize(
    ("bound", "reason"), [("SMALLEST = 1 << 20", "so small"), ("LARGEST = 1 << 16", "too large")]
)
def test_sizes_have_bounds(ran, bound, reason):
    other = ran(HEAD + "made()", extra=f"preheat_ort_cache.{bound}")
    assert (other.status, other.state) == (0, "off")
    assert reason in other.told


def test_the_largest_size_is_far_from_what_the_format_can_hold(ran, models):
    with (models / "large.onnx").open("wb") as file:
        file.truncate(1_700_000_000)
    program = "import onnxruntime as ort\nort.InferenceSession('large.onnx')"
    other = ran(program, extra="import resource")
    assert other.status == 1
    assert "large.onnx is too large" in other.told


def test_a_version_that_is_not_known_is_left_alone(ran):
    other = ran(HEAD + "made()", extra="ort.known.__globals__['NEWEST'] = (1, 0)")
    assert (other.status, other.state) == (0, "off")
    assert "is not known to this version of coldsoak" in other.told
    assert "is not known" in other.err


def test_a_program_without_it_does_not_import_it(ran):
    other = ran("import sys; print('onnxruntime' in sys.modules, 'numpy' in sys.modules)")
    assert (other.out, other.state) == ("False False\n", "running")


def test_a_call_after_the_import_is_too_late(ran):
    program = (
        "import onnxruntime, sys\n"
        "from pathlib import Path\n"
        "import coldsoak.remedies.apply as apply; sys.path.append(apply.INJECT)\n"
        "from coldsoak_agent import preheat\n"
        "print(preheat.start('ort /nowhere').report()['ort'][:2])"
    )
    other = ran(program, stage=False)
    assert other.out == "('off', 'onnxruntime is imported already')\n"
