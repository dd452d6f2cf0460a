"""A library with 300 MB of data is loaded from a cold page cache; without: the cache is warm."""
# cause: page_in
import ctypes
import os
import subprocess
import tempfile
import time

folder = os.path.join(tempfile.gettempdir(), f"coldsoak-victim-library-{os.getuid()}")
library = os.path.join(folder, "large.so")
if not os.path.exists(library):
    os.makedirs(folder, exist_ok=True)
    data, source = os.path.join(folder, "data"), os.path.join(folder, "large.S")
    with open(data, "wb") as file:
        block = os.urandom(1 << 20)
        for _ in range(300):
            file.write(block)
    with open(source, "w") as file:
        file.write(f'.section .rodata\n.globl payload\npayload:\n.incbin "{data}"\n.section .note.GNU-stack,"",@progbits\n')
    subprocess.run(["cc", "-shared", "-o", library + ".part", source], check=True)
    os.unlink(data)
    os.rename(library + ".part", library)
fd = os.open(library, os.O_RDONLY)
if os.environ.get("VICTIM_WITHOUT"):
    while os.read(fd, 1 << 24):
        pass
else:
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.close(fd)
start = time.perf_counter()
handle = ctypes.CDLL(library)
payload = (ctypes.c_char * (300 << 20)).in_dll(handle, "payload")
total = sum(payload[at][0] for at in range(0, 300 << 20, 4096))
print(f"{time.perf_counter() - start:.6f}")
