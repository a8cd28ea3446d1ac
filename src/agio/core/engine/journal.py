"""The log writer of a run. Events are numbered, encoded once, made durable, then passed to the reader.

At most one append is in flight. Events emitted meanwhile, or right after it, form the next append.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from msgspec import UNSET

from agio.core.config import Price
from agio.core.log_level import PLAIN
from agio.core.run.closing import last_charge, outcome_of
from agio.core.run.fold import Fold
from agio.core.run.metrics import NO_PRICES, charge_of
from agio.core.store.repository import (
    Append,
    Charge,
    NewRun,
    Outcome,
    RunStatus,
    ToolBegin,
    ToolEnd,
    TurnRecord,
)
from agio.errors import AgioError, LimitExceeded, StoreError, UserError
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent, ReasoningMessageChunk, RunError, TextMessageChunk
from agio.protocol.frames import Frame

PACE_S = 0.002
"""Minimum delay between two commits unless a caller waits for one, so that a burst shares commits."""
PATIENCE_S = 0.005
"""How long a non-text event may wait to share a commit, so that a turn's calls and record are one append."""
WINDOW_EVENTS = 2048
"""How many events a reader may lag behind before the run waits for it."""


_SPEECH = (TextMessageChunk, ReasoningMessageChunk)


class Journal:
    """Numbers, folds, encodes and appends the events of one run, and passes them to the reader after their commit."""

    def __init__(
        self,
        fold: Fold,
        run_id: str,
        epoch: int,
        append: Callable[[Append], Awaitable[object]],
        limit_bytes: int | None = None,
        prices: Mapping[str, Price] = NO_PRICES,
    ) -> None:
        self.fold = fold
        fold.uncharged.clear()  # earlier appends have charged what the log says
        self.seq = 0
        self.size_bytes = 0
        """The size of the log: events and turn records."""
        self.limit_bytes = limit_bytes
        """The largest size of the log. None means no limit, as when the run's last events are written."""
        self.shown = True
        """Whether this process reads the events after their commit."""
        self.on_failure: Callable[[], None] = _nothing
        self._run_id = run_id
        self._epoch = epoch
        self._prices = prices
        self._append = append
        self._lines: list[bytes] = []
        self._events: list[AgentEvent] = []
        self._turns: list[TurnRecord] = []
        self._begins: list[ToolBegin] = []
        self._ends: list[ToolEnd] = []
        self._outcome: Outcome | None = None
        self._last_charge: Charge | None = None
        self._level = PLAIN
        self._consumed = 0
        self._create: NewRun | None = None
        self._end: RunStatus | None = None
        self._error_code: str | None = None
        self._error_message: str | None = None
        self._busy = False
        """Whether an append is in flight or scheduled."""
        self._in_flight = False
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = False
        """Whether the timer only waits for more events to share the commit."""
        self._next_at = 0.0
        self._idle: list[asyncio.Future[None]] = []
        self._failure: AgioError | None = None
        self._ready: deque[AgentEvent] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._closed = False

    def emit(self, event: AgentEvent) -> None:
        """Add an event. The reader gets it once it is durable. Raises LimitExceeded `run_too_large`."""
        seq = self.seq + 1
        event.timestamp = time.time_ns() // 1_000_000
        if event.metadata is UNSET:
            event.metadata = {"run": self._run_id, "seq": seq}
        else:
            event.metadata.update(run=self._run_id, seq=seq)
        # Fallible steps first: an event that cannot be encoded or folded must not leave a gap in `seq`.
        line = encode(event)
        size_bytes = self.size_bytes + len(line) + 1
        if self.limit_bytes is not None and size_bytes > self.limit_bytes:
            raise LimitExceeded(
                "run_too_large", f"The run's log would have more than its {self.limit_bytes} bytes."
            )
        self.fold.apply(event, seq)
        self.seq = seq
        self.size_bytes = size_bytes
        self._lines.append(line)
        if self.shown:
            self._events.append(event)
        if not self._busy:
            if not isinstance(event, _SPEECH):
                self._wait()
            elif self._timer is None or self._waiting:
                self._schedule()

    @property
    def crowded(self) -> bool:
        """Whether the store or the reader lags so far behind that optional events should be skipped."""
        return len(self._ready) + len(self._lines) > WINDOW_EVENTS

    def create(self, run: NewRun) -> None:
        """Create the run in the same commit as its first event."""
        self._create = run

    def begin(self, call: ToolBegin) -> None:
        """Record that a call starts. The call may start after the next `commit()`."""
        self._begins.append(call)

    def raise_level(self, level: int) -> None:
        """Declare what readers of the log must know from the next append on."""
        self._level = max(self._level, level)

    def consume(self, idx: int) -> None:
        """Mark the run's input up to `idx` as consumed by the emitted events, in the same commit."""
        self._consumed = idx

    def finish(self, call: ToolEnd) -> None:
        """Record that a call has its result, in the same commit as the last emitted event."""
        self._ends.append(call)

    def record(self, turn: TurnRecord) -> None:
        """Add a turn record, positioned right after the last emitted event."""
        self.fold.apply_turn(turn)
        self.size_bytes += len(encode(turn))
        self._turns.append(turn)

    def end(
        self,
        event: AgentEvent,
        status: RunStatus,
        error_code: str | None = None,
        *,
        cost: float | None = None,
        usage_unknown: bool = False,
    ) -> None:
        """Add the terminal event. Its commit ends the run and stores the status.

        `cost` is the cost of a run without a model call. `usage_unknown`: a model call did not report its token usage.
        """
        self.emit(event)
        self._end, self._error_code = status, error_code
        self._error_message = event.message if isinstance(event, RunError) else None
        self._outcome = outcome_of(self.fold, status)
        self._last_charge = last_charge(self.fold, cost, usage_unknown=usage_unknown)
        self._hurry()

    async def commit(self) -> None:
        """Wait until everything emitted and recorded so far is durable. Raises the store's error."""
        while self._failure is None and (self._busy or self._lines or self._turns or self._begins):
            self._hurry()
            await self._settled()
        if self._failure is not None:
            raise self._failure

    async def drain(self) -> None:
        """Wait while events queue behind an append, or the reader is too far behind. Raises the store's error.

        The loop that reads a model stream waits here, so that deltas that arrive meanwhile form one batch.
        """
        if self._in_flight and self._lines:
            await self._settled()
        while len(self._ready) > WINDOW_EVENTS and not self._closed and self._failure is None:
            self._room = asyncio.get_running_loop().create_future()
            await self._room
        if self._failure is not None:
            raise self._failure

    def _settled(self) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self._idle.append(future)
        return future

    def _schedule(self) -> None:
        self._stop_timer()
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_at:
            self._timer = loop.call_at(self._next_at, self._hurry)
        else:
            self._hurry()

    def _wait(self) -> None:
        if self._timer is None:
            self._waiting = True
            self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self._hurry)

    def _stop_timer(self) -> None:
        self._waiting = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hurry(self) -> None:
        """Schedule an append now, regardless of `PACE_S`."""
        self._stop_timer()
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        if self._failure is not None:
            return
        self._in_flight = True
        lines, self._lines = self._lines, []
        events, self._events = self._events, []
        turns, self._turns = self._turns, []
        begins, self._begins = self._begins, []
        ends, self._ends = self._ends, []
        create, self._create = self._create, None
        level, self._level = self._level, PLAIN
        consumed, self._consumed = self._consumed, 0
        payload = b"\n".join(lines) + b"\n" if lines else b""
        frame = Frame(self._run_id, self._epoch, self.seq - len(lines) + 1, len(lines), payload)
        try:
            written = self._append(
                Append(
                    frame,
                    turns,
                    self._end,
                    self._error_code,
                    create,
                    begins,
                    ends,
                    self._outcome,
                    self._error_message,
                    level,
                    self._charge(),
                    consumed,
                )
            )
        except Exception as error:  # a third-party store may raise anything
            self._fail(error if isinstance(error, AgioError) else StoreError("store_failed", repr(error)))
            return
        asyncio.ensure_future(written).add_done_callback(lambda done: self._written(done, events))

    def _charge(self) -> Charge | None:
        """Return what the model calls since the last append used."""
        if not self.fold.uncharged and self._end is None:
            return None
        calls, self.fold.uncharged = self.fold.uncharged, []
        return charge_of(calls, self._prices, self._last_charge or Charge())

    def _written(self, done: asyncio.Future[object], events: list[AgentEvent]) -> None:
        self._in_flight = False
        if done.cancelled():
            self._fail(StoreError("store_closed", "The store was closed while the run was written."))
            return
        error = done.exception()
        if error is not None:
            self._fail(error if isinstance(error, AgioError) else StoreError("store_failed", str(error)))
            return
        if self.shown:
            self._ready.extend(events)
        self._busy = False
        self._next_at = asyncio.get_running_loop().time() + PACE_S
        if self._end is not None and self._lines:
            self._hurry()
        elif self._lines:
            self._schedule()
        _wake(self._reader)
        self._wake_idle()

    @property
    def failure(self) -> AgioError | None:
        """The store's error. After it nothing more is written."""
        return self._failure

    def give_up(self, why: AgioError) -> None:
        """Stop writing, as if the store had failed with this error."""
        if self._failure is None:
            self._fail(why)

    def _fail(self, error: AgioError) -> None:
        self._failure = error
        self._busy = False
        self.on_failure()
        _wake(self._reader)
        _wake(self._room)
        self._wake_idle()

    def _wake_idle(self) -> None:
        waiting, self._idle = self._idle, []
        for future in waiting:
            _wake(future)

    def close(self) -> None:
        """Tell the reader that no more events come."""
        self._closed = True
        self.on_failure = _nothing  # break the reference cycle with the owner
        _wake(self._reader)
        _wake(self._room)

    def take(self) -> AgentEvent | None:
        """Return the next durable event, or None if none is ready."""
        if not self._ready:
            return None
        if self._room is not None and len(self._ready) <= WINDOW_EVENTS // 2:
            _wake(self._room)
        return self._ready.popleft()

    async def next(self) -> AgentEvent | None:
        """Wait for the next durable event; None after the last.

        Raises the store's error, or UserError `already_read` if another reader waits.
        """
        while True:
            event = self.take()
            if event is not None:
                return event
            if self._failure is not None:
                raise self._failure
            if self._closed:
                return None
            if self._reader is not None and not self._reader.done():
                raise UserError("already_read", "This run is already being read: a run has one reader.")
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader


def _nothing() -> None: ...


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
