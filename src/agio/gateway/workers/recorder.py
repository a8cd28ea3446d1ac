"""Appends of workers: checked, made durable by the store, then shown to readers by the hub (law 3).

The store's future calls back after the commit; only the end of a run that asks a person awaits anything.
"""

import asyncio
import time
from collections.abc import Callable
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
from agio.gateway.workers.append_check import ESCAPED, check_append, checked_questions
from agio.gateway.workers.pool import HeldRun, Workers
from agio.protocol.frames import SPEECH, Frame

GONE = frozenset({"stale_epoch", "run_not_found", "run_ended"})
"""Why a claim is no longer good, in the store's words."""


class Recorder:
    """Writes what workers append. `on_free` is called whenever a run has ended or was lost."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        workers: Workers,
        counters: Counters,
        on_free: Callable[[], None],
        max_event_bytes: int,
    ) -> None:
        self._store = store
        self._hub = hub
        self._workers = workers
        self._figures = counters
        self._on_free = on_free
        self._folds = Folds()
        self._event_bytes = ESCAPED * max_event_bytes
        self._together = 0
        """Appends the store has just answered: those of one commit are answered in one go."""

    def append(self, held: HeldRun, write: Append) -> asyncio.Future[Answer]:
        """Store a write, then publish it. The answer carries the run's cancel flag, or the store's error."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            check_append(held.info, write, self._event_bytes)
            asks = write.end == "interrupted"
            written = asyncio.ensure_future(
                self._append_asking(held.info, write) if asks else self._store.append(write)
            )
        except AgioError as refusal:
            answer.set_exception(refusal)
            return answer
        written.add_done_callback(partial(self._written, held, write, answer, time.monotonic()))
        return answer

    async def _append_asking(self, info: RunInfo, write: Append) -> None:
        """Store the end of a run that asks a person, with its questions as the log has them.

        Raises StoreError, and UserError `run_not_found`.
        """
        stored = await self._store.get_log(info.run_id)
        if stored.info.status == "running":  # else it is a repeat, or comes too late: the store says which
            if stored.info.last_seq != write.frame.first_seq - 1:
                raise StoreError("invalid_append", f"The end of run {info.run_id} does not follow its log.")
            whole = RunLog(stored.info, stored.payload + write.frame.payload, [*stored.turns, *write.turns])
            fold = await self._folds.fold_run(self._store, whole)
            outcome = checked_questions(info, fold, whole.events(), write.outcome or Outcome())
            write = structs.replace(write, outcome=outcome)
        await self._store.append(write)

    def _written(
        self,
        held: HeldRun,
        write: Append,
        answer: asyncio.Future[Answer],
        asked_at: float,
        done: asyncio.Future[None],
    ) -> None:
        error = StoreError("store_closed", "The store was closed.") if done.cancelled() else done.exception()
        if error is not None:
            if isinstance(error, AgioError) and error.code in GONE and self._workers.let_go(held):
                self._on_free()
            if not answer.done():
                answer.set_exception(error)
            return
        if not self._together:
            asyncio.get_running_loop().call_soon(self._count_commit)
        self._together += 1
        now = time.monotonic()
        self._figures.append_s.observe(now - asked_at)
        self._show(held, write.frame, now)
        if write.begins:
            held.begun.update(begin.key for begin in write.begins)
        if write.end is not None:
            self._workers.let_go(held)
            self._figures.runs_ended[write.end] += 1
            self._on_free()
        if not answer.done():
            answer.set_result(Answer(held.cancelled))

    def _count_commit(self) -> None:
        self._figures.commit_appends.observe(self._together)
        self._together = 0

    def _show(self, held: HeldRun, frame: Frame, now: float) -> None:
        if frame.last_seq <= held.last_seq:
            return  # a repeat: its readers have it
        held.last_seq = frame.last_seq
        self._figures.appends += 1
        self._figures.append_events += frame.count
        if not held.speaking and any(mark in frame.payload for mark in SPEECH):
            held.speaking = True
            self._figures.first_token_s.observe(now - held.claimed_at)
        first_pos = held.info.first_pos + frame.first_seq
        self._hub.publish(
            held.info.session_id, EventSlice(frame.run_id, first_pos, frame.count, frame.payload)
        )
