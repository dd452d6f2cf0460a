"""Which CUPTI is opened; its buffer callbacks, called as C functions from several threads at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import coldsoak

INJECT = Path(coldsoak.__file__).parent / "inject"
PROGRAM = """
import ctypes, os, sys, threading
sys.path.insert(0, {inject!r})
from coldsoak_agent.sources import cupti

pool = cupti._Pool(ctypes)
word = ctypes.POINTER(ctypes.c_size_t)
requested = ctypes.CFUNCTYPE(None, word, word, word)(pool.requested.value)
completed = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)(pool.completed.value)
given = []

def work():
    for _ in range(700):
        buffer, size, records = (ctypes.c_size_t(9) for _ in range(3))
        requested(buffer, size, records)
        given.append((buffer.value, size.value, records.value))
        if buffer.value:
            ctypes.memset(buffer.value, 7, 10)
            completed(None, 3, buffer.value, size.value, 10)

threads = [threading.Thread(target=work) for _ in range(7)]
for thread in threads: thread.start()
for thread in threads: thread.join()
real = [g for g in given if g[0]]
assert len(real) == len({{g[0] for g in real}}) == cupti.COUNT, len(real)
assert all(g[1:] == (cupti.BUFFER, 0) for g in real)
assert all(g == (0, 0, 0) for g in given if not g[0])
assert pool.refused() == 7 * 700 - cupti.COUNT
chunks = pool.drain()
assert len(chunks) == cupti.COUNT and {{bytes(c) for c in chunks}} == {{b"\\x07" * 10}}
assert pool.drain() == []
"""


@pytest.mark.skipif(
    sys.platform != "linux" or __import__("os").uname().machine != "x86_64",
    reason="the callbacks are machine code for x86-64",
)
def test_each_buffer_is_given_once_and_drained_whole():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(inject=str(INJECT))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
