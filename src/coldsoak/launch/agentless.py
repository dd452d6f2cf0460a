"""Processes of a launch that carry no agent: who they were, and why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coldsoak.launch.redact import redact_command
from coldsoak.model.result import Child, Note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.launch.tree import Member

__all__ = ["agentless", "no_agent_note", "why_no_agent"]

_TAKES_VALUE = frozenset("cmWX")
_WORDS = 40
_WORD = 300
_ISOLATING = frozenset("ISE")


def agentless(members: Iterable[Member], agent_pids: set[int], t0: int) -> tuple[Child, ...]:
    """Return the members without an agent, in order of their start, times relative to ``t0``."""
    return tuple(
        Child(
            pid=member.pid,
            ppid=member.ppid,
            argv=redact_command(_shortened(member.argv)),
            start_ns=member.start_ns - t0,
            end_ns=None if member.end_ns is None else member.end_ns - t0,
            cpu_s=member.cpu_ns / 1e9,
            exit_code=member.exit_code,
            why=why_no_agent(member.executable, member.argv, injected=member.injected),
        )
        for member in sorted(members, key=lambda member: member.start_ns)
        if member.pid not in agent_pids
    )


def why_no_agent(executable: str, argv: tuple[str, ...], *, injected: bool) -> str:
    """Say why the agent is not in a process.

    Args:
        executable: Its program, links resolved; empty when it was gone before it could be seen.
        argv: Its command line.
        injected: The agent's folder was still in its PYTHONPATH.

    """
    if not executable:
        return "ended before it was seen"
    if not Path(executable).name.startswith(("python", "pypy")):
        return "not Python"
    if flags := _isolating_flags(argv):
        return f"isolated interpreter ({flags})"
    if not injected:
        return "PYTHONPATH removed"
    return "the agent did not start"


def no_agent_note(children: tuple[Child, ...], main: int) -> Note:
    """Tell the user that only the wall time of this launch was measured, and why."""
    shown = [child for child in children if child.pid == main]
    seen = {"not Python", *(child.why for child in shown)}
    shown += [child for child in children if child.why not in seen]
    reasons = [
        f"{Path(child.argv[0]).name if child.argv else 'it'}: {child.why}" for child in shown
    ]
    why = "; ".join(reasons) or "it ended too soon"
    return Note(code="no_agent", text=f"only the wall time was measured ({why})")


def _shortened(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A linker's command line has thousands of words: the first ones tell what it was."""
    words = tuple(word if len(word) <= _WORD else word[: _WORD - 1] + "…" for word in argv[:_WORDS])
    return words if len(argv) <= _WORDS else (*words, "…")


def _isolating_flags(argv: tuple[str, ...]) -> str:
    """Return those of -I, -S and -E among the interpreter's own options."""
    found = []
    words = iter(argv[1:])
    for word in words:
        if not word.startswith("-") or word in {"-", "--"}:
            break
        if word.startswith("--"):
            continue
        letters, takes_value = _letters(word[1:])
        found += [f"-{letter}" for letter in letters if letter in _ISOLATING]
        if {"c", "m"} & set(letters):
            break
        if takes_value:
            next(words, None)
    return " ".join(found)


def _letters(cluster: str) -> tuple[str, bool]:
    """Split ``sWignore`` into its options; True when the last one takes the next word."""
    for place, letter in enumerate(cluster):
        if letter in _TAKES_VALUE:
            return cluster[: place + 1], place + 1 == len(cluster)
    return cluster, False
