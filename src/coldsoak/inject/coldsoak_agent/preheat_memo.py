"""Files with answers that were recorded once, for the stages of preheat that replay them.

A record is one JSON table. What it depends on is recorded beside the answers: ``conditions`` (name
-> anything that JSON can hold), files with their size and time of change, folders with what is in
them. An answer is used only where all of that is as it was; what differs is named.
"""

import os

from coldsoak_agent.preheat import Unfit

FORMAT = 1


def write(path, record):
    """Write ``record`` in one step: a process that starts meanwhile finds the old one or this."""
    import json

    os.makedirs(os.path.dirname(path), exist_ok=True)
    scratch = "%s.%d" % (path, os.getpid())
    with open(scratch, "w") as file:
        json.dump(dict(record, format=FORMAT), file)
    os.replace(scratch, path)


def read(path):
    """Return the record in the file ``path``; raises ``Unfit`` when there is none that we know."""
    import json

    try:
        with open(path) as file:
            record = json.load(file)
    except (OSError, ValueError) as error:
        raise Unfit("the record cannot be read: %s" % error) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise Unfit("%s is no record of this version of coldsoak" % path)
    return record


def compare(then, now):
    """Raise ``Unfit`` with the names of the conditions that are not as they were."""
    changed = [name for name in sorted(set(then) | set(now)) if then.get(name) != now.get(name)]
    if changed:
        raise Unfit("it was recorded with another %s" % ", another ".join(changed))


def mark(path):
    """Return what tells that a file is unchanged, as JSON has it: real path, bytes, ns."""
    real = os.path.realpath(path)
    state = os.stat(real)
    return [real, state.st_size, state.st_mtime_ns]


def processor():
    """Return the vendor, model and features of the processor, as the kernel has them."""
    wanted = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    found = {}
    with open("/proc/cpuinfo", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() in wanted:
                found[name.strip()] = value.strip()
            elif not name.strip():
                break  # the others are alike
    return found


def marks(files, folders):
    """Return the state of files and of folders, by path."""
    import zlib

    state = {}
    for path in folders:
        state[path] = zlib.crc32("\0".join(_names(path)).encode("utf-8", "surrogateescape"))
    for path in files:
        found = os.stat(path)
        state[path] = [found.st_size, found.st_mtime_ns]
    return state


def unchanged(state):
    """Raise ``Unfit`` with the first file or folder that is not as :func:`marks` found it."""
    folders = [path for path, found in state.items() if not isinstance(found, list)]
    files = [path for path, found in state.items() if isinstance(found, list)]
    try:
        now = marks(files, folders)
    except OSError as error:
        text = "%s is not as it was recorded: %s" % (error.filename, error.strerror)
        raise Unfit(text) from None
    for path, found in state.items():
        if now[path] != found:
            raise Unfit("%s has changed since it was recorded" % path)


def _names(folder):
    """Return what is in a folder; bytecode comes and goes."""
    return sorted(name for name in os.listdir(folder) if name != "__pycache__")
