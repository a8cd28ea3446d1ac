"""A worker behind a WebSocket: commands go down as frames, its calls come up and go to its link, answers go back.

doors/link_socket.py admits it.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import msgspec

from agio.core.link import wire
from agio.core.link.link import Job, Task, TaskResult
from agio.core.store.repository import RunInput
from agio.errors import AgioError, ModelError, StoreError, UserError
from agio.gateway.http.asgi import Receive, Send
from agio.gateway.workers.connected_worker import Permit
from agio.gateway.workers.pool import WorkerPool
from agio.protocol.messages import Json
from agio.telemetry.context import about

T = TypeVar("T")

_log = logging.getLogger("agio.gateway")

_GREET_S = 10.0
_CLOSE_S = 2.0
_CALLS = 4096
"""How many calls of one worker may be running; more are not read before some are answered."""
_PROGRESS_BYTES = 1024 * 1024
"""How much may be buffered before progress is left out."""
_QUEUE_BYTES = 64 * 1024 * 1024
"""How much may be buffered for a worker that does not read."""


class _Closed(Exception):
    """The connection ends; `code` is the close code to send, None if the worker closed it."""

    def __init__(self, code: int | None = None) -> None:
        super().__init__(code)
        self.code = code


class RemoteWorker:
    """A worker on the other side of a connection, `core.link.Worker`. `serve` is the connection's whole life.

    `calls` holds calls that outlive the connection: a tool that has started is finished, and its result stored.
    """

    def __init__(
        self,
        pool: WorkerPool,
        calls: set[asyncio.Future[Any]],
        receive: Receive,
        send: Send,
        permit: Permit,
    ) -> None:
        self._link = pool.connect(self, permit)
        self._calls = calls
        self._receive = receive
        self._send = send
        self._under_way = 0
        self._room = asyncio.Event()
        self._outgoing: list[bytes] = []
        self._queued_bytes = 0
        self._ready = asyncio.Event()
        self._open = True
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The close code of our end: the worker does not read, or its key was revoked."""
        self._tasks: dict[int, asyncio.Future[TaskResult]] = {}
        self._count = 0

    async def serve(self) -> None:
        """Carry calls and answers until either side ends it."""
        reading = asyncio.create_task(self._read())
        writing = asyncio.create_task(self._write())
        try:
            await asyncio.wait((reading, writing, self._ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open = False
            self._link.closed()
            reading.cancel()
            writing.cancel()
            ended = await asyncio.gather(reading, writing, return_exceptions=True)
            for performing in self._tasks.values():
                if not performing.done():
                    performing.set_exception(
                        ModelError("link_lost", "The worker disconnected.", retryable=True)
                    )
        await self._hang_up(ended)

    def revoke(self) -> None:
        """Close the connection of a worker whose key was revoked; its runs go to other workers at once."""
        self._link.revoked()
        self._end(wire.REFUSED)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    # Commands to the worker

    def start(self, job: Job) -> None:
        """Send a job; one that cannot be encoded is released."""
        try:
            frame = wire.encode_frame(wire.Start(job))
        except StoreError as error:
            words = "run %s cannot be sent to a worker: %s"
            _log.warning(words, job.claim.run_id, error, extra=about(job.log.info))
            giving_back = asyncio.ensure_future(self._link.release(job.claim))
            self._calls.add(giving_back)
            giving_back.add_done_callback(self._calls.discard)
            return
        self._post(frame)

    def cancel(self, run_id: str, epoch: int) -> None:
        """Send a cancel."""
        self._post(wire.encode_frame(wire.Cancel(run_id, epoch)))

    def give(self, run_id: str, epoch: int, inputs: list[RunInput]) -> None:
        """Send input."""
        self._post(wire.encode_frame(wire.Give(run_id, epoch, inputs)))

    def drop(self, run_id: str, epoch: int) -> None:
        """Send a drop."""
        self._post(wire.encode_frame(wire.Drop(run_id, epoch)))

    def report(self, run_id: str, epoch: int, key: str, progress: Json) -> None:
        """Send a call's progress, unless the worker lags."""
        if self._queued_bytes < _PROGRESS_BYTES:
            self._post(wire.encode_frame(wire.Report(run_id, epoch, key, msgspec.json.encode(progress))))

    def drain(self, within_s: float) -> None:
        """Send a drain."""
        self._post(wire.encode_frame(wire.Drain(within_s)))

    async def perform(self, task: Task) -> TaskResult:
        """Send a task and wait for its result. Raises ModelError, UserError."""
        self._count += 1
        number = self._count
        done: asyncio.Future[TaskResult] = asyncio.get_running_loop().create_future()
        if not self._open:
            raise ModelError("link_lost", "The worker disconnected.", retryable=True)
        self._tasks[number] = done
        try:
            self._post(wire.encode_frame(wire.Perform(number, task)))
            return await done
        finally:
            del self._tasks[number]

    # Frames from the worker

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(_GREET_S):
                first, *rest = await self._message()
                if not isinstance(first, wire.Greet):
                    raise _Closed(wire.GARBAGE)
                await self._greet(first)
        except TimeoutError as error:
            raise _Closed(wire.SLOW) from error
        while True:
            for frame in rest:
                self._take(frame)
            while self._under_way > _CALLS:
                self._room.clear()
                await self._room.wait()
            rest = await self._message()

    async def _message(self) -> list[wire.UpFrame]:
        message = await self._receive()
        if message["type"] != "websocket.receive":
            raise _Closed
        self._link.alive()
        try:
            frames = wire.decode_up(message.get("bytes") or b"")
        except UserError as error:
            _log.warning("a worker sent an invalid frame: %s", error)
            raise _Closed(wire.GARBAGE) from error
        if not frames:
            raise _Closed(wire.GARBAGE)
        return frames

    async def _greet(self, frame: wire.Greet) -> None:
        try:
            welcome = await self._link.greet(frame.greeting)
            self._post(wire.encode_frame(wire.Welcomed(frame.id, welcome)))
        except AgioError as error:
            self._post(wire.encode_frame(wire.failed(frame.id, error)))

    def _take(self, frame: wire.UpFrame) -> None:
        link = self._link
        match frame:
            case wire.Write(id=number, claim=claim, write=write):
                self._call(link.append(claim, write), wire.Written, number)
            case wire.Use(id=number, claim=claim, key=key, tool=tool, lane=lane, agent=agent):
                try:
                    arguments = frame.decoded()
                except msgspec.DecodeError as error:
                    raise _Closed(wire.GARBAGE) from error
                self._call(link.call_tool(claim, key, tool, arguments, lane, agent), wire.Used, number)
            case wire.Begin(id=number, claim=claim, key=key, tool=tool, effect=effect, lane=lane):
                self._call(link.begin_tool(claim, key, tool, effect, lane), wire.Begun, number)
            case wire.End(id=number, claim=claim, key=key, record=record):
                self._call(link.end_tool(claim, key, record), _done, number)
            case wire.Read(id=number, claim=claim, file_id=file_id, idx=idx):
                self._call(link.read_file(claim, file_id, idx), wire.Piece, number)
            case wire.Release(id=number, claim=claim):
                self._call(link.release(claim), _done, number)
            case wire.Leave(id=number):
                self._call(link.leave(), _done, number)
            case wire.Performed(id=number, result=result):
                performing = self._tasks.get(number)
                if performing is not None and not performing.done():
                    performing.set_result(result)
            case wire.Failed(id=number):
                performing = self._tasks.get(number)
                if performing is not None and not performing.done():
                    performing.set_exception(frame.error())
            case wire.Greet():
                raise _Closed(wire.GARBAGE)

    def _call(
        self,
        asked: "asyncio.Future[T] | Coroutine[None, None, T]",
        answer: Callable[[int, T], wire.DownFrame],
        number: int,
    ) -> None:
        call = asyncio.ensure_future(asked)
        self._under_way += 1
        self._calls.add(call)
        call.add_done_callback(partial(self._answered, answer, number))

    def _answered(
        self, answer: Callable[[int, T], wire.DownFrame], number: int, call: "asyncio.Future[T]"
    ) -> None:
        self._calls.discard(call)
        self._under_way -= 1
        self._room.set()
        if call.cancelled():
            return
        error = call.exception()
        if not self._open:
            return
        if error is None:
            try:
                self._post(wire.encode_frame(answer(number, call.result())))
                return
            except StoreError as too_large:
                error = too_large
        elif not isinstance(error, AgioError):
            _log.error("a worker's call failed", exc_info=error)
            error = AgioError("internal_error", f"An unexpected {type(error).__name__} in the gateway.")
        self._post(wire.encode_frame(wire.failed(number, error)))

    # Frames to the worker

    def _post(self, frame: bytes) -> None:
        if not self._open:
            return
        if self._queued_bytes > _QUEUE_BYTES:
            self._end(wire.SLOW)
        self._outgoing.append(frame)
        self._queued_bytes += len(frame)
        self._ready.set()

    async def _write(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            frames, self._outgoing = self._outgoing, []
            for message in wire.messages_of(frames):
                await self._send({"type": "websocket.send", "bytes": message})
            self._queued_bytes -= sum(map(len, frames))

    async def _hang_up(self, ended: Sequence[BaseException | None]) -> None:
        """Send the close code, if the connection is still open."""
        code = self._ended.result() if self._ended.done() else None
        for end in ended:
            if isinstance(end, _Closed):
                code = end.code
            elif isinstance(end, Exception) and not isinstance(end, OSError):
                _log.error("a worker's connection failed; it can reconnect", exc_info=end)
                code = 1011
        if code is not None:
            with suppress(OSError, RuntimeError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self._send({"type": "websocket.close", "code": code})


def _done(number: int, _: None) -> wire.Done:
    return wire.Done(number)
