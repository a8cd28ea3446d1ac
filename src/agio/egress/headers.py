"""The headers of a request: which may be set, and which go on to another origin."""

import re
from collections.abc import Sequence
from typing import TypeAlias

Headers: TypeAlias = list[tuple[str, str]]

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_OURS = {
    *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"),
    *("expect", "accept-encoding", "proxy-authorization", "proxy-connection"),
}
_HARMLESS = {"accept", "accept-language", "user-agent", "content-type"}
_VALUE_CHARS = 8192


def header_problem(name: str, value: str) -> str | None:
    """Say what is wrong with a header, without its value; None if nothing is."""
    if not _TOKEN.fullmatch(name):
        return f"{name[:64]!r} is no name of a header"
    if name.lower() in _OURS:
        return f"the header {name} is the client's own"
    plain = value.isascii() and (value.isprintable() or not value)
    if not plain or value != value.strip() or len(value) > _VALUE_CHARS:
        return f"the value of the header {name} must be plain printable text, without spaces around it"
    return None


def for_strangers(headers: Sequence[tuple[str, str]]) -> Headers:
    """Return the headers that another origin gets after a redirect: every other may be a secret."""
    return [pair for pair in headers if pair[0].lower() in _HARMLESS]


def without_body(headers: Sequence[tuple[str, str]]) -> Headers:
    """Return headers for a request that has no body any more."""
    return [pair for pair in headers if not pair[0].lower().startswith("content-")]
