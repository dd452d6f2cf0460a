"""The program of the process that outlives coldsoak: see :mod:`coldsoak.launch.guard`.

Each line on stdin says which launch runs now (JSON) or that none does (``null``). The end of stdin
is the end of coldsoak; a launch that still runs then is ended. Standard library alone.
"""

from __future__ import annotations

import json
import sys
from typing import IO


def main(told: IO[bytes]) -> None:
    """Listen, sleep, and end the launch that is left."""
    launch = None
    for line in told:
        launch = json.loads(line)
    if launch is not None:
        _end(**launch)


def _end(spool: str, main: int, start_ticks: int, grace_s: float) -> None:
    sys.path.insert(0, __file__.rpartition("/coldsoak/")[0])
    from coldsoak.launch import proc
    from coldsoak.launch.tree import Tree

    state = proc.stat(main)
    known = state is not None and state.start_ticks == start_ticks
    Tree(main if known else 0, spool, 0).stop(grace_s)


if __name__ == "__main__":
    main(sys.stdin.buffer)
