"""The driver's answers, through ctypes, from a library that answers as libcuda does."""

import json
import os
import shutil
import subprocess
import sys

import pytest

LIBCUDA = r"""
#include <string.h>
#include <stdio.h>
#include <stddef.h>
int cuInit(unsigned flags) { return flags == 0 ? INIT : 1; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 40 + ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, length, "Card %d", device); return 0;
}
static int uuid(unsigned char *bytes, int first, int device) {
    for (int i = 0; i < 16; i++) bytes[i] = first + i;
    bytes[15] = device; return 0;
}
int cuDeviceGetUuid(unsigned char *bytes, int device) { return uuid(bytes, 0xf0, device); }
int cuDeviceGetUuid_v2(unsigned char *bytes, int device) { return uuid(bytes, 0x10, device); }
int cuDeviceGetPCIBusId(char *id, int length, int device) {
    snprintf(id, length, "0000:%02X:00.0", 2 + device); return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = ((size_t)device) << 32; return 0;
}
"""

ASK = (
    "import json; from coldsoak.backends import cuda;"
    "print(json.dumps([d._asdict() for d in cuda.devices()]))"
)


def ask(folder, init):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "cuda.c").write_text(LIBCUDA)
    library = folder / "libcuda.so.1"
    build = [compiler, "-shared", "-fPIC", f"-DINIT={init}", "-o", library, folder / "cuda.c"]
    subprocess.run(build, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_devices_are_read_in_the_order_of_the_driver(tmp_path):
    first, second = ask(tmp_path, init=0)
    assert first == {
        "name": "Card 40",
        "uuid": "GPU-10111213-1415-1617-1819-1a1b1c1d1e28",
        "pci": "00000000:2a:00.0",
        "memory_bytes": 40 << 32,
    }
    assert second["name"] == "Card 41"
    assert second["uuid"].endswith("1e29")


def test_a_driver_that_does_not_start_shows_no_device(tmp_path):
    assert ask(tmp_path, init=999) == []
