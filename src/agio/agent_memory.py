"""AgentMemory: the memory of a library agent. The server's gateway does the same with jobs and workers."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

from msgspec import Struct, structs

from agio.core.engine.runner import RunHooks, RunResult
from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER
from agio.core.link.link import Task
from agio.core.memory import (
    Extracted,
    FoundMemory,
    MemoryChange,
    MemoryFields,
    MemoryRecord,
    MemoryScope,
    MemorySource,
    MemoryStore,
    MemoryType,
    Reach,
    SuggestionRecord,
    recollection,
)
from agio.core.model import ModelDriver
from agio.core.passage import EmbeddingModel, FoundText, PassageQuery, PassageStore, Recollection
from agio.core.run.metrics import cost
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.store.records import AgentRecord, MemoryPolicy
from agio.core.store.repository import AgentRunRepository
from agio.core.tool import AnyTool
from agio.drivers.registry import open_driver
from agio.errors import AgioError, UserError
from agio.memory.extraction import (
    INSTRUCTIONS,
    MAX_OUTPUT_TOKENS,
    NEAREST,
    Conversation,
    make_prompt,
    new_part,
    question_of,
    read_answer,
    recalled,
)
from agio.settings import load_settings, read_embeddings
from agio.tools.memory import make_memory_tools
from agio.worker.drivers import embed
from agio.worker.task import perform_task

_log = logging.getLogger("agio.memory")
_TIMEOUT_S = 60.0
_QUERY_S = 0.3
_BATCH = 64


class Memory(Struct, frozen=True, kw_only=True):
    """How an agent remembers, for `Agent(memory=...)`.

    `suggest`: what a person approves; `automatic`: what a model finds worth it. `tools` gives the agent
    `search_memory` and `save_memory`. `embeddings` is a model of vectors, `provider:model` or `provider:model@size`.
    """

    policy: MemoryPolicy = "suggest"
    tools: bool = False
    embeddings: str | None = None
    tokens_per_day: int = 500_000
    """The tokens that suggesting memories may take a day."""


class _Store(MemoryStore, PassageStore, AgentRunRepository, Protocol):
    """The parts of the store that memory needs."""

    async def library_agent(self, tenant: str, name: str, model: str) -> str:
        """Return the id of a program's agent, which is added if it does not exist."""
        ...

    async def find_agent(self, tenant: str, name: str) -> AgentRecord | None:
        """Return the tenant's agent with this name, or None."""
        ...


class Host(Protocol):
    """The agent whose memory it is."""

    spec: AgentSpec

    async def repository(self) -> AgentRunRepository:
        """Return the store, opened on first use."""
        ...

    def driver(self) -> ModelDriver:
        """Return the model's driver, opened on first use."""
        ...


class AgentMemory:
    """What an agent remembers of the program's user. Every method raises StoreError when the store fails."""

    def __init__(self, host: Host, config: Memory | MemoryPolicy) -> None:
        given = config if isinstance(config, Memory) else Memory(policy=config)
        if given.policy not in ("off", "suggest", "automatic"):
            raise UserError("invalid_config", "memory must be off, suggest, automatic, or a Memory.")
        self.config = given
        self._host = host
        self._model = read_embeddings(given.embeddings)
        self._embedder: ModelDriver | None = None
        self._threads: dict[str, None] = {}
        """Threads whose memories may not be extracted yet."""
        self._tasks: set[asyncio.Task[None]] = set()

    # What is remembered

    async def add(
        self,
        content: str,
        memory_type: MemoryType = "fact",
        *,
        importance: float = 0.5,
        scope: MemoryScope = "user_agent",
        observed_at: int | None = None,
    ) -> MemoryRecord:
        """Remember something. Raises UserError `memory_empty`, `memory_too_large`."""
        store, who = await self._opened()
        fields = MemoryFields(
            content=content,
            memory_type=memory_type,
            importance=importance,
            scope=scope,
            observed_at=observed_at,
        )
        memory = await store.add_memory(who.tenant, who.user, who.agent_id, fields, MemorySource())
        await self._embed_new(store)
        return memory

    async def list(self, memory_type: MemoryType | None = None) -> list[MemoryRecord]:
        """Return what is remembered, newest first."""
        store, who = await self._opened()
        found: list[MemoryRecord] = []
        after: str | None = None
        while True:
            page = await store.list_memories(
                who.tenant, who.user, agent_id=who.agent_id, memory_type=memory_type, after=after, limit=200
            )
            found += page.items
            if (after := page.next) is None:
                return found

    async def find(self, text: str, limit: int = 8) -> Sequence[FoundMemory]:
        """Search what is remembered, best first."""
        store, who = await self._opened()
        return await store.find_memories(who, await self._query(text, limit))

    async def change(self, memory_id: str, change: MemoryChange) -> MemoryRecord:
        """Change a memory. Raises UserError `memory_not_found`."""
        store, who = await self._opened()
        changed = await store.change_memory(who.tenant, who.user, memory_id, change, team=True)
        await self._embed_new(store)
        return changed

    async def delete(self, memory_id: str) -> None:
        """Delete a memory. Raises UserError `memory_not_found`."""
        store, who = await self._opened()
        await store.delete_memory(who.tenant, who.user, memory_id, team=True)

    async def forget(self) -> int:
        """Delete all that is remembered of the user, by every agent of the store. Returns how many memories."""
        store, who = await self._opened()
        return await store.forget_user(who.tenant, who.user)

    # What is suggested

    async def suggestions(self) -> Sequence[SuggestionRecord]:
        """Return the suggestions that wait, newest first."""
        store, who = await self._opened()
        found: Sequence[SuggestionRecord] = []
        after: str | None = None
        while True:
            page = await store.list_suggestions(
                who.tenant, who.user, agent_id=who.agent_id, after=after, limit=200
            )
            found = [*found, *page.items]
            if (after := page.next) is None:
                return found

    async def approve(self, suggestion_id: str) -> MemoryRecord:
        """Make a suggestion a memory. Raises UserError `suggestion_not_found`, `suggestion_closed`."""
        store, who = await self._opened()
        memory = await store.approve_suggestion(who.tenant, who.user, suggestion_id, team=True)
        await self._embed_new(store)
        return memory

    async def reject(self, suggestion_id: str) -> None:
        """Reject a suggestion. Raises UserError `suggestion_not_found`, `suggestion_closed`."""
        store, who = await self._opened()
        await store.reject_suggestion(who.tenant, who.user, suggestion_id)

    async def close_thread(self, thread_id: str) -> Sequence[SuggestionRecord]:
        """Suggest the memories of a thread now. Returns the suggestions of the thread that wait.

        Raises ModelError if the model does not answer, or answers something else.
        """
        store, _ = await self._opened()
        await self._extract(store, thread_id, is_closed=True)
        self._threads.pop(thread_id, None)
        return [each for each in await self.suggestions() if each.session_id == thread_id]

    # For the agent

    async def recall(self, text: str) -> Sequence[Recollection]:
        """Return the memories that a run begins with; none if the search fails."""
        if self.config.policy == "off":
            return []
        store, who = await self._opened()
        limit = self._host.spec.config.max_memories
        if not limit or not await store.has_memories(who):
            return []
        found = await store.find_memories(who, await self._query(text, limit))
        return [recollection(each.memory) for each in found]

    def hooks(self, inner: RunHooks | None) -> RunHooks:
        """Return the hooks of a run, after which memories may be suggested."""
        return _MemoryHooks(self, inner or RunHooks())

    def tools(self) -> Sequence[AnyTool]:
        """Return the tools `search_memory` and `save_memory`, if the agent has them."""
        if not self.config.tools or self.config.policy == "off":
            return []
        return make_memory_tools(_ToolStore(self), self)[:2]

    async def search(self, reach: Reach, text: str, limit: int) -> Sequence[FoundMemory]:
        """Search for the tool `search_memory`."""
        store, _ = await self._opened()
        return await store.find_memories(reach, await self._query(text, limit))

    async def search_conversations(
        self, tenant: str, user: str, text: str, limit: int, without: str
    ) -> Sequence[FoundText]:
        """A library's conversations are not indexed."""
        return []

    async def ended(self, thread_id: str) -> None:
        """Suggest the memories of a thread whose run has ended, if that ended the thread or asked for it."""
        if self.config.policy == "off":
            return
        self._threads[thread_id] = None
        if self._host.spec.config.memory_update_async:
            self._spawn(self._try_extract(thread_id))
        else:
            await self._try_extract(thread_id)

    async def aclose(self) -> None:
        """Suggest the memories of all threads that had a run, then close."""
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task
        for thread_id in list(self._threads):
            await self._try_extract(thread_id, is_closed=True)
        self._threads.clear()
        embedder, self._embedder = self._embedder, None
        if embedder is not None:
            await embedder.aclose()

    async def opened(self) -> _Store:
        """Return the store."""
        return (await self._opened())[0]

    async def _opened(self) -> tuple[_Store, Reach]:
        store = await self._host.repository()
        if not hasattr(store, "find_memories"):
            raise UserError("invalid_config", "This store keeps runs only: memory needs a store of agio's.")
        found = cast("_Store", store)
        spec = self._host.spec
        agent_id = await found.library_agent(DEFAULT_TENANT, spec.name, spec.model_id)
        return found, Reach(DEFAULT_TENANT, LOCAL_USER, agent_id)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _try_extract(self, thread_id: str, *, is_closed: bool = False) -> None:
        try:
            store, _ = await self._opened()
            if await self._extract(store, thread_id, is_closed=is_closed):
                self._threads.pop(thread_id, None)
        except AgioError as error:
            _log.warning("the memories of thread %s could not be suggested: %s", thread_id, error)

    async def _extract(self, store: _Store, thread_id: str, *, is_closed: bool) -> bool:
        """Suggest what is new in a thread, if it has ended. Whether it had. Raises AgioError."""
        given = await store.session_to_extract(thread_id)
        if given is None or not given.run_ids:
            return True
        if not (is_closed or given.is_ended):
            return False
        earlier, new = new_part(given.messages, given.run_ids)
        result = Extracted(tenant=given.tenant, session_id=thread_id, run_ids=given.run_ids)
        if self.config.policy == "off" or not any(message.role == "user" for message in new):
            await store.keep_extraction(result)
            return True
        if given.spent_tokens + MAX_OUTPUT_TOKENS > self.config.tokens_per_day:
            _log.warning("the memories of thread %s wait: today's tokens are spent", thread_id)
            return False
        reach = Reach(given.tenant, given.user, given.agent.id)
        nearest = await store.find_memories(reach, await self._query(question_of(new), NEAREST))
        read = Conversation(earlier, new, recalled(nearest), given.observed_at)
        spec = self._host.spec
        task = Task(
            provider=spec.provider,
            model=spec.model,
            instructions=INSTRUCTIONS,
            prompt=make_prompt(read),
            max_output_tokens=MAX_OUTPUT_TOKENS,
            timeout_s=_TIMEOUT_S,
        )
        answer = await perform_task(self._host.driver(), task, spec.config)
        paid = cost(answer.usage, spec.model_id, spec.config.prices) or 0.0
        try:
            proposals = read_answer(answer.text, read, thread_id)
        except AgioError:
            await store.spend_extraction(given.tenant, answer.usage.total, paid)
            raise
        await store.keep_extraction(
            structs.replace(
                result,
                proposals=proposals,
                automatic=self.config.policy == "automatic",
                tokens=answer.usage.total,
                cost=paid,
            )
        )
        await self._embed_new(store)
        return True

    async def _query(self, text: str, limit: int) -> PassageQuery:
        now = time.time_ns() // 1_000_000
        query = PassageQuery(text=text, now=now, limit=limit)
        if self._model is None:
            return query
        try:
            async with asyncio.timeout(_QUERY_S):
                [vector] = (await embed(self._vectors(), self._model.model, [text], self._model.size)).vectors
        except (AgioError, TimeoutError) as error:
            _log.info("a search goes without %s: %s", self._model.name, error or "it is too slow")
            return query
        return structs.replace(query, vector=vector, model=self._model.name)

    async def _embed_new(self, store: _Store) -> None:
        """Make the vectors that are missing. Without them the words are searched."""
        if self._model is None:
            return
        try:
            while waiting := await store.passages_to_embed(self._model.name, 0, _BATCH):
                texts = [each.text for each in waiting]
                made = await embed(self._vectors(), self._model.model, texts, self._model.size)
                await store.put_vectors(self._model.name, list(zip(waiting, made.vectors, strict=True)))
        except AgioError as error:
            _log.warning("memories have no vectors of %s yet: %s", self._model.name, error)

    def _vectors(self) -> ModelDriver:
        if self._embedder is None:
            model = cast("EmbeddingModel", self._model)
            self._embedder = open_driver(model.provider, load_settings().endpoint(model.provider))
        return self._embedder


class _ToolStore:
    """The store of the memory tools: its agent has the policy of the library's agent."""

    def __init__(self, memory: AgentMemory) -> None:
        self._memory = memory

    async def find_agent(self, tenant: str, name: str) -> AgentRecord | None:
        found = await (await self._memory.opened()).find_agent(tenant, name)
        return None if found is None else structs.replace(found, memory=self._memory.config.policy)

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
        store = await self._memory.opened()
        return await store.add_memory(tenant, user, agent_id, fields, source, automatic=automatic)

    async def suggest_memory(
        self, tenant: str, user: str, agent_id: str, fields: MemoryFields, source: MemorySource
    ) -> SuggestionRecord | None:
        return await (await self._memory.opened()).suggest_memory(tenant, user, agent_id, fields, source)

    async def use_memories(self, run_id: str, ids: Sequence[str]) -> None:
        await (await self._memory.opened()).use_memories(run_id, ids)


class _MemoryHooks(RunHooks):
    def __init__(self, memory: AgentMemory, inner: RunHooks) -> None:
        self._memory = memory
        self._inner = inner

    async def run_started(self, request: RunRequest) -> None:
        await self._inner.run_started(request)

    async def run_ended(self, result: RunResult) -> None:
        try:
            await self._inner.run_ended(result)
        finally:
            await self._memory.ended(result.thread_id)
