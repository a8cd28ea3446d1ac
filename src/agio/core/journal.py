"""The log of a run while it is written: events are numbered, encoded once, made durable, then shown.

One append is in flight; what is emitted meanwhile is the next one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import UNSET

from agio.core.fold import Fold
from agio.core.repository import Append, RunStatus, TurnRecord
from agio.errors import AgioError
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent
from agio.protocol.frames import Frame

WINDOW_EVENTS = 2048
"""How many events a reader may lag behind before the run waits for it."""


class Journal:
    """Numbers, folds, encodes and appends the events of one run, and hands them on after their commit."""

    def __init__(
        self, fold: Fold, run_id: str, epoch: int, append: Callable[[Append], Awaitable[None]]
    ) -> None:
        self.fold = fold
        self.seq = 0
        self._run_id = run_id
        self._epoch = epoch
        self._append = append
        self._lines: list[bytes] = []
        self._events: list[AgentEvent] = []
        self._turns: list[TurnRecord] = []
        self._end: RunStatus | None = None
        self._error_code: str | None = None
        self._writer: asyncio.Task[None] | None = None
        self._failure: AgioError | None = None
        self._ready: deque[AgentEvent] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._closed = False
        self.on_failure: Callable[[], None] = lambda: None

    def emit(self, event: AgentEvent) -> None:
        """Add an event. It is shown to readers once it is durable."""
        self.seq += 1
        event.timestamp = time.time_ns() // 1_000_000
        if event.metadata is UNSET:
            event.metadata = {"run": self._run_id, "seq": self.seq}
        else:
            event.metadata.update(run=self._run_id, seq=self.seq)
        self.fold.apply(event)
        self._lines.append(encode(event))
        self._events.append(event)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write())

    def record(self, turn: TurnRecord) -> None:
        """Add a turn record, right after the event emitted last."""
        self.fold.apply_turn(turn)
        self._turns.append(turn)

    def end(self, event: AgentEvent, status: RunStatus, error_code: str | None = None) -> None:
        """Add the terminal event: the commit that stores it ends the run."""
        self._end, self._error_code = status, error_code
        self.emit(event)

    async def commit(self) -> None:
        """Wait until everything emitted and recorded so far is durable. Raises what the store raised."""
        while self._failure is None and (self._writer is not None or self._turns):
            if self._writer is None:
                self._writer = asyncio.get_running_loop().create_task(self._write())
            await asyncio.wait([self._writer])
        if self._failure is not None:
            raise self._failure

    async def drain(self) -> None:
        """Wait while the reader is too far behind. Raises what the store raised."""
        while len(self._ready) > WINDOW_EVENTS and not self._closed and self._failure is None:
            self._room = asyncio.get_running_loop().create_future()
            await self._room
        if self._failure is not None:
            raise self._failure

    async def _write(self) -> None:
        try:
            while self._lines or self._turns:
                lines, events, turns = self._lines, self._events, self._turns
                self._lines, self._events, self._turns = [], [], []
                payload = b"\n".join(lines) + b"\n" if lines else b""
                first_seq = self.seq - len(lines) + 1
                frame = Frame(self._run_id, self._epoch, first_seq, len(lines), payload)
                await self._append(Append(frame, turns, self._end, self._error_code))
                self._ready.extend(events)
                _wake(self._reader)
        except AgioError as error:
            self._failure = error
            self.on_failure()
        finally:
            self._writer = None
            if self._failure is not None:
                _wake(self._reader)
                _wake(self._room)

    def close(self) -> None:
        """Say that nothing more comes."""
        self._closed = True
        _wake(self._reader)
        _wake(self._room)

    def take(self) -> AgentEvent | None:
        """Return the next durable event if there is one."""
        if not self._ready:
            return None
        if self._room is not None and len(self._ready) <= WINDOW_EVENTS // 2:
            _wake(self._room)
        return self._ready.popleft()

    async def next(self) -> AgentEvent | None:
        """Return the next durable event, None after the last. Raises what the store raised."""
        while True:
            event = self.take()
            if event is not None:
                return event
            if self._failure is not None:
                raise self._failure
            if self._closed:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
