"""First call of a compiled model: empty caches, torch's mega-cache, a cache folder that was kept.

`python benchmarks/mega_cache.py` saves the caches once in both forms, then runs the three in random
order, round by round, each in a fresh process on the CPU. With the mega-cache the time to load it is
part of the figure. `--python` names the interpreter that has torch.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from coldsoak.stats.estimate import interval

PROGRAM = """
import sys, time
import torch, torch._dynamo, torch._inductor.compile_fx
what, blob = sys.argv[1:]
torch.manual_seed(0)
model = torch.nn.Sequential(*[
    torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.GELU(), torch.nn.LayerNorm(128))
    for _ in range(3)
])
x = torch.linspace(0, 1, 32 * 128).reshape(32, 128)
begin = time.perf_counter()
if what == "mega-cache":
    torch.compiler.load_cache_artifacts(open(blob, "rb").read())
with torch.no_grad():
    float(torch.compile(model)(x).sum())
print(torch.__version__, time.perf_counter() - begin)
if what == "save":
    open(blob, "wb").write(torch.compiler.save_cache_artifacts()[0])
"""
FORMS = ("empty caches", "mega-cache", "kept folder")


def first_call(python: str, what: str, folder: Path, work: Path) -> tuple[str, float]:
    """Return torch's version and the seconds of the first call."""
    done = subprocess.run(
        [python, "-c", PROGRAM, what, str(work / "blob")],
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    version, seconds = done.stdout.split()
    return version, float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=8)
    given = parser.parse_args()
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        version, _ = first_call(given.python, "save", work / "kept", work)
        for _ in range(given.rounds):
            for form in random.sample(FORMS, len(FORMS)):
                folder = work / ("kept" if form == "kept folder" else "empty")
                times[form].append(first_call(given.python, form, folder, work)[1])
                shutil.rmtree(work / "empty", ignore_errors=True)
    print(f"torch {version}, {given.rounds} rounds, seconds of the first call")
    for form, seconds in times.items():
        low, high = interval(seconds) or (min(seconds), max(seconds))
        print(f"{form:14} {statistics.median(seconds):7.2f}  [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
