"""K47: a package whose files are not in memory; without: they are."""
import os
import sys
import tempfile
import time

folder = os.path.join(tempfile.gettempdir(), "coldsoak-case-k47")
data = os.path.join(folder, "heavy.bin")
os.makedirs(folder, exist_ok=True)
if not os.path.exists(data):
    with open(data, "wb") as stream:
        for _ in range(256):
            stream.write(os.urandom(1 << 20))
        os.fsync(stream.fileno())
with open(os.path.join(folder, "heavy_package.py"), "w") as stream:
    stream.write("import mmap\nblob = open(%r, 'rb').read()\n" % data)
    os.fsync(stream.fileno())
descriptor = os.open(data, os.O_RDONLY)
if not os.environ.get("VICTIM_WITHOUT"):
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
else:
    while os.read(descriptor, 1 << 22):
        pass
os.close(descriptor)
sys.path.insert(0, folder)
start = time.perf_counter()
import heavy_package

print(f"{time.perf_counter() - start:.6f}")
