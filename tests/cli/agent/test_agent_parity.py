"""A program with the agent inside prints, byte for byte, what it prints without."""

from __future__ import annotations

import os
import py_compile
import re
import stat
import subprocess
import zipapp

import pytest

from coldsoak.model import spool

STATE = """
import sys, time
print(sys.argv, __file__, __name__, __spec__, __package__, type(__loader__).__name__)
print([p for p in sys.path if "PYTHONPATH" not in p])
print(sorted(k for k in vars()))
print(sorted(sys.path_importer_cache) == sorted(set(sys.path_importer_cache)))
print([getattr(h, "__name__", h) for h in sys.path_hooks], [getattr(m, "__name__", type(m)) for m in sys.meta_path])
print("runpy" in sys.modules, "sitecustomize" in sys.modules, sys.dont_write_bytecode)
print(sys._getframe().f_back, sys.gettrace(), sys.flags)
print(__loader__.name, __loader__.path, getattr(sys.modules["__main__"], "__cached__", 1))
"""
RAISES = """
def outer():
    try:
        {}["absent"]
    except KeyError as error:
        raise ValueError("chained") from error
print("before", flush=False)
outer()
"""
SCRIPTS = {
    "state": STATE,
    "exception": "print('out')\ndef f():\n    raise RuntimeError('x')\nf()\n",
    "attribute-error": "class A:\n    pass\nA().missing\n",
    "own-attribute-error": "raise AttributeError('mine')\n",
    "chained": RAISES,
    "name-error": "values = 1\nprint(valuse)\n",
    "multi-line-call": "def f(*a):\n    raise OSError(3, 'no')\nf(\n    1,\n    2,\n)\n",
    "syntax-error": "print('never')\nif True\n    pass\n",
    "indentation": "if True:\npass\n",
    "null-byte": "print(1)\0\n",
    "bad-encoding": b"# -*- coding: utf-8 -*-\nx = '\xff'\n",
    "unknown-encoding": "# -*- coding: nonsense -*-\n",
    "latin-1": "# -*- coding: latin-1 -*-\nprint(ascii('ä'))\n".encode("latin-1"),
    "bom": "\ufeffprint('bom')\n",
    "crlf": b"print('a')\r\nx = '''1\r\n2'''\r\nprint(repr(x))\r\n",
    "empty": "",
    "no-newline": "print(1)",
    "exit-3": "import sys\nsys.exit(3)\n",
    "exit-text": "import sys\nsys.exit('text')\n",
    "exit-none": "raise SystemExit\n",
    "keyboard-interrupt": "raise KeyboardInterrupt\n",
    "os-exit": "import os\nprint('lost or not', flush=True)\nos._exit(5)\n",
    "subinterpreter": (
        "import sys\n"
        "try:\n"
        "    import _xxsubinterpreters as subs\n"
        "except ImportError:\n"
        "    import _interpreters as subs\n"
        "number = subs.create()\n"
        "subs.run_string(number, 'import json; print(json.dumps([1]), flush=True)')\n"
        "subs.destroy(number)\n"
        "print('end')\n"
    ),
    "late-finalizer": (
        "import builtins, gc, sys\n"
        "class Late:\n"
        "    def __del__(self, print=print, gc=gc, sys=sys, open=open):\n"
        "        gc.collect()\n"
        "        try:\n            import colorsys\n"
        "        except ImportError as error:\n            print(error)\n"
        "        else:\n            print(colorsys.__name__)\n"
        "sys.keep = builtins.keep = Late()\n"
    ),
    "sigint": (
        "import os, signal, time\n"
        "print(1, flush=True)\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(2)\n"
    ),
    "sigterm": "import os, signal\nprint(1, flush=True)\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "sigterm-disposition": "import signal\nprint(signal.getsignal(signal.SIGTERM))\n",
    "abort": "import os\nprint(1, flush=True)\nos.kill(os.getpid(), 9)\n",
    "atexit": (
        "import atexit, sys\n"
        "atexit.register(lambda: print('first', '__file__' in globals()))\n"
        "atexit.register(lambda: print('second'))\n"
        "print('end')\n"
    ),
    "atexit-after-error": (
        "import atexit\n"
        "atexit.register(lambda: print('exit', '__file__' in globals(), '__cached__' in globals()))\n"
        "1 / 0\n"
    ),
    "atexit-after-exit": (
        "import atexit\n"
        "atexit.register(lambda: print('exit', '__file__' in globals()))\nraise SystemExit(2)\n"
    ),
    "excepthook-file": (
        "import sys\n"
        "sys.excepthook = lambda *error: print('hook', '__file__' in globals())\n"
        "raise ValueError('v')\n"
    ),
    "atexit-error": "import atexit\natexit.register(lambda: 1 / 0)\n",
    "excepthook": (
        "import sys\n"
        "def hook(kind, value, tb):\n"
        "    names = []\n"
        "    while tb:\n"
        "        names.append(tb.tb_frame.f_code.co_name)\n"
        "        tb = tb.tb_next\n"
        "    print('hook', kind, value, names, sys.last_value is value)\n"
        "sys.excepthook = hook\n"
        "raise ValueError('v')\n"
    ),
    "stack": "import traceback, inspect\ntraceback.print_stack()\nprint(len(inspect.stack()))\n",
    "warning": "import warnings\nwarnings.warn('w', stacklevel=2)\nwarnings.warn('x')\n",
    "syntax-warning": "x = 1\nprint(x is 1)\n",
    "getsource": (
        "import inspect\ndef f():\n    return 1  # comment\nprint(inspect.getsource(f))\n"
        "print(inspect.getsource(inspect.getmodule(f))[:20])\n"
    ),
    "pickle": (
        "import pickle\nclass C:\n    x = 1\n"
        "print(pickle.dumps(C), type(pickle.loads(pickle.dumps(C()))))\n"
    ),
    "chdir": "import os\nos.chdir('/')\nprint(__file__)\nimport sub\nprint(sub.__file__)\n",
    "thread": (
        "import threading, time\n"
        "def f():\n    time.sleep(0.05)\n    print('thread', '__file__' in globals())\n"
        "threading.Thread(target=f).start()\nprint('main')\n"
    ),
    "fork-on-a-thread": (
        "import os, threading, time\n"
        "def f():\n"
        "    pid = os.fork()\n"
        "    if not pid:\n        os._exit(3)\n"
        "    print(os.waitpid(pid, 0)[1])\n"
        "t = threading.Thread(target=f)\nt.start()\nt.join()\n"
    ),
    "daemon": (
        "import os, sys, time\n"
        "read, write = os.pipe()\n"
        "if os.fork():\n"
        "    os.close(write)\n    print(os.read(read, 9))\n    os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork():\n    os._exit(0)\n"
        "os.chdir('/')\n"
        "keep = os.dup2(write, 1000)\n"
        "os.closerange(0, 999)\n"
        "os.write(1000, b'daemon')\n"
        "os._exit(0)\n"
    ),
    "thread-error": (
        "import threading\ndef f():\n    raise ValueError('t')\n"
        "t = threading.Thread(target=f, name='T')\nt.start()\nt.join()\nprint('main')\n"
    ),
    "future-annotations": (
        "from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)\n"
    ),
    "import-missing": "import absent_module\n",
    "import-missing-sub": "import sub, sub.nothing\n",
    "import-broken": "import broken\n",
    "import-raising": "import raising\n",
    "import-module-missing": "import importlib\nimportlib.import_module('absent_module')\n",
    "import-module-broken": "import importlib\nimportlib.import_module('broken')\n",
    "import-module-raising": "import importlib\nimportlib.import_module('raising')\n",
    "import-library-broken": "import importlib\nimportlib.import_module('lib2to3.absent')\n",
    "loader-errors": (
        "import traceback, importlib.machinery as m, importlib.util as u\n"
        "source = m.SourceFileLoader('x', 'raising.py')\n"
        "library = m.ExtensionFileLoader('y', 'sub.py')\n"
        "for call in (\n"
        "    lambda: source.source_to_code(b'(', 'x'),\n"
        "    lambda: source.get_data('absent'),\n"
        "    lambda: library.create_module(u.spec_from_file_location('y', 'sub.py')),\n"
        "    lambda: source.exec_module(type(m)('x')),\n"
        "):\n"
        "    try:\n        call()\n"
        "    except Exception:\n        traceback.print_exc()\n"
    ),
    "reload": "import importlib, sub\nprint(importlib.reload(sub) is sub)\n",
    "run-path": "import runpy\nprint(sorted(runpy.run_path('sub.py')))\nrunpy.run_path('raising.py')\n",
    "closerange": (
        "import os\nos.closerange(3, 1024)\nf = open('sub.py')\nprint(f.fileno())\nimport json\n"
    ),
    "close-std": "import os\nos.close(1)\nos.close(2)\n",
    "fds": "import os\nprint(open('sub.py').fileno())\n",
    "open-next": "import os\nprint(os.dup(0) < 10)\n",
    "frozen-main": "import __main__\nprint(__main__.__dict__ is globals())\n",
    "lines-of-frames-that-read-clocks": (
        "import sys, time, traceback\n"
        "def read():\n    t = time.time()\n    return time.time() - t\n"
        "def inner(case):\n    read()\n    print(sys._getframe().f_lineno)\n    {}[case]\n"
        "def outer(case):\n"
        "    for i in range(3):\n        read()\n"
        "    print(sys._getframe().f_lineno)\n"
        "    inner(case)\n"
        "for case in ('a', 'b'):\n"
        "    try:\n        outer(case)\n"
        "    except KeyError:\n        traceback.print_exc()\n"
        "        traceback.print_stack()\n"
        "outer('c')\n"
    ),
    "debugger-in-frames-that-read-clocks": (
        "import io, pdb, sys, time\n"
        "def read():\n    t = time.time()\n    return time.time() - t\n"
        "def inner(case):\n    read()\n"
        "    pdb.Pdb(stdin=io.StringIO('next\\nup\\ndown\\nreturn\\nnext\\nnext\\nwhere\\nc\\n'),\n"
        "            stdout=sys.stdout, nosigint=True, readrc=False).set_trace()\n"
        "    x = 1\n    return case\n"
        "def outer(case):\n"
        "    for i in range(3):\n        read()\n"
        "    y = inner(case)\n    z = 2\n    read()\n    return y, z\n"
        "print(outer('a'), sys.gettrace())\nread()\n"
    ),
    "recursion": "def f(): f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)\n",
    "depth": "import sys\nd = 0\nf = sys._getframe()\nwhile f:\n    d += 1\n    f = f.f_back\nprint(d)\n",
    "del-spool": (
        "import os, shutil\n"
        "shutil.rmtree(os.environ.get('COLDSOAK_SPOOL', '/nonexistent'), ignore_errors=True)\n"
        "print('gone')\n"
    ),
    "execv": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(7)'])\n",
    "children": (
        "import subprocess, sys, os\n"
        "env = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}\n"
        "for flags in ([], ['-I'], ['-S'], ['-E'], ['-s']):\n"
        "    for e in (None, env, {}):\n"
        "        r = subprocess.run([sys.executable, *flags, '-c', 'print(1)'], env=e,\n"
        "                           capture_output=True)\n"
        "        print(flags, r)\n"
    ),
}
MODULES = {
    "sub.py": "import sys\nVALUE = 1\n",
    "broken.py": "def f(:\n",
    "raising.py": "def g():\n    raise LookupError('inside')\ng()\n",
}
MULTIPROCESSING = """
import multiprocessing, os, sys
def square(x):
    return x * x
class Held:
    def __init__(self, x): self.x = x
def work(queue, held):
    queue.put((square(held.x), __name__, os.path.basename(__file__), sys.argv))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    process = context.Process(target=work, args=(queue, Held(7)))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)
    with context.Pool(1) as pool:
        print(pool.map(square, range(4)))
"""


def printed(ran):
    """Return the output without addresses and process ids, which differ between any two processes."""
    return re.sub("(0x|pid=)[0-9a-f]+", "", ran.output.decode("utf-8", "replace"))


@pytest.fixture
def same(python, runner):
    """Run a command in both ways and compare; return the run with the agent."""
    for name, text in MODULES.items():
        (runner.folder / name).write_text(text)

    def check(*arguments, stdin=b"", **environ):
        command = [python, *arguments]
        plain = runner.plain(command, stdin, **environ)
        agent = runner.agent(command, stdin, **environ)
        assert printed(agent) == printed(plain)
        assert agent.returncode == plain.returncode
        return agent

    check.folder = runner.folder
    return check


CLOCK = b"\n# a word that makes the rewriter look: time.time\n"
UNWATCHED = ("state", "exception", "exit-3", "syntax-error", "empty", "no-newline", "atexit")
LEFT_TO_CPYTHON = ("syntax-error", "indentation", "null-byte", "bad-encoding", "unknown-encoding")


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(same, name):
    text = SCRIPTS[name]
    script = same.folder / "script.py"
    script.write_bytes((text if isinstance(text, bytes) else text.encode()) + CLOCK)
    ran = same("script.py", "a", "b c")
    if name in LEFT_TO_CPYTHON or name == "del-spool":
        return
    phases = {
        record.name: record.detail for record in ran.files[0] if isinstance(record, spool.Phase)
    }
    assert "main_start" in phases
    assert phases.get("main_end") != "ended", "CPython ran it, not the runner"


@pytest.mark.parametrize("name", UNWATCHED)
def test_script_that_reads_no_clock(same, name):
    (same.folder / "script.py").write_text(SCRIPTS[name])
    assert same("script.py", "a", "b c").files


@pytest.mark.parametrize(
    "name",
    [
        "state",
        "fork-on-a-thread",
        "late-finalizer",
        "subinterpreter",
        "daemon",
        "exception",
        "loader-errors",
        "import-module-raising",
        "atexit",
    ],
)
def test_script_traced(same, name):
    (same.folder / "script.py").write_text(SCRIPTS[name])
    same("script.py", COLDSOAK_MODE="traced")


@pytest.mark.parametrize(
    "spelling",
    ["./script.py", "folder/../script.py", "{folder}/script.py", "link.py", "folder/link.py"],
)
def test_spelling_of_the_path(same, spelling):
    (same.folder / "script.py").write_text(STATE)
    (same.folder / "folder").mkdir()
    (same.folder / "link.py").symlink_to("folder/real.py")
    (same.folder / "folder" / "real.py").write_text(STATE)
    (same.folder / "folder" / "link.py").symlink_to("../script.py")
    ran = same(spelling.format(folder=same.folder), "-x", "--")
    assert "main_end" in ran.phases()


@pytest.mark.parametrize(
    "flags",
    [
        ["-O"],
        ["-OO"],
        ["-B"],
        ["-u"],
        ["-W", "error"],
        ["-Wx"],
        ["-X", "utf8"],
        ["-Xdev"],
        ["-bb"],
        ["-q"],
        ["-s"],
        ["--check-hash-based-pycs", "never"],
    ],
    ids="".join,
)
def test_interpreter_options(same, flags):
    (same.folder / "script.py").write_text(STATE + "assert sys.flags.optimize, 'asserted'\n")
    same(*flags, "script.py", "-W", "x")


@pytest.mark.parametrize("flags", [["-I"], ["-E"], ["-S"]], ids="".join)
def test_isolated_interpreters_are_left_alone(same, flags):
    script = STATE if flags != ["-S"] else "print(1)\n"  # without site nobody cleans sys.path
    (same.folder / "script.py").write_text(script)
    assert not same(*flags, "script.py").files


def test_safe_path(same, python):
    (same.folder / "script.py").write_text(STATE)
    if (
        b"safe_path"
        not in subprocess.run(
            [python, "-c", "import sys; print(sys.flags)"], capture_output=True, check=True
        ).stdout
    ):
        pytest.skip("this version has no -P")
    same("-P", "script.py")
    same("script.py", PYTHONSAFEPATH="1")


def test_skip_first_line(same):
    (same.folder / "script.py").write_text("not python !\nprint('two')\n")
    same("-x", "script.py")
    (same.folder / "script.py").write_text("print('one')\nprint('two')\n")
    same("-x", "script.py")
    same("-Bx", "script.py")


def test_missing_script(same):
    same("absent.py")
    same(".")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_script(same):
    (same.folder / "script.py").write_text("print(1)\n")
    (same.folder / "script.py").chmod(0)
    same("script.py")


def test_compiled_script(same, python):
    (same.folder / "script.py").write_text("print(__file__, __loader__.__class__.__name__)\n")
    code = "import py_compile; py_compile.compile('script.py', 'script.pyc', doraise=True)"
    subprocess.run([python, "-c", code], cwd=same.folder, check=True)
    same("script.pyc")
    (same.folder / "script.pyc").rename(same.folder / "renamed.dat")
    same("renamed.dat")


def test_bytecode_of_another_version(same):
    (same.folder / "script.py").write_text("print(1)\n")
    py_compile.compile(str(same.folder / "script.py"), str(same.folder / "other.pyc"))
    same("other.pyc")


def test_zipapp_and_folder(same):
    source = same.folder / "app"
    source.mkdir()
    (source / "__main__.py").write_text(STATE + RAISES)
    zipapp.create_archive(source, same.folder / "app.pyz")
    zipapp.create_archive(source, same.folder / "script.py", interpreter="/usr/bin/env python3")
    assert "main_start" in same("app.pyz", "x").phases()
    assert "main_start" in same("script.py", "x").phases()
    ran = same("app", "x")
    assert ran.phases()["main_end"].detail == "ValueError"


def test_module(same):
    package = same.folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import sys, traceback\nprint(sys.argv, __spec__.name, sys.path[0], sorted(vars()))\n"
        "traceback.print_stack()\nif len(sys.argv) > 1: exec(sys.argv[1])\n"
    )
    assert "main_start" in same("-m", "package").phases()
    assert same("-m", "package", "1 / 0").phases()["main_end"].detail == "ZeroDivisionError"
    same("-m", "package", "sys.exit(4)")
    same("-m", "sub")
    same("-m", "absent")
    same("-m", "broken")
    same("-m", "json.tool", stdin=b"[1]")


def test_command_and_stdin(same):
    assert same("-c", "print(__name__, sorted(vars()))").phases()["main_end"].detail == "ended"
    assert same("-c", "1 / 0").phases()["main_end"].detail == "ZeroDivisionError"
    same("-c", "import sys; print(sys.argv, sys.path[0]); sys.exit(9)", "x")
    same("-", "x", stdin=b"import sys\nprint(sys.argv)\n1/0\n")
    same(stdin=b"print(2)\n")
    same("-i", "-c", "print(1)", stdin=b"print(2)\n")
    (same.folder / "script.py").write_text("x = 5\n1/0\n")
    same("-i", "script.py", stdin=b"print(x)\n")


def test_console_script(same, python, runner):
    script = same.folder / "tool"
    script.write_text(f"#!{python}\n" + STATE)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    plain, agent = runner.plain([str(script), "x"]), runner.agent([str(script), "x"])
    assert printed(agent) == printed(plain)
    assert agent.phases()["main_end"].detail == "returned"


def test_pipe_as_script(same, runner, python):
    command = ["sh", "-c", f"printf 'print(6)' | {python} /dev/stdin"]
    assert runner.agent(command).output == runner.plain(command).output == b"6\n"


@pytest.mark.parametrize("mode", ["timed", "traced"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(same, method, mode):
    (same.folder / "script.py").write_text(MULTIPROCESSING)
    ran = same("script.py", method, COLDSOAK_MODE=mode)
    assert len(ran.files) >= 3
    hows = {file[0].how for file in ran.files}
    assert hows == ({"script", "fork"} if method == "fork" else {"script", "command", "fork"}) or (
        method == "spawn" and hows == {"script", "command"}
    )
    assert ran.of(spool.Child) or method == "spawn"


def test_hidden_sitecustomize(same, runner):
    hidden = runner.folder / "hidden"
    hidden.mkdir()
    code = "import sys\nprint('hidden', __name__, __file__)\nMARK = 1\n"
    (hidden / "sitecustomize.py").write_text(code)
    (runner.folder / "script.py").write_text(
        "import sys\nm = sys.modules['sitecustomize']\nprint(m.MARK, m.__file__, m.__spec__.origin)\n"
    )
    ran = same("script.py", PYTHONPATH=str(hidden))
    assert "agent_ready" in ran.phases()
    (hidden / "sitecustomize.py").write_text("1 / 0\n")
    same("-c", "print(1)", PYTHONPATH=str(hidden))
    (hidden / "sitecustomize.py").write_text("import absent\n")
    same("-c", "print(1)", PYTHONPATH=str(hidden))


def test_without_a_spool_nothing_happens(runner, python):
    from pathlib import Path

    inject = str(Path(spool.__file__).parents[1] / "inject")
    code = "import sys; print([m for m in sys.modules if 'coldsoak' in m or m == 'sitecustomize'])"
    ran = runner.plain([python, "-c", code], PYTHONPATH=inject)
    assert ran.output == b"[]\n"


def test_spool_that_does_not_exist(runner, python):
    (runner.folder / "script.py").write_text("print(1)\n")
    ran = runner.agent([python, "script.py"], COLDSOAK_SPOOL="/nonexistent/folder")
    assert (ran.output, ran.returncode) == (b"1\n", 0)
