"""Complaints say what, why and what to do; files are never overwritten unasked."""

import io

import pytest

from coldsoak.cli import main
from coldsoak.cli.terminal import complain, refuse_overwriting, say
from coldsoak.errors import CommandFailed, NothingMeasured, UsageError


def test_a_complaint_has_three_parts(capsys):
    complain(UsageError("It broke.", why="line one\nline two", do="type this [not a tag]"))
    assert capsys.readouterr().err.splitlines() == [
        "coldsoak: It broke.",
        "  line one",
        "  line two",
        "  Try: type this [not a tag]",
    ]


def test_existing_files_are_refused_without_force(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("precious")
    with pytest.raises(UsageError, match="exists already") as caught:
        refuse_overwriting(None, file, force=False)
    assert "--force" in caught.value.do
    refuse_overwriting(file, force=True)


def test_a_missing_folder_is_told_before_anything_is_measured(tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        refuse_overwriting(tmp_path / "nowhere" / "result.json", force=False)
    with pytest.raises(UsageError, match="is a folder"):
        refuse_overwriting(tmp_path, force=True)


def test_a_folder_that_cannot_be_changed_is_told_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda folder, mode: False)
    with pytest.raises(UsageError, match="cannot be written"):
        refuse_overwriting(tmp_path / "result.json", force=True)


@pytest.mark.parametrize(
    ("error", "status"), [(UsageError("x"), 2), (CommandFailed("x"), 1), (NothingMeasured("x"), 3)]
)
def test_main_turns_deliberate_errors_into_statuses(error, status, monkeypatch, capsys):
    def app(*_, **__):
        raise error

    monkeypatch.setattr("coldsoak.cli.app.app", app)
    with pytest.raises(SystemExit) as caught:
        main(["run"])
    assert caught.value.code == status
    assert capsys.readouterr().err == "coldsoak: x\n"


def test_main_lets_bugs_keep_their_traceback(monkeypatch):
    def app(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("coldsoak.cli.app.app", app)
    with pytest.raises(ZeroDivisionError):
        main([])


def test_control_c_is_130(monkeypatch):
    def app(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("coldsoak.cli.app.app", app)
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 130


def test_control_c_is_130_also_where_the_parser_calls_it_abort(monkeypatch):
    def app(*_, **__):
        raise RuntimeError from KeyboardInterrupt()

    monkeypatch.setattr("coldsoak.cli.app.app", app)
    with pytest.raises(SystemExit) as caught:
        main(["devices"])
    assert caught.value.code == 130


def test_letters_that_an_encoding_lacks_are_written_plainly(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    say("12 µs · 3× – 4 … 5 ±6 ° → ü\n")
    assert raw.getvalue() == b"12 us - 3x - 4 ~ 5 ~6 d > ?\n"
