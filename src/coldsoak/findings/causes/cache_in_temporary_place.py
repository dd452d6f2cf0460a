"""Compiled code lies in a temporary folder

torch.compile keeps its work under the temporary folder unless TORCHINDUCTOR_CACHE_DIR says
otherwise. That is gone after a restart of the machine or with the container, and the next first run
compiles everything.

It fires when a compile cache was used in the traced launches and its folder lies in /tmp, /var/tmp,
/dev/shm or $TMPDIR. What a restart then costs is measured by `coldsoak run --cold cache`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldsoak.findings.cachehits import lookups
from coldsoak.findings.stakes import command, emptied, fix
from coldsoak.findings.words import plural
from coldsoak.model.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldsoak.findings.view import View
    from coldsoak.model.finding import Severity

CODE = "cache-in-temporary-place"
SEVERITY: Severity = "note"

_FOLDERS = {
    "torch": ("TORCHINDUCTOR_CACHE_DIR", "$TMP/torchinductor_*", "torch.caches_on_disk"),
    "triton": ("TRITON_CACHE_DIR", "", "torch.caches_on_disk"),
    "jax": ("JAX_COMPILATION_CACHE_DIR", "", "jax.cache_thresholds"),
}
"""Variable, place without it (where that is temporary), remedy."""


def find(view: View) -> Iterator[Finding]:
    """Yield one finding for each cache in use that a restart empties."""
    if emptied(view, "cache"):
        return
    for arm in view.result.arms:
        env = view.env(arm.name)
        used = {seen.cache: seen for seen in lookups(view, arm.name)}
        for cache, (variable, default, remedy) in _FOLDERS.items():
            place = env.get(variable) or default.replace("$TMP", env.get("TMPDIR") or "/tmp")  # noqa: S108
            if cache not in used or not _temporary(place, env.get("TMPDIR", "")):
                continue
            found = used[cache]
            yield Finding(
                code=CODE,
                severity=SEVERITY,
                text=f"{found.name} is {place}; it is gone after a restart or with the container.",
                evidence=(
                    f"{plural(found.hits + found.misses, 'look-up')}, {found.hits} of them hits",
                ),
                advice=(f"export {variable}=$HOME/.cache/{cache}", fix(view, remedy)),
                confidence="likely",
                settle=f"What it saves: coldsoak run --cold cache -- {command(view)}",
                arm=arm.name,
            )


def _temporary(place: str, temporary: str) -> bool:
    roots = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108
    own = f"{temporary.rstrip('/')}/" if temporary else ""
    return bool(place) and place.startswith((*roots, own) if own else roots)
