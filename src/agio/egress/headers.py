"""Request headers: which may be set, and which are forwarded to another origin."""

import re
from collections.abc import Sequence
from typing import TypeAlias

Headers: TypeAlias = list[tuple[str, str]]

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
OURS = {
    *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"),
    *("expect", "accept-encoding", "proxy-authorization", "proxy-connection"),
}
_HARMLESS = {"accept", "accept-language", "user-agent", "content-type"}
_VALUE_CHARS = 8192


def header_problem(name: str, value: str) -> str | None:
    """Return why a header is invalid, without its value; None if it is valid."""
    if not _TOKEN.fullmatch(name):
        return f"{name[:64]!r} is no name of a header"
    if name.lower() in OURS:
        return f"the header {name} is the client's own"
    plain = value.isascii() and (value.isprintable() or not value)
    if not plain or value != value.strip() or len(value) > _VALUE_CHARS:
        return f"the value of the header {name} must be plain printable text, without spaces around it"
    return None


def for_strangers(headers: Sequence[tuple[str, str]]) -> Headers:
    """Return the headers to send to another origin after a redirect: all others may be secrets."""
    return [pair for pair in headers if pair[0].lower() in _HARMLESS]


def without_body(headers: Sequence[tuple[str, str]]) -> Headers:
    """Return the headers of a request whose body was dropped."""
    return [pair for pair in headers if not pair[0].lower().startswith("content-")]
