"""What each cause is, how it grows, what counts as evidence, and what helps."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from coldsoak.ledger.pages import device, process, work
from coldsoak.ledger.pages.page import Page
from coldsoak.model.causes import GROUPS, Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PAGES", "Page", "document"]

_BY_CAUSE = {page.cause: page for page in (*process.PAGES, *device.PAGES, *work.PAGES)}

PAGES: Mapping[Cause, Page] = MappingProxyType({cause: _BY_CAUSE[cause] for cause in Cause})
"""The page of every cause, in the order of :class:`~coldsoak.model.causes.Cause`."""

_HEAD = """# Causes

The ledger of a first run books every instant under one of these codes. `coldsoak explain CODE`
prints the same text. Remedies with a code are in the catalogue: `coldsoak fix` tries those that
fit, and recommends nothing that it did not measure on your machine. This page is made by
`scripts/make_cause_docs.py`.
"""


def document() -> str:
    """Return ``docs/causes.md``."""
    parts = [_HEAD]
    for group, causes in GROUPS.items():
        parts.append(f"# {group.capitalize()}\n")
        parts += [PAGES[cause].markdown() for cause in causes]
    return "\n".join(parts).rstrip() + "\n"
