"""Progress: one line on a terminal, few lines in a log."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from coldsoak.cli.progress import LiveProgress, LogProgress, first_run, progress_on
from coldsoak.launch.request import Request
from coldsoak.model.result import Arm, Execution, Launch, Options, Result

ARM = Arm(name="command", argv=("python",))
RESULT = Result(version="0", id="x", kind="run", created="", arms=(ARM,))


def request(index=0, number=1):
    return Request(
        arm=ARM,
        kind="timed",
        round=number,
        index=index,
        position=0,
        options=Options(),
        folder=Path(),
    )


def launch(**fields):
    run = Execution(
        series="s", run=0, pid=1, thread=1, start_ns=0, end_ns=443_000_000, seconds=0.443
    )
    return Launch(
        **{
            "index": 0,
            "round": 1,
            "arm": "command",
            "kind": "timed",
            "wall_ns": 2_000_000_000,
            "executions": (run,),
        }
        | fields
    )


def log(**options):
    out = io.StringIO()
    return out, Console(file=out, width=80, **options)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (launch(), "run 0 443 ms"),
        (launch(executions=()), "exit 2.00 s"),
        (launch(status="timeout"), "timeout"),
        (launch(invalid="throttled"), "left out: throttled"),
    ],
)
def test_a_launch_in_a_few_words(made, text):
    assert first_run(made) == text


def test_a_log_gets_one_line_every_few_seconds():
    out, console = log()
    now = iter([0.0, 1.0, 2.0, 5.5])
    progress = LogProgress(console, clock=lambda: next(now))
    progress.begin(RESULT)
    for index in range(4):
        progress.launching(request(index), done=index, expected=11, remaining_s=40)
        progress.launched(launch())
    progress.end(RESULT)
    assert out.getvalue().splitlines() == [
        "timed launch 1 of 11, 40 s left: run 0 443 ms",
        "timed launch 4 of 11, 40 s left: run 0 443 ms",
    ]


def test_a_failed_launch_is_always_told():
    out, console = log()
    progress = LogProgress(console, clock=lambda: 0.0)
    progress.begin(RESULT)
    for status in ("ok", "failed"):
        progress.launching(request(), done=0, expected=2, remaining_s=0)
        progress.launched(launch(status=status))
    assert out.getvalue().splitlines()[-1] == "timed launch 1 of 2: failed"


def test_round_zero_is_called_discarded():
    out, console = log()
    progress = LogProgress(console)
    progress.begin(RESULT)
    progress.launching(request(number=0), done=0, expected=2, remaining_s=0)
    progress.launched(launch())
    assert out.getvalue().startswith("discarded launch 1 of 2")


def test_the_terminal_gets_one_line_that_goes_away():
    out, console = log(force_terminal=True)
    progress = progress_on(console)
    assert isinstance(progress, LiveProgress)
    progress.begin(RESULT)
    progress.launching(request(), done=3, expected=11, remaining_s=12)
    progress.launched(launch())
    progress.waiting("waiting for the card to cool down")
    progress.end(RESULT)
    assert "run 0 443 ms" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")


def test_log_files_and_echo_get_plain_lines():
    assert isinstance(progress_on(log()[1]), LogProgress)
    assert isinstance(progress_on(log(force_terminal=True)[1], quiet=True), LogProgress)
