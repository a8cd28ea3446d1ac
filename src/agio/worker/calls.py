"""A worker's pending calls: numbered, kept as encoded, and repeated after a reconnect."""

import asyncio
from collections.abc import Callable, Collection

from msgspec import Struct

from agio.core.link import wire
from agio.errors import AgioError, StoreError


class Calls:
    """The calls of one worker across its connections. `post` sends a frame on the current one."""

    def __init__(self, post: Callable[[bytes], None]) -> None:
        self.linked = asyncio.Event()
        """Set while connected; calls wait for it."""
        self.last = 0
        """The number of the newest call."""
        self._post = post
        self._waiting: dict[int, _Call] = {}
        self._closed = False

    def number(self) -> int:
        """Return the number of the next call."""
        self.last += 1
        return self.last

    def ask(
        self, number: int, frame: wire.UpFrame, run_id: str = "", *, now: bool = False
    ) -> "asyncio.Future[object]":
        """Make a call. It waits for a connection and outlives it; with `now` it does neither.

        Raises StoreError `not_storable`, `link_lost`.
        """
        if self._closed:
            raise _lost()
        data = wire.encode_frame(frame, wire.MAX_UP_BYTES)
        answered: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[number] = _Call(data, run_id, answered, repeats=not now)
        if self.linked.is_set() or now:
            self._post(data)
        return answered

    def answer(self, number: int, value: object) -> None:
        """Set the answer of a call."""
        call = self._waiting.pop(number, None)
        if call is not None and not call.answered.done():
            call.answered.set_result(value)

    def fail(self, number: int, error: AgioError) -> None:
        """Set the error of a call."""
        call = self._waiting.pop(number, None)
        if call is not None and not call.answered.done():
            call.answered.set_exception(error)

    def resume(self, honoured: Collection[str], before: int) -> None:
        """Send the waiting calls on the current connection.

        Calls up to number `before` date from an earlier connection. Their runs are still this worker's only if they
        are among the `honoured`.
        """
        self.linked.set()
        for number, call in list(self._waiting.items()):
            if call.answered.done():
                del self._waiting[number]
            elif not call.repeats:
                self.fail(number, _lost())
            elif number <= before and call.run_id not in honoured:
                self.fail(
                    number, StoreError("stale_epoch", f"Run {call.run_id} is not this worker's any more.")
                )
            else:
                self._post(call.frame)

    def close(self) -> None:
        """Refuse new calls, and fail the pending ones."""
        self._closed = True
        for number in list(self._waiting):
            self.fail(number, _lost())


class _Call(Struct, frozen=True):
    frame: bytes
    run_id: str
    answered: "asyncio.Future[object]"
    repeats: bool


def _lost() -> StoreError:
    return StoreError("link_lost", "The link to the gateway is closed.")
