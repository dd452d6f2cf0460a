"""Waits: what a thread said, or the kernel's part of its stack showed, that it waits for."""

from __future__ import annotations

import re
from functools import cache

from coldsoak.ledger.rules.base import Kind, Verdict
from coldsoak.model.causes import Cause

__all__ = ["verdict"]

_WORDS: tuple[tuple[str, Cause, Kind], ...] = (
    (r"^(disk|page fault)$|\b(read|fault|disk|io)\b", Cause.PAGE_IN, Kind.FIXED),
    (r"network|recv|connect|getaddrinfo|http|ssl|urlopen", Cause.NETWORK_WAIT, Kind.FIXED),
    (r"child|subprocess|waitpid|wait4|popen|communicate|^pipe$", Cause.CHILD_PROCESS, Kind.WAIT),
    (r"sleep", Cause.LOCK_WAIT, Kind.FIXED),
    (r"^memory map$", Cause.PAGE_FAULT, Kind.FIXED),
    (r"^exit$", Cause.PROCESS_EXIT, Kind.FIXED),
)
_RULES = tuple((re.compile(words, re.IGNORECASE), Verdict(c, k)) for words, c, k in _WORDS)


@cache
def verdict(name: str) -> Verdict:
    """Return the cause of a wait.

    Kind ``FIXED``: the name says it all. Kind ``WAIT``: what other evidence shows at the same time
    comes first (the device, a compiler on another thread, a child), the cause is for the rest.
    """
    for pattern, found in _RULES:
        if pattern.search(name):
            return found
    return Verdict(Cause.LOCK_WAIT, Kind.WAIT)
