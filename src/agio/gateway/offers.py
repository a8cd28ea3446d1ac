"""What a worker is told of an agent and its tools: no more than it needs to run it."""

import logging
from collections.abc import Mapping

import msgspec
from msgspec import structs

from agio.core.http_tool import HttpTool
from agio.core.identity import Profile
from agio.core.link import AgentOffer, ToolOffer
from agio.core.provider import ModelEndpoint
from agio.core.records import AgentRecord
from agio.core.tool import AnyTool
from agio.protocol.messages import ContextEntry
from agio.tools.profile import PROFILE_TOOLS

_log = logging.getLogger("agio.gateway")


def offer_tools(tools: Mapping[str, AnyTool]) -> dict[str, ToolOffer]:
    """Describe the tools that run at the gateway."""
    return {
        name: ToolOffer(
            name=name,
            description=tool.description,
            parameters=tool.parameters,
            place="gateway",
            effect=tool.effect,
            approval=tool.approval,
            timeout_s=tool.timeout_s,
        )
        for name, tool in tools.items()
    }


def offer_agent(agent: AgentRecord, endpoint: ModelEndpoint | None = None) -> AgentOffer:
    """Describe an agent; with an endpoint, its model is at the tenant's own provider."""
    return AgentOffer(
        id=agent.id,
        name=agent.name,
        source=agent.source,
        instructions=agent.system_prompt,
        provider=agent.model_provider,
        model=agent.model_name,
        goal=agent.goal,
        temperature=agent.temperature,
        max_steps=agent.max_steps,
        approval=agent.approval,
        endpoint=endpoint,
    )


def offer_http(name: str, http: HttpTool) -> ToolOffer:
    """Describe an HTTP tool of a team."""
    return ToolOffer(
        name=name,
        description=http.description,
        parameters=http.parameters,
        place="gateway",
        effect=http.effect,
        approval=http.approval,
        timeout_s=http.timeout_s,
    )


def tools_of(
    agent: AgentRecord, built_in: Mapping[str, ToolOffer], module: Mapping[str, ToolOffer]
) -> dict[str, ToolOffer]:
    """Choose an agent's tools from the team's, the gateway's and the worker's; its own module comes first for code.

    Whether a person is asked first: always if the agent's policy says so, else as the assignment, else as the tool.
    """
    offers: dict[str, ToolOffer] = {}
    for assigned in agent.tools:
        name = assigned.name
        offer = module.get(name) if agent.source == "code" else None
        if offer is None and assigned.http is not None:
            offer = offer_http(name, assigned.http)
        offer = offer or built_in.get(name) or module.get(name)
        if offer is None:
            _log.warning("agent %s has a tool %s that is not offered here", agent.id, name)
            continue
        approval = "ask" if agent.approval == "ask" else assigned.approval or offer.approval
        offers[name] = offer if approval == offer.approval else structs.replace(offer, approval=approval)
    return offers


def knows_profile(tools: Mapping[str, ToolOffer]) -> bool:
    """Whether an agent with these tools is told its user's profile when a run begins."""
    return any(name in tools and tools[name].place == "gateway" for name in PROFILE_TOOLS)


def offer_profile(profile: Profile) -> list[ContextEntry]:
    """Describe a user's profile: nothing if it is empty."""
    if not profile.fields:
        return []
    return [ContextEntry("the user's profile", msgspec.json.encode(profile.fields).decode())]
