"""Recorded trials and keys with the torch that is installed: same outputs, same cache entries."""

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from coldsoak.model.recipe import Preheat, Recipe
from coldsoak.model.result import Arm
from coldsoak.remedies.memos import memo_file, record_memo
from coldsoak.remedies.recipe import encode

PROGRAM = """
import json, sys
children = []
sys.addaudithook(lambda event, args: children.append(args[1]) if event == "subprocess.Popen" else None)
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
x = torch.linspace(0, 1, 8 * 64).reshape(8, 64)
with torch.no_grad():
    y = torch.compile(model)(x)

from torch._dynamo.utils import counters
from torch._inductor.codecache import torch_key

print(json.dumps({
    "version": torch.__version__,
    "sum": float(y.double().sum()).hex(),
    "key": torch_key().hex(),
    "hits": counters["inductor"]["fxgraph_cache_hit"],
    "misses": counters["inductor"]["fxgraph_cache_miss"],
    "trials": sum("LoadLibrary" in " ".join(map(str, words)) for words in children),
}))
"""
PREHEATED = 'import coldsoak; handle = coldsoak.preheat("r.toml")\n' + PROGRAM

pytestmark = [pytest.mark.framework("torch"), pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with the program, a filled cache, what a second process said, and both records."""
    pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler")
    work = tmp_path_factory.mktemp("memos")
    (work / "program.py").write_text(PROGRAM)
    (work / "preheated.py").write_text(PREHEATED)
    command = (sys.executable, "program.py")
    run(work, *command)
    stock, _ = run(work, *command)
    assert (stock["hits"], stock["misses"]) == (1, 0)
    arm = Arm(name="command", argv=command, cwd=str(work))
    context = SimpleNamespace(
        diagnosis=SimpleNamespace(arms=(arm,)), environment=environment(work), store=work / "store"
    )
    for stage in ("isa", "keys"):
        record_memo(context, stage)
    return SimpleNamespace(work=work, stock=stock, command=command, context=context)


def environment(work):
    keep = {name: value for name, value in os.environ.items() if not name.startswith("COLDSOAK")}
    return keep | {"TORCHINDUCTOR_CACHE_DIR": str(work / "cache")}


def run(work, *argv):
    """Return what a run of the program printed, and its standard error."""
    done = subprocess.run(
        argv, cwd=work, env=environment(work), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def write_recipe(world, **memos):
    recipe = Recipe(
        version="0",
        created="",
        command=world.command,
        goal="first-result",
        before_s=2.0,
        after_s=1.0,
        ratio=0.5,
        preheat=Preheat(memos=memos),
    )
    (world.work / "r.toml").write_bytes(encode(recipe))


def executed(world):
    words = (sys.executable, "-m", "coldsoak", "exec", "--recipe", "r.toml", "--", *world.command)
    return run(world.work, *words)


def test_both_records_give_the_same_outputs_keys_and_cache_entries(world):
    files = {stage: str(memo_file(world.context, stage)) for stage in ("isa", "keys")}
    write_recipe(world, **files)
    for found, errors in (executed(world), run(world.work, sys.executable, "preheated.py")):
        assert "coldsoak:" not in errors
        assert found == world.stock | {"trials": 0}


def test_the_trials_of_another_processor_are_made_again(world):
    if not world.stock["trials"]:
        pytest.skip(f"torch {world.stock['version']} keeps the answers of its trials itself")
    record = json.loads(memo_file(world.context, "isa").read_text())
    record["conditions"]["processor"]["flags"] = "fpu avx99"
    other = world.work / "other.json"
    other.write_text(json.dumps(record))
    write_recipe(world, isa=str(other))
    found, errors = executed(world)
    assert found == world.stock
    assert "coldsoak: preheat: isa off: it was recorded with another processor" in errors


def test_the_key_of_changed_files_is_worked_out(world):
    record = json.loads(memo_file(world.context, "keys").read_text())
    entry = record["keys"]["torch_key"]
    entry["key"] = "00"
    changed = next(path for path in entry["state"] if path.endswith("_inductor/config.py"))
    entry["state"][changed][0] += 1
    other = world.work / "other.json"
    other.write_text(json.dumps(record))
    write_recipe(world, keys=str(other))
    found, errors = executed(world)
    assert found == world.stock
    assert f"torch_key off: {changed} has changed since it was recorded" in errors
