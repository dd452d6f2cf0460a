"""Applies a recipe: what ``exec`` and ``preheat`` share. Standard library only, because it is on the
way of every start in production (30 ms at most for ``exec``, interpreter included).

A recipe is read as plain tables. Each ingredient is checked against the fingerprint; what does not
fit is switched off with a message, and the rest is applied.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldsoak.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Application", "apply", "cpu_flags_hash", "driver_version", "gpu_names", "load_tables"]

INJECT = str(Path(__file__).resolve().parent.parent / "inject")


@dataclass(frozen=True)
class Application:
    """What a recipe does to a process on this machine."""

    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    plan: str = ""
    """For ``coldsoak_agent.preheat``; empty when nothing is to be preheated."""
    messages: tuple[str, ...] = ()
    """Stages switched off, and why."""


def load_tables(path: str | Path) -> dict[str, Any]:
    """Read a recipe as plain tables.

    Raises:
        FormatError: the file is not a recipe, or is of a newer format.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        with Path(path).open("rb") as file:
            tables: dict[str, Any] = tomllib.load(file)
    except OSError as error:
        raise FormatError(
            f"The recipe {path} cannot be read.",
            why=str(error),
            do="Make one with: coldsoak fix -- COMMAND",
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path} is not a recipe.", why=str(error)) from error
    found = tables.get("format")
    if not isinstance(found, int) or "ingredients" not in tables:
        raise FormatError(
            f"{path} is not a recipe.",
            why="It has no format number or no ingredients.",
            do="Make one with: coldsoak fix -- COMMAND",
        )
    if found > 1:
        raise FormatError(
            f"{path} is a recipe of format {found}; this version reads up to format 1.",
            do="Update coldsoak, or make the recipe again with this version.",
        )
    return tables


def apply(tables: Mapping[str, Any]) -> Application:
    """Work out what to set, unset and preheat on this machine."""
    fingerprint = tables.get("fingerprint", {})
    base = _base_mismatch(fingerprint)
    env: dict[str, str] = {}
    unset: list[str] = []
    messages: list[str] = []
    for ingredient in tables.get("ingredients", ()):
        misfit = base or _packages_mismatch(fingerprint, ingredient.get("needs", ()))
        if misfit:
            messages.append(f"{ingredient.get('remedy', '?')} is off: {misfit}")
            continue
        env.update(ingredient.get("env", {}))
        unset.extend(ingredient.get("unset", ()))
    plan = "" if base else _plan(tables, messages)
    return Application(env=env, unset=tuple(unset), plan=plan, messages=tuple(messages))


def _plan(tables: Mapping[str, Any], messages: list[str]) -> str:
    preheat = tables.get("preheat", {})
    lines = [f"gc {package}" for package in preheat.get("gc", ())]
    ranges = preheat.get("readahead", "")
    if ranges and Path(ranges).is_file():
        lines.append(f"readahead {ranges}")
    elif ranges:
        messages.append(f"readahead is off: {ranges} is not there")
    if preheat.get("context"):
        misfit = _gpu_mismatch(tables.get("fingerprint", {}))
        if misfit:
            messages.append(f"the context is off: {misfit}")
        else:
            lines += _cuda_lines(preheat, messages)
    if not lines:
        return ""
    script = tables.get("script") or _script_of(tables.get("command", ()))
    return "\n".join(([f"script {script}"] if script else []) + lines)


def _cuda_lines(preheat: Mapping[str, Any], messages: list[str]) -> list[str]:
    lines = [f"context {preheat.get('device', 0)}"]
    lines += [f"env {name}={value}" for name, value in preheat.get("env_at_init", {}).items()]
    libraries = preheat.get("libraries", ()) if preheat.get("blas") else ()
    missing = [path for path in libraries if not Path(path).is_file()]
    if missing:
        messages.append(f"the library start is off: {missing[0]} is not there")
    else:
        lines += [f"library {path}" for path in libraries]
    return lines


def _script_of(command: Iterable[object]) -> str:
    """Return the name by which ``coldsoak_agent.preheat`` will know the command's process."""
    words = [str(word) for word in command]
    bases = [os.path.basename(word) for word in words]  # noqa: PTH119 - the agent does the same
    for at, base in enumerate(bases):
        if base.startswith(("python", "pypy")) and not base.endswith(".py"):
            return _script_after(words[at + 1 :])
    return next((base for base in bases if base.endswith(".py")), bases[0] if bases else "")


def _script_after(words: Iterable[str]) -> str:
    """Read an interpreter's options as ``coldsoak_agent.preheat.script_name`` does."""
    rest = iter(words)
    for word in rest:
        if word == "--check-hash-based-pycs":
            next(rest, None)
        elif word == "-" or not word.startswith("-"):
            return os.path.basename(word)  # noqa: PTH119
        elif not word.startswith("--"):
            at = next((at for at, letter in enumerate(word) if letter in "cmWX"), 0)
            if word[at] == "c":
                return "-c"
            if word[at] == "m":
                return word[at + 1 :] or next(rest, "")
            if at and at == len(word) - 1:
                next(rest, None)
    return ""


def _base_mismatch(fingerprint: Mapping[str, Any]) -> str:
    machine = fingerprint.get("machine", "")
    if machine and machine != platform.machine():
        return f"proved on {machine}, this machine is {platform.machine()}"
    flags = fingerprint.get("cpu_flags", "")
    if flags and flags != cpu_flags_hash():
        return "proved on a processor with other features"
    return ""


def _packages_mismatch(fingerprint: Mapping[str, Any], needs: Iterable[str]) -> str:
    site, packages = fingerprint.get("site", ""), fingerprint.get("packages", {})
    for name in needs:
        version = packages.get(name)
        if not version:
            continue
        folder = f"{str(name).replace('-', '_')}-{version}.dist-info"
        if not Path(site, folder).is_dir():
            return (
                f"it was proved with {name} {version}, which is not in {site or 'this environment'}"
            )
    return ""


def _gpu_mismatch(fingerprint: Mapping[str, Any]) -> str:
    driver = driver_version()
    if not driver:
        return "no NVIDIA driver here"
    if fingerprint.get("driver") and fingerprint["driver"] != driver:
        return f"proved with driver {fingerprint['driver']}, here is {driver}"
    names = gpu_names()
    if fingerprint.get("gpus") and list(names) != list(fingerprint["gpus"]):
        return (
            f"proved on {', '.join(fingerprint['gpus'])}, here is {', '.join(names) or 'no card'}"
        )
    return ""


def cpu_flags_hash() -> str:
    """Return a short hash of the processor's feature flags; empty where they cannot be read."""
    import hashlib

    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            for line in file:
                if line.startswith(("flags", "Features")):
                    words = " ".join(sorted(line.partition(":")[2].split()))
                    return hashlib.blake2s(words.encode(), digest_size=6).hexdigest()
    except OSError:
        pass
    return ""


def driver_version() -> str:
    """Return the NVIDIA driver's version from /proc, without waking the driver; empty for none."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    words = text.split("\n", 1)[0].split()
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


def gpu_names() -> tuple[str, ...]:
    """Return the names of the cards from /proc, in order of their PCI addresses."""
    names = []
    folder = Path("/proc/driver/nvidia/gpus")
    try:
        cards = sorted(folder.iterdir())
    except OSError:
        return ()
    for card in cards:
        try:
            text = (card / "information").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        names += [
            line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Model")
        ]
    return tuple(names)
