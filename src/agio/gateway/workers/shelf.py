"""Shelf: the documents of a run's agents. Whole if they fit, else the passages that fit the message."""

import time
from collections.abc import Sequence

from agio.core.config import AgentRunConfig
from agio.core.document import DocumentPassage
from agio.core.passage import PassageQuery
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunInfo
from agio.core.store.store import Store
from agio.gateway.workers.recall import Recall


class Shelf:
    """Searches documents for runs, tools and people."""

    def __init__(self, store: Store, recall: Recall) -> None:
        self._store = store
        self._recall = recall

    async def for_run(self, agent: AgentRecord, info: RunInfo, text: str) -> list[DocumentPassage]:
        """Return the passages that an agent of a run begins with, numbered. Raises StoreError."""
        config = AgentRunConfig()
        said = None if agent.limits is None else agent.limits.max_document_tokens
        room = config.max_document_tokens if said is None else said
        if not agent.collections or not room:
            return []
        who = (info.tenant, info.user, agent.collections)
        held = await self._store.library(*who)
        if not held.documents:
            return []
        if held.tokens <= room:
            found = await self._store.whole_library(*who)
        elif text:
            found = await self.search(*who, text, config.max_rag_docs)
        else:
            return []
        return await self._store.number_passages(info.tenant, info.session_id, info.run_id, found)

    async def search(
        self, tenant: str, user: str, collection_ids: Sequence[str], text: str, limit: int
    ) -> list[DocumentPassage]:
        """Search collections, best first. Raises StoreError."""
        embedder = self._recall.embedder
        vector = None if embedder is None else await embedder.of_query(tenant, text)
        query = PassageQuery(
            text=text,
            now=time.time_ns() // 1_000_000,
            limit=limit,
            vector=vector,
            model="" if embedder is None else embedder.model.name,
        )
        return await self._store.find_documents(tenant, user, collection_ids, query)


def knows_documents(agent: AgentRecord) -> bool:
    """Whether an agent of a run has collections."""
    return any(each.collections for each in (agent, *agent.team))
