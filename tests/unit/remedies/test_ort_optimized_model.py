"""The remedy for ONNX Runtime's sessions: when it applies, what it asks for, how it is told."""

from dataclasses import replace

import pytest

from coldsoak.launch.trace import save
from coldsoak.model.recipe import Ingredient, Preheat, Recipe
from coldsoak.model.trace import Spans, Trace, pack
from coldsoak.remedies.apply import apply
from coldsoak.remedies.base import Seen
from coldsoak.remedies.contexts import _traced
from coldsoak.remedies.evidence import proof_file
from coldsoak.remedies.export import export
from coldsoak.remedies.registry import ADVICE, find

ORT = {"imported": frozenset({"onnxruntime"}), "packages": {"onnxruntime": "1.32.0"}}
CPU, CUDA = "['CPUExecutionProvider']", "['CUDAExecutionProvider', 'CPUExecutionProvider']"
REMEDY = find(["ort.optimized_model"])[0]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"imported": frozenset()}, "does not import onnxruntime"),
        ({"packages": {}}, "onnxruntime of unknown version is not known"),
        ({"packages": {"onnxruntime": "1.20.1"}}, "onnxruntime 1.20.1 is not known"),
        ({"packages": {"onnxruntime-gpu": "2.0.0"}}, "onnxruntime 2.0.0 is not known"),
        ({"sessions": (f"providers={CUDA}, model=a.onnx",)}, "run on other providers"),
        ({"sessions": (f"providers={CPU}, model=bytes",)}, "are given as bytes and not as paths"),
        ({"sessions": (f"providers={CPU}, model=a.onnx",)}, ""),
        ({"sessions": (f"providers={CPU}, model=bytes", f"providers={CPU}, model=b.onnx")}, ""),
        ({"packages": {"onnxruntime-gpu": "1.21.0"}}, ""),
        ({}, ""),
    ],
)
def test_it_wants_a_known_version_and_a_path_on_the_processor(made, fields, why):
    said = REMEDY.applies(made.context(**ORT | fields))
    assert why in said
    assert bool(said) == bool(why)


def test_models_on_the_processor_and_bytes_elsewhere_do_not_make_one_that_fits(made):
    sessions = (f"providers={CPU}, model=bytes", f"providers={CUDA}, model=a.onnx")
    assert "bytes" in REMEDY.applies(made.context(sessions=sessions, **ORT))


def test_the_folder_goes_into_the_plan_even_before_it_is_there(made, tmp_path):
    change = REMEDY.change(made.context(tmp_path))
    assert change.fill
    folder = tmp_path / "ort-models"
    tables = {"command": ["python", "a.py"], "preheat": {"memos": dict(change.preheat.memos)}}
    assert apply(tables).plan == f"script a.py\nort {folder}"


def test_the_stage_is_off_with_its_remedy(tmp_path):
    tables = {
        "command": ["python", "a.py"],
        "ingredients": [{"remedy": REMEDY.id, "needs": ["onnxruntime"]}],
        "preheat": {"memos": {"ort": str(tmp_path)}, "gc": ["numpy"]},
        "fingerprint": {"site": str(tmp_path), "packages": {"onnxruntime": "1.32.0"}},
    }
    applied = apply(tables)
    assert applied.plan == "script a.py\ngc numpy"
    assert applied.messages[0].startswith("ort.optimized_model is off: ")
    (tmp_path / "onnxruntime-1.32.0.dist-info").mkdir()
    assert apply(tables).plan.endswith(f"ort {tmp_path}")


def test_the_effect_is_told_by_the_stage(made, tmp_path):
    context = made.context(tmp_path)
    launch = made.launch(arm="x", processes=(made.process(),))
    seen = Seen(launch=launch, before=launch)
    assert REMEDY.verify(context, seen).effect is False
    file = proof_file(tmp_path, "x")
    file.parent.mkdir()
    for told, effect in (
        ("kept models loaded: 2, left alone: 1 (the session is profiled)", True),
        ("kept for the next start: 1", False),
        ("left alone: 1 (the model is given as bytes)", False),
    ):
        file.write_text(f"7\tort\tdone\t1.0\t2.0\t{told}\n")
        found = REMEDY.verify(context, seen)
        assert (found.effect, found.proof) == (effect, told)


def test_the_advice_points_to_what_is_in_the_way(made):
    advice = next(one for one in ADVICE if one.id.startswith("ort."))
    context = made.context(seconds={"plan_build": 0.4}, **ORT)
    assert not advice.text(context), "the remedy is tried"
    given = replace(context, sessions=(f"providers={CPU}, model=bytes",))
    text = advice.text(given)
    assert "0.40 s" in text
    assert "ort.optimized_model does not apply: its models are given as bytes" in text
    assert not advice.text(replace(given, seconds={}))
    assert not advice.text(replace(given, imported=frozenset({"torch"})))


def test_sessions_are_read_from_the_traces(made, tmp_path):
    strings = ("onnxruntime", "create_session", "run on the CPU", "model=a.onnx", "something else")
    spans = Spans(
        start=pack([0, 1, 2, 3]), end=pack([1, 2, 3, 4]), track=pack([0] * 4), source=pack([0] * 4),
        name=pack([1, 2, 1, 1]), detail=pack([3, 4, 3, -1]), correlation=pack([0] * 4),
    )  # fmt: skip
    save(Trace(launch=1, arm="command", strings=strings, spans=spans), tmp_path / "t.gz")
    launch = made.launch(trace="t.gz")
    assert _traced([launch], tmp_path)[2] == ("model=a.onnx",)
    save(Trace(launch=1, arm="command"), tmp_path / "t.gz")
    assert _traced([launch], tmp_path)[2] == ()


def test_a_recipe_in_plain_commands_says_what_only_coldsoak_does():
    recipe = Recipe(
        version="0", created="", command=(), goal="exit", before_s=2.0, after_s=1.0, ratio=0.5,
        ingredients=(Ingredient(remedy=REMEDY.id, kind="cache", title=""),),
        preheat=Preheat(memos={"ort": "/folder"}),
    )  # fmt: skip
    text = export(recipe, "shell")
    assert "only with coldsoak (exec or preheat): models as ONNX Runtime optimised them" in text
