"""Turns a job's offers into tools: the gateway's run over the link, the module's in this process."""

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import msgspec

from agio.core.link.link import ToolOffer, ToolReply
from agio.core.store.repository import Approval
from agio.core.tool import AnyTool, Tool, ToolAnswer, ToolContext
from agio.errors import UserError
from agio.protocol.messages import Json

_CONTEXT = "(context)"
"""The parameter that carries the context, under a name that no model can use."""
_SLACK_S = 15.0
"""How much longer a worker waits for a tool at the gateway than the gateway's own time-out."""
_KEPT = 1000

CallTool = Callable[[ToolContext, str, dict[str, Json]], Awaitable[ToolReply]]


class Toolbox:
    """Makes tools from offers. It caches the gateway's tools, whose schemas are compiled once.

    `call` sends a call to the gateway, for the run in its context.
    """

    def __init__(self, call: CallTool, timeout_s: float) -> None:
        self._call = call
        self._timeout_s = timeout_s
        self._kept: dict[bytes, AnyTool] = {}

    def gateway_tool(self, offer: ToolOffer, approval: Approval) -> AnyTool:
        """Return a tool that the gateway runs. Raises UserError `invalid_tool`, `invalid_schema`."""
        key = msgspec.msgpack.encode((approval, offer))
        tool = self._kept.get(key)
        if tool is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            tool = self._kept[key] = self._make(offer, approval)
        return tool

    def _make(self, offer: ToolOffer, approval: Approval) -> AnyTool:
        async def call(**given: object) -> ToolAnswer:
            context = cast(ToolContext, given.pop(_CONTEXT))
            reply = await self._call(context, offer.name, given)
            return ToolAnswer(reply.content, reply.error, reply.asks)

        return Tool(
            name=offer.name,
            description=offer.description,
            parameters=offer.parameters,
            function=cast(Callable[..., object], call),
            context_parameter=_CONTEXT,
            effect=offer.effect,
            approval=approval,
            timeout_s=(offer.timeout_s or self._timeout_s) + _SLACK_S,
            searchable=offer.kind == "mcp",
        )


def own_tool(offer: ToolOffer, approval: Approval, known: Mapping[str, AnyTool]) -> AnyTool:
    """Return a tool of the user's module, under the offer's terms. Raises UserError `tool_missing`."""
    tool = known.get(offer.name)
    if tool is None:
        raise UserError(
            "tool_missing",
            f"The agent uses the tool {offer.name}, which this worker's module does not define.",
            {"tool": offer.name},
        )
    if (tool.effect, tool.approval, tool.timeout_s) == (offer.effect, approval, offer.timeout_s):
        return tool
    return Tool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        function=tool.function,
        arguments=tool.arguments,
        context_parameter=tool.context_parameter,
        effect=offer.effect,
        approval=approval,
        timeout_s=offer.timeout_s,
    )
