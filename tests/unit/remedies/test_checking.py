"""The command that looks at what a launch left behind."""

from coldsoak.launch.request import RecordedExecutor, Request
from coldsoak.model.result import Arm, Options
from coldsoak.remedies.checking import CheckingExecutor
from coldsoak.remedies.outputs import declared


def launched(made, tmp_path, command, **fields):
    executor = CheckingExecutor(RecordedExecutor([made.launch(log="log", **fields)]), command)
    request = Request(
        arm=Arm(name="a", argv=("x",), cwd=str(tmp_path)),
        kind="timed",
        round=1,
        index=1,
        position=0,
        options=Options(),
        folder=tmp_path,
    )
    return executor.launch(request)


def test_status_and_output_of_the_check_are_part_of_what_is_compared(made, tmp_path):
    (tmp_path / "log").write_text("one")
    first = declared(launched(made, tmp_path, 'cat "$COLDSOAK_LOG"'))
    assert first == declared(launched(made, tmp_path, 'cat "$COLDSOAK_LOG"'))
    (tmp_path / "log").write_text("two")
    assert first != declared(launched(made, tmp_path, 'cat "$COLDSOAK_LOG"'))
    assert declared(launched(made, tmp_path, "exit 3"))["--check"].startswith("exit 3")


def test_it_runs_in_the_folder_of_the_command(made, tmp_path):
    launched(made, tmp_path, "echo here > seen.txt")
    assert (tmp_path / "seen.txt").exists()


def test_a_launch_that_failed_is_not_checked(made, tmp_path):
    found = launched(made, tmp_path, "touch seen.txt", status="failed")
    assert "check" not in found.data
    assert not (tmp_path / "seen.txt").exists()
