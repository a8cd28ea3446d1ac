"""Agents as MCP tools: `tools/list` names the active agents of the caller's team, `tools/call` runs one."""

from functools import cache
from importlib.metadata import version
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import ValidationError

from agio.core.store.records import AgentRecord
from agio.errors import AgioError, UserError
from agio.gateway.doors.mcp_server.call import INPUT, OUTPUT, call_agent, refused
from agio.gateway.doors.mcp_server.exchange import Exchange
from agio.gateway.doors.mcp_server.tool_names import tool_names
from agio.gateway.gateway import Gateway
from agio.gateway.http.errors import wrapped
from agio.gateway.http.route import as_agio_error

_PAGE = 100
_INSTRUCTIONS = (
    "Each tool is an agent: it takes a message and returns the agent's answer. To continue a conversation, pass the "
    "session_id of the last result. Where an action needs a person's approval, the result has a link."
)


class AgentTools:
    """The handlers of `tools/list` and `tools/call`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def list(
        self, ctx: "ServerRequestContext[dict[str, Any]]", params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """List the active agents of the caller's team, by name."""
        store, tenant = self._gateway.store, _exchange(ctx).who.tenant
        cursor = None if params is None else params.cursor
        page = await store.list_agents(tenant, status="active", after=cursor, limit=_PAGE)
        names = {agent_id: name for name, agent_id in tool_names(await store.name_agents(tenant)).items()}
        tools = [_tool(agent, names[agent.id]) for agent in page.items if agent.id in names]
        return ListToolsResult(tools=tools, next_cursor=page.next)

    async def call(
        self, ctx: "ServerRequestContext[dict[str, Any]]", params: CallToolRequestParams
    ) -> CallToolResult:
        """Run an agent. What is wrong with the call, and a run that fails, are results the model can read."""
        exchange = _exchange(ctx)
        agent = await self._agent(exchange.who.tenant, params.name)
        try:
            return await call_agent(self._gateway, exchange, agent, params.arguments or {})
        except ValidationError as error:
            return refused(as_agio_error(error))
        except AgioError as error:
            return refused(wrapped(error))

    async def _agent(self, tenant: str, tool: str) -> AgentRecord:
        agent_id = tool_names(await self._gateway.store.name_agents(tenant)).get(tool)
        try:
            if agent_id is not None:
                return await self._gateway.store.get_agent(tenant, agent_id)
        except UserError as error:
            if error.code != "agent_not_found":
                raise
        shown = tool[:100]
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {shown}", {"code": "agent_not_found", "tool": shown})


def agents_server(gateway: Gateway) -> "Server[dict[str, Any]]":
    """Make the MCP server whose tools are a gateway's agents."""
    tools = AgentTools(gateway)
    return Server(
        "agio",
        version=_version(),
        title="agio",
        instructions=_INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(ttl_ms=5000), "server/discover": CacheHint(ttl_ms=60_000)},
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )


def _exchange(ctx: "ServerRequestContext[dict[str, Any]]") -> Exchange:
    if not isinstance(ctx.request, Exchange):
        raise TypeError("only the endpoint calls these handlers")
    return ctx.request


def _tool(agent: AgentRecord, name: str) -> Tool:
    about = agent.description.strip() or f"Sends a message to the agent {agent.name} and returns its answer."
    return Tool(name=name, title=agent.name, description=about, input_schema=INPUT, output_schema=OUTPUT)


@cache
def _version() -> str:
    return version("agio")
