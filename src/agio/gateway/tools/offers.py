"""Agents and tools as offers to workers: no more than a worker needs to run them."""

import logging
from collections.abc import Mapping

import msgspec
from msgspec import structs

from agio.core.config import Price
from agio.core.link.link import AgentOffer, ToolOffer, offer_tool
from agio.core.profile import Profile
from agio.core.provider import ModelEndpoint
from agio.core.store.records import AgentRecord, definition_of
from agio.core.tool import AnyTool
from agio.protocol.messages import ContextEntry
from agio.tools.documents import DOCUMENT_TOOLS
from agio.tools.memory import SEARCH_CONVERSATIONS
from agio.tools.profile import PROFILE_TOOLS

_log = logging.getLogger("agio.gateway")


def offer_tools(tools: Mapping[str, AnyTool]) -> dict[str, ToolOffer]:
    """Describe the built-in tools."""
    return {name: offer_tool("builtin", name, tool) for name, tool in tools.items()}


def offer_agent(
    agent: AgentRecord, endpoint: ModelEndpoint | None = None, prices: Mapping[str, Price] | None = None
) -> AgentOffer:
    """Describe an agent; with an endpoint, its model is at the tenant's own provider."""
    return AgentOffer(
        **definition_of(agent),
        id=agent.id,
        source=agent.source,
        endpoint=endpoint,
        price=None if prices is None else prices.get(f"{agent.model_provider}:{agent.model_name}"),
    )


def tools_of(
    agent: AgentRecord, built_in: Mapping[str, ToolOffer], module: Mapping[str, ToolOffer]
) -> dict[str, ToolOffer]:
    """Choose an agent's tools from the team's, the gateway's and the worker's; its own module comes first for code.

    Whether a person is asked first: always if the agent's policy says so, else as the assignment, else as the tool.
    How long it may take: as the tool says, else as the agent.
    """
    offers: dict[str, ToolOffer] = {}
    for assigned in agent.tools:
        name = assigned.name
        offer = module.get(name) if agent.source == "code" else None
        if offer is None and assigned.http is not None:
            offer = offer_tool("http", name, assigned.http)
        if offer is None and assigned.mcp is not None:
            if not assigned.mcp.on:
                continue
            offer = offer_tool("mcp", name, assigned.mcp)
        offer = offer or built_in.get(name) or module.get(name)
        if offer is None:
            _log.warning("agent %s has a tool %s that is not offered here", agent.id, name)
            continue
        approval = "ask" if agent.approval == "ask" else assigned.approval or offer.approval
        timeout_s = offer.timeout_s or tool_timeout_s(agent)
        same = (approval, timeout_s) == (offer.approval, offer.timeout_s)
        offers[name] = offer if same else structs.replace(offer, approval=approval, timeout_s=timeout_s)
    if agent.search_conversations and SEARCH_CONVERSATIONS in built_in:
        offers[SEARCH_CONVERSATIONS] = built_in[SEARCH_CONVERSATIONS]
    if agent.collections:
        offers |= {name: built_in[name] for name in DOCUMENT_TOOLS if name in built_in}
    return offers


def tool_timeout_s(agent: AgentRecord) -> float | None:
    """How long a tool that does not say so itself may take, if the agent says so."""
    return None if agent.limits is None else agent.limits.tool_timeout_s


def knows_profile(tools: Mapping[str, ToolOffer]) -> bool:
    """Whether runs of an agent with these tools begin with the user's profile."""
    return any(name in tools and tools[name].kind == "builtin" for name in PROFILE_TOOLS)


def offer_profile(profile: Profile) -> list[ContextEntry]:
    """Describe a user's profile: nothing if it is empty."""
    if not profile.fields:
        return []
    return [ContextEntry("the user's profile", msgspec.json.encode(profile.fields).decode())]
