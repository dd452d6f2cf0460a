"""What the agent writes about real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

from coldsoak.model import spool


@pytest.fixture
def script(runner, python):
    """Write a script and run it with the agent."""

    def run(text, *arguments, **environ):
        (runner.folder / "script.py").write_text(textwrap.dedent(text))
        return runner.agent([python, "script.py", *arguments], **environ)

    run.folder = runner.folder
    return run


def named(ran, name):
    return next(record for record in ran.of(spool.Imported) if record.name == name)


def test_phases_come_in_order_and_measure_the_script(script):
    before = time.monotonic_ns()
    ran = script("import time\ntime.sleep(0.2)\n")
    process, phases = ran.files[0][0], ran.phases()
    assert isinstance(process, spool.Process)
    assert process.protocol == spool.PROTOCOL
    assert list(phases) == ["agent_ready", "main_start", "main_end", "exit"]
    times = [before, process.begin_ns, *(phase.ns for phase in phases.values())]
    assert times == sorted(times)
    assert 0.2e9 <= phases["main_end"].ns - phases["main_start"].ns < 2e9
    assert process.argv[1:] == ["script.py"]
    assert (process.how, process.thread) == ("script", process.pid)
    assert process.starttime_ticks > 0
    assert process.cwd == str(script.folder)


@pytest.mark.parametrize(
    ("text", "detail"),
    [("", "returned"), ("raise OSError('time')", "OSError"), ("raise SystemExit(2)", "SystemExit")],
)
def test_main_end_says_how(script, text, detail):
    assert script(f"import time\n{text}\n").phases()["main_end"].detail == detail


def test_main_end_comes_before_exit_where_the_code_lives_on(runner, python):
    (runner.folder / "tool.py").write_text(
        "import sys\nkeep = sys._getframe().f_code\nsys.keep = keep\nsys.exit(3)\n"
    )
    phases = runner.agent([python, "-m", "tool"]).phases()
    assert list(phases) == ["agent_ready", "main_start", "main_end", "exit"]
    assert phases["main_end"].detail == "ended"


def test_main_end_of_an_exception_is_when_it_was_raised(script):
    ran = script(
        """
        import sys, time
        def hook(*args):
            time.sleep(0.3)
        sys.excepthook = hook
        raise ValueError
        """
    )
    phases = ran.phases()
    assert phases["exit"].ns - phases["main_end"].ns >= 0.3e9
    assert phases["main_end"].ns - phases["main_start"].ns < 0.3e9


def test_exit_is_the_last_thing_atexit_runs(script):
    ran = script(
        """
        import atexit, time
        atexit.register(time.sleep, 0.2)
        """
    )
    phases = ran.phases()
    assert phases["exit"].ns - phases["main_end"].ns >= 0.2e9


def test_rerun_executes_the_script_in_one_process(script):
    ran = script(
        """
        try:
            count += 1
        except NameError:
            count = 1
        print(count, __file__)
        """,
        COLDSOAK_RERUN="3",
    )
    assert [line.split()[0] for line in ran.output.splitlines()] == [b"1", b"2", b"3"]
    details = [p.detail for p in ran.of(spool.Phase) if p.name == "rerun_start"]
    assert details == ["1", "2"]
    assert ran.phases()["main_end"].detail == "returned"


def test_import_spans_nest_and_carry_their_file(script):
    (script.folder / "outer.py").write_text("import time\ntime.sleep(0.05)\nimport inner\n")
    (script.folder / "inner.py").write_text("import time\ntime.sleep(0.1)\n")
    ran = script("import outer\nimport inner\nimport outer\n")
    outer, inner = named(ran, "outer"), named(ran, "inner")
    assert sum(r.name in ("outer", "inner") for r in ran.of(spool.Imported)) == 2
    assert (outer.depth, inner.depth) == (0, 1)
    assert outer.start_ns < inner.start_ns < inner.end_ns < outer.end_ns
    assert inner.end_ns - inner.start_ns >= 0.1e9
    assert outer.file == str(script.folder / "outer.py")


def test_failed_imports_are_recorded(script):
    (script.folder / "bad.py").write_text("1 / 0\n")
    ran = script(
        """
        for name in ("absent_module", "bad"):
            try:
                __import__(name)
            except Exception:
                pass
        """
    )
    assert named(ran, "absent_module").error == "ModuleNotFoundError"
    assert named(ran, "bad").error == "ZeroDivisionError"


def test_bytecode_compiles_are_told_from_cached_ones(script):
    package = script.folder / "site-packages"
    package.mkdir()
    body = "\n".join(f"def f{i}(a, b): return [a + b * {i} for _ in range(a)]" for i in range(2000))
    (package / "large.py").write_text(body)
    text = f"import sys\nsys.path.append({str(package)!r})\nimport large\n"
    cold = named(script(text, PYTHONDONTWRITEBYTECODE=""), "large")
    warm = named(script(text, PYTHONDONTWRITEBYTECODE=""), "large")
    assert 0 < cold.compile_ns <= cold.end_ns - cold.start_ns
    assert cold.compile_ns > 0.5 * (cold.end_ns - cold.start_ns)
    assert warm.compile_ns == 0


def test_garbage_collections_are_booked_on_the_module(script):
    (script.folder / "garbage.py").write_text("import gc\nfor _ in range(20):\n    gc.collect()\n")
    (script.folder / "around.py").write_text("import garbage\n")
    ran = script("import around\n")
    inner, outer = named(ran, "garbage"), named(ran, "around")
    assert 0 < inner.gc_ns <= inner.end_ns - inner.start_ns
    assert outer.gc_ns >= inner.gc_ns


def test_the_agents_own_imports_are_not_the_programs(script):
    ran = script("import time\nprint(time.time() - time.time())\n", COLDSOAK_MODE="traced")
    names = {record.name for record in ran.of(spool.Imported)}
    assert not {name for name in names if name.startswith("coldsoak")}
    assert not names & {"_ast", "select", "ast", "json"}


def test_imports_on_threads_are_separate(script):
    for name in ("one", "two"):
        (script.folder / f"{name}.py").write_text("import time\ntime.sleep(0.1)\n")
    ran = script(
        """
        import threading
        threads = [threading.Thread(target=__import__, args=(n,)) for n in ("one", "two")]
        [t.start() for t in threads]
        [t.join() for t in threads]
        """
    )
    one, two = named(ran, "one"), named(ran, "two")
    assert one.thread != two.thread
    assert (one.depth, two.depth) == (0, 0)


def test_traced_imports_split_into_find_read_and_exec(script):
    (script.folder / "slow.py").write_text("import time\ntime.sleep(0.1)\n")
    ran = script("import slow, _ctypes, gc\ngc.collect()\n", COLDSOAK_MODE="traced")
    spans = {(span.source, span.name): span for span in ran.of(spool.Span)}
    whole = named(ran, "slow")
    parts = [spans["import.find", "slow"], spans["import.exec", "slow"]]
    assert parts[1].end_ns - parts[1].start_ns >= 0.1e9
    assert all(whole.start_ns <= part.start_ns <= part.end_ns <= whole.end_ns for part in parts)
    assert ("gc", "gen2") in spans
    loaded = spans.get(("dlopen", "_ctypes"))
    assert loaded is None or loaded.args["file"].endswith(".so")


def test_users_modules_leave_no_bytecode(script):
    (script.folder / "helper.py").write_text("import time\nstart = time.time()\n")
    script("import helper\n", PYTHONDONTWRITEBYTECODE="")
    assert not (script.folder / "__pycache__").exists()


def test_children_are_recorded(script):
    ran = script(
        """
        import os, subprocess, sys
        subprocess.run([sys.executable, "-c", "pass"])
        os.system("true")
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        os.execv(sys.executable, [sys.executable, "-c", "pass"])
        """
    )
    children = [
        (child.how, child.argv[-2:]) for child in ran.files[0] if isinstance(child, spool.Child)
    ]
    assert children == [
        ("spawn", ["-c", "pass"]),
        ("spawn", ["-c", "true"]),
        ("fork", []),
        ("exec", ["-c", "pass"]),
    ]
    hows = sorted(file[0].how for file in ran.files)
    assert hows == ["command", "command", "fork", "script"]
    first = ran.files[0][0]
    assert {file[0].ppid for file in ran.files if file[0].how == "fork"} == {first.pid}


def test_a_forked_child_writes_its_own_records_only(script):
    ran = script(
        """
        import os, time, json
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
        else:
            import decimal
            start = time.time()
            print(time.time() - start)
            os._exit(0)
        """
    )
    parent, child = ran.files
    assert [r.name for r in child if isinstance(r, spool.Imported) and not r.depth] == ["decimal"]
    assert sum(isinstance(r, spool.Region) for r in child) == 1
    assert not any(isinstance(r, spool.Region) for r in parent)
    assert [r.detail for r in child if isinstance(r, spool.Phase)] == ["os._exit"]
    assert "json" in {r.name for r in parent if isinstance(r, spool.Imported)}


def test_os_exit_keeps_everything(script):
    ran = script("import os, json\nos._exit(7)\n")
    assert ran.returncode == 7
    assert named(ran, "json")
    assert ran.phases()["exit"].detail == "os._exit"


@pytest.mark.parametrize("how", ["python", "c"])
def test_sigterm_flushes_a_traced_launch(runner, python, how):
    sleep = "time.sleep" if how == "python" else "ctypes.CDLL(None).sleep"
    text = f"import ctypes, json, time\nprint('ready', flush=True)\n{sleep}(20)\n"
    (runner.folder / "script.py").write_text(text)
    folder = runner.folder / "spool"
    folder.mkdir()
    inject = Path(spool.__file__).parents[1] / "inject"
    environ = runner.environment(
        COLDSOAK_SPOOL=str(folder), COLDSOAK_MODE="traced", PYTHONPATH=str(inject)
    )
    process = subprocess.Popen(
        [python, "script.py"], cwd=runner.folder, env=environ, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
    data = next(folder.glob("*.jsonl")).read_bytes()
    assert b'["import","json"' in data


def test_a_programs_own_sigterm_handler_wins(script):
    ran = script(
        """
        import os, signal, time
        print(signal.signal(signal.SIGTERM, lambda *a: print("mine")) is not None)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.8)
        print("end")
        """,
        COLDSOAK_MODE="traced",
    )
    assert ran.output == b"True\nmine\nend\n"
    assert ran.returncode == 0


def test_asyncio_takes_the_wakeup_descriptor(script):
    ran = script(
        """
        import asyncio, os, signal
        async def main():
            done = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(done.wait(), 5)
            print("handled")
        asyncio.run(main())
        """,
        COLDSOAK_MODE="traced",
    )
    assert (ran.output, ran.returncode) == (b"handled\n", 0)


def test_forking_in_a_traced_launch_warns_of_no_thread(runner, python):
    (runner.folder / "script.py").write_text(
        "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\nprint('ok')\n"
    )
    ran = runner.agent([python, "-W", "error", "script.py"], COLDSOAK_MODE="traced")
    assert (ran.output, ran.returncode) == (b"ok\n", 0)


def test_a_daemon_that_closes_everything_keeps_its_spool(script):
    ran = script(
        """
        import os
        os.closerange(3, 4096)
        keep = [open("script.py") for _ in range(300)]
        import decimal
        """
    )
    assert ran.returncode == 0
    assert named(ran, "decimal")
    assert (script.folder / "script.py").read_text().startswith("\nimport os")


def test_a_full_disk_stops_the_recording_and_nothing_else(script):
    ran = script(
        """
        import resource, sys
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        import decimal, json, email.mime.text
        print("end")
        """
    )
    assert (ran.output, ran.returncode) == (b"end\n", 0)


def test_damage_in_the_agent_is_a_note(script):
    ran = script("print(1)\n", COLDSOAK_MODE="traced", COLDSOAK_SOURCES="absent,perf-x")
    assert ran.output == b"1\n"
    states = {record.name: record for record in ran.of(spool.Source)}
    assert {record.state for record in states.values()} == {"off"}
    assert set(states) == {"absent", "perf-x"}


def test_bytecode_that_the_program_writes_is_that_of_its_source(script):
    (script.folder / "mine.py").write_text("import time\nprint(time.time() - time.time() < 1)\n")
    ran = script(
        """
        import py_compile
        py_compile.compile("mine.py", "mine.pyc", doraise=True)
        """
    )
    assert (ran.output, ran.returncode) == (b"", 0)
    assert b"coldsoak" not in (script.folder / "mine.pyc").read_bytes()


def test_user_prefixes_can_be_named(script):
    installed = script.folder / "lib" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "mine.py").write_text(
        "import time\nstart = time.time()\nprint(time.time() - start)\n"
    )
    text = f"import sys\nsys.path.append({str(installed)!r})\nimport mine\n"
    assert not script(text).of(spool.Region)
    assert len(script(text, COLDSOAK_USER=str(installed)).of(spool.Region)) == 1


def test_spool_names_with_strange_characters(runner, python):
    name = 'we"ird\\ñ\n€.py'
    (runner.folder / name).write_text("import time\n")
    ran = runner.agent([python, name])
    assert ran.files[0][0].argv[-1] == name


def test_killed_at_any_moment_the_spool_stays_readable(runner, python):
    text = """
    import threading, time, os
    def work():
        while True:
            start = time.perf_counter()
            elapsed = time.perf_counter() - start
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    os.fork()
    import decimal, json, email.mime.text
    work()
    """
    (runner.folder / "script.py").write_text(textwrap.dedent(text))
    inject = Path(spool.__file__).parents[1] / "inject"
    for number in range(6):
        folder = runner.folder / f"spool{number}"
        folder.mkdir()
        environ = runner.environment(
            COLDSOAK_SPOOL=str(folder),
            COLDSOAK_MODE=("timed", "traced")[number % 2],
            PYTHONPATH=str(inject),
        )
        process = subprocess.Popen(
            [python, "-W", "ignore", "script.py"],
            cwd=runner.folder,
            env=environ,
            start_new_session=True,
        )
        time.sleep(0.03 + 0.04 * number)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        for path in folder.glob("*.jsonl"):
            complete = path.read_bytes().splitlines(keepends=True)
            if complete and not complete[-1].endswith(b"\n"):
                complete.pop()
            records = [spool.DECODER.decode(line) for line in complete]
            assert not records or isinstance(records[0], spool.Process)


def test_users_modules_that_read_no_clock_keep_their_bytecode(script):
    (script.folder / "helper.py").write_text("answer = 42\n")
    script("import helper\nprint(helper.answer)\n", PYTHONDONTWRITEBYTECODE="")
    assert list((script.folder / "__pycache__").glob("helper.*.pyc"))
