"""Applies a recipe: what ``exec`` and ``preheat`` share. Standard library only, because it is on the
way of every start in production (30 ms at most for ``exec``, interpreter included).

A recipe is read as plain tables. Each ingredient is checked against the fingerprint; what does not
fit is switched off with a message, and the rest is applied.
"""
# ruff: noqa: PTH112, PTH113, PTH118, PTH119, PTH120, PTH123, PTH208
# pathlib, like typing and dataclasses, takes longer to import than all that is done here.

from __future__ import annotations

import os
import sys

from coldsoak.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = [
    "Application",
    "apply",
    "cpu_flags_hash",
    "driver_version",
    "gpu_names",
    "load_tables",
    "script_of",
]

DRIVER_VERSION = "/proc/driver/nvidia/version"
CARDS = "/proc/driver/nvidia/gpus"
MEMOS = frozenset({"isa", "keys"})
"""Stages that replay recorded answers, each from a file of its own."""
FOLDERS = {"ort": "ort.optimized_model"}
"""Stages that keep what they make in a folder, which may be empty yet, with the remedies they are of."""
INJECT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "inject")


class Application:
    """What a recipe does to a process on this machine.

    Attributes:
        env: Variables to set.
        unset: Variables to remove.
        plan: For ``coldsoak_agent.preheat``; empty when nothing is to be preheated.
        messages: Stages switched off, and why.

    """

    __slots__ = ("env", "messages", "plan", "unset")

    def __init__(
        self,
        env: Mapping[str, str],
        unset: tuple[str, ...] = (),
        plan: str = "",
        messages: tuple[str, ...] = (),
    ) -> None:
        self.env, self.unset, self.plan, self.messages = env, unset, plan, messages


def load_tables(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a recipe as plain tables.

    Raises:
        FormatError: the file is not a recipe, or is of a newer format.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        with open(path, "rb") as file:
            tables: dict[str, Any] = tomllib.load(file)
    except OSError as error:
        raise FormatError(
            f"The recipe {path} cannot be read.",
            why=error.strerror or str(error),
            do="coldsoak fix -- COMMAND makes one",
        ) from error
    except ValueError as error:  # no TOML, or no text
        raise FormatError(f"{path} is not a recipe.", why=str(error)) from error
    found = tables.get("format")
    if not isinstance(found, int) or "ingredients" not in tables:
        raise FormatError(
            f"{path} is not a recipe.",
            why="It has no format number or no ingredients.",
            do="coldsoak fix -- COMMAND makes one",
        )
    if found > 1:
        raise FormatError(
            f"{path} is a recipe of format {found}; this version reads up to format 1.",
            do="Update coldsoak, or make the recipe again with this version.",
        )
    if not _well_formed(tables):
        raise FormatError(
            f"The recipe {path} is damaged.",
            why="Its ingredients, their variables, preheat or fingerprint are no tables.",
            do="coldsoak fix -- COMMAND makes it again",
        )
    return tables


def _well_formed(tables: Mapping[str, Any]) -> bool:
    """Check the shapes that :func:`apply` and ``exec`` rely on."""
    ingredients = tables["ingredients"]
    return (
        isinstance(ingredients, list)
        and all(isinstance(item, dict) and _variables(item) for item in ingredients)
        and all(isinstance(tables.get(name, {}), dict) for name in ("preheat", "fingerprint"))
        and _texts(tables.get("preheat", {}).get("memos", {}))
    )


def _texts(table: object) -> bool:
    return isinstance(table, dict) and all(isinstance(value, str) for value in table.values())


def _variables(ingredient: Mapping[str, Any]) -> bool:
    env, lists = ingredient.get("env", {}), ("unset", "needs")
    return (
        isinstance(env, dict)
        and all(isinstance(value, str) and "\0" not in name + value for name, value in env.items())
        and all("=" not in name for name in env)
        and all(isinstance(ingredient.get(name, []), list) for name in lists)
        and all(isinstance(word, str) for name in lists for word in ingredient.get(name, ()))
    )


def apply(tables: Mapping[str, Any]) -> Application:
    """Work out what to set, unset and preheat on this machine."""
    fingerprint = tables.get("fingerprint", {})
    base = _base_mismatch(fingerprint)
    env: dict[str, str] = {}
    unset: list[str] = []
    messages: list[str] = []
    off = set()
    for ingredient in tables.get("ingredients", ()):
        misfit = base or _packages_mismatch(fingerprint, ingredient.get("needs", ()))
        if misfit:
            off.add(str(ingredient.get("remedy", "?")))
            messages.append(f"{ingredient.get('remedy', '?')} is off: {misfit}")
            continue
        env.update(ingredient.get("env", {}))
        unset.extend(ingredient.get("unset", ()))
    plan = "" if base else _plan(tables, messages, off)
    return Application(env=env, unset=tuple(unset), plan=plan, messages=tuple(messages))


def _plan(tables: Mapping[str, Any], messages: list[str], off: set[str]) -> str:
    preheat = tables.get("preheat", {})
    lines = [f"gc {package}" for package in preheat.get("gc", ())]
    ranges = preheat.get("readahead", "")
    if ranges and os.path.isfile(ranges):
        lines.append(f"readahead {ranges}")
    elif ranges:
        messages.append(f"readahead is off: {ranges} is not there")
    for stage, path in preheat.get("memos", {}).items():
        if stage in FOLDERS:
            lines += [] if FOLDERS[stage] in off else [f"{stage} {path}"]
        elif stage not in MEMOS:
            messages.append(f"{stage} is off: this version of coldsoak does not know it")
        elif os.path.isfile(path):
            lines.append(f"{stage} {path}")
        else:
            messages.append(f"{stage} is off: {path} is not there")
    if preheat.get("context"):
        misfit = _gpu_mismatch(tables.get("fingerprint", {}))
        if misfit:
            messages.append(f"the context is off: {misfit}")
        else:
            lines += _cuda_lines(preheat, messages)
    if not lines:
        return ""
    script = tables.get("script") or script_of(tables.get("command", ()))
    return "\n".join(([f"script {script}"] if script else []) + lines)


def _cuda_lines(preheat: Mapping[str, Any], messages: list[str]) -> list[str]:
    lines = [f"context {preheat.get('device', 0)}"]
    lines += [f"env {name}={value}" for name, value in preheat.get("env_at_init", {}).items()]
    libraries = preheat.get("libraries", ()) if preheat.get("blas") else ()
    missing = [path for path in libraries if not os.path.isfile(path)]
    if missing:
        messages.append(f"the library start is off: {missing[0]} is not there")
    else:
        lines += [f"library {path}" for path in libraries]
    return lines


def script_of(command: Iterable[object]) -> str:
    """Return the name by which ``coldsoak_agent.preheat`` will know the command's process."""
    words = [str(word) for word in command]
    bases = [os.path.basename(word) for word in words]
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
            return os.path.basename(word)
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
    here = os.uname().machine  # what platform.machine() says, whose import costs 10 ms
    if machine and machine != here:
        return f"proved on {machine}, this machine is {here}"
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
        if not os.path.isdir(os.path.join(site, folder)):
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
    """Return a CRC-32 of the processor's feature flags; empty where they cannot be read."""
    import zlib  # a tenth of the time of hashlib, which brings OpenSSL

    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    words = " ".join(sorted(line.partition(":")[2].split()))
                    return f"{zlib.crc32(words.encode()):08x}"
    except OSError:
        pass
    return ""


def driver_version() -> str:
    """Return the NVIDIA driver's version from /proc, without waking the driver; empty for none."""
    try:
        text = _read(DRIVER_VERSION)
    except OSError:
        return ""
    words = text.split("\n", 1)[0].split()
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


def gpu_names() -> tuple[str, ...]:
    """Return the names of the cards from /proc, in order of their PCI addresses."""
    names = []
    try:
        for card in sorted(os.listdir(CARDS)):
            lines = _read(os.path.join(CARDS, card, "information")).splitlines()
            names += [line.partition(":")[2].strip() for line in lines if line.startswith("Model")]
    except OSError:
        return ()
    return tuple(names)


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()
