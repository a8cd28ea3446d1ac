"""Agents and tools as clients see them. Times are milliseconds since 1970."""

from msgspec import Struct

from agio.core.link.link import Place
from agio.core.store.records import AgentDefinition, AgentSource
from agio.core.store.repository import Approval, Effect
from agio.protocol.messages import Json


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


class ToolView(Struct, frozen=True, kw_only=True):
    """A tool agents may be given."""

    name: str
    description: str
    parameters: dict[str, Json]
    place: Place
    effect: Effect
    approval: Approval


class Tools(Struct, frozen=True):
    """The tools there are, by name: built-in ones, and those of connected workers."""

    items: list[ToolView]


class Agents(Struct, frozen=True):
    """A page of agents. `next` is the cursor of the following page, null on the last."""

    items: list[AgentView]
    next: str | None
