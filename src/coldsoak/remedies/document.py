"""The catalogue as a page."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from coldsoak.remedies.registry import ADVICE, PLACEBO, REMEDIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldsoak.remedies.base import Advice, Remedy

__all__ = ["document"]

_HEAD = """\
# Remedies

What `coldsoak fix` tries. Each remedy that applies is compared with the unchanged command in random
pairs of fresh processes, on your machine; nothing here is a promise. A remedy addresses the causes
named with it (`coldsoak explain CODE`), and is tried in the order of the seconds that these take.
This page is made by `scripts/make_remedy_docs.py`.
"""
_KINDS = {
    "avoid": "the work is not done",
    "cache": "it is done once and kept",
    "overlap": "it is done beside something else",
    "shift": "it is done before the clock starts",
}
_ADVICE = """\
## Advice

What only you can change. `coldsoak fix` says it with the seconds at stake, and does not try it.
"""
_LEFT_OUT = """\
## Looked at and left out

**torch's mega-cache**, one file with the compile caches (`torch.compiler.save_cache_artifacts` and
`load_cache_artifacts`). It holds the graphs and not what the C++ compiler made of them, so the
compiler runs again. On the CPU, with torch 2.11, 2.13 and 2.14.1, a first call with the file was
little faster than one with empty caches, and slower than one with a folder that was kept, with 2.13
and 2.14.1 several times. `torch.caches_on_disk` keeps the folder, which can be shipped like a file.
`benchmarks/mega_cache.py` compares the three. It was not tried on a GPU.
"""


def document() -> str:
    """Return ``docs/remedies.md``."""
    kinds = [f"- **{kind}**: {what}" for kind, what in _KINDS.items()]
    tried = [_remedy(one) for one in REMEDIES if not one.asked]
    asked = [_remedy(one) for one in REMEDIES if one.asked]
    return "\n".join(
        [
            _HEAD,
            *kinds,
            "\n## Tried where they apply\n",
            *tried,
            "## Tried only when they are named, or with `--folklore`\n",
            *asked,
            "## In every trial\n",
            _remedy(PLACEBO),
            _ADVICE,
            *(_advice(one) for one in ADVICE),
            _LEFT_OUT,
        ]
    )


def _remedy(one: Remedy) -> str:
    lines = [f"### `{one.id}`\n", inspect.getdoc(type(one)) or "", ""]
    facts = [f"kind: {one.kind}", f"results: {one.numerics}"]
    if one.causes:
        facts.append(f"causes: {_codes(one.causes)}")
    lines += [f"- {fact}" for fact in facts]
    lines += [f"- risk: {risk}" for risk in one.risks]
    return "\n".join([*lines, ""])


def _advice(one: Advice) -> str:
    text = inspect.getdoc(type(one)) or ""
    return "\n".join([f"### `{one.id}`\n", text, "", f"- causes: {_codes(one.causes)}", ""])


def _codes(causes: Iterable[str]) -> str:
    return ", ".join(f"`{cause}`" for cause in sorted(str(cause) for cause in causes))
