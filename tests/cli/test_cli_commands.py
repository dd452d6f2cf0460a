"""The command line as a user types it: real processes, real exit statuses."""

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import sys, time

def step(n):
    start = time.perf_counter()
    if n == 0:
        time.sleep(0.3)
    total = sum(range(20_000))
    return time.perf_counter() - start

if "--fail" in sys.argv:
    sys.exit("no luck today")
for n in range(4):
    step(n)
print("arguments", sys.argv[1:])
"""


@pytest.fixture
def work(tmp_path):
    """A folder with a slow script and a result store of its own."""
    (tmp_path / "slow.py").write_text(SCRIPT)
    return tmp_path


def environment(work):
    keep = {name: value for name, value in os.environ.items() if not name.startswith("COLDSOAK")}
    return keep | {"COLDSOAK_HOME": str(work / "home"), "NO_COLOR": "1", "COLUMNS": "80"}


def coldsoak(work, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "coldsoak", *arguments],
        cwd=work,
        env=environment(work),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def run(work, *options):
    return coldsoak(
        work, "run", "--launches", "2", "--no-trace", *options, sys.executable, "slow.py"
    )


def test_run_answers_in_one_sentence_and_ends_with_a_command(work):
    done = run(work)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("The first run takes 30")
    assert "are paid once per" in " ".join(lines[:2])
    assert lines[-1].startswith("Next: coldsoak ")
    assert "2 timed launches, 1 discarded, " in done.stdout
    assert "discarded launch 1 of" in done.stderr


def test_the_command_keeps_its_own_options_with_and_without_dashes(work):
    for arguments in (["--"], []):
        done = coldsoak(
            work,
            *["run", "--launches", "1", "--no-trace", "--echo", *arguments],
            *[sys.executable, "slow.py", "--budget", "x", "-h"],
        )
        assert done.returncode == 0, done.stderr
        assert "arguments ['--budget', 'x', '-h']" in done.stdout + done.stderr


def test_the_result_file_is_the_stored_one_and_is_not_overwritten(work):
    assert run(work, "--json", "out.json").returncode == 0
    document = json.loads((work / "out.json").read_text())
    assert document["format"] == 1
    counted = [one for one in document["launches"] if one["round"] and not one.get("invalid")]
    assert len(counted) == 2  # others may have been replaced, on a busy machine
    again = run(work, "--json", "out.json")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert "--force" in again.stderr
    assert len(list((work / "home" / "results").iterdir())) == 1


def test_report_renders_again_what_run_printed(work):
    printed = run(work).stdout
    assert coldsoak(work, "report").stdout == printed
    assert coldsoak(work, "report", "last", "--markdown").stdout.startswith("**The first run")
    rows = list(csv.DictReader(io.StringIO(coldsoak(work, "report", "--csv").stdout)))
    assert len(rows) >= 3 * 4
    assert {row["run"] for row in rows} == {"0", "1", "2", "3"}
    assert 0.3 < float(rows[0]["region_s"]) < 0.5
    assert "slow.py" in coldsoak(work, "results").stdout


def test_a_failing_command_is_told_with_its_last_words(work):
    done = coldsoak(work, "run", "--launches", "2", sys.executable, "slow.py", "--fail")
    assert done.returncode == 1
    assert "no luck today" in done.stderr
    assert "launch 0" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "no-such-program-here"], ["no-such-program-here"]),
        (["run"], ["COMMAND"]),
        (["run", "--launches", "0", "true"], ["--launches"]),
        (["run", "--cold", "ice", "true"], ["ice", "process"]),
        (["run", "--frobnicate", "true"], ["--frobnicate"]),
        (["report", "nothing-like-this"], ["nothing-like-this"]),
        (["report", "--markdown", "--csv"], ["exclude"]),
        (["bench", "no-such-work"], ["no-such-work", "matmul"]),
        (["explain", "lazy_kernel_loads"], ["lazy_kernel_load"]),
    ],
)
def test_usage_errors_are_two_and_say_what_to_do(work, arguments, words):
    done = coldsoak(work, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_control_c_reports_what_was_measured(work):
    child = subprocess.Popen(
        [sys.executable, "-m", "coldsoak", "run", "--no-trace", sys.executable, "slow.py"],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not _valid_launches(work) and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert out.startswith("The first run takes 3")
    assert "interrupted" in out
    assert coldsoak(work, "report").stdout == out


def _valid_launches(work):
    files = list((work / "home").glob("results/*/result.json"))
    launches = json.loads(files[0].read_text()).get("launches", ()) if files else ()
    return [one for one in launches if one["round"] > 0 and not one.get("invalid")]


def test_schema_is_json_schema(work):
    schema = json.loads(coldsoak(work, "schema").stdout)
    assert schema["$ref"] == "#/$defs/Result"
    assert "launches" in schema["$defs"]["Result"]["properties"]


def test_version_and_help(work):
    from coldsoak import __version__

    assert coldsoak(work, "--version").stdout == f"coldsoak {__version__}\n"
    helped = coldsoak(work, "--help").stdout
    for command in ("run", "bench", "devices", "report", "explain", "schema", "results"):
        assert f"\n  {command} " in helped


def test_explain_lists_every_cause_and_prints_a_page(work):
    from coldsoak.model.causes import Cause

    listed = coldsoak(work, "explain").stdout
    assert [cause for cause in Cause if str(cause) not in listed] == []
    page = coldsoak(work, "explain", "lazy_kernel_load").stdout
    assert page.startswith("lazy_kernel_load")


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["fix", "-h"]])
def test_help_loads_none_of_the_heavy_libraries(words):
    code = (
        "import sys\n"
        "from coldsoak.cli import main\n"
        f"try: main({words})\n"
        "except SystemExit: pass\n"
        "heavy = {'rich.table', 'rich.live', 'msgspec', 'scipy', 'numpy', 'psutil', 'altair',\n"
        "         'pydantic'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "LOADED []"


def test_help_speaks_of_words_and_not_of_types(work):
    run_help = coldsoak(work, "run", "--help").stdout
    assert run_help.startswith("Usage: coldsoak run [OPTIONS] COMMAND")
    assert "  COMMAND  What to measure" in run_help
    assert "[default: 60]" in run_help
    assert "[1 or more]" in run_help
    assert "WORKLOAD  matmul" in coldsoak(work, "bench", "--help").stdout


def test_bench_compares_frameworks_that_are_there(work):
    done = coldsoak(
        work,
        *["bench", "matmul", "--framework", "numpy", "--shape", "32,64", "--runs", "4"],
        *["--launches", "1", "--no-trace"],
    )
    assert done.returncode == 0, done.stderr
    assert "matmul · float32 · 10 a run · numpy" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert {"32", "64"} <= {row[0] for row in rows}


def test_a_traced_run_has_ledgers_a_perfetto_file_and_can_be_attributed_again(work):
    done = coldsoak(
        work,
        *["run", "--launches", "1", "--perfetto", "trace.json"],
        *[sys.executable, "slow.py"],
    )
    assert done.returncode == 0, done.stderr
    assert "Where run 0 of step goes · 1 traced launch" in done.stdout
    assert "unattributed" in done.stdout
    assert "Cost of looking" in done.stdout
    assert json.loads((work / "trace.json").read_text())["traceEvents"]
    again = coldsoak(work, "report", "--reattribute")
    assert again.stdout == done.stdout


def test_without_traces_there_is_nothing_to_attribute_again(work):
    run(work)
    done = coldsoak(work, "report", "--reattribute")
    assert done.returncode == 2
    assert "--no-trace" in done.stderr


ONCE = ["run", "--launches", "1", "--no-trace", sys.executable, "slow.py"]


def printed_to_a_full_disk(work, words):
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            [sys.executable, "-m", "coldsoak", *words],
            cwd=work,
            env=environment(work),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )


def test_an_answer_that_cannot_be_printed_is_kept(work):
    done = printed_to_a_full_disk(work, ONCE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "coldsoak report last prints it again" in done.stderr
    assert coldsoak(work, "report", "last").stdout.startswith("The first run takes")


@pytest.mark.parametrize(
    "command", [["doctor"], ["doctor", "--json"], ["explain"], ["results"], ["schema"]]
)
def test_an_answer_that_no_result_holds_is_not_promised_again(work, command):
    done = printed_to_a_full_disk(work, command)
    assert done.returncode == 2
    assert "The answer cannot be printed." in done.stderr
    assert "Traceback" not in done.stderr
    assert "report last" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(work):
    process = subprocess.Popen(
        [sys.executable, "-m", "coldsoak", *ONCE],
        cwd=work,
        env=environment(work),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.wait(timeout=120) == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


TELLTALE = """
import os, subprocess, sys, time
api_key = "s3cr3t"
os.environ.setdefault("HF_TOKEN", "s3cr3t")

def ask(token):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass", "--token=" + token], check=True)
    subprocess.run(["true", "--password", token], check=True)
    return time.perf_counter() - start

for n in range(2):
    ask(sys.argv[sys.argv.index("--token") + 1])
"""


def test_no_file_of_a_result_has_a_secret_of_the_program(work):
    (work / "telltale.py").write_text(TELLTALE)
    words = [sys.executable, "telltale.py", "--token", "s3cr3t", "http://me:s3cr3t@host/"]
    done = coldsoak(work, "run", "--launches", "1", *words)
    assert done.returncode == 0, done.stderr
    assert "s3cr3t" not in done.stdout + done.stderr
    files = [file for file in (work / "home").rglob("*") if file.is_file()]
    assert any(file.name == "result.json" for file in files)
    assert any(file.suffix == ".gz" for file in files)
    for file in files:
        data = file.read_bytes()
        text = gzip.decompress(data) if file.suffix == ".gz" else data
        assert b"s3cr3t" not in text, file.name
    stored = json.loads(next(file for file in files if file.name == "result.json").read_text())
    assert "telltale.py" in next(iter(stored["sources"]))
    assert 'api_key = "<redacted>"' in next(iter(stored["sources"].values()))


def test_a_stored_command_without_its_secrets_is_not_launched(work):
    words = [sys.executable, "slow.py", "--token", "s3cr3t"]
    assert coldsoak(work, "run", "--launches", "1", *words).returncode == 0
    refused = coldsoak(work, "fix", "--from", "last", "--budget", "1")
    assert refused.returncode == 2
    assert "does not have its secrets" in refused.stderr
    given = coldsoak(work, "fix", "--from", "last", "--budget", "1", "--remedy", "py.pyc", *words)
    assert given.returncode == 0, given.stderr
    assert "s3cr3t" not in given.stdout + given.stderr


@pytest.mark.parametrize(
    ("arguments", "what", "todo"),
    [
        (["runn"], "coldsoak: No such command 'runn'.", "coldsoak --help"),
        (["run", "--frobnicate", "true"], "coldsoak: No such option", "coldsoak run --help"),
        (["results", "--limit", "x"], "coldsoak: Invalid value for '--limit'", "coldsoak results"),
        (["run"], "coldsoak: Missing argument 'COMMAND'.", "coldsoak run --help"),
    ],
)
def test_what_the_parser_refuses_reads_as_all_other_complaints(work, arguments, what, todo):
    done = coldsoak(work, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(what)
    assert f"  Try: {todo}" in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_without_a_command_the_help_is_printed(work):
    done = coldsoak(work)
    assert (done.returncode, done.stdout) == (0, coldsoak(work, "--help").stdout)


def test_without_results_the_list_is_a_sentence(work):
    done = coldsoak(work, "results")
    assert (done.returncode, done.stdout) == (0, f"There are no results in {work}/home/results.\n")
