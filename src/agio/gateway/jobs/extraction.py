"""Extraction: the job of a session that has ended or is idle suggests memories, and indexes what was said.

The model call is a worker's task. Proposals, the marks of the runs and the job's end are one commit: a job that is
run again finds the runs marked and suggests nothing twice.
"""

import asyncio
import logging
import time
from collections.abc import Mapping

from msgspec import structs

from agio.core.config import Price, ServerLimits
from agio.core.identity.principal import Principal
from agio.core.link.link import Task, TaskResult
from agio.core.memory import EXTRACTION, INDEXING, Extracted, Reach, SessionToExtract
from agio.core.run.metrics import cost
from agio.core.store.jobs import JobRecord
from agio.core.store.store import Store
from agio.errors import ModelError
from agio.gateway.jobs.runner import JobKind
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.workers.pool import WorkerPool
from agio.gateway.workers.recall import Recall, learns
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

_log = logging.getLogger("agio.gateway")

_LOOK_S = 0.1
_BATCH = 50
_TIMEOUT_S = 60.0
_DAY_S = 24 * 3600
_PROMPT_CHARS_PER_TOKEN = 3


class Extraction:
    """Suggests memories of sessions. `kinds` is its kind of job."""

    def __init__(
        self,
        store: Store,
        pool: WorkerPool,
        endpoints: ModelEndpoints,
        recall: Recall,
        limits: ServerLimits,
        prices: Mapping[str, Price],
    ) -> None:
        self._store = store
        self._pool = pool
        self._endpoints = endpoints
        self._recall = recall
        self._limits = limits
        self._prices = prices
        self.kinds: Mapping[str, JobKind] = {
            EXTRACTION: JobKind(run=self._run, attempts=4, backoff_s=10.0),
            INDEXING: JobKind(run=self._index_agent),
        }

    async def closed(self, who: Principal, session_id: str) -> None:
        """Look at a closed session at once. If its agent says so, wait until its memories are suggested."""
        self._pool.on_settled()
        session = await self._store.get_session(who.tenant, who.user, session_id)
        agent = await self._store.find_session_agent(session_id)
        limits = None if agent is None else agent.limits
        if session.last_run_id is None or limits is None or limits.memory_update_async is not False:
            return
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                while True:  # another gateway may have the job
                    if not await self._store.waits_for_extraction(session_id):
                        return
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            _log.warning("the memories of session %s are not suggested yet", session_id)

    async def _run(self, job: JobRecord) -> None:
        given = await self._store.session_to_extract(job.key)
        if given is None or not given.run_ids:
            await self._store.finish_job(job.done())
            return
        wait_ms = int(self._limits.memory_idle_s * 1000) - given.idle_ms
        if wait_ms > 0 and not given.is_ended:
            await self._store.finish_job(job.done(wait_ms))
            return
        if given.agent.search_conversations:
            await self._index(given.tenant, job.key)
        if self._is_spent(given):
            today_s = time.time() % _DAY_S
            _log.info("the memories of session %s wait: today's budget is spent", job.key)
            await self._store.finish_job(job.done(int((_DAY_S - today_s) * 1000)))
            return
        await self._extract(given, job)

    async def _index_agent(self, job: JobRecord) -> None:
        """Index the conversations with an agent."""
        after, tenant = "", job.tenant or ""
        while sessions := await self._store.sessions_of_agent(tenant, job.key, after, _BATCH):
            for session_id in sessions:
                await self._index(tenant, session_id)
            after = sessions[-1]
        await self._store.finish_job(job.done())

    async def _index(self, tenant: str, session_id: str) -> None:
        passages = await self._store.session_passages(session_id)
        for at in range(0, len(passages), _BATCH):
            await self._store.put_passages(tenant, passages[at : at + _BATCH])

    async def _extract(self, given: SessionToExtract, job: JobRecord) -> None:
        agent = given.agent
        earlier, new = new_part(given.messages, given.run_ids)
        result = Extracted(tenant=given.tenant, session_id=given.session_id, run_ids=given.run_ids)
        if not learns(agent) or not any(message.role == "user" for message in new):
            await self._store.keep_extraction(result, job=job.done())
            return
        reach = Reach(given.tenant, given.user, agent.id)
        known = recalled(await self._recall.search(reach, question_of(new), NEAREST))
        read = Conversation(earlier, new, known, given.observed_at)
        answer = await self._ask(given, make_prompt(read))
        spent = answer.usage.total
        paid = cost(answer.usage, f"{agent.model_provider}:{agent.model_name}", self._prices) or 0.0
        try:
            proposals = read_answer(answer.text, read, given.session_id)
        except ModelError:
            await self._store.spend_extraction(given.tenant, spent, paid)
            raise
        result = structs.replace(
            result, proposals=proposals, automatic=agent.memory == "automatic", tokens=spent, cost=paid
        )
        made = await self._store.keep_extraction(result, job=job.done())
        if made:
            self._recall.changed(given.tenant)

    async def _ask(self, given: SessionToExtract, prompt: str) -> TaskResult:
        """Have a worker make the call. Raises ModelError, StoreError, UserError."""
        agent = given.agent
        endpoint = self._endpoints.open(await self._endpoints.find(agent))
        task = Task(
            provider=agent.model_provider,
            model=agent.model_name,
            instructions=INSTRUCTIONS,
            prompt=prompt,
            max_output_tokens=MAX_OUTPUT_TOKENS,
            timeout_s=_TIMEOUT_S,
            endpoint=endpoint,
        )
        return await self._pool.perform(task, given.tenant)

    def _is_spent(self, given: SessionToExtract) -> bool:
        """Whether another call could exceed what the tenant may spend a day."""
        price = self._prices.get(f"{given.agent.model_provider}:{given.agent.model_name}")
        size = sum(len(message.text) for message in new_part(given.messages, given.run_ids)[1])
        tokens = (len(INSTRUCTIONS) + size) // _PROMPT_CHARS_PER_TOKEN + MAX_OUTPUT_TOKENS
        money = 0.0 if price is None else tokens * max(price.input, price.output) / 1e6
        return (
            given.spent_tokens + tokens > self._limits.memory_tokens_per_day
            or given.spent_cost + money > self._limits.memory_cost_per_day
        )
