"""A session of a kept model is to the program what that of the model itself is."""

import re
import sys

import pytest

pytestmark = [pytest.mark.framework("onnxruntime"), pytest.mark.timeout(600)]

EVERY = """
import hashlib, sys
from pathlib import Path
import numpy as np
import onnxruntime as ort

def facts(session):
    meta = session.get_modelmeta()
    named = lambda ones: [(one.name, one.type, one.shape) for one in ones]
    told = {n: getattr(meta, n) for n in dir(meta) if not n.startswith("_")}
    told["custom_metadata_map"] = sorted(told["custom_metadata_map"].items())
    return (
        named(session.get_inputs()), named(session.get_outputs()), told,
        named(session.get_overridable_initializers()), session.get_providers(),
        session.get_provider_options(), session._model_path, session._model_bytes,
    )

def asked(options):
    properties = [n for n, v in vars(ort.SessionOptions).items() if isinstance(v, property)]
    return [(name, str(getattr(options, name))) for name in sorted(properties)]

def outputs(session, feed):
    found = session.run(None, feed)
    return [(a.dtype, a.shape, a.tolist() if a.dtype == object else a.tobytes()) for a in found]

def look(session, feed):
    runs = [outputs(session, feed) for _ in range(3)]
    print(facts(session))
    print(asked(session.get_session_options()))
    for run in runs:
        print(hashlib.sha256(repr(run).encode()).hexdigest())
"""
ALL_MODELS = (
    EVERY
    + """
for level in ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"):
    for file in sorted(Path().glob("*.npz")):
        if file.stem == "random_numbers":
            continue
        options = ort.SessionOptions()
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        print(file.stem, level)
        session = ort.InferenceSession(
            f"{file.stem}.onnx", options, providers=["CPUExecutionProvider"]
        )
        look(session, dict(np.load(file)))
"""
)


def test_every_kind_of_model_gives_the_same_bits_and_tells_the_same(ran):
    stock = ran(ALL_MODELS, stage=False)
    assert stock.status == 0, stock.err
    first, second = ran(ALL_MODELS), ran(ALL_MODELS)
    assert (first.told, second.told) == ("kept for the next start: 45", "kept models loaded: 45")
    assert first.out == stock.out
    assert second.out == stock.out
    assert without_times(second.err) == without_times(stock.err)


def without_times(text):
    """Leave out the times of ONNX Runtime's log."""
    return [line.partition("[W:")[2] or line for line in text.splitlines()]


OPTIONS = (
    EVERY
    + """
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
options.logid = "mine"
options.enable_mem_pattern = False
options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
options.add_free_dimension_override_by_name("n", 5)
before = asked(options)
session = ort.InferenceSession("product.onnx", options, providers=("CPUExecutionProvider",))
feed = dict(np.load("product.npz"))
look(session, feed)
print(asked(options) == before, session.get_session_options() is options)
for one in (options, session.get_session_options()):
    print(one.get_session_config_entry("session.intra_op.allow_spinning"))
    try:
        print(one.get_session_config_entry("session.load_model_format"))
    except RuntimeError as error:
        print(error)
session.set_providers(["CPUExecutionProvider"])
look(session, feed)
look(ort.InferenceSession("product.onnx", session.get_session_options()), feed)
print(ort.InferenceSession.__name__, ort.InferenceSession._create_inference_session.__qualname__)
print(ort.SessionOptions.add_session_config_entry.__doc__)
"""
)


def test_the_programs_options_stay_its_own(ran):
    stock = ran(OPTIONS, stage=False)
    assert stock.status == 0, stock.err
    first, second = ran(OPTIONS), ran(OPTIONS)
    assert first.out == stock.out
    assert second.out == stock.out
    assert first.told == "kept models loaded: 1, kept for the next start: 2"
    assert second.told == "kept models loaded: 3", "one of them by set_providers"


SUBCLASS = (
    EVERY
    + """
import pickle
class Mine(ort.InferenceSession):
    def __init__(self, path):
        super().__init__(path, providers=["CPUExecutionProvider"])
        self.path = path
    def __reduce__(self):
        return Mine, (self.path,)
session = pickle.loads(pickle.dumps(Mine(Path("product.onnx").as_posix())))
look(session, dict(np.load("product.npz")))
print(type(session).__name__)
try:
    pickle.dumps(ort.InferenceSession(Path("product.onnx")))
except TypeError as error:
    print(error)
"""
)


def test_subclasses_and_pickles_are_as_always(ran):
    stock = ran(SUBCLASS, stage=False)
    assert stock.status == 0, stock.err
    assert ran(SUBCLASS).out == stock.out
    second = ran(SUBCLASS)
    assert second.out == stock.out
    assert second.told == "kept models loaded: 3"


ERRORS = """
import onnxruntime as ort, traceback
from pathlib import Path
Path("broken.onnx").write_bytes(bytes(range(256)) * 1024)
good = Path("product.onnx").read_bytes()
Path("unknown.onnx").write_bytes(good.replace(b"MatMul", b"NoSuch"))
Path("folder").mkdir(exist_ok=True)
for path in ("missing.onnx", "broken.onnx", "unknown.onnx", "folder", ""):
    for options in ({}, {"enable_fallback": 0}, {"providers": "wrong"}, {"providers": [1]}):
        try:
            ort.InferenceSession(path, **options)
        except Exception:
            print(traceback.format_exc())
options = ort.SessionOptions()
for arguments in ((), ("a",), ("a", 1)):
    try:
        options.add_session_config_entry(*arguments)
    except Exception:
        print(traceback.format_exc())
ort.InferenceSession("missing.onnx")
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons show the frame of the stage")
def test_errors_are_those_of_the_program_without_the_stage(ran):
    stock = ran(ERRORS, stage=False)
    assert stock.status == 1
    for _ in range(2):
        other = ran(ERRORS)
        assert (other.status, without_addresses(other.out)) == (1, without_addresses(stock.out))
        assert other.err.replace(said(other.err), "") == stock.err
        assert other.state == "off"


def without_addresses(text):
    return re.sub("0x[0-9a-f]+", "", text)


def said(err):
    """Return coldsoak's own line."""
    return next(line + "\n" for line in err.splitlines() if line.startswith("coldsoak: "))
