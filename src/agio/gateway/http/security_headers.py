"""Default security headers; a page's own win."""

from collections.abc import Iterable
from typing import TypeAlias

Header: TypeAlias = tuple[bytes, bytes]

_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
_OVER_TLS: tuple[Header, ...] = ((b"strict-transport-security", b"max-age=31536000"),)


class SecurityHeaders:
    """Adds the default headers. `secure`: also HSTS, for a year."""

    def __init__(self, *, secure: bool = False) -> None:
        self._headers = _ALWAYS + (_OVER_TLS if secure else ())

    def with_defaults(self, headers: Iterable[Header]) -> list[Header]:
        """Return a response's headers plus the missing defaults."""
        covered = list(headers)
        there = {name for name, _ in covered}
        covered += [header for header in self._headers if header[0] not in there]
        return covered
