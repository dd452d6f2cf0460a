"""Writes, as a process ends, which pages of its mapped files are in its page table.

That is what the process has touched, to the kernel's fault-around (64 KiB), and it needs no
privilege and no special read-ahead: /proc/PID/pagemap shows the bits to the process itself, only the
addresses of the frames are kept for root. Files that are read and not mapped do not show here.

The file has one line a range, ``PATH TAB OFFSET TAB LENGTH`` in bytes, in the order in which the
files were mapped; then the path of each Python module's file, alone on its line, in the order of
the imports.
"""

import os
import sys

PAGE = os.sysconf("SC_PAGE_SIZE")
PRESENT_OR_SWAPPED = bytes(int(value >= 0x40) for value in range(256))  # bits 63 and 62


def write_at_exit(path):
    """Write the file ``path`` when this process, and not a fork of it, leaves the interpreter."""
    import atexit

    pid = os.getpid()
    atexit.register(lambda: write(path) if os.getpid() == pid else None)


def write(path):
    """Write what was touched until now."""
    with open(path, "w", errors="surrogateescape") as file:
        file.writelines("%s\t%d\t%d\n" % touched for touched in mapped_ranges())
        file.writelines(name + "\n" for name in module_files())


def mapped_ranges():
    """Yield (path, offset, length) of touched stretches; later mappings lie lower in memory."""
    with open("/proc/self/maps", errors="surrogateescape") as file:
        mappings = [line.rstrip("\n").split(None, 5) for line in file]
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for fields in reversed(mappings):
            if len(fields) < 6 or not fields[5].startswith("/") or fields[5].endswith(" (deleted)"):
                continue
            begin, end = (int(text, 16) for text in fields[0].split("-"))
            pagemap.seek(begin // PAGE * 8)
            entries = pagemap.read((end - begin) // PAGE * 8)
            for first, count in runs(entries[7::8].translate(PRESENT_OR_SWAPPED)):
                yield fields[5], int(fields[2], 16) + first * PAGE, count * PAGE


def runs(flags):
    """Yield (index, length) of each run of ones in a byte string of zeros and ones."""
    first = flags.find(1)
    while first >= 0:
        end = flags.find(0, first)
        end = len(flags) if end < 0 else end
        yield first, end - first
        first = flags.find(1, end)


def module_files():
    """Yield the files that modules were read from, bytecode where there is some."""
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        for name in (getattr(spec, "cached", None), getattr(spec, "origin", None)):
            if isinstance(name, str) and name.startswith("/") and os.path.isfile(name):
                yield name
                break
