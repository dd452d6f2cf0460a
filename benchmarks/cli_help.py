"""How long ``coldsoak --help`` takes, against a bare interpreter and against its budget.

    python benchmarks/cli_help.py [ROUNDS]

Prints medians of interleaved fresh processes. Exits with 1 when the budget of 200 ms is not held.
"""

import statistics
import subprocess
import sys
import time

BUDGET_S = 0.200
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import typer": ["-c", "import typer"],
    "coldsoak --version": ["-m", "coldsoak", "--version"],
    "coldsoak --help": ["-m", "coldsoak", "--help"],
    "coldsoak run --help": ["-m", "coldsoak", "run", "--help"],
}


def seconds(arguments):
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    times = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = medians["python -c pass"]
    for name, median in medians.items():
        share = 100 * median / BUDGET_S
        print(
            f"{name:22} {1000 * median:6.0f} ms  {median / bare:5.1f} x  {share:4.0f} % of budget"
        )
    return medians["coldsoak --help"] > BUDGET_S


if __name__ == "__main__":
    raise SystemExit(main())
