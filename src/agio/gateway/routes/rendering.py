"""Agents of the store as clients see them."""

from msgspec import convert

from agio.core.store.records import (
    AgentRecord,
    Page,
)
from agio.gateway.routes.views import (
    AgentLimitsView,
    Agents,
    AgentToolView,
    AgentView,
)


def agent_view(agent: AgentRecord) -> AgentView:
    """Show an agent."""
    return AgentView(
        id=agent.id,
        name=agent.name,
        description=agent.description,
        goal=agent.goal,
        system_prompt=agent.system_prompt,
        model_provider=agent.model_provider,
        model_name=agent.model_name,
        temperature=agent.temperature,
        max_steps=agent.max_steps,
        status=agent.status,
        approval=agent.approval,
        output_schema=agent.output_schema,
        limits=None if agent.limits is None else convert(agent.limits, AgentLimitsView, from_attributes=True),
        tools=[AgentToolView(tool.name, tool.approval) for tool in agent.tools],
        source=agent.source,
        read_only=agent.source != "stored",
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


def agents_view(page: Page[AgentRecord]) -> Agents:
    """Show a page of agents."""
    return Agents([agent_view(agent) for agent in page.items], page.next)
