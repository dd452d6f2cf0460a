"""Keeps secrets out of result files, which people attach to bug reports.

One rule for the environment, for command lines, for the user's source code and for the values that
name a region: what is called TOKEN, KEY, SECRET, PASSWORD or the like, and what looks like a secret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldsoak.model.result import Arm

__all__ = [
    "REDACTED",
    "is_secret",
    "redact",
    "redact_arm",
    "redact_command",
    "redact_text",
    "redact_value",
]

REDACTED = "<redacted>"

_NAME = re.compile(
    r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PASS$|_PWD$|CREDENTIAL|AUTH|COOKIE|PRIVATE"
    r"|SESSION_ID|DSN|WEBHOOK|BEARER|JWT",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"TOKENI[SZ]\w*|(?:MAX|MIN|NUM|NEW|N)[_-](?:[A-Z]+[_-])*TOKENS?|AUTHORS?(?![A-Z])|KEYWORDS?"
    r"|KEYS?[_-]?(?:FUNC|FN)|(?<![A-Z])KEEP[_-]?\w*|MONKEY\w*",
    re.IGNORECASE,
)
"""Names of text models, of sorting and of people that only look like those of secrets."""

_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/\s?#@]+@")
_QUERY = re.compile(
    r"([?&](?:\w*token|\w*key|sig|signature|password|secret)=)[^&\s'\"]+", re.IGNORECASE
)
_KNOWN = re.compile(
    r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|npm_|pypi-|sk-|xox[abprs]-)[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
"""Secrets that can be told by their form."""

_PAIR = re.compile(
    r"(?<![\w.-])-{0,2}(?P<name>[A-Za-z_][\w.-]{0,99})(?P<sign>[\"']?\]?\s*(?:==|:=|=>|=|:)\s*)"
    r"(?:(?P<quote>[\"'])(?P<quoted>.*?)(?P=quote)|(?P<bare>[^\s\"'&;,(){}\[\]]+))",
    re.DOTALL,
)
"""``NAME=VALUE``, ``name: value``, ``"name": "value"``."""


def is_secret(name: str) -> bool:
    """Tell whether what is called ``name`` may be a secret, in any case of letters.

    Harmless names such as KEYBOARD are met too: a report can do without what they hold, a leaked
    key cannot be taken back. What text models call tokenizer and max_tokens is not.
    """
    return bool(_NAME.search(_HARMLESS.sub("", name)))


def redact(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` with every value hidden that may be a secret.

    A value is hidden when its name is that of a secret, or when it holds a URL with user
    information, a token in its query, or something that has the form of a secret.
    """
    return {name: redact_value(name, value) for name, value in sorted(environment.items())}


def redact_value(name: str, value: str) -> str:
    """Return ``value``, or :data:`REDACTED` when ``name`` or the value tells of a secret."""
    looks = any(rule.search(value) for rule in (_USER, _QUERY, _KNOWN))
    return REDACTED if looks or is_secret(name) else value


def redact_text(text: str) -> str:
    """Return free text without the secrets that can be told from what surrounds them."""
    text = _KNOWN.sub(REDACTED, text)
    text = _QUERY.sub(rf"\1{REDACTED}", _USER.sub(rf"\1{REDACTED}@", text))
    return _PAIR.sub(_hide_pair, text)


def _hide_pair(found: re.Match[str]) -> str:
    if not is_secret(found["name"]):
        return found[0]
    quote = found["quote"] or ""
    value = f"{quote}{REDACTED}{quote}"
    return found[0][: found.end("sign") - found.start()] + value


def redact_command(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command line with the values of ``--token X``, ``--token=X``, ``TOKEN=X`` hidden.

    Of URLs the user information is hidden, and in code and JSON what has the name of a secret.
    """
    words = []
    hide = False
    for word in argv:
        if hide and not word.startswith("-"):
            words.append(REDACTED)
            hide = False
            continue
        hide = word.startswith("-") and "=" not in word and is_secret(word)
        words.append(redact_text(word))
    return tuple(words)


def redact_arm(arm: Arm) -> Arm:
    """Return an arm as a result keeps it, without the secrets of its command line."""
    return replace(arm, argv=redact_command(arm.argv))
