"""Keeps an optimised model for the next start, on behalf of ``preheat_ort``."""

import os

from coldsoak_agent.preheat import Unfit
from coldsoak_agent.preheat_ort_cache import (
    MOST, ROOM, SIZE, WEIGHTS, Entry, content, facts, mark, write,
)  # fmt: skip

ELSEWHERE = b"\x0a\x08location"
"""In a model file: the key under which a tensor names the other file that its data lie in."""
RANDOM = (
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike", "Sampling",
)  # fmt: skip
"""Operators that draw numbers by their place in the graph, which is another in the kept form."""
FORMS = (WEIGHTS, "")
"""Names of the file with the weights, the fastest form first; empty for one file with all."""


class Keeper(object):
    """Makes the kept form of a requested model, for a ``with`` block."""

    def __init__(self, request):
        self.request = request
        self.reason = ""
        self.part = os.path.join(request.folder, "%s-%d.part" % (request.key, os.getpid()))

    def __enter__(self):
        import fcntl

        request = self.request
        try:
            os.makedirs(request.folder, exist_ok=True)
            self.lock = open(os.path.join(request.folder, request.key + ".lock"), "w")
        except OSError as error:
            raise Unfit("%s cannot be kept: %s" % (request.name, error)) from None
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.lock.close()
            raise Unfit("%s is just being kept elsewhere" % request.name) from None
        return self

    def __exit__(self, kind, error, trace):
        remove(self.part)
        if kind is not None and not issubclass(kind, Exception):
            self.request.forget()  # an interrupt says nothing about the model
        self.lock.close()

    def forms(self):
        """Yield kept forms, the fastest first, until one is kept.

        A table goes before them that counts the attempts: should the process be killed meanwhile, for
        want of memory say, the next ones do not run into that for ever.
        """
        self._look_for_room()
        self.digest = content(self.request.path)
        before = self.request.record() or {}
        self._write("", attempts=1 + before.get("attempts", 0))
        if _holds(self.request.path, [ELSEWHERE]):
            self.refuse("it has data in other files")
            forms = ()
        else:
            forms = FORMS
        for weights in forms:
            entry = self._optimised(weights)
            if entry is not None and _holds(entry.model, map(_as_operator, RANDOM)):
                self.refuse("it draws random numbers")
                break
            if entry is not None:
                yield entry
        self._write(self.reason)

    def refuse(self, why):
        """Note why the form at hand is none; the first reason counts."""
        self.reason = self.reason or "%s is not kept: %s" % (self.request.name, why)

    def keep(self, entry):
        """Let the next start find a form; raises ``Unfit`` where that fails."""
        request = self.request
        whole = os.path.join(request.folder, "%s-%s" % (request.key, os.urandom(4).hex()))
        if mark(request.path) != request.mark:
            request.forget()
            raise Unfit("%s has changed meanwhile" % request.name)
        try:
            for name in os.listdir(self.part):
                _sync(os.path.join(self.part, name))
            os.rename(self.part, whole)
            self._write("", Entry(whole, entry.facts))
        except OSError as error:
            request.forget()
            raise Unfit("%s cannot be kept: %s" % (request.name, error)) from None
        for name in os.listdir(request.folder):
            if name.startswith(request.key + "-") and name != os.path.basename(whole):
                remove(os.path.join(request.folder, name))

    def _look_for_room(self):
        request = self.request
        tables = [name for name in os.listdir(request.folder) if name.endswith(".json")]
        if len(tables) >= MOST and request.key + ".json" not in tables:
            raise Unfit("%d models are kept already" % MOST)
        room = os.statvfs(request.folder)
        if room.f_bavail * room.f_frsize < ROOM * request.mark[SIZE]:
            raise Unfit("there is no room on the disk to keep %s" % request.name)

    def _optimised(self, weights):
        """Have ONNX Runtime write a form; None, with a reason, where it cannot."""
        request, entry = self.request, Entry(self.part)
        remove(self.part)
        os.mkdir(self.part)
        try:
            options = request.wish.to_keep(entry.model, weights)
            session = request.library.InferenceSession(options, request.path, True, False)
            session.initialize_session(request.providers, [{} for _ in request.providers], set())
            entry.facts = facts(session)
        except Exception as error:
            self.refuse(str(error))
            return None
        return entry

    def _write(self, reason, entry=None, attempts=0):
        request = self.request
        record = {
            "model": request.path,
            "mark": request.mark,
            "content": self.digest,
            "attempts": attempts,
            "reason": reason,
            "folder": os.path.basename(entry.folder) if entry else "",
            "files": entry.files() if entry else None,
            "facts": entry.facts if entry else None,
        }
        try:
            write(request.table, record)
        except OSError as error:
            raise Unfit("%s cannot be kept: %s" % (request.name, error)) from None


def remove(folder):
    """Remove a kept form; who has it in memory keeps that."""
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        pass


def _as_operator(name):
    """Return how a model file names the operator of a node."""
    return b'"' + bytes([len(name)]) + name.encode()


def _holds(path, words):
    """Tell whether a file holds one of some words."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return any(text.find(word) >= 0 for word in words)


def _sync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
