"""Appends of workers: checked, committed by the store, then published to readers by the hub (law 3).

The store's future calls back after the commit; only the end of a run that asks a person awaits anything.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import structs

from agio.core.link.link import Answer
from agio.core.store.records import EventSlice
from agio.core.store.repository import Append, Outcome, RunInfo, RunLog
from agio.core.store.store import Store
from agio.errors import AgioError, StoreError
from agio.gateway.counters import Counters
from agio.gateway.stream.folds import Folds
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.inputs import check_asked
from agio.gateway.workers.append_check import ESCAPED, check_append, check_inputs, checked_questions
from agio.gateway.workers.connected_worker import ClaimedRun
from agio.gateway.workers.recall import extraction_delay_ms
from agio.protocol.frames import SPEECH, Frame

GONE = frozenset({"stale_epoch", "run_not_found", "run_ended"})
"""The store's codes for a claim that is no longer valid."""


class Recorder:
    """Writes what workers append.

    `on_end` is called with a run that has ended or whose claim is invalid, `on_flag` with one to be cancelled.
    """

    def __init__(
        self,
        store: Store,
        hub: Hub,
        counters: Counters,
        max_event_bytes: int,
        *,
        on_end: Callable[[ClaimedRun], object],
        on_flag: Callable[[ClaimedRun], object],
        on_settled: Callable[[], object] = int,
        idle_ms: int = 0,
    ) -> None:
        self._store = store
        self._hub = hub
        self._counters = counters
        self._on_end = on_end
        self._on_flag = on_flag
        self._folds = Folds()
        self._event_bytes = ESCAPED * max_event_bytes
        self._on_settled = on_settled
        """Called after the end of a run whose session has work for a job now."""
        self._idle_ms = idle_ms
        """How long a session may be idle before its memories are extracted."""
        self._together = 0
        """Appends the store has just answered: those of one commit are answered in one iteration of the loop."""

    def append(self, run: ClaimedRun, write: Append) -> asyncio.Future[Answer]:
        """Store a write, then publish it. The answer carries the run's cancel flag, or the store's error."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            check_append(run.info, write, self._event_bytes)
            outcome = write.outcome
            if outcome is not None and outcome.active_agent and outcome.active_agent not in run.team:
                write = structs.replace(write, outcome=structs.replace(outcome, active_agent=""))
            if write.end is not None or write.extract_in_ms is not None:
                asked = run.asked_to_remember
                delay_ms = extraction_delay_ms(
                    run.agent, write.end, write.outcome, self._idle_ms, asked=asked
                )
                write = structs.replace(write, extract_in_ms=delay_ms)
            written = asyncio.ensure_future(self._append(run, write))
        except AgioError as refusal:
            answer.set_exception(refusal)
            return answer
        written.add_done_callback(partial(self._written, run, write, answer, time.monotonic()))
        return answer

    def _append(self, run: ClaimedRun, write: Append) -> Awaitable[bool | None]:
        if (
            write.consumed and write.frame.first_seq > run.last_seq
        ):  # else the store compares it with the stored one
            return self._append_with_inputs(run.info, write)
        return (
            self._append_asking(run.info, write) if write.end == "interrupted" else self._store.append(write)
        )

    async def _append_with_inputs(self, info: RunInfo, write: Append) -> bool | None:
        """Store a write that has input of the user, which must be as the store has it. Raises StoreError."""
        check_inputs(info, write, await self._store.run_inputs(info.run_id))
        if write.end == "interrupted":
            return await self._append_asking(info, write)
        return await self._store.append(write)

    async def _append_asking(self, info: RunInfo, write: Append) -> bool | None:
        """Store the end of a run that asks a person, with its questions as the log has them.

        Raises StoreError, and UserError `run_not_found`.
        """
        stored = await self._store.get_log(info.run_id)
        if stored.info.status == "running":  # else it is a repeat or too late, which the store decides
            if stored.info.last_seq != write.frame.first_seq - 1:
                raise StoreError("invalid_append", f"The end of run {info.run_id} does not follow its log.")
            whole = RunLog(stored.info, stored.payload + write.frame.payload, [*stored.turns, *write.turns])
            fold = await self._folds.fold_run(self._store, whole)
            outcome = checked_questions(info, fold, whole.events(), write.outcome or Outcome())
            await check_asked(self._store, info, outcome.questions)
            write = structs.replace(write, outcome=outcome)
        return await self._store.append(write)

    def _written(
        self,
        run: ClaimedRun,
        write: Append,
        answer: asyncio.Future[Answer],
        asked_at: float,
        done: asyncio.Future[bool | None],
    ) -> None:
        error = StoreError("store_closed", "The store was closed.") if done.cancelled() else done.exception()
        if error is not None:
            if isinstance(error, AgioError) and error.code in GONE:
                self._on_end(run)
            if not answer.done():
                answer.set_exception(error)
            return
        if not self._together:
            asyncio.get_running_loop().call_soon(self._count_commit)
        self._together += 1
        now = time.monotonic()
        self._counters.append_s.observe(now - asked_at)
        self._publish(run, write.frame, now)
        if write.level > run.info.log_level:
            run.info = structs.replace(run.info, log_level=write.level)
        if write.begins:
            run.begun.update(begin.key for begin in write.begins)
        if write.extract_in_ms == 0:
            self._on_settled()
        if write.end is not None:
            self._counters.runs_ended[write.end] += 1
            self._on_end(run)
        elif done.result():
            self._on_flag(run)
        if not answer.done():
            answer.set_result(Answer(run.cancelled))

    def _count_commit(self) -> None:
        self._counters.commit_appends.observe(self._together)
        self._together = 0

    def _publish(self, run: ClaimedRun, frame: Frame, now: float) -> None:
        if frame.last_seq <= run.last_seq:
            return  # a repeat that was published before
        run.last_seq = frame.last_seq
        self._counters.appends += 1
        self._counters.append_events += frame.count
        if not run.speaking and any(mark in frame.payload for mark in SPEECH):
            run.speaking = True
            self._counters.first_token_s.observe(now - run.claimed_at)
        first_pos = run.info.first_pos + frame.first_seq
        self._hub.publish(
            run.info.session_id, EventSlice(frame.run_id, first_pos, frame.count, frame.payload)
        )
