"""Memory for agents (S4): search what is remembered, save something, search the user's other conversations."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol

from agio.core.memory import (
    FoundMemory,
    MemoryFields,
    MemoryRecord,
    MemorySource,
    Reach,
    SuggestionRecord,
)
from agio.core.passage import FoundText
from agio.core.store.records import AgentRecord
from agio.core.tool import AnyTool, ToolContext, tool
from agio.errors import UserError
from agio.protocol.messages import Json

MEMORY_TOOLS = frozenset({"search_memory", "save_memory"})
SEARCH_CONVERSATIONS = "search_conversations"
"""The tool that an agent has if its `search_conversations` is set."""
_MOST = 20
_EXCERPT_CHARS = 1500
_SPACE = re.compile(r"\s+")


class MemoryTools(Protocol):
    """What the tools need of the store."""

    async def find_agent(self, tenant: str, name: str) -> AgentRecord | None:
        """Return the tenant's agent with this name, or None."""
        ...

    async def add_memory(
        self,
        tenant: str,
        user: str,
        agent_id: str,
        fields: MemoryFields,
        source: MemorySource,
        *,
        automatic: bool = False,
    ) -> MemoryRecord:
        """Add a memory."""
        ...

    async def suggest_memory(
        self, tenant: str, user: str, agent_id: str, fields: MemoryFields, source: MemorySource
    ) -> SuggestionRecord | None:
        """Add a suggestion."""
        ...

    async def use_memories(self, run_id: str, ids: Sequence[str]) -> None:
        """Count memories as used in a run."""
        ...


class MemorySearch(Protocol):
    """Searches memories and conversations."""

    async def search(self, reach: Reach, text: str, limit: int) -> Sequence[FoundMemory]:
        """Search the memories that a run may use, best first."""
        ...

    async def search_conversations(
        self, tenant: str, user: str, text: str, limit: int, without: str
    ) -> Sequence[FoundText]:
        """Search a user's conversations, best first, without one session."""
        ...


def make_memory_tools(store: MemoryTools, search: MemorySearch) -> list[AnyTool]:
    """Make the tools `search_memory`, `save_memory` and `search_conversations`."""

    async def agent_of(context: ToolContext) -> AgentRecord:
        agent = await store.find_agent(context.tenant, context.agent) if context.agent else None
        if agent is None:
            raise UserError("memory_off", "Memory belongs to an agent: this call has none.")
        if agent.memory == "off":
            raise UserError("memory_off", f"The agent {agent.name} does not remember: its memory is off.")
        return agent

    @tool(effect="read")
    async def search_memory(context: ToolContext, query: str, limit: int = 8) -> list[dict[str, Json]]:
        """Search what is remembered of the user and of earlier conversations. Best first.

        Args:
            query: What to look for, in words: names, things, or a time such as "last week".
            limit: How many memories at most.
        """
        agent = await agent_of(context)
        reach = Reach(context.tenant, context.user, agent.id)
        found = await search.search(reach, query, max(1, min(limit, _MOST)))
        if context.run:
            await store.use_memories(context.run, [each.memory.id for each in found])
        return [
            {
                "id": each.memory.id,
                "memory": each.memory.content,
                "type": each.memory.memory_type,
                "date": _day(each.memory.observed_at),
            }
            for each in found
        ]

    @tool(effect="idempotent")
    async def save_memory(
        context: ToolContext,
        content: str,
        memory_type: Literal["fact", "preference", "episode"] = "fact",
        importance: float = 0.5,
    ) -> dict[str, Json]:
        """Remember something for later conversations, when the user asks for it or it will clearly matter.

        Args:
            content: One self-contained sentence, with names and absolute dates.
            memory_type: fact, preference, or episode for something that happened.
            importance: From 0 to 1.
        """
        agent = await agent_of(context)
        fields = MemoryFields(
            content=content, memory_type=memory_type, importance=min(max(importance, 0.0), 1.0)
        )
        source = MemorySource(
            session_id=context.session or None, run_id=context.run or None, call_id=context.call_id
        )
        who = (context.tenant, context.user, agent.id)
        if agent.memory == "automatic":
            saved = await store.add_memory(*who, fields, source, automatic=True)
            return {"saved": True, "id": saved.id}
        suggested = await store.suggest_memory(*who, fields, source)
        if suggested is None:
            return {"saved": False, "message": "It is remembered, or was suggested, before."}
        words = "It was suggested to the user, who decides. It is not remembered yet."
        return {"saved": False, "suggestion": suggested.id, "message": words}

    @tool(name=SEARCH_CONVERSATIONS, effect="read")
    async def search_conversations(context: ToolContext, query: str, limit: int = 5) -> list[dict[str, Json]]:
        """Search what was said in this user's other conversations. Best first.

        Args:
            query: What to look for, in words: names, things, or a time such as "in March".
            limit: How many messages at most.
        """
        found = await search.search_conversations(
            context.tenant, context.user, query, max(1, min(limit, _MOST)), context.session
        )
        return [
            {
                "session": each.item_id.partition("/")[0],
                "date": _day(each.at),
                "text": _SPACE.sub(" ", each.text)[:_EXCERPT_CHARS],
            }
            for each in found
        ]

    return [search_memory, save_memory, search_conversations]


def _day(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d}"
