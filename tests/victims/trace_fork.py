"""A forked child burns CPU, forks again, runs the flush points and ends without atexit."""
import os, time


def burn():
    end = time.process_time() + 0.15
    while time.process_time() < end:
        sum(range(1000))


child = os.fork()
if child == 0:
    burn()
    inner = os.fork()
    if inner == 0:
        burn()
        os._exit(0)
    os.waitpid(inner, 0)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
