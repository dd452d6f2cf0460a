"""Secrets never reach the saved result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REDACTED", "redact"]

REDACTED = "<redacted>"

_NAME = re.compile(
    r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PASS$|_PWD$|CREDENTIAL|AUTH|COOKIE|PRIVATE"
    r"|SESSION_ID|DSN|WEBHOOK|BEARER|JWT",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s?#@]+@"
    r"|[?&](?:\w*token|\w*key|sig|signature|password|secret)=",
    re.IGNORECASE,
)


def redact(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` with every value hidden that may be a secret.

    A value is hidden when its name contains TOKEN, KEY, SECRET, PASSWORD or the like, in any
    case, or when it holds a URL with user information or a token in its query. Harmless names such as KEYBOARD are hidden
    too: a report can do without them, a leaked key cannot be taken back.
    """
    return {
        name: REDACTED if _NAME.search(name) or _VALUE.search(value) else value
        for name, value in sorted(environment.items())
    }
