"""Recall: searches memories for runs, tools and people."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, get_args

from agio.core.config import AgentRunConfig
from agio.core.memory import FoundMemory, Reach, asks_to_remember, recollection
from agio.core.passage import EmbeddingModel, FoundText, PassageQuery, Recollection
from agio.core.provider import ProviderKind
from agio.core.store.records import AgentRecord
from agio.core.store.repository import Outcome, RunInfo, RunStatus
from agio.core.store.store import Store
from agio.gateway.tools.endpoints import DEMO

_KEPT_S = 5.0
_KEPT = 10_000


class QueryEmbedder(Protocol):
    """Makes vectors of searches."""

    model: EmbeddingModel

    async def of_query(self, tenant: str, text: str) -> list[float] | None:
        """Return the vector of a search's text; None if it does not come in time."""
        ...


class Recall:
    """Searches memories. That a run has none is kept for a moment, so that it costs the run nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.embedder: QueryEmbedder | None = None
        """Makes vectors of searches; None: they are by words and time only."""
        self.tell: Callable[[str], object] = str
        """Tells the other gateways. One that does not hear it asks the store after 5 s."""
        self._none: OrderedDict[Reach, float] = OrderedDict()
        self._changes = 0

    def has_none(self, reach: Reach) -> bool:
        """Whether a run is known to have no memories."""
        return self._none.get(reach, 0.0) > time.monotonic()

    def is_idle(self, agent: AgentRecord, user: str) -> bool:
        """Whether the agents of a run are known to remember nothing."""
        return all(
            each.memory == "off" or self.has_none(Reach(each.tenant, user, each.id))
            for each in (agent, *agent.team)
        )

    def changed(self, tenant: str) -> None:
        """Have every gateway ask the store again: a memory of this tenant's was added or changed."""
        self.forget(tenant)
        self.tell(tenant)

    def forget(self, tenant: str) -> None:
        """Ask the store again."""
        self._changes += 1
        for reach in [each for each in self._none if each.tenant == tenant]:
            del self._none[reach]

    async def for_run(self, agent: AgentRecord, info: RunInfo, text: str) -> list[Recollection]:
        """Search what an agent of a run remembers that fits the message. Raises StoreError."""
        reach = Reach(info.tenant, info.user, agent.id)
        limits = agent.limits
        said = None if limits is None else limits.max_memories
        limit = AgentRunConfig().max_memories if said is None else said
        if agent.memory == "off" or not limit or not await self._has_any(reach):
            return []
        return [recollection(each.memory) for each in await self.search(reach, text, limit)]

    async def suggested(self, agent: AgentRecord, info: RunInfo) -> list[str]:
        """Return the suggestions of a run's session that no run has announced. Raises StoreError."""
        if (
            agent.memory == "off"
            or not info.first_pos
            or self.has_none(Reach(info.tenant, info.user, agent.id))
        ):
            return []
        found = await self._store.new_suggestions(info.session_id, info.started_at or info.created_at)
        return [each.id for each in found]

    async def _has_any(self, reach: Reach) -> bool:
        if self.has_none(reach):
            return False
        changes = self._changes
        if not await self._store.has_memories(reach):
            if changes == self._changes:
                self._none[reach] = time.monotonic() + _KEPT_S
                self._none.move_to_end(reach)
                if len(self._none) > _KEPT:
                    self._none.popitem(last=False)
            return False
        return True

    async def search(self, reach: Reach, text: str, limit: int) -> list[FoundMemory]:
        """Search the memories that a run may use, best first. Raises StoreError."""
        return await self._store.find_memories(reach, await self._query(reach.tenant, text, limit))

    async def search_conversations(
        self, tenant: str, user: str, text: str, limit: int, without: str
    ) -> list[FoundText]:
        """Search a user's conversations, best first, without one session. Raises StoreError."""
        return await self._store.find_said(tenant, user, await self._query(tenant, text, limit), without)

    async def _query(self, tenant: str, text: str, limit: int) -> PassageQuery:
        vector = None if self.embedder is None else await self.embedder.of_query(tenant, text)
        return PassageQuery(
            text=text,
            now=time.time_ns() // 1_000_000,
            limit=limit,
            vector=vector,
            model="" if self.embedder is None else self.embedder.model.name,
        )


def asked_to_remember(started: bytes) -> bool:
    """Whether the message in a RUN_STARTED line asks to remember something."""
    return asks_to_remember(started.decode("utf-8", "replace"))


def learns(agent: AgentRecord) -> bool:
    """Whether a model can be asked what to remember: not the demo's, nor one that only a worker's module has."""
    reachable = agent.source != "code" or agent.model_provider in get_args(ProviderKind)
    return agent.memory != "off" and agent.model_provider != DEMO and reachable


def extraction_delay_ms(
    agent: AgentRecord, end: RunStatus | None, outcome: Outcome | None, idle_ms: int, *, asked: bool = False
) -> int | None:
    """Return when the memories of a session are extracted after the end of a run; None: never."""
    if end is None or not (learns(agent) or agent.search_conversations):
        return None
    is_over = asked or end == "cancelled" or (outcome is not None and outcome.goal_met is True)
    return 0 if is_over else idle_ms
