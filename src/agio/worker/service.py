"""WorkerService: executes a gateway's jobs. It has models and the user's module, but no store."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from agio.core.config import AgentRunConfig
from agio.core.link.link import Greeting, Job, Link, Task, TaskResult, ToolReply, Welcome
from agio.core.log_level import KNOWN
from agio.core.model import ModelDriver
from agio.core.store.repository import RunInfo, RunInput
from agio.core.tool import ToolContext
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver
from agio.egress import Egress
from agio.errors import AgioError, StoreError, ToolError
from agio.protocol.messages import Json
from agio.telemetry.context import REQUEST_ID, bind_run
from agio.worker.app import App
from agio.worker.assembly import Parts
from agio.worker.drivers import Drivers
from agio.worker.job import RunningJob
from agio.worker.task import perform_task
from agio.worker.toolbox import Toolbox

_log = logging.getLogger("agio.worker")

_LAST_WORDS_S = 5.0
"""How long cancelled work may take to stop."""
_TURNS_SHARE = 0.9
"""The share of the drain time for turns; the rest is for releases."""


class WorkerService:
    """A `core.link.Worker`. After `join` it receives jobs; `leave` finishes or releases them.

    `open_driver` opens a provider's driver with its entry in `endpoints`; `egress` guards the addresses of tenant
    endpoints.
    """

    def __init__(
        self,
        worker_id: str,
        *,
        room: int,
        endpoints: Mapping[str, Endpoint],
        app: App | None = None,
        config: AgentRunConfig | None = None,
        open_driver: Callable[[str, Endpoint], ModelDriver] = open_driver,
        egress: Egress | None = None,
    ) -> None:
        self.id = worker_id
        self.room = room
        config = AgentRunConfig() if config is None else config
        self._parts = Parts(
            App() if app is None else app,
            Drivers(endpoints, open_driver, egress),
            Toolbox(self._call_tool, config.tool_timeout_s),
            config,
        )
        self._link: Link | None = None
        self._jobs: dict[str, RunningJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
        self._leaving = False

    @property
    def running(self) -> int:
        """The number of current runs."""
        return len(self._jobs)

    async def idle(self) -> None:
        """Wait until no run is left."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def greeting(self) -> Greeting:
        """Return the greeting: this worker's id, its offers and its claims."""
        app = self._parts.app
        return Greeting(
            worker=self.id,
            room=0 if self._leaving else self.room,
            agents=app.agent_fields(),
            tools=app.tool_offers(),
            claims=[job.claim for job in self._jobs.values()],
            log_level=KNOWN,
            providers=self._parts.drivers.providers(),
        )

    async def join(self, link: Link) -> Welcome:
        """Greet a gateway, and drop the runs whose claims it does not honour. Jobs arrive from then on."""
        self._link = link
        self._draining = self._leaving
        held = list(self._jobs.values())
        welcome = await link.greet(self.greeting())
        honoured = set(welcome.claims)
        for job in held:
            if job.claim.run_id not in honoured:
                job.drop()
        return welcome

    def start(self, job: Job) -> None:
        """Run a job."""
        if self._link is None:
            raise StoreError("link_lost", "This worker has no link.")
        run_id = job.claim.run_id
        if (older := self._jobs.get(run_id)) is not None:
            older.drop()
        running = RunningJob(job, self._link, self._parts)
        if self._draining:
            running.release(at_rest=False)
        self._jobs[run_id] = running
        task = asyncio.create_task(self._run(running, job.log.info), name=f"agio job {run_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, job: RunningJob, info: RunInfo) -> None:
        bind_run(info)
        try:
            await job.run()
        finally:
            if self._jobs.get(job.claim.run_id) is job:
                del self._jobs[job.claim.run_id]

    def cancel(self, run_id: str, epoch: int) -> None:
        """Cancel a run."""
        if (job := self._find(run_id, epoch)) is not None:
            job.cancel()

    def give(self, run_id: str, epoch: int, inputs: list[RunInput]) -> None:
        """Give a run messages that arrived after it began."""
        if (job := self._find(run_id, epoch)) is not None:
            job.give(inputs)

    def drop(self, run_id: str, epoch: int) -> None:
        """Drop a run without writing."""
        if (job := self._find(run_id, epoch)) is not None:
            job.drop()

    def report(self, run_id: str, epoch: int, key: str, progress: Json) -> None:
        """Report the progress of a call that runs at the gateway."""
        if (job := self._find(run_id, epoch)) is not None:
            job.report(key, progress)

    def release_all(self) -> None:
        """Release every run: the gateway has been silent for too long and may have given them to other workers."""
        self._release(list(self._jobs.values()))

    def drain(self, within_s: float) -> None:
        """Finish the current turns, then release the unfinished runs; new jobs are released at once."""
        self._draining = True
        for job in self._jobs.values():
            job.release(at_rest=True)
        held = list(self._jobs.values())
        asyncio.get_running_loop().call_later(within_s * _TURNS_SHARE, self._release, held)

    async def perform(self, task: Task) -> TaskResult:
        """Perform a short model task. Raises ModelError, UserError."""
        REQUEST_ID.set(task.request_id)
        return await perform_task(
            self._parts.drivers.get(task.provider, task.endpoint), task, self._parts.config
        )

    async def leave(self, within_s: float) -> None:
        """Take no more jobs, finish or release the current ones within this time, and close the drivers."""
        self._leaving = True
        if self._link is not None:
            try:
                async with asyncio.timeout(_LAST_WORDS_S):
                    await self._link.leave()
            except (AgioError, TimeoutError) as error:
                _log.info("leaving without the gateway: %s", error)
        self.drain(within_s)
        await self._settle(within_s + _LAST_WORDS_S)
        await self.aclose()

    async def aclose(self) -> None:
        """Drop the remaining runs, and close the drivers."""
        for job in self._jobs.values():
            job.drop()
        await self._settle(_LAST_WORDS_S)
        await self._parts.drivers.aclose()
        for agent in self._parts.app.agents.values():
            await agent.aclose()

    def _find(self, run_id: str, epoch: int) -> RunningJob | None:
        job = self._jobs.get(run_id)
        return job if job is not None and job.claim.epoch == epoch else None

    def _release(self, jobs: list[RunningJob]) -> None:
        for job in jobs:
            job.release(at_rest=False)

    async def _settle(self, within_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)

    async def _call_tool(self, context: ToolContext, tool: str, arguments: dict[str, Json]) -> ToolReply:
        job = self._jobs.get(context.run)
        if job is None:
            raise ToolError("stale_epoch", f"Run {context.run} is not here any more.")
        return await job.call_tool(context, tool, arguments)
