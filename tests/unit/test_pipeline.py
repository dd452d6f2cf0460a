"""Where measuring and judging meet: commands, the user's files, stored logs and traces."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from coldsoak import api, pipeline
from coldsoak.errors import FormatError, UsageError
from coldsoak.model.result import Arm, Launch, Options, Result, Series, Site


def result(*files, **fields):
    """Return a result whose series read clocks in ``files``."""
    series = tuple(
        Series(id=str(place), kind="clock", label="x", start=Site(file=str(file), line=1))
        for place, file in enumerate(files)
    )
    made = Result(version="0", id="r", kind="run", created="", series=series)
    return replace(made, **fields)


def test_a_command_runs_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pipeline.command_arm(["python"]).cwd == str(tmp_path)
    with pytest.raises(UsageError, match="no command"):
        pipeline.command_arm([])


def test_a_current_folder_that_is_gone_is_told(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="current folder is gone"):
        pipeline.command_arm(["python"])


def test_short_files_of_the_users_are_kept(tmp_path):
    (tmp_path / "a.py").write_text("t = 1\n")
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    (tmp_path / "long.py").write_text("#" * (pipeline.SOURCE_BYTES + 1))
    arm = Arm(name="command", argv=("python",), cwd=str(tmp_path))
    made = result("a.py", "latin.py", "long.py", "gone.py", "<cell>", "a\0b", arms=(arm,))
    assert pipeline.sources_of(made) == {"a.py": "t = 1\n"}


def test_all_files_together_have_a_limit_in_bytes(tmp_path):
    text = "é" * (pipeline.SOURCE_BYTES // 2)
    files = [tmp_path / f"{number}.py" for number in range(6)]
    for file in files:
        file.write_text(text, encoding="utf-8")
    kept = pipeline.sources_of(result(*files))
    assert len(kept) == pipeline.SOURCES_BYTES // pipeline.SOURCE_BYTES == 4


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """A pipe has no length and never ends: ``python /dev/fd/63`` names one."""
    os.mkfifo(tmp_path / "pipe.py")
    assert pipeline.sources_of(result(tmp_path / "pipe.py")) == {}


def test_a_long_log_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "LOG_BYTES", 8)
    (tmp_path / "000.log").write_bytes(b"\xff23456789")
    assert pipeline._log(tmp_path, "000.log") == "�2345678"
    assert pipeline._log(tmp_path, "gone.log") == pipeline._log(tmp_path, "") == ""


def test_without_a_trace_there_is_nothing_to_attribute(tmp_path):
    with pytest.raises(UsageError, match="no trace") as refused:
        pipeline.reattribute(result(options=Options(trace=False)), tmp_path)
    assert "--no-trace" in refused.value.why
    with pytest.raises(UsageError, match="no trace"):
        pipeline.reattribute(result(), tmp_path)


def test_a_damaged_trace_is_named(tmp_path):
    launch = Launch(index=0, round=1, arm="command", kind="traced", trace="t.gz")
    (tmp_path / "t.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(FormatError, match=r"t\.gz"):
        pipeline.reattribute(result(launches=(launch,)), tmp_path)


@pytest.mark.parametrize("call", [api.run, api.fix])
def test_a_line_that_no_shell_would_take_is_refused(call):
    with pytest.raises(UsageError, match="cannot be split") as refused:
        call("python 'script.py")
    assert "quotation" in refused.value.why


def test_options_are_checked_by_name_and_type():
    with pytest.raises(UsageError, match="launch_count"):
        api.run("python x.py", launch_count=3)
    with pytest.raises(UsageError, match="wrong type"):
        api.run("python x.py", launches="many")
