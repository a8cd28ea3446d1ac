"""Tools of MCP servers: their switch, effect and approval, and accepting what changed."""

from fastapi.responses import Response

from agio.core.mcp import McpOffer, McpServer, McpToolChoice, McpToolRecord
from agio.core.run.lane import COMPLETE_GOAL
from agio.core.schema.schema import validator
from agio.core.tool import client_tool
from agio.errors import UserError
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.mcp.bodies import McpAcceptBody, McpToolBody
from agio.gateway.routes.mcp.servers import find_server
from agio.gateway.routes.mcp.views import tool_view
from agio.tools.mcp.naming import tool_names


async def change_mcp_tool(call: Call, server_id: Id, tool_id: Id, body: McpToolBody) -> Response:
    """Set a tool's switch, effect and approval. Enabling a new tool accepts it as the server offers it now."""
    server, tool = await _find(call, server_id, tool_id)
    before = tool.choice
    choice = McpToolChoice(
        enabled=before.enabled if body.enabled is None else body.enabled,
        effect=body.effect or before.effect,
        approval=body.approval or before.approval,
    )
    digest = None
    if tool.accepted is None:
        digest = body.digest or (tool.offered.digest if tool.offered else None)
    return await _choose(call, server, tool, choice, digest)


async def accept_mcp_tool(call: Call, server_id: Id, tool_id: Id, body: McpAcceptBody) -> Response:
    """Accept a tool as the server offers it now; the digest says what was looked at."""
    server, tool = await _find(call, server_id, tool_id)
    return await _choose(call, server, tool, tool.choice, body.digest)


async def assign_mcp_server(call: Call, agent_id: Id, server_id: Id) -> Response:
    """Give an agent all tools of a server that are on now. A tool that is enabled later is given by itself."""
    return await _assign(call, agent_id, server_id, given=True)


async def unassign_mcp_server(call: Call, agent_id: Id, server_id: Id) -> Response:
    """Take all tools of a server from an agent."""
    return await _assign(call, agent_id, server_id, given=False)


async def _assign(call: Call, agent_id: str, server_id: str, *, given: bool) -> Response:
    gateway, tenant = call.gateway, call.who.tenant
    server = await find_server(gateway, tenant, server_id)
    await gateway.store.assign_mcp_server(tenant, agent_id, server.id, given=given)
    return Response(status_code=204)


async def _find(call: Call, server_id: str, tool_id: str) -> tuple[McpServer, McpToolRecord]:
    """Raises UserError `mcp_server_not_found`, `mcp_tool_not_found`."""
    gateway, tenant = call.gateway, call.who.tenant
    server = await find_server(gateway, tenant, server_id)
    found = await gateway.store.find_mcp_call(tenant, tool_id)
    if found is None or found[0].id != server.id:
        raise UserError("mcp_tool_not_found", f"{server.name} has no tool {tool_id}.", {"tool_id": tool_id})
    return found


async def _choose(
    call: Call, server: McpServer, tool: McpToolRecord, choice: McpToolChoice, digest: str | None
) -> Response:
    gateway, tenant = call.gateway, call.who.tenant
    if digest is not None and tool.offered is not None:
        _check_usable(tool.offered)
        await call.compile_schema(_check_schema, tool.offered)
    taken = {*gateway.tools, *gateway.pool.tools_for(tenant), COMPLETE_GOAL, "find_tools"}
    names = [name for name in tool_names(server.name, tool.remote) if name not in taken]
    chosen = await gateway.store.choose_mcp_tool(tenant, server.id, tool.id, choice, names, digest)
    return answer(tool_view(chosen))


def _check_usable(offer: McpOffer) -> None:
    if offer.problem:
        raise UserError(
            "mcp_tool_unusable",
            f"{offer.name} cannot be enabled: {offer.problem}. Its server must change it.",
        )


def _check_schema(offer: McpOffer) -> None:
    """Raises UserError `mcp_tool_unusable` for a schema that arguments could not be checked against."""
    try:
        client_tool("tool", offer.description, offer.parameters)
        validator(offer.parameters, f"The parameters of {offer.name}")
    except UserError as error:
        raise UserError("mcp_tool_unusable", f"{offer.name} cannot be enabled: {error.message}") from error
