"""How fast recipes make first runs: writes docs/speed.md.

    python scripts/speed.py                          all programs that this machine can run
    python scripts/speed.py torch_product --pairs 8  some of them
    python scripts/speed.py --render                 docs/speed.md again from the stored figures

For each program ``coldsoak fix`` makes a recipe, without hints. Then a second, fresh measurement
runs the stock program, ``coldsoak exec`` and ``coldsoak.preheat`` in random order in fresh processes,
with the bare driver beside them where there is a card. Nothing of coldsoak is in the stock program:
it prints CLOCK_MONOTONIC at its first result, and the parent took it just before the spawn.
Figures are kept in docs/speed/MACHINE.json, one file for each machine; the page shows them all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from coldsoak.machine.host import describe
from coldsoak.remedies.recipe import read
from coldsoak.report.numbers import duration
from coldsoak.stats import paired

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "scripts" / "speed_programs"
FIGURES = ROOT / "docs" / "speed"
PAGE = ROOT / "docs" / "speed.md"

NEEDS = {
    "torch_product": ("torch",),
    "torch_compile": ("torch",),
    "jax_product": ("jax", "jaxlib"),
    "jax_many": ("jax", "jaxlib"),
    "cupy_product": ("cupy",),
    "tensorflow_product": ("tensorflow",),
    "tensorflow_xla": ("tensorflow",),
    "ort_session": ("onnxruntime", "onnx"),
}
MODELS = {"ort_session": "ort_model"}
"""Programs whose argument is a file that this other one writes, once."""
FORKED = {"torch_product": "torch"}
"""Programs that are also run in a fork of a process that has imported this already."""
FLOOR = "floor_cuda"
COLD = {"torch_compile": "cache"}
"""Programs whose stock state has empty caches, as in a fresh container."""
OUTPUT = re.compile(r"^sum (.+)$", re.MULTILINE)
HEAD = """\
# How fast

Start of the process to the first result, in seconds: medians over fresh processes, with the paired
speed-up against the stock program and its 95 % interval. Recipes were made by `coldsoak fix` without
hints, then measured again by `scripts/speed.py`, which writes this page: stock, `coldsoak exec` and
`coldsoak.preheat` in random order, nothing of coldsoak in the stock program. *Floor* is the bare
driver on the same machine: context, memory, one operation, no framework. *Fork server* is
`coldsoak run-warm`: a process that has done the imports forks for each job.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", choices=[*NEEDS, []], metavar="PROGRAM")
    parser.add_argument("--pairs", type=int, default=10, help="launches of each arm")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds for each fix")
    parser.add_argument("--fix-pairs", type=int, help="fixed number of pairs inside fix")
    parser.add_argument("--recipes", type=Path, help="folder of recipes to take or to write")
    parser.add_argument("--render", action="store_true", help="only write the page again")
    options = parser.parse_args()
    if not options.render:
        measure_all(options)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} written")


def measure_all(options):
    machine = describe()
    gpus = [device.name for device in machine.devices if device.kind == "gpu"]
    name = re.sub(r"\W+", "-", (gpus or [machine.cpu])[0]).strip("-").lower()
    FIGURES.mkdir(exist_ok=True)
    file = FIGURES / f"{name}.json"
    figures = json.loads(file.read_text()) if file.is_file() else {"programs": {}}
    figures["machine"] = {
        "cpu": machine.cpu, "cores": machine.cores_usable, "gpus": gpus, "driver": machine.driver,
    }  # fmt: skip
    recipes = options.recipes or Path(os.environ.get("COLDSOAK_HOME", ".")) / "speed-recipes"
    recipes.mkdir(parents=True, exist_ok=True)
    for program in options.programs or [one for one in NEEDS if installed(one)]:
        print(f"{program}:", flush=True)
        figures["programs"][program] = figure(program, options, recipes.resolve(), bool(gpus))
        file.write_text(json.dumps(figures, indent=1) + "\n")


def installed(program):
    code = (
        f"import importlib.util as u, sys; sys.exit(None in map(u.find_spec, {NEEDS[program]!r}))"
    )
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def figure(program, options, recipes, gpu):
    """Make the recipe, then measure it afresh."""
    script = PROGRAMS / f"{program}.py"
    recipe = recipes / f"{program}.toml"
    words = arguments(program, recipes)
    if not recipe.is_file():
        make_recipe(program, [str(script), *words], recipe, options)
    found = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "python": sys.version.split()[0],
        "versions": versions(program),
        "cold": COLD.get(program, "process"),
        "load": round(os.getloadavg()[0], 1),
    }
    if not recipe.is_file():
        return found | {"ingredients": [], "rows": {}}
    found["ingredients"] = [one.remedy for one in read(recipe).ingredients]
    stock = [sys.executable, str(script), *words]
    arms = {
        "stock": stock,
        "exec": [*coldsoak(), "exec", "--recipe", str(recipe), "--", *stock],
        "preheat": [sys.executable, str(with_preheat(script, recipe)), *words],
    }
    if gpu:
        arms["floor"] = [sys.executable, str(PROGRAMS / f"{FLOOR}.py")]
    with fork_server(program) as socket:
        if socket:
            arms["fork"] = [*coldsoak(), "run-warm", "--socket", socket, "--", *stock]
        found["rows"] = interleaved(program, arms, options.pairs)
    return found


def arguments(program, folder):
    """Return the words after the script, with what they name made if it is not there."""
    if program not in MODELS:
        return []
    file = folder / f"{MODELS[program]}.onnx"
    if not file.is_file():
        script = PROGRAMS / f"{MODELS[program]}.py"
        subprocess.run([sys.executable, str(script), str(file)], check=True)
    return [str(file)]


@contextmanager
def fork_server(program):
    """Run a fork server with the program's imports; yields its socket, empty for no server."""
    if program not in FORKED:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="coldsoak-warm-") as folder:
        socket = Path(folder, "socket")
        words = ["serve-warm", "--import", FORKED[program], "--socket", str(socket)]
        with subprocess.Popen([*coldsoak(), *words, "--", sys.executable]) as server:
            try:
                deadline = time.monotonic() + 120
                while not socket.exists() and server.poll() is None:
                    if time.monotonic() > deadline:
                        raise SystemExit("the fork server did not start")
                    time.sleep(0.1)
                yield str(socket)
            finally:
                server.terminate()


def coldsoak():
    script = Path(sys.executable).with_name("coldsoak")
    return [str(script)] if script.exists() else [sys.executable, "-m", "coldsoak"]


def make_recipe(program, command, recipe, options):
    words = ["fix", "--budget", str(options.budget), "--output", str(recipe)]
    words += ["--cold", COLD.get(program, "process")]
    if options.fix_pairs:
        words += ["--pairs", str(options.fix_pairs)]
    subprocess.run(
        [*coldsoak(), *words, "--", sys.executable, *command], cwd=recipe.parent, check=True
    )


def with_preheat(script, recipe):
    """Write the program with the one line at its top."""
    copy = recipe.with_name(f"{script.stem}_preheated.py")
    line = f"import coldsoak; coldsoak.preheat({str(recipe)!r})\n"
    copy.write_text(line + script.read_text())
    return copy


def interleaved(program, arms, pairs):
    """Launch every arm once in each round, in random order; the first round does not count."""
    order = random.Random(0)
    rows = {name: [] for name in arms}
    sums = {}
    for number in range(pairs + 1):
        for name in order.sample(list(arms), len(arms)):
            seconds, first, later, total = launch(program, arms[name])
            if number:
                rows[name].append({"first_result": seconds, "run0": first, "later": later})
            if name != "floor":
                sums.setdefault(total, set()).add(name)
        print(f"  round {number} of {pairs}", flush=True)
    if len(sums) != 1:
        raise SystemExit(f"{program}: the arms do not compute the same: {sums}")
    return rows


def launch(program, argv):
    """Return seconds to the first result, of run 0 and of later runs, and what was computed."""
    with tempfile.TemporaryDirectory(prefix="coldsoak-speed-") as empty:
        env = dict(os.environ)
        if COLD.get(program) == "cache":
            env |= {
                "TORCHINDUCTOR_CACHE_DIR": f"{empty}/inductor",
                "TRITON_CACHE_DIR": f"{empty}/triton",
            }
        begin = time.monotonic_ns()
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} failed:\n{done.stderr}")
    words = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    seconds = (int(words["first_result_ns"]) - begin) / 1e9
    runs = [float(word) for word in words.get("seconds", "").split()]
    total = OUTPUT.findall(done.stdout)
    return seconds, runs[0] if runs else None, median(runs[1:]) if runs else None, "".join(total)


def versions(program):
    code = (
        "import sys, json; from importlib import metadata as m\n"
        f"names = {NEEDS[program]!r}\n"
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()"
        " if (d.metadata['Name'] or '').lower().replace('_', '-').startswith(names)}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def page():
    """Return docs/speed.md from the stored figures."""
    parts = [HEAD]
    for file in sorted(FIGURES.glob("*.json")):
        parts += section(json.loads(file.read_text()))
    return "\n".join(parts).rstrip() + "\n"


def section(figures):
    machine = figures["machine"]
    title = ", ".join([*machine["gpus"], machine["cpu"]])
    lines = [f"## {title}", ""]
    driver = f", driver {machine['driver']}" if machine["driver"] else ""
    lines += [f"{machine['cores']:g} cores{driver}.", ""]
    lines += [
        "| program | stock | exec | | preheat | | fork server | | floor | n |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    programs = figures["programs"]
    lines += [table_row(name, one) for name, one in sorted(programs.items())]
    lines += ["", "The first timed run against the later ones of the same process:", ""]
    lines += [
        "| program | stock run 0 | later | with preheat: run 0 | later |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [runs_row(name, one) for name, one in sorted(programs.items()) if one["rows"]]
    lines += [""] + [about(name, one) for name, one in sorted(programs.items())]
    return [*lines, ""]


def table_row(name, one):
    rows = {arm: [run["first_result"] for run in runs] for arm, runs in one["rows"].items()}
    if not rows:
        return f"| {name} | – | no recipe helps | | | | | | | |"
    floor = duration(median(rows["floor"])) if "floor" in rows else "–"
    cells = [name, duration(median(rows["stock"]))]
    for arm in ("exec", "preheat", "fork"):
        there = arm in rows
        cells += (
            [duration(median(rows[arm])), times(rows["stock"], rows[arm])] if there else ["–", ""]
        )
    return f"| {' | '.join([*cells, floor, str(len(rows['stock']))])} |"


def times(stock, other):
    found = paired.compare(stock, other).estimate
    text = f"{1 / found.point:.2f}×"
    if found.low is None or found.high is None:
        return text
    return f"{text} ({1 / found.high:.2f}–{1 / found.low:.2f})"


def runs_row(name, one):
    cells = [name]
    for arm in ("stock", "preheat"):
        runs = one["rows"][arm]
        cells += [duration(median(run[what] for run in runs)) for what in ("run0", "later")]
    return f"| {' | '.join(cells)} |"


def about(name, one):
    with_it = ", ".join(one["ingredients"]) or "nothing helped"
    packages = ", ".join(f"{package} {version}" for package, version in one["versions"].items())
    cold = " · stock with empty compile caches" if one["cold"] == "cache" else ""
    load = f"load average {one['load']:g} before"
    return f"- **{name}**: {with_it} · Python {one['python']}, {packages}{cold} · {load} · {one['date']}"


if __name__ == "__main__":
    main()
