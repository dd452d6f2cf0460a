"""Compare a command with itself, and see how often the answer is wrong.

    python scripts/aa_test.py --repeats 10 --pairs 12 -- python script.py

Each repeat is a whole session of random pairs in which both arms are the same command. A verdict
``faster`` or ``slower`` is then an error, which the interval allows in 5 % of the repeats. Exits
with status 1 when there were so many that chance gives as many in under 1 % of such tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scipy.stats import binom

from coldsoak.launch import session
from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.store import Store
from coldsoak.model.result import Arm, Launch, Options
from coldsoak.stats import paired, summary
from coldsoak.stats.series import executions_of

if TYPE_CHECKING:
    from coldsoak.model.estimate import Ratio

ERROR_RATE = 0.05
SURPRISE = 0.01
WORK = "sum(range(10**6))"


def compare(command: list[str], pairs: int, seed: int, home: Path) -> dict[str, Ratio]:
    """Run one session and return the comparison of each observation."""
    arms = [Arm(name=name, argv=tuple(command), cwd=str(Path.cwd())) for name in ("one", "other")]
    result = session.measure(
        arms,
        Options(launches=pairs, trace=False, seed=seed),
        kind="fix",
        command=command,
        store=Store(home),
        executor=ProcessExecutor(),
        synced=False,
    )
    launches = [summary.usable(result.launches, arm.name) for arm in arms]

    def run_0(launch: Launch) -> float | None:
        runs = executions_of(launch, result.series[0].id)
        return runs[0].wall if runs else None

    found = {"wall": paired.compare(*paired.match(*launches, lambda one: one.wall_ns / 1e9))}
    if result.series:
        found["run 0"] = paired.compare(*paired.match(*launches, run_0))
    return found


def show(repeat: int, what: str, ratio: Ratio) -> str:
    """Return one line of the table."""
    estimate = ratio.estimate
    bounds = "" if estimate.low is None else f"{estimate.low:.3f} to {estimate.high:.3f}"
    return f"{repeat:>6}  {what:<6}  {estimate.point:6.3f}  {bounds:<16}  {ratio.verdict}"


def main() -> int:
    """Run the repeats and judge them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("command", nargs="*", default=[sys.executable, "-c", WORK])
    options = parser.parse_args()
    wrong: Counter[str] = Counter()
    print("repeat  of        ratio  95 % interval     verdict")
    with tempfile.TemporaryDirectory() as home:
        for repeat in range(1, options.repeats + 1):
            seed = options.seed + repeat
            for what, ratio in compare(options.command, options.pairs, seed, Path(home)).items():
                print(show(repeat, what, ratio), flush=True)
                wrong[what] += ratio.verdict in {"faster", "slower"}
    surprising = False
    for what, errors in wrong.items():
        chance = float(binom.sf(errors - 1, options.repeats, ERROR_RATE))
        surprising |= chance < SURPRISE
        print(
            f"{what}: {errors} of {options.repeats} verdicts are wrong; "
            f"chance alone gives as many in {chance:.0%} of such tests."
        )
    return int(surprising)


if __name__ == "__main__":
    raise SystemExit(main())
