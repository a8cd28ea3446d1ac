"""Connecting to MCP servers by OAuth: the press of the button, the way back, the end; and what agio is as a client."""

from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import Query
from fastapi.responses import RedirectResponse, Response
from msgspec import Struct, structs

from agio.core.mcp import McpServer
from agio.errors import AgioError, UserError
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer, check_permission
from agio.gateway.routes.mcp.servers import find_server
from agio.tools.mcp.oauth.connect import Answer, Place, not_oauth
from agio.tools.mcp.oauth.provider import ClientMetadata, client_metadata

DOCUMENT_PATH = "/.well-known/agio-mcp-client.json"
CALLBACK_PATH = "/api/mcp-servers/oauth/callback"
_PAGE = "/settings/mcp-servers"
_Given = Annotated[str, Query(max_length=4096)]


class McpConnectStart(Struct, frozen=True):
    """The address to open in the browser."""

    authorization_url: str


class McpClientDocument(ClientMetadata, frozen=True, kw_only=True):
    """The client id metadata document. Its address is the client id."""

    client_id: str
    client_uri: str
    token_endpoint_auth_method: Literal["none"] = "none"  # noqa: S105 - not a secret


async def connect_mcp_server(call: Call, server_id: Id) -> Response:
    """Begin to connect to an MCP server: find where people sign in. For a team's connection it takes `build`."""
    gateway, who = call.gateway, call.who
    server = await _server(call, server_id)
    if server.auth != "oauth":
        raise not_oauth(server)
    gateway.rates.take("tool", who.credential, f"{who.tenant}/{who.user}")
    return answer(McpConnectStart(await gateway.connecting.begin(server, who.user, _place(call))))


async def finish_mcp_connect(
    call: Call,
    state: _Given = "",
    code: _Given = "",
    iss: Annotated[str | None, Query(max_length=2000)] = None,
    error: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Complete a connection to an MCP server, and return to its page."""
    gateway, who = call.gateway, call.who
    page = _PAGE
    try:
        pending = await gateway.connecting.take(who.tenant, who.user, state)
        page = f"{_PAGE}/{pending.server_id}"
        server = await _server(call, pending.server_id)
        await gateway.connecting.finish(
            server, who.user, pending, Answer(state=state, code=code, iss=iss, error=error)
        )
        gateway.mcp.forget(who.tenant, server.id)
        outcome = {"connected": "1"}
    except AgioError as failed:
        outcome = {"error": failed.code}
    headers = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
    return RedirectResponse(f"{page}?{urlencode(outcome)}", 303, headers)


async def disconnect_mcp_server(call: Call, server_id: Id) -> Response:
    """End the caller's connection to an MCP server, or with `build` the team's, also at the provider."""
    server = await _server(call, server_id)
    await call.gateway.connecting.disconnect(server, call.who.user)
    call.gateway.mcp.forget(call.who.tenant, server_id)
    return Response(status_code=204)


async def mcp_client_document(call: Call) -> Response:
    """Get what agio is as a client of authorization servers. It is there if the server has a public URL."""
    base = call.gateway.auth.origins.public_url
    if base is None:
        raise UserError("not_found", "This server has no public URL, so it has no client metadata document.")
    return answer(
        McpClientDocument(
            client_id=f"{base}{DOCUMENT_PATH}",
            client_uri=base,
            **structs.asdict(client_metadata(f"{base}{CALLBACK_PATH}")),
        )
    )


def _place(call: Call) -> Place:
    origins = call.gateway.auth.origins
    public = origins.public_url or ""
    document = f"{public}{DOCUMENT_PATH}" if public.startswith("https:") else None
    return Place(f"{origins.base_url(call.scope['headers'])}{CALLBACK_PATH}", document)


async def _server(call: Call, server_id: str) -> McpServer:
    """Return a server whose connection the caller may change. Raises UserError `forbidden`."""
    server = await find_server(call.gateway, call.who.tenant, server_id)
    if server.auth == "oauth" and not server.owner_of(call.who.user):
        check_permission(call.who, "build")
    return server
