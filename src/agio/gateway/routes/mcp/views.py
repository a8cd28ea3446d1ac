"""MCP servers and their tools as clients see them, without secrets. Times are milliseconds since 1970."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from agio.core.mcp import (
    McpOAuth,
    McpOAuthScope,
    McpOffer,
    McpServer,
    McpToolRecord,
    McpToolState,
    McpTransport,
)
from agio.core.mcp_oauth import McpConnection
from agio.core.store.repository import Approval, Effect
from agio.errors import AgioError
from agio.gateway.routes.headers import HeaderView, headers_view
from agio.protocol.messages import Json
from agio.tools.mcp.servers import Checked


class McpToolShape(Struct, frozen=True):
    """A tool's declaration to the model, and its digest."""

    description: str
    parameters: dict[str, Json]
    digest: str


class McpToolView(Struct, frozen=True, kw_only=True):
    """A tool of a server. While its state is `changed`, it is held back: `offered` is new, `accepted` is old."""

    id: str
    name: str
    """The server's name of it."""
    tool: str | None
    """Its name towards models, with which agents are given it; null until it is enabled."""
    state: McpToolState
    enabled: bool
    effect: Effect
    approval: Approval
    offered: McpToolShape | None
    accepted: McpToolShape | None
    read_only: bool
    """The server's hint that it changes nothing."""
    problem: str | None
    """Why it cannot be enabled."""
    seen_at: int


class McpOAuthView(Struct, frozen=True, kw_only=True):
    """The connection that the caller's calls use: the caller's own, or the team's."""

    scope: McpOAuthScope
    connected: bool
    issuer: str | None
    """The authorization server; before Connect the one that was entered."""
    expires_at: int | None
    """When the access token expires. It is renewed before."""
    error: str | None
    """Why the person has to connect again."""
    client_id: str | None
    """The client that was entered; null: agio finds or registers its own."""


class McpServerView(Struct, frozen=True, kw_only=True):
    """An MCP server. The operator's are started from agio.toml and cannot be changed here."""

    id: str
    name: str
    source: Literal["team", "operator"]
    transport: McpTransport
    server_url: str | None
    headers: list[HeaderView]
    auth: Literal["none", "header", "bearer", "oauth"]
    oauth: McpOAuthView | None
    """Set if `auth` is `oauth`."""
    has_token: bool
    """Whether there is a bearer token. The token itself is never shown."""
    enabled: bool
    timeout_s: float | None
    tools_on: int
    tools_changed: int
    """How many tools are held back until a person accepts the difference."""
    created_at: int | None
    updated_at: int | None


class McpServerDetails(McpServerView, frozen=True, kw_only=True):
    """An MCP server with its tools, by the server's names."""

    tools: list[McpToolView]


class McpServerList(Struct, frozen=True):
    """The MCP servers of a team, by name, and those of the operator that it has."""

    items: list[McpServerView]


class McpProblem(Struct, frozen=True):
    """Why a server could not be used. `code` is stable."""

    code: str
    message: str


class McpCheck(Struct, frozen=True, kw_only=True):
    """What a connection to a server found."""

    reachable: bool
    protocol: str | None
    """The version of the protocol."""
    era: Literal["2026", "2025"] | None
    """2026: requests stand alone; 2025: there is a handshake, and maybe a session."""
    server_name: str | None
    server_version: str | None
    tools: list[str]
    latency_ms: int | None
    error: McpProblem | None


def server_view(
    server: McpServer, tools: Sequence[McpToolRecord], connections: Sequence[McpConnection]
) -> McpServerView:
    """Show a server. `connections` are the team's and the caller's own."""
    states = [tool.state for tool in tools if tool.server_id == server.id]
    return McpServerView(
        id=server.id,
        name=server.name,
        source="operator" if server.transport == "stdio" else "team",
        transport=server.transport,
        server_url=server.url,
        headers=headers_view(server.headers),
        auth=_auth(server),
        oauth=_oauth(server, connections),
        has_token=server.auth == "bearer",
        enabled=server.enabled,
        timeout_s=server.timeout_s,
        tools_on=states.count("on"),
        tools_changed=states.count("changed"),
        created_at=server.created_at,
        updated_at=server.updated_at,
    )


def operators_view(server_id: str, name: str) -> McpServerView:
    """Show a server of the operator's that the team has not used yet."""
    return McpServerView(
        id=server_id,
        name=name,
        source="operator",
        transport="stdio",
        server_url=None,
        headers=[],
        auth="none",
        oauth=None,
        has_token=False,
        enabled=True,
        timeout_s=None,
        tools_on=0,
        tools_changed=0,
        created_at=None,
        updated_at=None,
    )


def details_view(
    server: McpServer, tools: Sequence[McpToolRecord], connections: Sequence[McpConnection]
) -> McpServerDetails:
    """Show a server with its tools."""
    shown = server_view(server, tools, connections)
    values = {name: getattr(shown, name) for name in McpServerView.__struct_fields__}
    return McpServerDetails(**values, tools=[tool_view(tool) for tool in tools])


def tool_view(tool: McpToolRecord) -> McpToolView:
    """Show a tool."""
    return McpToolView(
        id=tool.id,
        name=tool.remote,
        tool=tool.tool or None,
        state=tool.state,
        enabled=tool.accepted is not None and tool.choice.enabled,
        effect=tool.choice.effect,
        approval=tool.choice.approval,
        offered=_shape(tool.offered),
        accepted=_shape(tool.accepted),
        read_only=tool.offered is not None and tool.offered.read_only,
        problem=(tool.offered.problem or None) if tool.offered else None,
        seen_at=tool.seen_at,
    )


def check_view(found: Checked | AgioError) -> McpCheck:
    """Show what a connection found, or why there was none."""
    if isinstance(found, AgioError):
        return McpCheck(
            reachable=False,
            protocol=None,
            era=None,
            server_name=None,
            server_version=None,
            tools=[],
            latency_ms=None,
            error=McpProblem(found.code, found.message),
        )
    return McpCheck(
        reachable=True,
        protocol=found.peer.protocol,
        era="2026" if found.peer.modern else "2025",
        server_name=found.peer.name or None,
        server_version=found.peer.version or None,
        tools=[offer.name for offer in found.offers],
        latency_ms=found.latency_ms,
        error=None,
    )


def _auth(server: McpServer) -> Literal["none", "header", "bearer", "oauth"]:
    if server.auth == "none" and any(header.secret for header in server.headers):
        return "header"
    return server.auth


def _oauth(server: McpServer, connections: Sequence[McpConnection]) -> McpOAuthView | None:
    if server.auth != "oauth":
        return None
    said = server.oauth or McpOAuth()
    owned = [
        each
        for each in connections
        if (each.server_id == server.id and (each.owner == "") == (said.scope == "team"))
    ]
    found = owned[0] if owned else None
    return McpOAuthView(
        scope=said.scope,
        connected=found is not None and found.connected,
        issuer=said.issuer if found is None else found.issuer,
        expires_at=None if found is None else found.expires_at,
        error=None if found is None else found.error,
        client_id=said.client_id,
    )


def _shape(offer: McpOffer | None) -> McpToolShape | None:
    return None if offer is None else McpToolShape(offer.description, offer.parameters, offer.digest)
