"""Outputs that the program declares: the agent's side of ``coldsoak.output``."""

import hashlib
import json
import os
import sys
import time

__all__ = ["digest", "note"]

_PIECE = 1 << 20


def note(value, name, caller):
    """Note the digest of ``value`` under ``name``; a value of no known kind by its ``repr``."""
    from coldsoak_agent import core

    begin = time.monotonic_ns()
    told = {"output": name or caller, "digest": digest(value)}
    core.agent.note("data", json.dumps(told))
    core.agent.cost("output", begin, time.monotonic_ns())


def digest(value):
    """Return a digest of a file (by its path), of an array's bytes, of bytes, or of the ``repr``."""
    found = hashlib.blake2b(digest_size=16)
    if isinstance(value, (str, os.PathLike)) and os.path.isfile(value):
        with open(value, "rb") as file:
            while piece := file.read(_PIECE):
                found.update(piece)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        found.update(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            found.update(digest(item).encode())
    else:
        found.update(_as_bytes(value))
    return found.hexdigest()


def _as_bytes(value):
    torch = sys.modules.get("torch")
    try:
        if torch is not None and isinstance(value, torch.Tensor):
            return _tensor(torch, value)
        if hasattr(value, "__array__"):
            return _array(value)
    except (TypeError, ValueError, RuntimeError, ImportError):
        pass  # sparse, quantised or ragged: by its repr
    return repr(value).encode("utf-8", "backslashreplace")


def _tensor(torch, value):
    """By its bits, on whichever device it is: NumPy lacks some of the types."""
    plain = value.detach().cpu().contiguous()
    head = repr((str(plain.dtype), tuple(plain.shape))).encode()
    return head + plain.flatten().view(torch.uint8).numpy().tobytes()


def _array(value):
    import numpy as np

    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError("an array of objects has no bytes of its own")
    return repr((str(array.dtype), array.shape)).encode() + array.tobytes()
