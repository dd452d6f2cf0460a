"""The fork server: real servers, real clients, and fresh processes to compare the jobs with."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

STANDIN = Path(__file__).parents[1] / "unit" / "remedies_preheat" / "standin_cuda.c"

WHO = """
import json, os, signal, sys
main = sys.modules["__main__"]
umask = os.umask(0); os.umask(umask)
told = {
    "argv": sys.argv, "orig_argv": sys.orig_argv[1:], "path": sys.path, "name": __name__,
    "is_main": vars(main) is globals(), "file": globals().get("__file__"),
    "package": globals().get("__package__"), "doc": globals().get("__doc__"),
    "loader": getattr(__loader__, "__name__", type(__loader__).__name__),
    "spec": getattr(__spec__, "name", None), "names": sorted(set(globals()) - {"told"}),
    "folder": os.getcwd(), "umask": umask, "environment": dict(os.environ),
    "handlers": {int(s): str(signal.getsignal(s)) for s in signal.valid_signals() if s < 32},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "files": sorted(os.listdir("/proc/self/fd"))[:-1], "streams": [
        (s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.isatty())
        for s in (sys.stdin, sys.stdout, sys.stderr)],
    "flags": str(sys.flags), "dont_write": sys.dont_write_bytecode, "prefix": sys.pycache_prefix,
}
print(json.dumps(told))
"""


POOL = """
import multiprocessing
def successor(x):
    return x + 1
if __name__ == "__main__":
    with multiprocessing.get_context({!r}).Pool(1) as pool:
        print(pool.map(successor, [1]))
"""


class Warm:
    """A server, and the ways to give it jobs."""

    def __init__(self, folder, environment, options):
        self.folder = folder
        self.environment = environment
        self.path = folder / "s"
        self.log = folder / "log"
        words = [sys.executable, "-m", "coldsoak", "serve-warm", "--socket", self.path, *options]
        if "--" not in options:
            words += ["--", sys.executable]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(words, cwd=folder, env=environment, stderr=log)

    def said(self):
        return self.log.read_text()

    def wait_for(self, text):
        deadline = time.monotonic() + 60
        while text not in self.said():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the server did not say {text!r}: {self.said()}")
            time.sleep(0.02)

    def client(self, *words, **options):
        options = {"cwd": self.folder, "env": self.environment, "text": True} | options
        command = [sys.executable, "-m", "coldsoak", "run-warm", "--socket", self.path, "--"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*command, *words], **pipes | options)

    def run(self, *words, given="", **options):
        with self.client(*words, **options) as client:
            out, err = client.communicate(given, timeout=60)
        return subprocess.CompletedProcess(words, client.returncode, out, err)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def environment():
    """Without what coldsoak, CUDA and pytest set."""
    names = ("COLDSOAK", "CUDA", "PYTEST", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if not name.startswith(names)}


@pytest.fixture
def warm(tmp_path, environment):
    """Start a server that is ready when this returns; ended with the test."""
    servers = []

    def start(*options, ready=True, **more):
        server = Warm(tmp_path, environment | more, options)
        servers.append(server)
        if ready:
            server.wait_for("ready on")
        return server

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()


def fresh(server, *words, given="", **options):
    return subprocess.run(
        [sys.executable, *words],
        **{"cwd": server.folder, "env": server.environment} | options,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def differences(told, wanted):
    return {n: (told.get(n), wanted.get(n)) for n in told | wanted if told.get(n) != wanted.get(n)}


@pytest.mark.parametrize(
    "words",
    [
        ["who.py", "a", "--b=c", ""],
        ["./pack/../who.py"],
        ["pack/inner.py", "-m", "x"],
        ["-u", "who.py", "x"],
        ["-B", "who.py"],
        ["-m", "pack.inner", "-x"],
        ["-m", "pack", "1"],
        ["pack", "1"],
        ["who.zip", "1"],
        ["-c", WHO, "a", "b"],
    ],
)
def test_a_job_sees_what_a_fresh_process_sees(warm, words):
    server = warm()
    (server.folder / "pack").mkdir()
    for name in ("who.py", "pack/inner.py", "pack/__main__.py"):
        (server.folder / name).write_text(WHO)
    (server.folder / "pack" / "__init__.py").touch()
    shutil.make_archive(server.folder / "who", "zip", server.folder / "pack")
    job, expected = server.run(*words), fresh(server, *words)
    assert (job.returncode, job.stderr) == (0, ""), job.stderr
    told, wanted = json.loads(job.stdout), json.loads(expected.stdout)
    if words[0] in {"-B", "-u"}:  # these are followed, but cannot be shown
        told["flags"] = wanted["flags"]
    assert differences(told, wanted) == {}


def test_folder_umask_and_environment_are_the_clients(warm, tmp_path):
    server = warm()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = server.environment | {"WORD": "ä=\udce4", "TZ": "Asia/Tokyo", "PWD": "x"}
    options = {"cwd": elsewhere, "umask": 0o027, "env": environment}
    told = json.loads(server.run("-c", WHO, **options).stdout)
    assert differences(told, json.loads(fresh(server, "-c", WHO, **options).stdout)) == {}


def test_the_imports_are_there_already(warm):
    server = warm("--import", "decimal", "--import=fractions")
    code = "import sys; print('decimal' in sys.modules, 'fractions' in sys.modules)"
    assert server.run("-c", code).stdout == "True True\n"
    assert "imported decimal, fractions in" in server.said()


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(3)",
        "raise SystemExit('a text')",
        "raise SystemExit(None)",
        "raise SystemExit(-1)",
        "import os; os._exit(9)",
        "def f():\n    1 / 0\nf()",
        "raise KeyboardInterrupt",
        "import os; os.abort()",
        "import os; os.kill(os.getpid(), 9)",
        "this is no Python",
        "import sys; sys.excepthook = lambda *a: print('mine'); 1 / 0",
        "import atexit; atexit.register(print, 'at exit'); 1 / 0",
        "import threading, time\nthreading.Timer(0.2, print, ['thread']).start()",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError from None",
        "import faulthandler, sys; sys.stdout.write('no newline')",
        "import sys; sys.stdout.buffer.write(bytes(range(128)))",
        POOL.format("fork"),
        POOL.format("spawn"),
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    ],
)
def test_a_job_ends_as_a_fresh_process_ends(warm, program):
    server = warm()
    (server.folder / "job.py").write_text(program)
    job, expected = server.run("job.py"), fresh(server, "job.py")
    assert (job.returncode, job.stdout) == (expected.returncode, expected.stdout)
    assert job.stderr == expected.stderr


def test_the_streams_are_the_clients(warm, tmp_path):
    server = warm()
    code = "import sys; print(sys.stdin.read().upper()); print('err', file=sys.stderr)"
    with (tmp_path / "out").open("w") as out:
        job = server.run("-c", code, given="text", stdout=out)
    assert (tmp_path / "out").read_text() == "TEXT\n"
    assert job.stderr == "err\n"


def test_a_closed_stream_is_the_null_device(warm):
    server = warm()
    command = f"{sys.executable} -m coldsoak run-warm --socket s -- -c 'print(1)' <&-"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=server.folder,
        env=server.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_job_and_end_the_client_as_the_job(warm, number):
    server = warm()
    with server.client("-c", "import time; print('on', flush=True); time.sleep(60)") as client:
        assert client.stdout.readline() == "on\n"
        client.send_signal(number)
        assert client.wait(30) == -number


def test_a_job_may_handle_a_signal(warm):
    server = warm()
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\n"
        "print('on', flush=True); time.sleep(60)"
    )
    with server.client("-c", code) as client:
        client.stdout.readline()
        client.send_signal(signal.SIGTERM)
        assert client.wait(30) == 5


def test_a_job_whose_client_is_killed_ends(warm):
    server = warm()
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with server.client("-c", code) as client:
        job = int(client.stdout.readline())
        client.kill()
        deadline = time.monotonic() + 20
        while Path(f"/proc/{job}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert server.run("-c", "print('next')").stdout == "next\n"


OVERLAP = """
import sys, time
with open(sys.argv[1], "a") as file:
    print("+", time.monotonic(), file=file, flush=True)
    time.sleep(0.6)
    print("-", time.monotonic(), file=file, flush=True)
"""


def test_jobs_run_at_once_up_to_the_limit(warm, tmp_path):
    server = warm("--max-jobs", "2")
    clients = [server.client("-c", OVERLAP, str(tmp_path / f"times{n}")) for n in range(5)]
    for client in clients:
        with client:
            assert client.wait(60) == 0
    lines = "".join((tmp_path / f"times{n}").read_text() for n in range(5)).splitlines()
    level = [0]
    for line in sorted(lines, key=lambda line: float(line.split()[1])):
        level.append(level[-1] + (1 if line[0] == "+" else -1))
    assert max(level) == 2


def test_no_process_and_no_file_is_left_behind(warm):
    server = warm()
    count = lambda: len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))  # noqa: E731
    server.run("-c", "pass")
    before = count()
    for _ in range(5):
        server.run("-c", "pass")
        server.run("-X", "dev", "x.py")
    tasks = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    assert tasks.read_text() == ""
    assert count() == before


def test_the_server_ends_when_its_jobs_have_ended(warm):
    server = warm()
    with server.client("-c", "import time; print('on', flush=True); time.sleep(1)") as client:
        client.stdout.readline()
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("ending: no new jobs, 1 running")
        late = server.run("-c", "print('late')")
        assert late.returncode == 1
        assert "No server answers" in late.stderr
        assert client.wait(30) == 0
    assert server.process.wait(30) == 0
    assert not server.path.exists()


def test_jobs_that_outlast_the_grace_are_ended(warm):
    server = warm("--grace", "0.2")
    with server.client("-c", "import time; print('on', flush=True); time.sleep(60)") as client:
        client.stdout.readline()
        assert server.end() == 0
        assert client.wait(30) == -signal.SIGTERM


def test_a_server_without_jobs_ends_after_its_idle_time(warm):
    server = warm("--idle-timeout", "0.5")
    assert server.process.wait(30) == 0
    assert not server.path.exists()


def test_the_socket_of_a_server_that_was_killed_is_taken_over(warm):
    dead = warm()
    dead.process.kill()
    dead.process.wait()
    assert dead.path.exists()
    assert warm().run("-c", "print('ran')").stdout == "ran\n"


def test_a_living_server_keeps_its_socket(warm):
    first = warm()
    second = warm(ready=False)
    assert second.process.wait(30) == 1
    assert "a server listens on" in second.said()
    assert first.run("-c", "print('ran')").stdout == "ran\n"


def test_a_file_that_is_no_socket_is_left_alone(warm, tmp_path):
    (tmp_path / "s").write_text("mine")
    server = warm(ready=False)
    assert server.process.wait(30) == 1
    assert "is there and no socket" in server.said()
    assert (tmp_path / "s").read_text() == "mine"


def test_only_the_user_may_use_the_socket(warm):
    assert warm().path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_even_where_the_file_lets_him(warm):
    server = warm()
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        os.link(server.path, folder / "s")
        server.path.chmod(0o666)
        code = (
            "import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX); "
            "s.connect('s'); print(s.recv(999).decode())"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stdout == "error this server takes jobs of its own user only\n\n"
    finally:
        shutil.rmtree(folder)


def test_a_job_over_the_memory_limit_is_ended(warm):
    server = warm("--memory-limit", "200")
    job = server.run("-c", "kept = b'x' * (400 << 20); import time; time.sleep(60)")
    assert job.returncode == 1
    assert "the limit is 200 MiB" in job.stderr
    assert server.run("-c", "kept = b'x' * (20 << 20); print('ran')").stdout == "ran\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-X", "dev", "job.py"], "-X needs a new interpreter"),
        (["-O", "job.py"], "-O needs a new interpreter"),
        (["-I", "-m", "json"], "-I needs a new interpreter"),
        (["python-of-another-kind", "job.py"], "python-of-another-kind is not on the PATH"),
        (["/usr/bin/env", "x"], "is no Python script"),
        (["missing.py"], "missing.py is no Python script here"),
        (["-"], "programs from standard input are not taken"),
        ([sys.executable], "there is no script"),
        (["-m"], "there is nothing after -m"),
    ],
)
def test_what_a_fork_cannot_be_is_refused(warm, words, why):
    server = warm()
    (server.folder / "job.py").touch()
    if words[0] == "/usr/bin/env":
        words = ["not-a-file"]
    job = server.run(*words)
    assert job.returncode == 1
    assert "The server did not run the job." in job.stderr
    assert why in job.stderr


def test_another_interpreter_is_refused(warm, tmp_path):
    server = warm()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    job = server.run(str(tmp_path / "bin" / "python"), "-c", "pass")
    assert job.returncode == 1
    assert "the job asks for" in job.stderr
    assert server.run(sys.executable, "-c", "print('ran')").stdout == "ran\n"


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "LD_PRELOAD_X", "PYTHONHASHSEED", "TF_X"])
def test_variables_that_were_read_at_the_start_must_be_the_same(warm, name):
    server = warm()
    job = server.run("-c", "pass", env=server.environment | {name: "3"})
    assert job.returncode == 1
    assert f"{name} was read when the server started, as (unset); the job has 3" in job.stderr
    free = server.environment | {"CUDA_VISIBLE_DEVICES": "1", "PYTHONUNBUFFERED": "1"}
    assert server.run("-c", "pass", env=free).returncode == 0


def test_the_server_can_have_the_options(warm):
    server = warm("--", sys.executable, "-O")
    assert server.run("-c", "assert False; print(__debug__)").stdout == "False\n"


def test_variables_that_an_import_sets_are_set_in_the_job(warm, tmp_path):
    (tmp_path / "setter.py").write_text("import os; os.environ['TF_OF_IMPORT'] = '1'")
    server = warm("--import", "setter")
    code = "import os; print(os.environ.get('TF_OF_IMPORT'))"
    assert server.run("-c", code).stdout == "1\n"


def test_a_recipe_gives_imports_and_variables(warm, tmp_path):
    (tmp_path / "r.toml").write_text(
        'format = 1\ncommand = ["x"]\n[preheat]\ngc = ["decimal"]\n'
        '[[ingredients]]\nremedy = "t"\nenv = { OMP_NUM_THREADS = "1" }\nunset = ["TF_LEFT"]\n'
    )
    server = warm("--recipe", "r.toml", TF_LEFT="1")
    code = "import os, sys; print(os.environ['OMP_NUM_THREADS'], 'decimal' in sys.modules, "
    job = server.run("-c", code + "'TF_LEFT' in os.environ)")
    assert job.stdout == "1 True False\n", job.stderr


def test_each_job_has_random_numbers_of_its_own(warm):
    server = warm("--import", "numpy", "--import", "random")
    code = "import random, numpy; print(random.random(), numpy.random.rand())"
    first, second = server.run("-c", code).stdout.split(), server.run("-c", code).stdout.split()
    assert len({*first, *second}) == 4
    seeded = "import random, numpy; random.seed(1); numpy.random.seed(1);" + code[21:]
    assert server.run("-c", seeded).stdout == fresh(server, "-c", seeded).stdout != ""


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"error this is no request\n"),
        (b"x" * 100, b"error this is no request\n"),
        (b"coldsoak-warm 2 4\nabcd", b"error this server speaks version 1 of the protocol\n"),
        (b"coldsoak-warm 1 4\nabcd", b"error a request needs three streams, 0 came\n"),
        (b"coldsoak-warm 1 99999999999\n", b"error the request is too large\n"),
    ],
)
def test_nonsense_is_refused_and_the_server_lives(warm, sent, answer):
    server = warm()
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(server.path))
        raw.sendall(sent)
        assert raw.recv(1000) == answer
    assert server.run("-c", "print('ran')").stdout == "ran\n"


def test_a_client_that_leaves_at_once_does_no_harm(warm):
    server = warm("--max-jobs", "1")
    for part in (b"", b"coldsoak-warm 1 4\nab"):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(server.path))
            with contextlib.suppress(BrokenPipeError):
                raw.sendall(part)
    assert server.run("-c", "print('ran')").stdout == "ran\n"


def test_a_module_that_is_missing_ends_the_server(warm):
    server = warm("--import", "not_there", ready=False)
    assert server.process.wait(30) == 1
    assert "not_there cannot be imported" in server.said()


@pytest.mark.parametrize(
    "words", [["--warp"], ["--max-jobs", "0"], ["--max-jobs", "x"], ["--grace", "-1"], ["--socket"]]
)
def test_options_without_sense(words, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coldsoak", "serve-warm", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert words[0] in done.stderr


def test_the_client_imports_nothing_heavy():
    code = (
        "import sys; import coldsoak.cli.serve_warm, coldsoak.remedies.serve\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'typer', 'rich', 'msgspec', "
        "'scipy', 'numpy', 'dataclasses', 'typing', 'json', 'inspect', 'subprocess'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory):
    """The folder of a stand-in for the CUDA driver."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("cuda")
    words = ["cc", "-shared", "-fPIC", "-w", "-o", folder / "libcuda.so.1", STANDIN]
    subprocess.run(words, check=True)
    return str(folder)


OPEN = "import ctypes; driver = ctypes.CDLL('libcuda.so.1')\n"


def test_a_server_whose_imports_start_cuda_does_not_serve(warm, tmp_path, libcuda):
    (tmp_path / "early.py").write_text(OPEN + "driver.cuInit(0)")
    server = warm("--import", "early", ready=False, LD_LIBRARY_PATH=libcuda)
    assert server.process.wait(30) == 1
    assert "this server cannot fork: CUDA is started (cuInit was called)" in server.said()
    assert not server.path.exists()


def test_a_server_in_which_cuda_starts_later_forks_no_more(warm, tmp_path, libcuda):
    (tmp_path / "late.py").write_text(
        OPEN + "import os, threading, time\n"
        "def wait():\n"
        "    while not os.path.exists('now'):\n"
        "        time.sleep(0.01)\n"
        "    driver.cuInit(0); open('done', 'w').close()\n"
        "threading.Thread(target=wait, daemon=True, name='starter').start()\n"
    )
    server = warm("--import", "late", LD_LIBRARY_PATH=libcuda)
    assert "the imports left threads that jobs will not have: starter" in server.said()
    assert server.run("-c", "print('ran')").stdout == "ran\n"
    (tmp_path / "now").touch()
    while not (tmp_path / "done").exists():
        time.sleep(0.02)
    job = server.run("-c", "print('ran')")
    assert (job.returncode, job.stdout) == (1, "")
    assert "can no longer fork: CUDA is started" in job.stderr
    assert server.process.wait(30) == 1


def test_jobs_may_start_cuda(warm, tmp_path, libcuda):
    (tmp_path / "opened.py").write_text(OPEN)
    server = warm("--import", "opened", LD_LIBRARY_PATH=libcuda)
    for _ in range(2):
        job = server.run("-c", "import opened; print(opened.driver.cuInit(0))")
        assert job.stdout == "0\n", job.stderr


@pytest.mark.framework("torch")
def test_torch(warm):
    server = warm("--import", "torch")
    code = (
        "import torch, sys; torch.manual_seed(1); a = torch.rand(300, 300)\n"
        "print((a @ a).sum().item().hex(), torch.get_num_threads())"
    )
    job = server.run("-c", code)
    assert (job.returncode, job.stdout) == (0, fresh(server, "-c", code).stdout), job.stderr
    seeds = {server.run("-c", "import torch; print(torch.initial_seed())").stdout for _ in range(2)}
    assert len(seeds) == 2


@pytest.mark.framework("jax")
def test_jax(warm, tmp_path):
    server = warm("--import", "jax")
    code = "import jax.numpy as n; print(float((n.ones((50, 50)) @ n.ones((50, 50))).sum()))"
    job = server.run("-c", code)
    assert (job.returncode, job.stdout) == (0, "125000.0\n"), job.stderr
    (tmp_path / "started.py").write_text("import jax; jax.devices()")
    server.end()
    second = warm("--import", "started", ready=False)
    assert second.process.wait(60) == 1
    assert "jax has started its backends (cpu)" in second.said()


@pytest.mark.framework("tensorflow")
def test_tensorflow(warm, tmp_path):
    server = warm("--import", "tensorflow")
    code = "import tensorflow as t; print(float(t.reduce_sum(t.ones((50, 50)) @ t.ones((50, 50)))))"
    job = server.run("-c", code)
    assert (job.returncode, job.stdout) == (0, "125000.0\n"), job.stderr
    (tmp_path / "started.py").write_text("import tensorflow as t; t.constant(1)")
    server.end()
    second = warm("--import", "started", ready=False)
    assert second.process.wait(60) == 1
    assert "TensorFlow has started its devices" in second.said()
