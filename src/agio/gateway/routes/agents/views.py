"""Agents as clients see them. Times are milliseconds since 1970."""

from msgspec import Struct

from agio.core.store.records import AgentDefinition, AgentRecord, AgentSource, Page, definition_of
from agio.core.store.repository import Approval


class AgentToolView(Struct, frozen=True):
    """A tool an agent may use; `approval` overrides the tool's own."""

    name: str
    approval: Approval | None


class AgentView(AgentDefinition, frozen=True, kw_only=True):
    """An agent. One that is defined in Python is read-only."""

    id: str
    tools: list[AgentToolView]
    source: AgentSource
    read_only: bool
    created_at: int
    updated_at: int


class Agents(Struct, frozen=True):
    """A page of agents. `next` is the cursor of the following page, null on the last."""

    items: list[AgentView]
    next: str | None


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
