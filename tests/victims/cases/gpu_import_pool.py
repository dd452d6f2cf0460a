"""K54: a module-level table reserves the card at import. Without: preallocation is off."""
import os
import time

if os.environ.get("VICTIM_WITHOUT"):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
start = time.perf_counter()
import _module_table

print(f"{time.perf_counter() - start:.6f}")
