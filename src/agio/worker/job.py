"""One job: a claimed run put together from what the gateway sent, run by the engine, written through the outbox."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence

from msgspec import UNSET, Struct, structs

from agio.core.closing import closing_frame
from agio.core.config import AgentRunConfig
from agio.core.context import ContextSource, NoContext, PageContext
from agio.core.fold import Fold, fold_log
from agio.core.link import AgentOffer, Claim, Job, Link, ToolReply
from agio.core.model import ModelEvent, ModelRequest
from agio.core.repository import Append, Approval, Outcome, RunInfo
from agio.core.runner import LET_GO, AgentRunner, RunHooks, RunStream
from agio.core.spec import AgentSpec, RunRequest
from agio.core.tool import AnyTool, offered_tools
from agio.errors import AgioError, ModelError, ToolError, UserError
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.messages import Json
from agio.worker.app import App, CodeAgent
from agio.worker.drivers import Drivers
from agio.worker.outbox import Outbox
from agio.worker.toolbox import Toolbox, own_tool

_log = logging.getLogger("agio.worker")

_RELEASE_S = 60.0
_AWAY = frozenset({"link_lost", "store_closed"})
"""The gateway is going: what becomes of the run is for its next claim to say."""


class Parts(Struct, frozen=True):
    """What all jobs of a worker share."""

    app: App
    drivers: Drivers
    toolbox: Toolbox
    config: AgentRunConfig


class RunningJob:
    """A job under way: `run()` is its whole life; the rest may be called meanwhile."""

    def __init__(self, job: Job, link: Link, parts: Parts) -> None:
        self.claim: Claim = job.claim
        self._job: Job | None = job
        self._link = link
        self._parts = parts
        self._outbox = Outbox(link, job.claim, self.cancel)
        self._stream: RunStream | None = None
        self._cancelled = False
        self._stopped = False
        self._mine = True
        """Whether the run is still ours to give back."""
        self._stopping: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run to the end; a run that cannot be ended here is given back. Raises nothing."""
        try:
            await self._drive()
        except AgioError as error:
            if error.code not in LET_GO:
                _log.warning("run %s is given back: %s", self.claim.run_id, error)
        except Exception:
            _log.exception("run %s is given back", self.claim.run_id)
        if self._mine and not self._outbox.ended and not self._outbox.lost:
            await self._give_back()

    def cancel(self) -> None:
        """Cancel the run: its log ends with the outcome `cancelled`."""
        self._cancelled = True
        if self._stream is not None:
            self._stream.cancel()

    def drop(self) -> None:
        """Let go of the run without a word: it is somebody else's, or gone."""
        self._mine = False
        self._stop()

    def release(self, *, at_rest: bool) -> None:
        """Give the run back: after the turn that is under way, or now."""
        if at_rest and self._stream is not None:
            self._outbox.on_rest = self._stop
        else:
            self._stop()

    async def call_tool(self, key: str, tool: str, arguments: dict[str, Json]) -> ToolReply:
        """Call a tool of the gateway's. Raises ToolError when that must end the run."""
        link, claim = self._link, self.claim
        try:
            return await self._outbox.persist(lambda: link.call_tool(claim, key, tool, arguments))
        except ToolError:
            raise
        except AgioError as error:
            if error.code in LET_GO:
                self.drop()
            elif error.code in _AWAY:
                self._stop()
            raise ToolError(error.code, error.message, error.details) from error

    def _stop(self) -> None:
        if self._stopped or self._outbox.ended:
            return
        self._stopped = True
        if self._stream is not None:
            self._stopping = asyncio.create_task(self._stream.abandon())

    async def _drive(self) -> None:
        job, self._job = self._job, None
        if self._stopped or job is None:
            return
        try:
            stream = open_run(job, self._outbox, self._parts)
        except AgioError as error:
            await self._end_failed(job.log.info, error)
            return
        del job  # a run need not keep the bytes of its history
        self._stream = stream
        if self._cancelled:
            stream.cancel()
        await stream.drive()

    async def _end_failed(self, info: RunInfo, error: AgioError) -> None:
        """End a run whose log cannot even be read, so that it does not hang."""
        if error.code == "run_ended":
            self._mine = False
            return
        fold = Fold()
        fold.run_id, fold.thread_id, fold.seq = info.run_id, info.thread_id, info.last_seq
        frame = closing_frame(fold, self.claim.epoch, error)
        await self._outbox.append(Append(frame, end="failed", error_code=error.code, outcome=Outcome()))

    async def _give_back(self) -> None:
        try:
            async with asyncio.timeout(_RELEASE_S):
                await self._outbox.persist(lambda: self._link.release(self.claim))
        except (AgioError, TimeoutError) as error:
            if not self._outbox.lost:
                _log.warning("run %s could not be given back: %s", self.claim.run_id, error)


def open_run(job: Job, outbox: Outbox, parts: Parts) -> RunStream:
    """Put a run together. What cannot be had ends it with RUN_ERROR; raises only if its log cannot be read."""
    history = Fold()
    try:
        for log in job.history:
            fold_log(history, log)
        return _runner(job, outbox, parts).resume(job.log, history)
    except AgioError as error:
        reason = error
    except Exception as error:  # the user's module has a part in it
        _log.exception("run %s cannot be put together", job.claim.run_id)
        reason = AgioError(
            "internal_error", f"The run could not begin: an unexpected {type(error).__name__}."
        )
    spec = _spec(job.agent, parts.config)
    tools = ToolExecutor((), parts.config)
    refused = AgentRunner(spec, _NoModel(), tools, outbox, hooks=_Refusal(reason))
    return refused.resume(job.log, Fold())


def _runner(job: Job, outbox: Outbox, parts: Parts) -> AgentRunner:
    given = job.log.input()
    code = _code_agent(job.agent, parts.app)
    if code is None:
        spec, driver = _spec(job.agent, parts.config), parts.drivers.get(job.agent.provider)
        source: ContextSource = NoContext()
    else:
        spec, driver, source = code.spec, code.driver(), code.source
    tools = _tools(job, {} if code is None else {tool.name: tool for tool in code.tools}, parts)
    if given is not None and given.tools is not UNSET:
        tools += offered_tools(given.tools)
    if given is not None and given.context is not UNSET:
        source = PageContext(source, given.context)
    elsewhere = [offer.name for offer in job.tools if offer.place == "gateway"]
    executor = ToolExecutor(tools, spec.config, outbox, elsewhere)
    hooks = None if code is None else code.hooks
    return AgentRunner(spec, driver, executor, outbox, source=source, hooks=hooks)


def _code_agent(offer: AgentOffer, app: App) -> CodeAgent | None:
    if offer.source != "code":
        return None
    agent = app.agents.get(offer.name)
    if agent is None:
        raise UserError(
            "agent_missing", f"The agent {offer.name} is defined in code, and not in this worker's module."
        )
    return agent


def _spec(offer: AgentOffer, config: AgentRunConfig) -> AgentSpec:
    if offer.max_steps is not None:
        config = structs.replace(config, max_steps=offer.max_steps)
    if offer.temperature is not None:
        config = structs.replace(config, model=structs.replace(config.model, temperature=offer.temperature))
    return AgentSpec(
        name=offer.name,
        instructions=offer.instructions,
        provider=offer.provider,
        model=offer.model,
        goal=offer.goal,
        config=config,
    )


def _tools(job: Job, own: Mapping[str, AnyTool], parts: Parts) -> list[AnyTool]:
    """Return the tools of a job: what was offered, and what else the agent has in code."""
    known = {**parts.app.tools, **own} if own else parts.app.tools
    always_ask = job.agent.approval == "ask"
    tools: dict[str, AnyTool] = {}
    for offer in job.tools:
        approval: Approval = "ask" if always_ask else offer.approval
        if offer.place == "gateway":
            tools[offer.name] = parts.toolbox.gateway_tool(offer, approval)
        else:
            tools[offer.name] = own_tool(offer, approval, known)
    return [*tools.values(), *(tool for name, tool in own.items() if name not in tools)]


class _Refusal(RunHooks):
    """Ends a run that could not be put together, right after its first event."""

    def __init__(self, error: AgioError) -> None:
        self._error = error

    async def run_started(self, request: RunRequest) -> None:
        raise self._error


class _NoModel:
    """The model of a run that never gets as far as calling one."""

    wire = "none"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        raise ModelError("model_unavailable", "This run has no model.")
        yield []

    async def aclose(self) -> None:
        """Nothing to close."""
