"""MCP servers: list, add, change, delete, test, check. Secrets are written and never read."""

import hashlib
from collections.abc import Mapping

from fastapi.responses import Response

from agio.core.http_tool import HttpHeader
from agio.core.mcp import McpServer, McpServerFields
from agio.core.mcp_oauth import McpConnection
from agio.core.provider import Sealed, SecretPlace
from agio.egress import parse_target
from agio.egress.headers import Headers
from agio.errors import AgioError, LimitExceeded, StoreError, UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id, IfMatch, expected_version
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.headers import HeaderBody
from agio.gateway.routes.mcp.bodies import ConnectBody, McpServerBody
from agio.gateway.routes.mcp.views import (
    McpServerList,
    check_view,
    details_view,
    operators_view,
    server_view,
)
from agio.gateway.tools.endpoints import need_vault
from agio.protocol.ids import new_id
from agio.tools.http_template import check_headers
from agio.tools.http_tool import Mask


async def list_mcp_servers(call: Call) -> Response:
    """List the MCP servers: the team's own, and the operator's that it has."""
    gateway, tenant = call.gateway, call.who.tenant
    tools = await gateway.store.list_mcp_tools(tenant)
    connections = await connections_of(call)
    own = [server_view(server, tools, connections) for server in await gateway.store.list_mcp_servers(tenant)]
    named = {server.name for server in own}
    others = [
        operators_view(_operators_id(tenant, name), name)
        for name in gateway.mcp.commands
        if name not in named and gateway.mcp.command_of(tenant, name) is not None
    ]
    return answer(McpServerList(sorted([*own, *others], key=lambda server: server.name)))


async def create_mcp_server(call: Call, body: McpServerBody) -> Response:
    """Add an MCP server. Its token and secret headers are encrypted and never returned."""
    gateway, tenant = call.gateway, call.who.tenant
    await _check_body(gateway, body)
    _check_name(gateway, tenant, body.name)
    server_id = new_id("mcp")
    fields = body.fields()
    secrets = _sealed(gateway, tenant, server_id, fields, body)
    _check_secrets(fields, secrets, {})
    made = await gateway.store.create_mcp_server(tenant, server_id, fields, secrets)
    return answer(details_view(made, [], []), 201, version=made.updated_at)


async def get_mcp_server(call: Call, server_id: Id) -> Response:
    """Get an MCP server with its tools, as it offered them when it was checked or used last."""
    server = await find_server(call.gateway, call.who.tenant, server_id)
    tools = await call.gateway.store.list_mcp_tools(call.who.tenant, server.id)
    return answer(details_view(server, tools, await connections_of(call)), version=server.updated_at)


async def replace_mcp_server(
    call: Call, server_id: Id, body: McpServerBody, if_match: IfMatch = None
) -> Response:
    """Replace an MCP server. Omitted secrets are kept, unless its host changes; then they must be entered again."""
    gateway, tenant = call.gateway, call.who.tenant
    before = await _own_server(gateway, tenant, server_id)
    await _check_body(gateway, body)
    if body.name != before.name:
        _check_name(gateway, tenant, body.name)
    fields = body.fields(before)
    secrets = _sealed(gateway, tenant, server_id, fields, body)
    _check_secrets(fields, secrets, await gateway.store.secrets_of(tenant, server_id))
    changed = await gateway.store.update_mcp_server(
        tenant, server_id, fields, secrets, expected_version(call, if_match)
    )
    gateway.mcp.forget(tenant, server_id)
    tools = await gateway.store.list_mcp_tools(tenant, server_id)
    return answer(details_view(changed, tools, await connections_of(call)), version=changed.updated_at)


async def delete_mcp_server(call: Call, server_id: Id) -> Response:
    """Delete an MCP server with its tools and secrets. Running calls of its tools end; agents lose the tools."""
    gateway, tenant = call.gateway, call.who.tenant
    await _own_server(gateway, tenant, server_id)
    await gateway.store.delete_mcp_server(tenant, server_id)
    gateway.mcp.forget(tenant, server_id)
    return Response(status_code=204)


async def test_mcp_server(call: Call, body: ConnectBody) -> Response:
    """Test an MCP server before it is saved: connect to it and list its tools."""
    gateway = call.gateway
    await _check_body(gateway, body)
    _take(call)
    host = parse_target(body.server_url).authority
    fields = McpServerFields(name=host, transport=body.transport, url=body.server_url)
    try:
        return answer(check_view(await gateway.mcp.test(call.who.tenant, fields, _Entered(body))))
    except (StoreError, LimitExceeded):
        raise
    except AgioError as error:
        return answer(check_view(error))


async def check_mcp_server(call: Call, server_id: Id) -> Response:
    """Check an MCP server: connect to it, list its tools, and record what they are now."""
    server = await find_server(call.gateway, call.who.tenant, server_id)
    _take(call)
    try:
        return answer(check_view(await call.gateway.mcp.check(server, call.who.user)))
    except (StoreError, LimitExceeded):
        raise
    except AgioError as error:
        return answer(check_view(error))


async def connections_of(call: Call) -> list[McpConnection]:
    """Return the team's and the caller's own connections."""
    return await call.gateway.store.list_mcp_connections(call.who.tenant, call.who.user)


async def find_server(gateway: Gateway, tenant: str, server_id: str) -> McpServer:
    """Return a server of the team's, or one of the operator's, which the team has from its first use on.

    Raises UserError `mcp_server_not_found`.
    """
    try:
        return await gateway.store.get_mcp_server(tenant, server_id)
    except UserError:
        for name in gateway.mcp.commands:
            if _operators_id(tenant, name) == server_id and gateway.mcp.command_of(tenant, name):
                fields = McpServerFields(name=name, transport="stdio")
                return await gateway.store.create_mcp_server(tenant, server_id, fields, {})
        raise


class _Entered:
    """The credentials of a test, which are kept nowhere."""

    key = "test"

    def __init__(self, body: ConnectBody) -> None:
        self._headers: Headers = [(header.name, header.value or "") for header in body.headers]
        secrets = [header.value or "" for header in body.headers if header.secret]
        if body.bearer_token is not None:
            self._headers.append(("Authorization", f"Bearer {body.bearer_token}"))
            secrets.append(body.bearer_token)
        self._mask = Mask(secrets)

    async def headers(self) -> Headers:
        """See `Credential`."""
        return self._headers

    async def refused(self, headers: Headers) -> bool:
        """See `Credential`."""
        return False

    async def needs(self, scopes: list[str]) -> None:
        """See `Credential`."""

    def hidden(self, text: str) -> str:
        """See `Credential`."""
        return self._mask.text(text)


async def _own_server(gateway: Gateway, tenant: str, server_id: str) -> McpServer:
    """Return a server the team may change; one that the operator has removed it may delete.

    Raises UserError `mcp_server_not_found`, `mcp_server_read_only`.
    """
    server = await find_server(gateway, tenant, server_id)
    if server.transport == "stdio" and gateway.mcp.command_of(tenant, server.name) is not None:
        raise UserError(
            "mcp_server_read_only",
            f"{server.name} is the operator's: it is changed in agio.toml. You can switch its tools off.",
            {"server_id": server_id},
        )
    return server


def _operators_id(tenant: str, name: str) -> str:
    return f"mcp_{hashlib.sha256(f'{tenant} {name}'.encode()).hexdigest()[:20]}"


def _check_name(gateway: Gateway, tenant: str, name: str) -> None:
    if gateway.mcp.command_of(tenant, name) is not None:
        raise UserError("mcp_server_exists", f"The operator has an MCP server {name}.", {"name": name})


async def _check_body(gateway: Gateway, body: ConnectBody) -> None:
    """Refuse at once what every request would be refused for. Raises UserError `egress_refused`, `invalid_tool`."""
    target = parse_target(body.server_url)
    check_headers("server", [HttpHeader(name=each.name, value=each.value or "") for each in body.headers])
    if target.address is not None or target.host == "localhost" or target.host.endswith(".localhost"):
        await gateway.egress.addresses(target.host, target.port)


def _sealed(
    gateway: Gateway, tenant: str, server_id: str, fields: McpServerFields, body: McpServerBody
) -> dict[str, Sealed]:
    """Seal the secrets that were given. Raises UserError `no_secret_key`."""

    def given() -> list[tuple[str, str]]:
        pairs: list[tuple[HttpHeader, HeaderBody]] = list(zip(fields.headers, body.headers, strict=True))
        found = [(fields.field_of(header), said.value) for header, said in pairs if header.secret]
        client_secret = None if body.oauth is None else body.oauth.client_secret
        found += [(fields.token_field, body.bearer_token), (fields.client_secret_field, client_secret)]
        return [(field, value) for field, value in found if value]

    return {
        field: need_vault(gateway.vault).seal(SecretPlace(tenant, server_id, field), value)
        for field, value in given()
    }


def _check_secrets(fields: McpServerFields, given: Mapping[str, Sealed], kept: Mapping[str, Sealed]) -> None:
    """Refuse a server whose secrets are not all known: a secret goes only where it was entered for."""
    known = {*given, *kept}
    missing = [
        header.name for header in fields.headers if header.secret and fields.field_of(header) not in known
    ]
    if fields.auth == "bearer" and fields.token_field not in known:
        missing.append("bearer_token")
    if missing:
        raise UserError(
            "secret_required",
            f"Enter the value of {', '.join(missing)}: it is not known, or was entered for another host.",
            {"headers": missing},
        )


def _take(call: Call) -> None:
    """Count a connection as a call of a tool. Raises LimitExceeded `rate_limited`."""
    call.gateway.rates.take("tool", call.who.credential, f"{call.who.tenant}/{call.who.user}")
