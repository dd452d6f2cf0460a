"""The folder of models that ONNX Runtime has optimised, for ``preheat_ort``.

``KEY.json`` tells of one model with one set of options where its kept form lies, or why there is
none; ``KEY`` is a digest of all that the kept form depends on, but for the content of the model. A
model file that is the same by device, inode, size and times is taken to be as it was; else its
content decides. A kept form is a folder with the graph and, beside it, the weights as the kernels want
them, which are mapped into memory. Folders and tables are written aside and renamed, so that a reader
finds all or nothing, and one process at a time writes.
"""

import os
import sys

from coldsoak_agent.preheat import Unfit
from coldsoak_agent.preheat_memo import processor

FORMAT = 1
MODEL, WEIGHTS = "model.onnx", "weights.bin"
SMALLEST = 64 << 10
"""Bytes of a model file below which nothing is to be gained."""
LARGEST = 3 << 29
"""Bytes above which nothing is kept: the file format ends at 2 GiB, and optimising may add to it."""
READ_EACH_TIME = 8 << 20
"""Bytes of a kept graph up to which its content is compared at each start."""
MOST = 64
"""Models that are kept in one folder."""
FIELDS = {"attempts", "content", "facts", "files", "folder", "mark", "reason"}
"""What a table tells: see ``preheat_ort_keep``, which writes it."""
MOST_ATTEMPTS = 2
"""Starts that may be ended, for want of memory say, while they keep a model."""
ROOM = 4
"""Free space that is wanted, in sizes of the model."""
SIZE = 2
"""Where a mark has the size."""
CHUNK = 1 << 20
ENVIRONMENT = ("ORT_", "MLAS_", "ONNXRUNTIME_")


class Request(object):
    """A session to be made: of a model file, for providers, with options.

    Raises ``Unfit`` where that model is left alone.
    """

    def __init__(self, library, folder, path, providers, wish):
        self.library = library
        self.folder = folder
        self.path = path
        self.name = os.path.basename(path)
        self.providers = providers
        self.wish = wish
        self.mark = mark(path)
        if path.endswith(".ort"):
            raise Unfit("%s is in ONNX Runtime's own format already" % self.name)
        if self.mark[SIZE] < SMALLEST:
            raise Unfit("%s is so small that there is nothing to gain" % self.name)
        if self.mark[SIZE] > LARGEST:
            raise Unfit("%s is too large" % self.name)
        self.key = _digest(self._conditions())
        self.table = os.path.join(folder, self.key + ".json")

    def _conditions(self):
        variables = {name: os.environ[name] for name in os.environ if name.startswith(ENVIRONMENT)}
        version = str(sys.modules["onnxruntime"].__version__)
        build = getattr(self.library, "get_build_info", str)()
        return [
            FORMAT, os.path.realpath(self.path), version, build, processor(),
            self.providers, self.wish.key(), variables,
        ]  # fmt: skip

    def find(self):
        """Return what is kept of the model, or None; raises ``Unfit`` where it is to be left alone."""
        record = self.record()
        if record is None:
            return None
        if record["attempts"] >= MOST_ATTEMPTS:
            what = (record["attempts"], self.name, self.table)
            raise Unfit(
                "%d starts did not end while they kept %s; without %s it is tried again" % what
            )
        if record["attempts"]:
            return None
        if record["reason"]:
            raise Unfit(record["reason"])
        entry = Entry(os.path.join(self.folder, record["folder"]), record["facts"])
        return entry if entry.files() == record["files"] else None

    def record(self):
        """Return the table if it tells of the model as it is; None otherwise."""
        record = _read(self.table)
        if record is None or record["mark"] == self.mark:
            return record
        if record["mark"][SIZE] != self.mark[SIZE] or record["content"] != content(self.path):
            return None
        try:
            write(self.table, dict(record, mark=self.mark))
        except OSError:
            pass  # the next process compares the contents again
        return record

    def forget(self, entry=None):
        """Let the next process keep the model anew, if the table still tells of ``entry``."""
        record = _read(self.table) or {}
        if record.get("folder") == (os.path.basename(entry.folder) if entry else ""):
            try:
                os.unlink(self.table)
            except OSError:
                pass


class Entry(object):
    """A kept form: its folder, and what a session of it tells of itself."""

    def __init__(self, folder, facts=None):
        self.folder = folder
        self.model = os.path.join(folder, MODEL)
        self.facts = facts

    def files(self):
        """Return sizes, times and the content of the graph as far as it is short; None if gone.

        Times are in whole seconds, as images of containers keep them.
        """
        try:
            state = {name: os.stat(os.path.join(self.folder, name))
                     for name in sorted(os.listdir(self.folder))}  # fmt: skip
            seen = [[name, one.st_size, int(one.st_mtime)] for name, one in state.items()]
            short = state[MODEL].st_size <= READ_EACH_TIME
            return [*seen, [content(self.model) if short else ""]]
        except (OSError, KeyError):
            return None


def facts(session):
    """Return what a session of the compiled module tells of its model, as JSON has it."""
    meta = session.model_meta
    lists = (session.inputs_meta, session.outputs_meta, session.overridable_initializers)
    told = [[[one.name, one.type, list(one.shape)] for one in ones] for ones in lists]
    names = sorted(name for name in dir(meta) if not name.startswith("_"))
    return [*told, {name: getattr(meta, name) for name in names}]


def mark(path):
    """Return what tells a file from another one and from itself at another time."""
    try:
        state = os.stat(path)
    except OSError as error:
        raise Unfit("%s: %s" % (os.path.basename(path), error.strerror)) from None
    times = [state.st_mtime_ns, state.st_ctime_ns]
    return [state.st_dev, state.st_ino, state.st_size, *times]


def content(path):
    """Return a digest of what a file holds."""
    import hashlib

    found = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(CHUNK), b""):
            found.update(chunk)
    return found.hexdigest()


def write(path, record):
    """Write a table in one step, and not before it is on the disk."""
    import json

    scratch = "%s.%d" % (path, os.getpid())
    with open(scratch, "w") as file:
        json.dump(dict(record, format=FORMAT), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)


def _read(path):
    """Return the table in a file; None where there is none, or none that we know."""
    import json

    try:
        with open(path) as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    whole = isinstance(record, dict) and record.get("format") == FORMAT and set(record) >= FIELDS
    return record if whole and len(record["mark"]) > SIZE else None


def _digest(conditions):
    import hashlib
    import json

    text = json.dumps(conditions, sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
