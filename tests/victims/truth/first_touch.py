"""First touch of 256 MiB of fresh memory; without: the pages were touched before the clock starts."""
# cause: page_fault
import ctypes
import mmap
import os
import time

memory = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
if os.environ.get("VICTIM_WITHOUT"):
    ctypes.memset(address, 1, len(memory))
start = time.perf_counter()
ctypes.memset(address, 2, len(memory))
print(f"{time.perf_counter() - start:.6f}")
