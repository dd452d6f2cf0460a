"""Real launches of programs that misbehave."""

import os
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from coldsoak import plans
from coldsoak.backends.report import find_report
from coldsoak.errors import UsageError
from coldsoak.launch import coldness, proc
from coldsoak.launch.conditions import Limits
from coldsoak.launch.executor import ProcessExecutor
from coldsoak.launch.failures import last_words
from coldsoak.launch.pagecache import resident_bytes
from coldsoak.launch.request import LaunchInterrupted, Request
from coldsoak.launch.trace import load_trace
from coldsoak.model.result import Arm, Options
from coldsoak.model.trace import unpack

ANY_MACHINE = Limits(foreign_cpu=None, throttled=None)
"""The machine of a test may be busy."""
VICTIM = Path(__file__).parents[1] / "victims" / "launch_misbehave.py"


@pytest.fixture
def launch(tmp_path):
    def run(*command, executor=None, kind="timed", env=None, cwd="", **options):
        executor = executor or ProcessExecutor(grace_s=0.3, limits=ANY_MACHINE)
        arm = Arm(name="victim", argv=command, env=env or {}, cwd=cwd)
        asked = Options(**options)
        executor.check([arm], asked)
        index = len(list(tmp_path.glob("logs/*")))
        request = Request(
            arm=arm, kind=kind, round=1, index=index, position=0, options=asked, folder=tmp_path
        )
        return executor.launch(request)

    yield run
    assert leftovers(tmp_path) == []


@pytest.fixture
def victim(launch):
    def run(mode, *arguments, **rest):
        return launch(sys.executable, str(VICTIM), mode, *arguments, **rest)

    return run


def leftovers(folder):
    """Pids that carry a spool below ``folder``."""
    mark = b"COLDSOAK_SPOOL=" + os.fsencode(folder.resolve())
    found = []
    for pid in proc.pids():
        value = b"COLDSOAK_SPOOL=" + proc.environ_value(pid, b"COLDSOAK_SPOOL")
        if value.startswith(mark):
            found.append(pid)
    return found


def codes(launch):
    return {note.code for note in launch.notes}


def test_a_program_that_ends_well(victim, tmp_path):
    launch = victim("nothing")
    assert (launch.status, launch.exit_code, launch.invalid) == ("ok", 0, "")
    assert len(launch.processes) == 1
    assert (tmp_path / launch.log).read_text() == "fine\n"
    assert not (tmp_path / "spool").exists()


def test_a_known_wall_time(launch):
    found = launch("sleep", "0.3")
    assert 0.3 <= found.wall_ns / 1e9 < 0.8


def test_a_program_that_is_not_python(launch):
    found = launch("sh", "-c", "sleep 0.2; exit 0")
    assert found.processes == ()
    assert "no_agent" in codes(found)
    assert found.children[0].why == "not Python"
    assert any(child.argv == ("sleep", "0.2") for child in found.children)


@pytest.mark.parametrize("flag", ["-I", "-S", "-E", "-sE"])
def test_an_isolated_interpreter_is_told(launch, flag):
    found = launch(sys.executable, flag, "-c", "import time; time.sleep(0.05)")
    assert found.processes == ()
    assert found.children[0].why.startswith("isolated interpreter")


def test_a_removed_pythonpath_is_told(launch):
    script = f"unset PYTHONPATH; exec {sys.executable} -c 'import time; time.sleep(0.2)'"
    found = launch("sh", "-c", script)
    assert [child.why for child in found.children] == ["PYTHONPATH removed"]


def test_python_behind_a_shell_is_found(launch):
    found = launch("sh", "-c", f"{sys.executable} -c 'pass'; true")
    assert len(found.processes) == 1
    assert found.children[0].why == "not Python"


def test_a_child_left_behind_is_ended_and_told(victim):
    launch = victim("child")
    assert launch.status == "ok"
    assert "background_processes" in codes(launch)


def test_a_daemon_is_ended(victim):
    launch = victim("daemon")
    assert launch.status == "ok"
    assert "background_processes" in codes(launch)


def test_a_daemon_without_environment_is_ended(victim):
    launch = victim("nameless_daemon")
    assert "background_processes" in codes(launch)
    sleepers = [pid for pid in proc.pids() if proc.argv(pid) == ("sleep", "60")]
    assert [pid for pid in sleepers if not proc.environ_value(pid, b"PATH")] == []


def test_sigterm_ignored(victim):
    launch = victim("stubborn", timeout_s=0.8)
    assert launch.status == "timeout"
    assert launch.ended_by == "timeout"
    assert launch.signal == signal.SIGKILL
    assert launch.invalid == "it had not ended after 0.8 s"
    assert 0.8 <= launch.wall_ns / 1e9 < 1.5


def test_a_condition_that_is_not_met_in_time_is_named(victim):
    launch = victim("sleep", timeout_s=0.8, until="log:never printed")
    assert launch.status == "timeout"
    assert launch.invalid == "log:never printed was not met within 0.8 s"


def test_stdout_closed(victim):
    assert victim("close_stdout").status == "ok"


def test_binary_output_is_kept_as_it_is(victim, tmp_path):
    launch = victim("binary")
    assert (launch.status, launch.exit_code) == ("failed", 5)
    assert launch.invalid == "exit status 5"
    assert (tmp_path / launch.log).read_bytes() == bytes(range(256)) * 4
    assert all(line.isprintable() for line in launch.tail)


def test_an_endless_output_is_stopped(victim, tmp_path):
    launch = victim("flood", executor=ProcessExecutor(grace_s=0.3, log_limit=4 << 20))
    assert launch.status == "killed"
    assert launch.invalid == "its output passed 4 MiB"


def test_another_directory(victim, tmp_path):
    launch = victim("chdir")
    assert (tmp_path / launch.log).read_text() == "/\n"
    assert len(launch.processes) == 1


@pytest.mark.parametrize(
    ("mode", "number"), [("sigkill", signal.SIGKILL), ("segv", signal.SIGSEGV)]
)
def test_killed_by_itself(victim, mode, number):
    launch = victim(mode)
    assert launch.status == "killed"
    assert launch.signal == number
    assert launch.invalid == f"killed by {number.name}"
    assert launch.processes[0].complete is False


def test_exit_status_and_last_words(victim):
    launch = victim("exit3")
    assert (launch.status, launch.exit_code) == ("failed", 3)
    assert launch.tail == ("the last words",)


def test_spool_deleted(victim):
    launch = victim("delete_spool")
    assert launch.status == "ok"
    assert launch.wall_ns > 0


def test_environment_of_the_arm(launch, tmp_path):
    found = launch(
        sys.executable,
        "-c",
        "import os; print(os.environ.get('HOME'), os.environ['COLOUR'])",
        env={"HOME": None, "COLOUR": "blue"},
    )
    assert (tmp_path / found.log).read_text() == "None blue\n"


def test_working_directory_of_the_arm(launch, tmp_path):
    (tmp_path / "work").mkdir()
    script = tmp_path / "work" / "tool"
    script.write_text("#!/bin/sh\necho $0\n")
    script.chmod(0o755)
    found = launch("./tool", cwd=str(tmp_path / "work"))
    assert (tmp_path / found.log).read_text() == "./tool\n"


@pytest.mark.parametrize("first_line", ["", "#!/nowhere/python\n"])
def test_a_script_that_the_kernel_refuses(launch, tmp_path, first_line):
    script = tmp_path / "tool.py"
    script.write_text(first_line + "print(1)\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match=r"neither a program|cannot be started") as caught:
        launch(str(script))
    assert f"python {script}" in caught.value.do
    assert not (tmp_path / "spool").exists()


def test_a_folder_that_cannot_be_written(tmp_path):
    arm = Arm(name="a", argv=("true",))
    (tmp_path / "file").touch()
    request = Request(
        arm=arm,
        kind="timed",
        round=0,
        index=0,
        position=0,
        options=Options(),
        folder=tmp_path / "file",
    )
    with pytest.raises(UsageError, match="cannot be written") as caught:
        ProcessExecutor().launch(request)
    assert "COLDSOAK_HOME" in caught.value.do


def test_nothing_to_read(launch, tmp_path):
    found = launch("cat")
    assert found.status == "ok"


def test_echo_keeps_every_byte(launch, tmp_path, capfdbinary):
    text = "import sys; sys.stdout.buffer.write(bytes(range(256)))"
    launch(sys.executable, "-c", text, executor=ProcessExecutor(echo=True))
    assert capfdbinary.readouterr().out == bytes(range(256))


def test_until_a_log_line(victim):
    launch = victim("ready", until="log:ready on port [0-9]+")
    assert (launch.status, launch.ended_by) == ("ok", "log")
    assert 0.3 <= launch.until_ns / 1e9 < 1.0
    assert launch.wall_ns == launch.until_ns


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_until_a_port(victim):
    port = free_port()
    launch = victim("serve", str(port), until=f"port:{port}")
    assert (launch.status, launch.ended_by) == ("ok", "port")
    assert launch.until_ns / 1e9 >= 0.3


def test_until_a_page_is_answered(victim):
    port = free_port()
    launch = victim("serve", str(port), until=f"http:http://127.0.0.1:{port}/up")
    assert (launch.status, launch.ended_by) == ("ok", "http")


def test_a_server_that_goes_to_the_background(launch):
    port = free_port()
    command = f"{sys.executable} {VICTIM} serve {port} & exit 0"
    found = launch("sh", "-c", command, until=f"port:{port}")
    assert (found.status, found.ended_by, found.exit_code) == ("ok", "port", 0)
    assert "background_processes" not in codes(found)


def test_a_background_that_never_answers(launch):
    found = launch("sh", "-c", "sleep 0.3 & exit 0", until=f"port:{free_port()}")
    assert found.status == "failed"
    assert "ended before the condition" in found.invalid


def test_an_error_page_is_no_answer(victim):
    port = free_port()
    launch = victim("serve", str(port), until=f"http://127.0.0.1:{port}/down", timeout_s=1)
    assert launch.status == "timeout"


def test_until_never_met(victim):
    launch = victim("nothing", until="log:never said")
    assert launch.status == "failed"
    assert "ended before the condition log:never said was met" in launch.invalid


def test_a_server_that_is_there_already_is_refused(victim):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(UsageError, match="before the first launch"):
            victim("nothing", until=f"port:{server.getsockname()[1]}")


def test_ctrl_c_keeps_the_launch(victim):
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(LaunchInterrupted) as caught:
        victim("sleep")
    assert caught.value.launch.status == "interrupted"
    assert 0.3 < caught.value.launch.wall_ns / 1e9 < 5


def test_sigterm_is_taken_as_ctrl_c(victim):
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGTERM])
    timer.start()
    with pytest.raises(LaunchInterrupted) as caught:
        victim("crowd")
    assert caught.value.launch.status == "interrupted"


def test_cold_caches_are_fresh_and_go_away(launch, tmp_path):
    code = (
        "import os; p = os.environ['TRITON_CACHE_DIR']; print(p, os.listdir(p));"
        "open(p + '/kernel', 'w').close()"
    )
    seen = set()
    for _ in range(2):
        found = launch(sys.executable, "-c", code, cold=("cache",))
        folder, listing = (tmp_path / found.log).read_text().split(" ", 1)
        assert listing.strip() == "[]"
        assert not Path(folder).exists()
        seen.add(folder)
    assert len(seen) == 2


def test_without_bytecode(launch, tmp_path):
    code = "import sys; print(sys.pycache_prefix)"
    warm = launch(sys.executable, "-c", code)
    cold = launch(sys.executable, "-c", code, cold=("bytecode",))
    prefix = (tmp_path / cold.log).read_text().strip()
    assert (tmp_path / warm.log).read_text().strip() != prefix
    assert "coldsoak-cold-" in prefix


TIMED = """
import time

def work():
    start = time.perf_counter()
    time.sleep(0.05)
    return time.perf_counter() - start

while True:
    work()
"""


@pytest.mark.parametrize("condition", ["region:work:4", "region:script.py:7:4"])
def test_until_a_region(launch, tmp_path, condition):
    (tmp_path / "script.py").write_text(TIMED)
    found = launch(sys.executable, str(tmp_path / "script.py"), until=condition)
    assert (found.status, found.ended_by, found.invalid) == ("ok", "region", "")
    fourth = next(run for run in found.executions if run.run == 3)
    assert found.until_ns == found.wall_ns == fourth.end_ns
    assert found.signal in {None, signal.SIGTERM}


def test_a_traced_launch_has_a_trace(launch, tmp_path):
    found = launch(sys.executable, "-c", "import json", kind="traced")
    assert found.status == "ok"
    assert found.trace == "traces/000.trace.gz"
    trace = load_trace(tmp_path / found.trace)
    assert (trace.launch, trace.arm) == (0, "victim")
    assert found.sources


def test_a_workers_report_is_the_data_of_its_launch(launch):
    (arm,) = plans.plan(frameworks=("numpy",), devices=("cpu",), shapes=("16",), runs=2).arms
    executor = ProcessExecutor(limits=ANY_MACHINE, read_report=find_report)
    found = launch(*arm.argv, executor=executor)
    assert (found.data["location"], found.data["runs"]) == ("cpu", 2)
    assert [note for note in found.notes if '"framework"' in note.text] == []  # it is kept once
    refused = (*arm.argv[:-1], arm.argv[-1].replace('"cpu"', '"cuda:9"'))
    failed = launch(*refused, executor=executor)
    assert failed.data["error"]["kind"] == "DeviceMissing"
    assert [note for note in failed.notes if '"framework"' in note.text] == []
    assert last_words(failed).startswith("numpy sees no device 'cuda:9'.")


def test_what_onednn_printed_is_in_the_trace(launch, tmp_path):
    line = "onednn_verbose,v1,{:.6f},primitive,create:cache_miss,cpu,matmul,brg,undef,s,a,,8x8,0.5"
    program = f"import time; print({line!r}.format(time.time() * 1e3))"
    found = launch(sys.executable, "-c", program, kind="traced")
    trace = load_trace(tmp_path / found.trace)
    assert "onednn" in [trace.strings[source] for source in unpack(trace.spans.source)]


def test_a_disk_cold_launch_is_proved(launch, tmp_path, monkeypatch):
    big = tmp_path / "big"
    big.write_bytes(os.urandom(4 << 20))
    monkeypatch.setattr(coldness, "command_files", lambda *_: {str(big)})
    executor = ProcessExecutor()
    for _ in range(2):
        assert resident_bytes(str(big))[0] > 3 << 20
        found = launch("sh", "-c", f"cat {big} > /dev/null", cold=("disk",), executor=executor)
        assert found.status == "ok"
        (text,) = [note.text for note in found.notes if note.code == "evicted"]
        assert re.search(r"4\.\d MiB were in memory before the eviction and 0\.\d MiB after", text)


def test_a_spawned_process_of_ours_is_left_alone(victim):
    import subprocess

    other = subprocess.Popen(["sleep", "30"], start_new_session=True)
    try:
        time.sleep(0.05)
        victim("child")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
