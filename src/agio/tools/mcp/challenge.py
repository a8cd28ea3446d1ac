"""Reads WWW-Authenticate of MCP servers: where their metadata is, and which scopes they want."""

import re

from agio.egress.headers import Headers

_PARAMETER = r'(?:^|[\s,]){}\s*=\s*(?:"([^"]*)"|([^\s,"]+))'
_SCOPE = re.compile(r"[!#-\[\]-~]{1,200}")
MOST_SCOPES = 50


def challenge_of(headers: Headers) -> str:
    """Return how a server asks for a token; "": it does not."""
    return ", ".join(value for name, value in headers if name.lower() == "www-authenticate")


def parameter(challenge: str, name: str) -> str:
    """Return a parameter of a challenge; "": it has none."""
    found = re.search(_PARAMETER.format(name), challenge, re.IGNORECASE)
    return "" if found is None else found[1] or found[2] or ""


def usable_scopes(scopes: list[str]) -> list[str]:
    """Return scopes that fit into a request, each once."""
    return [scope for scope in dict.fromkeys(scopes) if _SCOPE.fullmatch(scope)][:MOST_SCOPES]


def missing_scopes(headers: Headers) -> list[str] | None:
    """Return the scopes that a refused token lacks; None: it was refused for another reason."""
    challenge = challenge_of(headers)
    if parameter(challenge, "error") != "insufficient_scope":
        return None
    return usable_scopes(parameter(challenge, "scope").split())
