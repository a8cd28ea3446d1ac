"""Delivery: makes a job of a claimed run, with all that is needed to run it, and sends it to the worker."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from agio.core.config import Price
from agio.core.document import DocumentPassage
from agio.core.link.link import Claim, Job, JobAgent, Worker
from agio.core.log_level import INPUTS
from agio.core.passage import Recollection
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunLog
from agio.core.store.store import Store
from agio.errors import AgioError, StoreError, UserError
from agio.gateway.tools.endpoints import Found, ModelEndpoints
from agio.gateway.tools.offers import knows_profile, offer_agent, offer_profile
from agio.gateway.workers.connected_worker import ClaimedRun
from agio.gateway.workers.pool import WorkerPool
from agio.gateway.workers.recall import Recall
from agio.gateway.workers.shelf import Shelf, knows_documents
from agio.protocol.messages import ContextEntry, UserMessage, text_of
from agio.telemetry.context import about

_log = logging.getLogger("agio.gateway")

_QUERY_CHARS = 2000
HISTORY_MESSAGES = 200
"""The least a job carries of the session's history: the default of `AgentRunConfig.max_history_messages`."""


class Known(Struct, frozen=True):
    """What the gateway knows for a run: of the user, by each agent, and what was suggested since the last run."""

    context: list[ContextEntry] = []
    memories: list[list[Recollection]] = []
    suggested: list[str] = []
    documents: list[list[DocumentPassage]] = []


class Delivery:
    """Delivers jobs. `on_hopeless` takes a run that cannot be run; one whose worker is lost is handed on."""

    def __init__(
        self,
        store: Store,
        pool: WorkerPool,
        endpoints: ModelEndpoints,
        retry_s: float,
        prices: Mapping[str, Price],
        recall: Recall,
        shelf: Shelf,
        *,
        on_hopeless: Callable[[ClaimedRun, AgioError], None],
    ) -> None:
        self._store = store
        self._pool = pool
        self._endpoints = endpoints
        self._retry_s = retry_s
        self._prices = prices
        self._recall = recall
        self._shelf = shelf
        self._on_hopeless = on_hopeless

    async def prepare(self, run: ClaimedRun, token: str, started: bytes) -> None:
        """Read what a job needs and deliver it. While the store fails the claim stays valid, and this retries."""
        info, store = run.info, self._store
        while self._pool.runs.get(info.run_id) is run:
            try:
                log = RunLog(info, started) if started else await store.get_log(info.run_id)
                history: list[RunLog] = []
                if info.first_pos:
                    history = await store.history(info, _enough(run.agent))
                found = [await self._endpoints.find(each) for each in (run.agent, *run.agent.team)]
                context: list[ContextEntry] = []
                if knows_profile(run.tools):
                    context = offer_profile(await store.get_profile(info.tenant, info.user))
                reads = knows_documents(run.agent)
                text = _asked(log) if reads or not self._recall.is_idle(run.agent, info.user) else ""
                agents = (run.agent, *(each.agent for each in run.team.values()))
                memories = [await self._recall.for_run(each, info, text) for each in agents] if text else []
                suggested = await self._recall.suggested(run.agent, info) if started else []
                documents = await self._documents(run, text, agents, again=not started) if reads else []
                known = Known(context, memories, suggested, documents)
                self.deliver(run, token, log, history, found, known)
                if run.info.log_level >= INPUTS:
                    await self._pool.give_inputs(info.run_id)
                return
            except UserError:  # it was deleted
                self._pool.let_go(run)
            except StoreError as error:
                if error.code == "store_corrupt":
                    self._on_hopeless(run, error)
                    return
                _log.warning(
                    "run %s could not be prepared and is retried: %s", info.run_id, error, extra=about(info)
                )
                await asyncio.sleep(self._retry_s)

    async def _documents(
        self, run: ClaimedRun, text: str, agents: Sequence[AgentRecord], *, again: bool
    ) -> list[list[DocumentPassage]]:
        """Return the passages that each agent begins with; a run that is claimed again keeps its agent's."""
        found: list[list[DocumentPassage]] = []
        for agent in agents:
            kept = await self._store.passages_of_run(run.info.run_id) if again and agent is run.agent else []
            found.append(kept or await self._shelf.for_run(agent, run.info, text))
        return found

    def deliver(
        self,
        run: ClaimedRun,
        token: str,
        log: RunLog,
        history: list[RunLog],
        found: Sequence[Found],
        known: "Known | None" = None,
    ) -> None:
        """Give a run to its worker, unless the claim was lost meanwhile.

        `found` are the endpoints of the models: of the run's agent, and of each of its team.
        """
        info, connection = run.info, run.worker.connection
        if self._pool.runs.get(info.run_id) is not run:
            return
        try:
            endpoint = self._endpoints.open(found[0])
        except AgioError as error:
            self._on_hopeless(run, error)
            return
        known = known or Known()
        memories = known.memories or [[] for _ in found]
        documents = known.documents or [[] for _ in found]
        job = Job(
            claim=Claim(info.run_id, info.epoch, token),
            agent=offer_agent(run.agent, endpoint, self._prices),
            tools=list(run.tools.values()),
            log=_for_worker(log),
            history=[_for_worker(earlier) for earlier in history],
            context=known.context,
            team=self._team(run, found[1:], memories[1:], documents[1:]),
            memories=memories[0],
            documents=documents[0],
            suggested=known.suggested,
        )
        if connection is None or not _start(connection, job):
            self._pool.hand_on(run)
            return
        run.delivered = True
        if run.cancelled:
            connection.cancel(info.run_id, info.epoch)

    def _team(
        self,
        run: ClaimedRun,
        found: Sequence[Found],
        memories: Sequence[list[Recollection]],
        documents: Sequence[list[DocumentPassage]],
    ) -> list[JobAgent]:
        """Describe the other agents of a run. One whose provider cannot be opened is left out."""
        team: list[JobAgent] = []
        each_of = zip(run.team.values(), found, memories, documents, strict=True)
        for each, end, remembered, passages in each_of:
            agent, tools = each.agent, each.tools
            try:
                endpoint = self._endpoints.open(end)
            except AgioError as error:
                _log.warning("run %s goes without its agent %s: %s", run.info.run_id, agent.name, error)
                continue
            team.append(
                JobAgent(
                    offer_agent(agent, endpoint, self._prices), list(tools.values()), remembered, passages
                )
            )
        return team


def _asked(log: RunLog) -> str:
    """Return the user's message of a run."""
    given = log.input()
    said = [] if given is None else [text_of(m.content) for m in given.messages if isinstance(m, UserMessage)]
    return "\n".join(said)[-_QUERY_CHARS:]


def _enough(agent: AgentRecord) -> int:
    said = None if agent.limits is None else agent.limits.max_history_messages
    return max(HISTORY_MESSAGES, said or 0)


def _for_worker(log: RunLog) -> RunLog:
    """Leave out the earlier worker of a run and the hash of its token: other workers must not see them."""
    return structs.replace(log, info=structs.replace(log.info, worker=None, token_hash=b""))


def _start(worker: Worker, job: Job) -> bool:
    try:
        worker.start(job)
    except AgioError as error:
        words = "run %s is handed to another worker: %s"
        _log.info(words, job.claim.run_id, error, extra=about(job.log.info))
        return False
    return True
