"""Tools of a team's agents: all there are, and the team's own HTTP tools. Secrets are written and never read."""

import hashlib
from collections.abc import Collection, Mapping

from fastapi.responses import Response

from agio.core.http_tool import HttpHeader, HttpTool, ToolDefinition
from agio.core.link.link import offer_tool
from agio.core.mcp import McpServer, McpToolRecord, definition_of
from agio.core.provider import Sealed, SecretPlace
from agio.core.run.lane import COMPLETE_GOAL
from agio.core.store.records import AgentRecord
from agio.egress import parse_target
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id, IfMatch, expected_version
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.tools.bodies import HttpToolBody
from agio.gateway.routes.tools.tools import known_tools
from agio.gateway.routes.tools.views import AgentTools, Known, ToolServer, ToolUser, tool_view
from agio.gateway.tools.endpoints import need_vault
from agio.protocol.ids import new_id
from agio.tools.http_template import check_headers
from agio.tools.http_tool import check_http_tool
from agio.tools.registry import UNLISTED


async def list_agent_tools(call: Call) -> Response:
    """List the available tools: built-in, of workers, and the team's own."""
    known = await tools_of_team(call.gateway, call.who.tenant)
    users = await _users(call.gateway, call.who.tenant)
    return answer(AgentTools([tool_view(known[name], users) for name in sorted(known)]))


async def create_agent_tool(call: Call, body: HttpToolBody) -> Response:
    """Add an HTTP tool. Its secret headers are encrypted and never returned."""
    gateway, tenant = call.gateway, call.who.tenant
    http = body.http()
    unchecked = await call.compile_schema(check_http_tool, body.name, http)
    await _check_address(gateway, http.url)
    _check_name(gateway, tenant, body.name)
    tool_id = new_id("tool")
    secrets = _sealed(gateway, tenant, tool_id, body)
    _check_secrets(http, secrets, {})
    made = await gateway.store.create_tool_definition(tenant, tool_id, body.name, http, secrets)
    view = tool_view(_http(made), await _users(gateway, tenant), unchecked)
    return answer(view, 201, version=made.updated_at)


async def get_agent_tool(call: Call, tool_id: Id) -> Response:
    """Get a tool, without the values of its secret headers."""
    gateway, tenant = call.gateway, call.who.tenant
    view = tool_view(await find_tool(gateway, tenant, tool_id), await _users(gateway, tenant))
    return answer(view, version=view.updated_at)


async def replace_agent_tool(
    call: Call, tool_id: Id, body: HttpToolBody, if_match: IfMatch = None
) -> Response:
    """Replace an HTTP tool. A secret without a value is kept, unless the host changes."""
    gateway, tenant = call.gateway, call.who.tenant
    before = await _own_tool(gateway, tenant, tool_id)
    http = body.http()
    unchecked = await call.compile_schema(check_http_tool, body.name, http)
    await _check_address(gateway, http.url)
    if body.name != before.name:
        _check_name(gateway, tenant, body.name)
    secrets = _sealed(gateway, tenant, tool_id, body)
    _check_secrets(http, secrets, await gateway.store.secrets_of(tenant, tool_id))
    changed = await gateway.store.update_tool_definition(
        tenant, tool_id, body.name, http, secrets, expected_version(call, if_match)
    )
    view = tool_view(_http(changed), await _users(gateway, tenant), unchecked)
    return answer(view, version=changed.updated_at)


async def delete_agent_tool(call: Call, tool_id: Id) -> Response:
    """Delete an HTTP tool with its secrets and remove it from all agents."""
    await _own_tool(call.gateway, call.who.tenant, tool_id)
    await call.gateway.store.delete_tool_definition(call.who.tenant, tool_id)
    return Response(status_code=204)


async def tools_of_team(gateway: Gateway, tenant: str, agent: AgentRecord | None = None) -> dict[str, Known]:
    """Return the tools that a tenant's agents can be given, by name; the demo agent keeps those of its own."""
    own = () if agent is None else [tool.name for tool in agent.tools]
    servers = {server.id: server for server in await gateway.store.list_mcp_servers(tenant)}
    accepted = {
        tool.tool: _mcp(tool, servers[tool.server_id])
        for tool in await gateway.store.list_mcp_tools(tenant)
        if tool.tool and tool.server_id in servers
    }
    made = {tool.name: _http(tool) for tool in await gateway.store.list_tool_definitions(tenant)}
    return _standing(gateway, tenant, own) | accepted | made


async def find_tool(gateway: Gateway, tenant: str, tool_id: str) -> Known:
    """Return the tool with an id. Raises UserError `tool_not_found`."""
    standing = next((tool for tool in _standing(gateway, tenant).values() if tool.id == tool_id), None)
    if standing is not None:
        return standing
    accepted = await gateway.store.find_mcp_call(tenant, tool_id)
    if accepted is not None and accepted[1].tool:
        return _mcp(accepted[1], accepted[0])
    return _http(await gateway.store.get_tool_definition(tenant, tool_id))


async def named_tool(gateway: Gateway, tenant: str, name: str) -> Known:
    """Return the tool with a name. Raises UserError `tool_not_found`."""
    own = await gateway.store.find_tool_definition(tenant, name)
    found = (await tools_of_team(gateway, tenant)).get(name) if own is None else _http(own)
    if found is None:
        raise UserError("tool_not_found", f"There is no tool {name}.", {"name": name})
    return found


def _standing(gateway: Gateway, tenant: str, own: Collection[str] = ()) -> dict[str, Known]:
    """Return the tools without a definition in the store. Their ids are derived from their names."""
    return {
        name: Known(_id_of(name), offer)
        for name, offer in known_tools(gateway, tenant).items()
        if name not in UNLISTED or name in own
    }


def _id_of(name: str) -> str:
    return f"tool_{hashlib.sha256(b'agio tool ' + name.encode()).hexdigest()[:20]}"


def _http(made: ToolDefinition) -> Known:
    return Known(made.id, offer_tool("http", made.name, made.http), made)


def _mcp(tool: McpToolRecord, server: McpServer) -> Known:
    definition = definition_of(tool, server)
    source = ToolServer(server.id, server.name, tool.remote, definition.on)
    return Known(tool.id, offer_tool("mcp", tool.tool, definition), mcp=definition, server=source)


async def _own_tool(gateway: Gateway, tenant: str, tool_id: str) -> ToolDefinition:
    """Return a tool the team may change. Raises UserError `tool_not_found`, `tool_read_only`."""
    known = await find_tool(gateway, tenant, tool_id)
    if known.definition is None:
        raise UserError(
            "tool_read_only", f"{known.offer.name} is no tool of the team's own.", {"tool_id": tool_id}
        )
    return known.definition


async def _users(gateway: Gateway, tenant: str) -> dict[str, list[ToolUser]]:
    users: dict[str, list[ToolUser]] = {}
    for use in await gateway.store.list_tool_uses(tenant):
        users.setdefault(use.tool, []).append(ToolUser(use.agent_id, use.agent_name))
    return users


def _check_name(gateway: Gateway, tenant: str, name: str) -> None:
    if name == COMPLETE_GOAL or name in known_tools(gateway, tenant):
        raise UserError("tool_exists", f"There is already a tool {name}.", {"name": name})


def _sealed(gateway: Gateway, tenant: str, tool_id: str, body: HttpToolBody) -> dict[str, Sealed]:
    """Seal the secrets that were given. Raises UserError `invalid_tool`, `no_secret_key`."""
    sealed: dict[str, Sealed] = {}
    http = body.http()
    for header, given in zip(http.headers, body.headers, strict=True):
        if header.secret and given.value is not None:
            check_headers(body.name, [HttpHeader(name=header.name, value=given.value)])
            place = SecretPlace(tenant, tool_id, http.field_of(header))
            sealed[place.field] = need_vault(gateway.vault).seal(place, given.value)
    return sealed


def _check_secrets(http: HttpTool, given: Mapping[str, Sealed], kept: Mapping[str, Sealed]) -> None:
    """Refuse a tool whose secrets are not all known: a secret goes only where it was entered for."""
    known = {*given, *kept}
    missing = [header.name for header in http.headers if header.secret and http.field_of(header) not in known]
    if missing:
        raise UserError(
            "secret_required",
            f"Enter the value of {', '.join(missing)}: it is not known, or was entered for another host.",
            {"headers": missing},
        )


async def _check_address(gateway: Gateway, url: str) -> None:
    """Refuse at once an address that every call would be refused for. Raises UserError `egress_refused`."""
    target = parse_target(url)
    if target.address is not None or target.host == "localhost" or target.host.endswith(".localhost"):
        await gateway.egress.addresses(target.host, target.port)
