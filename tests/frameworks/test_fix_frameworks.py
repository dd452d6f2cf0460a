"""``fix`` on a real framework, and its recipe in a second, fresh measurement."""

import json
import os
import subprocess
import sys

import pytest

from coldsoak.remedies.recipe import read

SCRIPT = """
import time
import jax, jax.numpy as jnp

layers = [jax.jit(lambda a, n=n: jnp.tanh(a @ a.T + n) * jnp.sin(a + n)) for n in range(8)]

def forward():
    start = time.perf_counter()
    x = jnp.linspace(0.0, 1.0, 64 * 64).reshape(64, 64)
    for layer in layers:
        x = layer(x) / 7
    total = float(x.sum())
    return time.perf_counter() - start, total

for n in range(4):
    seconds, total = forward()
    print(f"forward {n} took {seconds:.3f} s, sum {total}")
"""

pytestmark = [pytest.mark.framework("jax"), pytest.mark.timeout(1200)]


def coldsoak(work, *arguments):
    keep = {name: value for name, value in os.environ.items() if not name.startswith("COLDSOAK")}
    own = {"COLDSOAK_HOME": str(work / "home"), "NO_COLOR": "1", "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "coldsoak", *arguments],
        cwd=work,
        env=keep | own,
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )


def test_the_cache_of_small_programs_is_found_and_used_by_exec_and_preheat(tmp_path):
    pytest.importorskip("jax", reason="jax is not installed", exc_type=ImportError)
    (tmp_path / "program.py").write_text(SCRIPT)
    command = [sys.executable, "program.py"]
    remedy = ["--remedy", "jax.cache_thresholds"]
    done = coldsoak(tmp_path, "fix", "--pairs", "7", *remedy, "--", *command)
    assert done.returncode == 0, done.stderr
    recipe = read(tmp_path / "coldsoak.recipe.toml")
    assert [one.remedy for one in recipe.ingredients] == ["jax.cache_thresholds"]
    assert recipe.fingerprint.packages["jax"]
    line = 'import coldsoak; coldsoak.preheat("coldsoak.recipe.toml")\n'
    (tmp_path / "preheated.py").write_text(line + SCRIPT)
    stock = compiled(tmp_path, *command)
    assert stock["misses"] == 0, "without the recipe there is no cache to miss"
    for argv in (
        [sys.executable, "-m", "coldsoak", "exec", "--", *command],
        [sys.executable, "preheated.py"],
    ):
        found = compiled(tmp_path, *argv)
        assert found["hits"] >= 8, argv
        assert found["misses"] == 0, argv


def compiled(work, *argv):
    """Return how often a traced launch of a command found JAX's cache, and how often not."""
    script = work / "count.py"
    script.write_text(
        "import json, sys, coldsoak\n"
        "from coldsoak.launch.store import Store\n"
        "from coldsoak.launch.trace import load_trace\n"
        "from coldsoak.model.trace import unpack\n"
        "result = coldsoak.run(sys.argv[1:], launches=1)\n"
        "launch = next(one for one in result.launches if one.trace)\n"
        "trace = load_trace(Store().folder(result.id) / launch.trace)\n"
        "names = [trace.strings[n] for n in unpack(trace.spans.name)]\n"
        "print(json.dumps({'hits': names.count('cache_hits'), 'misses': names.count('cache_misses')}))\n"
    )
    env = os.environ | {"COLDSOAK_HOME": str(work / "home")}
    done = subprocess.run(
        [sys.executable, str(script), *argv],
        cwd=work, env=env, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
