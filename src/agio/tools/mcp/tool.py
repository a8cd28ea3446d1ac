"""Makes a tool of an accepted MCP tool, to be run like any other: arguments checked, result cut, time-out kept."""

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from agio.core.tool import AnyTool, Tool, ToolAnswer, ToolContext
from agio.protocol.messages import Json
from agio.tools.mcp.servers import McpCall

_CONTEXT = "agio context"
"""The context parameter. It contains a space; a tool that has one of this name gets ours."""
_GRACE_S = 5.0


class McpCaller(Protocol):
    """Calls tools of MCP servers."""

    async def call(
        self, call: McpCall, context: ToolContext, arguments: Mapping[str, Json], timeout_s: float
    ) -> ToolAnswer:
        """Call a tool. Raises UserError, UpstreamError."""
        ...


def make_mcp_tool(servers: McpCaller, name: str, call: McpCall, timeout_s: float) -> AnyTool:
    """Make a tool. Raises UserError `invalid_tool`, `invalid_schema`."""

    async def run(**given: object) -> ToolAnswer:
        context = cast(ToolContext, given.pop(_CONTEXT))
        return await servers.call(call, context, given, timeout_s)

    return Tool(
        name=name,
        description=call.tool.description,
        parameters=call.tool.parameters,
        function=cast(Callable[..., object], run),
        context_parameter=_CONTEXT,
        effect=call.tool.effect,
        approval=call.tool.approval,
        # Longer than the call's own deadline, whose error says what was slow.
        timeout_s=timeout_s + _GRACE_S,
    )
