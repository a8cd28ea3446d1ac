"""Agents of the store as clients see them."""

from agio.core.store.records import (
    AgentRecord,
    Page,
    definition_of,
)
from agio.gateway.routes.views import (
    Agents,
    AgentToolView,
    AgentView,
)


def agent_view(agent: AgentRecord) -> AgentView:
    """Show an agent."""
    return AgentView(
        **definition_of(agent),
        id=agent.id,
        tools=[AgentToolView(tool.name, tool.approval) for tool in agent.tools],
        source=agent.source,
        read_only=agent.source != "stored",
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


def agents_view(page: Page[AgentRecord]) -> Agents:
    """Show a page of agents."""
    return Agents([agent_view(agent) for agent in page.items], page.next)
