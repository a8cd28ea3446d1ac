"""The SSE writer: a response of server-sent events that a subscription feeds."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from agio.errors import StoreError
from agio.gateway.http.asgi import Receive, Send
from agio.gateway.stream.event_slice import EncodedSlice
from agio.gateway.stream.hub import Subscription

_log = logging.getLogger("agio.gateway")

_KEEP_ALIVE = b": keep-alive\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_GOODBYE_S = 1.0


class EventStream:
    """A response of server-sent events, fed by a subscription. Its reader may leave at any time."""

    def __init__(self, events: Subscription, receive: Receive, send: Send, keep_alive_s: float) -> None:
        self.left = False
        """Whether the reader has gone."""
        self._events = events
        self._receive = receive
        self._send = send
        self._keep_alive_s = keep_alive_s
        self._loop = asyncio.get_running_loop()

    async def start(self, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Answer that a stream follows, and begin to watch for the reader to leave."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *headers]})
        self._wrote_at = self._loop.time()
        self._watching = self._loop.create_task(self._watch())
        self._timer = self._loop.call_later(self._keep_alive_s, self._tick)

    async def take(self) -> list[EncodedSlice]:
        """Return what comes next, nothing at the end. While nothing comes, comments keep the connection open."""
        try:
            while not (slices := await self._events.take()) and self._events.ended is None:
                await self.write(_KEEP_ALIVE)
        except StoreError as error:
            _log.warning("A stream ends early; its reader can resume: %s", error)
            return []
        return slices

    async def write(self, frames: bytes) -> None:
        """Send frames. A slow reader makes this wait."""
        try:
            await self._send({"type": "http.response.body", "body": frames, "more_body": True})
        except OSError:
            self._leave()
        self._wrote_at = self._loop.time()

    async def finish(self) -> None:
        """End the response. One that is cancelled is not finished: its reader may never read on."""
        if not self.left:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def break_off(self) -> None:
        """End the response of a reader whose credential was revoked. A reconnect is refused."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_GOODBYE_S):
                await self.finish()

    def release(self) -> None:
        """Stop the timers."""
        self._timer.cancel()
        self._watching.cancel()
        del self._watching  # break the reference cycle through the cancelled task's frames

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        self.left = True
        self._events.end("left")

    def _tick(self) -> None:
        """Nudge a stream that was silent. Armed again for the rest of the time, not at every event."""
        due_s = self._wrote_at + self._keep_alive_s - self._loop.time()
        if due_s <= 0:
            self._events.nudge()
            due_s = self._keep_alive_s
        self._timer = self._loop.call_later(due_s, self._tick)
