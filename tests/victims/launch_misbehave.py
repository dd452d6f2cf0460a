"""Programs that end badly, or not at all: python launch_misbehave.py MODE."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time


def child():
    """Leave a forked child behind."""
    if os.fork() == 0:
        time.sleep(60)


def daemon():
    """Leave a daemon behind that has its own session and no open files of ours."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            time.sleep(60)
        os._exit(0)
    time.sleep(0.05)


def nameless_daemon():
    """Leave a daemon behind whose environment was emptied."""
    command = ["env", "-i", "setsid", "sleep", "60"]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(0.3)


def stubborn():
    """Ignore SIGTERM for ever."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("stubborn", flush=True)
    time.sleep(60)


def close_stdout():
    sys.stdout.close()
    os.close(1)
    os.close(2)


def binary():
    sys.stdout.buffer.write(bytes(range(256)) * 4)
    sys.stdout.buffer.flush()
    sys.exit(5)


def flood():
    block = b"x" * 65535 + b"\n"
    while True:
        os.write(1, block)


def chdir():
    os.chdir("/")
    print(os.getcwd())


def sigkill():
    print("about to die", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def segv():
    os.kill(os.getpid(), signal.SIGSEGV)


def sleep():
    time.sleep(60)


def exit3():
    print("the last words")
    sys.exit(3)


def delete_spool():
    shutil.rmtree(os.environ["COLDSOAK_SPOOL"])


def nothing():
    print("fine")


def ready():
    """Say so after 0.3 s, then stay."""
    time.sleep(0.3)
    print("server is ready on port 1234", flush=True)
    time.sleep(60)


def serve():
    """Answer HTTP after 0.3 s."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/up" else 503)
            self.end_headers()

    time.sleep(0.3)
    HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()


def crowd():
    """Threads, forks and grandchildren, until somebody ends them."""
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    daemon()
    child()
    subprocess.Popen([sys.executable, __file__, "child"])
    time.sleep(60)


globals()[sys.argv[1]]()
