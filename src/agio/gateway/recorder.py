"""Appends of workers: made durable by the store, then shown to readers by the hub (law 3).

Nothing is awaited here: the store's future calls back after the commit.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial

from agio.core.link import Answer
from agio.core.records import Chunk
from agio.core.repository import Append
from agio.core.store import Store
from agio.errors import AgioError, StoreError
from agio.gateway.figures import Figures
from agio.gateway.hub import Hub
from agio.gateway.workers import HeldRun, Workers
from agio.protocol.frames import Frame

GONE = frozenset({"stale_epoch", "run_not_found", "run_ended"})
"""Why a claim is no longer good, in the store's words."""
_SPEECH = (b'{"type":"TEXT_MESSAGE_', b'{"type":"REASONING_MESSAGE_')


class Recorder:
    """Writes what workers append. `on_free` is called whenever a run has ended or was lost."""

    def __init__(
        self, store: Store, hub: Hub, workers: Workers, figures: Figures, on_free: Callable[[], None]
    ) -> None:
        self._store = store
        self._hub = hub
        self._workers = workers
        self._figures = figures
        self._on_free = on_free
        self._together = 0
        """Appends the store has just answered: those of one commit are answered in one go."""

    def append(self, held: HeldRun, write: Append) -> asyncio.Future[Answer]:
        """Store a write, then publish it. The answer carries the run's cancel flag, or the store's error."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            _check(held, write)
            written = asyncio.ensure_future(self._store.append(write))
        except AgioError as refusal:
            answer.set_exception(refusal)
            return answer
        written.add_done_callback(partial(self._written, held, write, answer, time.monotonic()))
        return answer

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
        if not held.speaking and any(mark in frame.payload for mark in _SPEECH):
            held.speaking = True
            self._figures.first_token_s.observe(now - held.claimed_at)
        first_pos = held.info.first_pos + frame.first_seq
        self._hub.publish(held.info.thread_id, Chunk(frame.run_id, first_pos, frame.count, frame.payload))


def _check(held: HeldRun, write: Append) -> None:
    """Refuse what is not about the claim's own run. Raises StoreError `stale_epoch`, `invalid_append`."""
    frame, info = write.frame, held.info
    if frame.run_id != info.run_id or frame.epoch != info.epoch:
        raise StoreError("stale_epoch", f"The claim is not of run {frame.run_id}, epoch {frame.epoch}.")
    foreign = any(turn.run_id != info.run_id for turn in write.turns)
    if foreign or write.create is not None:
        raise StoreError("invalid_append", f"This write does not fit the claim of run {info.run_id}.")
