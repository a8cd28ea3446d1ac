"""AgentRunner starts, drives and ends runs. It delegates everything else to the components it is given."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from msgspec import UNSET, Struct

from agio.core.engine.attachments import ReadFile
from agio.core.engine.calls import decisions_of
from agio.core.engine.context import ContextSource, NoContext
from agio.core.engine.journal import Journal
from agio.core.engine.loop import Engine, LoopState, run_loop
from agio.core.engine.results import emit_result
from agio.core.engine.team import NO_EDGES, NO_TEAM, Member, Team
from agio.core.handoff import Edge
from agio.core.model import ModelDriver, Usage
from agio.core.run.admission import check_run
from agio.core.run.boundary import run_failed, run_finished, run_started
from agio.core.run.closing import CANCELLED, FAILED
from agio.core.run.fold import Fold, fold_log
from agio.core.run.metrics import wall_ms
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.run.title import title_of
from agio.core.store.repository import LogWriter, NewRun, RunInput, RunLog, RunStatus
from agio.core.text import clean
from agio.core.tool import ToolAnswer, ToolRunner
from agio.errors import AgioError, LimitExceeded, StoreError, UserError
from agio.protocol.events import (
    MEMORY_SUGGESTED,
    AgentEvent,
    CancelledOutcome,
    Interrupt,
    InterruptOutcome,
    RunFinished,
)
from agio.protocol.messages import (
    Json,
    Message,
    RunAgentInput,
    UserMessage,
)

_log = logging.getLogger("agio.runner")

LET_GO = frozenset({"run_released", "stale_epoch", "run_not_found", "run_ended"})
"""Errors after which this process must not write the run: it was released, claimed, deleted or ended elsewhere."""


class RunHooks:
    """Callbacks around a run. Override the ones you need. An exception in `run_started` fails the run."""

    async def run_started(self, request: RunRequest) -> None:
        """Called after RUN_STARTED is in the log, before the first model call."""

    async def run_ended(self, result: "RunResult") -> None:
        """Called after the terminal event is in the log, before the stream ends."""


class RunResult(Struct, frozen=True):
    """The result of a run that has ended."""

    run_id: str
    thread_id: str
    status: RunStatus
    text: str
    """The text of the last turn."""
    output: object
    """The validated value of the agent's output type, UNSET without one."""
    result: Json
    usage: Usage
    messages: list[Message]
    """The messages that the run added to the conversation."""
    pending_tool_call_ids: list[str]
    interrupts: list[Interrupt]
    error: AgioError | None = None


class AgentRunner:
    """Runs one agent. It keeps no state between runs, and any number of runs may be active at once."""

    def __init__(
        self,
        agent: AgentSpec,
        driver: ModelDriver,
        tools: ToolRunner,
        repository: LogWriter,
        *,
        source: ContextSource | None = None,
        hooks: RunHooks | None = None,
        files: ReadFile | None = None,
        edges: Mapping[str, Edge] = NO_EDGES,
        team: Team = NO_TEAM,
        engine: Engine = run_loop,
    ) -> None:
        self.agent = agent
        self.member = Member(agent, driver, tools, source or NoContext(), edges)
        self.team = {**team, agent.name: self.member} if edges else team
        self.repository = repository
        self.hooks = hooks
        self.files = files
        self.suggested: Sequence[str] = ()
        """The ids of memories that were suggested since the last run, to announce."""
        self.engine = engine

    async def run(self, request: RunRequest, history: Fold | None = None) -> RunResult:
        """Run to the end. A failed run is a result with an error. Raises only if it cannot start or be stored."""
        async with self.run_stream(request, history) as stream:
            return await stream.result()

    def run_stream(self, request: RunRequest, history: Fold | None = None) -> "RunStream":
        """Start a run. Iterate over its events, or await its `result()`. `history` is the thread so far."""
        return RunStream(self, request, history or Fold())

    def resume(self, log: RunLog, history: Fold | None = None) -> "RunStream":
        """Resume a run from its log. Only an unfinished model turn is repeated.

        The log's epoch must be the one this process claimed. Raises UserError `run_ended`.
        """
        fold = fold_log(history or Fold(), log)
        if fold.status != "running":
            raise UserError("run_ended", f"Run {log.info.run_id} has ended ({fold.status}).")
        info = log.info
        request = RunRequest(
            session_id=info.session_id,
            run_id=info.run_id,
            tenant=info.tenant,
            user=info.user,
            mark=info.mark,
            traceparent=info.traceparent,
        )
        return RunStream(self, request, fold, log)


class RunStream(AsyncIterator[AgentEvent]):
    """An active run. Iteration yields each event once it is durable.

    Leaving the `async with`, or cancelling the task that iterates, cancels the run.
    """

    def __init__(
        self, runner: AgentRunner, request: RunRequest, fold: Fold, log: RunLog | None = None
    ) -> None:
        self.run_id = request.run_id
        self.session_id = request.session_id
        self._runner = runner
        self._request = request
        self._log = log
        epoch = 1 if log is None else log.info.epoch
        limit_bytes = runner.agent.config.max_run_bytes
        prices = dict(runner.agent.config.prices)
        writer = runner.repository
        self._journal = Journal(fold, request.run_id, epoch, writer.append, limit_bytes, prices, writer.hurry)
        self._journal.on_failure = self.cancel
        self._state = LoopState(runner.member, runner.team, request, self._journal, prices, runner.files)
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        self._cancelling = False
        self._ending = False
        """Whether the terminal event is being written, when it is too late to cancel."""
        self._error: AgioError | None = None

    def cancel(self) -> None:
        """Request cancellation: close the model's connection, cancel the tools, end the log with `cancelled`."""
        if self._ending:
            return
        if self._begun and not self._cancelling and self._task is not None:
            self._task.cancel()
        self._cancelling = True

    def give(self, inputs: Sequence[RunInput]) -> None:
        """Give the run messages of the user that arrived after it began. Repeats are ignored."""
        self._state.inputs.extend(inputs)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        event = self._journal.take()
        if event is not None:
            return event
        if self._task is None:
            self._task = asyncio.create_task(self._drive(), name=f"agio {self.run_id}")
        try:
            event = await self._journal.next()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if event is None:
            await self._task
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel the run if it is still active, and wait until its log has ended."""
        if self._task is None:
            return
        if not self._task.done():
            self.cancel()
            self._journal.close()
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as error:
                cancelled = error  # end the log first: the cancel grace and the hook's timeout bound it
        if not self._task.cancelled():
            self._task.exception()
        if cancelled is not None:
            raise cancelled

    async def drive(self) -> None:
        """Run to the end without a reader; events are not buffered. Raises StoreError if the log cannot be written."""
        self._journal.shown = False
        self._task = asyncio.create_task(self._drive(), name=f"agio {self.run_id}")
        try:
            await asyncio.shield(self._task)
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if self._journal.failure is not None:
            raise self._journal.failure

    async def abandon(self) -> None:
        """Stop without writing another event, so that another process can resume the run."""
        self._journal.give_up(StoreError("run_released", "The run was given back."))
        await self.aclose()

    async def result(self) -> RunResult:
        """Read the run to its end and return its result. Raises StoreError if the log cannot be written."""
        async for _ in self:
            pass
        return self._result()

    def _result(self) -> RunResult:
        fold = self._journal.fold
        return RunResult(
            run_id=self.run_id,
            thread_id=self.session_id,
            status=fold.status,
            text=fold.text,
            output=self._state.output,
            result=fold.result,
            usage=fold.total_usage,
            messages=fold.messages[fold.first_message :],
            pending_tool_call_ids=[call.id for call in fold.open_calls] if fold.status == "completed" else [],
            interrupts=list(fold.interrupts.values()) if fold.status == "interrupted" else [],
            error=self._error,
        )

    async def _drive(self) -> None:
        """Execute the run from its first event to its last. Raises only if it cannot start."""
        journal = self._journal
        try:
            self._begin()
            ended = await self._run()
            self._ending = True
            status: RunStatus = "interrupted" if isinstance(ended.outcome, InterruptOutcome) else "completed"
            journal.end(ended, status, cost=self._state.cost, usage_unknown=self._state.usage_unknown)
        except asyncio.CancelledError:
            self._ending = True
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            self._end_cancelled()
        except AgioError as error:
            if journal.fold.run_id != self.run_id:
                raise
            self._end_failed(error)
        except Exception as error:
            _log.exception("run %s failed", self.run_id)
            if journal.fold.run_id != self.run_id:
                raise
            self._end_failed(
                AgioError(
                    "internal_error",
                    f"An unexpected {type(error).__name__} ended the run, in a hook, a driver or agio itself: "
                    "the program's log has the details.",
                )
            )
        finally:
            self._ending = True
            await self._close()

    async def _close(self) -> None:
        """Commit the end, call the `run_ended` hook, and release the reader."""
        try:
            await self._journal.commit()
            hooks = self._runner.hooks
            if self._begun and hooks is not None:
                async with asyncio.timeout(self._runner.agent.config.tool_timeout_s):
                    await hooks.run_ended(self._result())
        except AgioError as error:
            level = logging.DEBUG if error.code in LET_GO else logging.WARNING
            _log.log(level, "the log of run %s could not be written: %s", self.run_id, error)
        except Exception:
            _log.exception("the run_ended hook of run %s failed; the run itself has ended", self.run_id)
        finally:
            self._journal.close()

    def _begin(self) -> None:
        if self._log is None:
            self._start()
        else:
            self._journal.seq = self._journal.fold.seq
            self._journal.size_bytes = self._log.size_bytes
        self._begun = True
        if self._cancelling:
            raise asyncio.CancelledError
        fold = self._journal.fold
        if fold.last_step == 0:
            self._settle_orphans(fold)

    async def _prepare(self) -> None:
        """Fetch the run's context, then call the `run_started` hook."""
        if not await self._state.follow():
            await self._state.gather()
        if self._runner.suggested and self._journal.fold.last_step == 0:
            self._state.tell(MEMORY_SUGGESTED, {"suggestions": list(self._runner.suggested)})
        if self._runner.hooks is not None:
            await self._runner.hooks.run_started(self._request)

    def _start(self) -> None:
        """Check the request, create the run, and emit RUN_STARTED."""
        request, fold, agent = self._request, self._journal.fold, self._runner.agent
        check_run(request, fold, agent.config)
        spoken = any(isinstance(message, UserMessage) for message in request.messages)
        self._journal.create(
            NewRun(
                run_id=request.run_id,
                session_id=request.session_id,
                agent=agent.name,
                model=agent.model_id,
                mark=self._state.mark,
                tenant=request.tenant,
                user=request.user,
                title=title_of(request.messages if spoken else fold.messages),
                created_at=wall_ms(),
            )
        )
        given = RunAgentInput(request.session_id, request.run_id, list(request.messages))
        given.resume = list(request.resume) or UNSET
        given.tools = list(request.tools) or UNSET
        given.context = list(request.context) or UNSET
        parent = (fold.run_id, fold.seq) if fold.run_id else (None, None)
        self._journal.emit(run_started(request.session_id, request.run_id, given, parent, agent=fold.agent))

    def _settle_orphans(self, fold: Fold) -> None:
        """Settle calls of the previous run that were still unanswered when the user sent a new message."""
        if not any(isinstance(message, UserMessage) for message in fold.messages[fold.first_message :]):
            return
        decided = decisions_of(self._state)
        for call in list(fold.pending):
            if call.id not in decided:
                emit_result(
                    self._state,
                    call.id,
                    ToolAnswer("Not run: it was neither approved nor answered.", "not_run"),
                )

    async def _run(self) -> RunFinished:
        limit_s = self._runner.agent.config.run_timeout_s
        spent_s = 0.0
        if self._log is not None:
            spent_s = max(0.0, (wall_ms() - self._journal.fold.started_at_ms) / 1000)
        scope = asyncio.timeout(max(0.0, limit_s - spent_s))
        try:
            async with scope:
                await self._prepare()
                return await self._runner.engine(self._state)
        except TimeoutError:
            if not scope.expired():
                raise
            raise LimitExceeded("time_budget", f"The run took longer than its {limit_s:g} s.") from None

    def _end_failed(self, error: AgioError) -> None:
        self._ending = True
        self._error = error
        self._journal.limit_bytes = None
        fold = self._journal.fold
        self._state.count_partial_usage()
        self._state.close(FAILED, keep=False)
        self._state.total.add(self._state.watch)
        self._state.end_metrics()
        event = run_failed(fold, error.code, clean(error.message))
        self._journal.end(
            event, "failed", error.code, cost=self._state.cost, usage_unknown=self._state.usage_unknown
        )

    def _end_cancelled(self) -> None:
        """End the log of a cancelled run. Open items are closed; the text shown so far is kept."""
        fold, state = self._journal.fold, self._state
        self._journal.limit_bytes = None
        state.count_partial_usage()
        state.close(CANCELLED, keep=True)
        state.end_step()
        state.end_metrics()
        last = run_finished(fold, CancelledOutcome())
        self._journal.end(last, "cancelled", cost=self._state.cost, usage_unknown=self._state.usage_unknown)
