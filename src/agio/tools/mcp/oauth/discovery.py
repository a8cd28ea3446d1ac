"""Finds the authorization server of an MCP server: its own metadata (RFC 9728), then the other's (RFC 8414, OIDC)."""

import msgspec
from msgspec import Struct

from agio.core.mcp import McpServer
from agio.egress import Egress, EgressRequest, parse_target
from agio.egress.headers import Headers
from agio.errors import AgioError, UserError
from agio.protocol.messages import Json
from agio.tools.mcp.challenge import challenge_of, parameter, usable_scopes
from agio.tools.mcp.oauth.provider import TIMEOUT_S, AuthClient, AuthServer, check_endpoint, failed

_LIMIT_BYTES = 64 * 1024
_HELLO: dict[str, Json] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "agio", "version": "1"},
}
_PROBES = [
    msgspec.json.encode({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
    for method, params in (("initialize", _HELLO), ("tools/list", {}))
]
"""Some servers let anyone say hello, and ask for a token after that."""


class Found(Struct, frozen=True, kw_only=True):
    """Where tokens for a server come from. `resource` is what they are asked for."""

    resource: str
    scopes: list[str]
    server: AuthServer


class _Resource(Struct, frozen=True, kw_only=True):
    resource: str
    authorization_servers: list[str] | None = None
    scopes_supported: list[str] | None = None


async def discover(
    egress: Egress, auth: AuthClient, server: McpServer, headers: Headers, wanted: list[str]
) -> Found:
    """Find a server's authorization server. `headers` are the team's own for it, `wanted` scopes that calls needed.

    Raises UpstreamError, UserError.
    """
    url = server.url or ""
    challenge = await _challenge(egress, url, headers)
    described = await _resource(auth, url, parameter(challenge, "resource_metadata"))
    if described is not None and not covers(described.resource, url):
        raise failed("its metadata is another resource's", "resource")
    issuer = _issuer(server, described)
    found = await _server(auth, issuer)
    asked = parameter(challenge, "scope")
    scopes = asked.split() if asked else (described and described.scopes_supported) or []
    scopes = [*scopes, *wanted]
    if "offline_access" in (found.scopes_supported or []):
        scopes = [*scopes, "offline_access"]
    resource = url.partition("#")[0] if described is None else described.resource
    return Found(resource=resource, scopes=usable_scopes(scopes), server=found)


def covers(resource: str, url: str) -> bool:
    """Whether tokens for a resource are for a server: the same origin, and the same path or one below it."""
    try:
        whole, part = parse_target(resource), parse_target(url)
    except UserError:
        return False
    same = (whole.scheme, whole.host, whole.port) == (part.scheme, part.host, part.port)
    above, path = whole.path.rstrip("/"), part.path.partition("?")[0]
    return same and (part.path == whole.path or path == above or path.startswith(f"{above}/"))


async def _challenge(egress: Egress, url: str, headers: Headers) -> str:
    """Return how the server asks for a token; "": it does not."""
    sent = [("accept", "application/json, text/event-stream"), ("content-type", "application/json"), *headers]
    for probe in _PROBES:
        request = EgressRequest("POST", url, sent, probe, TIMEOUT_S, _LIMIT_BYTES, 0)
        try:
            answer = await egress.request(request)
        except UserError:
            raise
        except AgioError:
            return ""
        if answer.status == 401:
            return challenge_of(answer.headers)
    return ""


async def _resource(auth: AuthClient, url: str, named: str) -> _Resource | None:
    target = parse_target(url)
    origin, path = f"{target.scheme}://{target.authority}", target.path.partition("?")[0].rstrip("/")
    known = f"{origin}/.well-known/oauth-protected-resource"
    places = [check_endpoint(named, "place of its metadata")] if named else []
    for place in dict.fromkeys([*places, f"{known}{path}", known]):
        if (found := await auth.get(place, _Resource, "resource metadata")) is not None:
            return found
    return None


def _issuer(server: McpServer, described: _Resource | None) -> str:
    """Choose the authorization server; of one before these metadata it is the server's own origin."""
    pinned = None if server.oauth is None else server.oauth.issuer
    target = parse_target(server.url or "")
    named = (described and described.authorization_servers) or [f"{target.scheme}://{target.authority}"]
    if pinned is None:
        return named[0]
    if not any(_same(pinned, issuer) for issuer in named):
        raise failed(f"it no longer names {pinned}, for which its client was entered", "issuer")
    return pinned


async def _server(auth: AuthClient, issuer: str) -> AuthServer:
    check_endpoint(issuer, "authorization server")
    if "?" in issuer:
        raise failed("its authorization server is no issuer", "issuer")
    target = parse_target(issuer)
    origin, path = f"{target.scheme}://{target.authority}", target.path.rstrip("/")
    places = [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    ]
    for place in dict.fromkeys(places):
        found = await auth.get(place, AuthServer, "metadata")
        if found is not None:
            return await _checked(auth, found, issuer)
    raise failed(f"{target.authority} publishes no metadata", "metadata")


async def _checked(auth: AuthClient, found: AuthServer, issuer: str) -> AuthServer:
    if not _same(found.issuer, issuer):
        raise failed("its authorization server's metadata names another issuer", "issuer")
    for what in ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"):
        if (place := getattr(found, what)) is not None:
            check_endpoint(place, what.replace("_", " "))
    if "S256" not in (found.code_challenge_methods_supported or []):
        raise failed("its authorization server does not offer PKCE with S256", "pkce")
    await auth.check_reachable(found.authorization_endpoint)
    return found


def _same(issuer: str, other: str) -> bool:
    return issuer.rstrip("/") == other.rstrip("/")
