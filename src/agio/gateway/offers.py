"""What a worker is told of an agent and its tools: no more than it needs to run it."""

import logging
from collections.abc import Mapping

from msgspec import structs

from agio.core.link import AgentOffer, ToolOffer
from agio.core.provider import ModelEndpoint
from agio.core.records import AgentRecord
from agio.core.tool import AnyTool

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


def tools_of(
    agent: AgentRecord, built_in: Mapping[str, ToolOffer], module: Mapping[str, ToolOffer]
) -> dict[str, ToolOffer]:
    """Choose an agent's tools from the gateway's and the worker's; its own module comes first for code.

    Whether a person is asked first: always if the agent's policy says so, else as the assignment, else as the tool.
    """
    first, second = (module, built_in) if agent.source == "code" else (built_in, module)
    offers: dict[str, ToolOffer] = {}
    for assigned in agent.tools:
        offer = first.get(assigned.name) or second.get(assigned.name)
        if offer is None:
            _log.warning("agent %s has a tool %s that is not offered here", agent.id, assigned.name)
            continue
        approval = "ask" if agent.approval == "ask" else assigned.approval or offer.approval
        offers[offer.name] = (
            offer if approval == offer.approval else structs.replace(offer, approval=approval)
        )
    return offers
