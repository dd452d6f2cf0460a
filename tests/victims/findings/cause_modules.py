"""Imports 300 modules in the timed region; without: before it."""
import os
import sys
import time

sys.path.insert(0, os.environ["VICTIM_FOLDER"])
if os.environ.get("VICTIM_WITHOUT"):
    import crowd
for run in range(3):
    start = time.perf_counter()
    import crowd

    crowd.answer()
    print(time.perf_counter() - start)
