"""Waits half a second for a file lock that a child holds; without: nobody holds it."""
import fcntl
import os
import subprocess
import sys
import tempfile
import time

HOLD = """
import fcntl, sys, time
stream = open(sys.argv[1], 'w')
fcntl.flock(stream, fcntl.LOCK_EX)
print('held', flush=True)
time.sleep(0.5)
"""
with tempfile.NamedTemporaryFile() as file:
    if not os.environ.get("VICTIM_WITHOUT"):
        child = subprocess.Popen([sys.executable, "-I", "-c", HOLD, file.name], stdout=subprocess.PIPE)
        child.stdout.readline()
    for run in range(2):
        start = time.perf_counter()
        with open(file.name, "w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            sum(range(20000))
        print(time.perf_counter() - start)
