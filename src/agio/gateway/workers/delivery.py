"""Delivery: a claimed run becomes a job, with all that is needed to run it, and goes to its worker."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from msgspec import structs

from agio.core.config import Price
from agio.core.link.link import Claim, Job, Worker
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunLog
from agio.core.store.store import Store
from agio.errors import AgioError, StoreError, UserError
from agio.gateway.tools.endpoints import Found, ModelEndpoints
from agio.gateway.tools.offers import knows_profile, offer_agent, offer_profile
from agio.gateway.workers.pool import HeldRun, Workers
from agio.protocol.messages import ContextEntry
from agio.telemetry.context import about

_log = logging.getLogger("agio.gateway")

HISTORY_MESSAGES = 200
"""How much of a session's past goes with a job at least: what `AgentRunConfig.max_history_messages` allows."""


class Delivery:
    """Puts jobs together. `on_lost` takes a run whose worker did not get it, `on_hopeless` one that cannot be run."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        endpoints: ModelEndpoints,
        retry_s: float,
        prices: Mapping[str, Price],
        *,
        on_lost: Callable[[HeldRun], None],
        on_hopeless: Callable[[HeldRun, AgioError], None],
    ) -> None:
        self._store = store
        self._workers = workers
        self._endpoints = endpoints
        self._retry_s = retry_s
        self._prices = prices
        self._on_lost = on_lost
        self._on_hopeless = on_hopeless

    async def prepare(self, held: HeldRun, token: str, started: bytes) -> None:
        """Read what a job needs and deliver it. While the store fails the claim stays good, and it is tried again."""
        info, store = held.info, self._store
        while self._workers.runs.get(info.run_id) is held:
            try:
                log = RunLog(info, started) if started else await store.get_log(info.run_id)
                history: list[RunLog] = []
                if info.first_pos:
                    history = await store.history(info.session_id, info.first_pos, _enough(held.agent))
                found = await self._endpoints.find(held.agent)
                context: list[ContextEntry] = []
                if knows_profile(held.tools):
                    context = offer_profile(await store.get_profile(info.tenant, info.user))
                self.deliver(held, token, log, history, found, context)
                return
            except UserError:  # it was deleted
                self._workers.let_go(held)
            except StoreError as error:
                if error.code == "store_corrupt":
                    self._on_hopeless(held, error)
                    return
                _log.warning("run %s waits for the store: %s", info.run_id, error, extra=about(info))
                await asyncio.sleep(self._retry_s)

    def deliver(
        self,
        held: HeldRun,
        token: str,
        log: RunLog,
        history: list[RunLog],
        found: Found,
        context: list[ContextEntry] | None = None,
    ) -> None:
        """Give a run to its worker, unless it has lost it meanwhile. `found` is where the agent's model is."""
        info, worker = held.info, held.seat.worker
        if self._workers.runs.get(info.run_id) is not held:
            return
        try:
            endpoint = self._endpoints.open(found)
        except AgioError as error:
            self._on_hopeless(held, error)
            return
        job = Job(
            claim=Claim(info.run_id, info.epoch, token),
            agent=offer_agent(held.agent, endpoint, self._prices),
            tools=list(held.tools.values()),
            log=_for_worker(log),
            history=[_for_worker(earlier) for earlier in history],
            context=context or [],
        )
        if worker is None or not _start(worker, job):
            self._on_lost(held)
            return
        held.delivered = True
        if held.cancelled:
            worker.cancel(info.run_id, info.epoch)


def _enough(agent: AgentRecord) -> int:
    said = None if agent.limits is None else agent.limits.max_history_messages
    return max(HISTORY_MESSAGES, said or 0)


def _for_worker(log: RunLog) -> RunLog:
    """Leave out which worker had a run, and the hash of its token: they are other workers' too."""
    return structs.replace(log, info=structs.replace(log.info, worker=None, token_hash=b""))


def _start(worker: Worker, job: Job) -> bool:
    try:
        worker.start(job)
    except AgioError as error:
        words = "run %s goes to another worker: %s"
        _log.info(words, job.claim.run_id, error, extra=about(job.log.info))
        return False
    return True
