"""torch.compile with empty caches; without: the function was compiled before the clock starts."""
# cause: compile, trace, child_process, import_python, import_bytecode_compile, library_load, cache_lookup, python_gc
import os
import tempfile
import time

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
import torch

function = torch.compile(lambda x: torch.relu(x * 2 + 1).sum())
x = torch.rand(1000, 1000)
if os.environ.get("VICTIM_WITHOUT"):
    function(x)
start = time.perf_counter()
function(x)
print(f"{time.perf_counter() - start:.6f}")
