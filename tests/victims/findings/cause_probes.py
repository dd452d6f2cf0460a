"""Starts children that only try to load a library; without: none."""
import os
import subprocess
import sys
import time

PROBE = "import time; time.sleep(0.1); from ctypes import cdll; cdll.LoadLibrary('libc.so.6')"
start = time.perf_counter()
if not os.environ.get("VICTIM_WITHOUT"):
    for _ in range(3):
        subprocess.run([sys.executable, "-c", PROBE], check=True)
print(time.perf_counter() - start)
