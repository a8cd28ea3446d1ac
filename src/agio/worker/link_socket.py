"""The worker's end of the link over a WebSocket: sends calls, receives answers and jobs, and reconnects.

Calls pending when the connection broke are repeated on the next one; all calls are safe to repeat. The other
end is gateway/doors/link_socket.py.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterator
from typing import Protocol, cast

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from agio.core.file import FilePiece
from agio.core.link import wire
from agio.core.link.link import Answer, Claim, Greeting, Link, Task, ToolReply, Welcome, Worker
from agio.core.store.repository import Append, Effect, ToolRecord
from agio.errors import AgioError, UserError
from agio.protocol.messages import Json
from agio.worker.address import parse_addresses
from agio.worker.calls import Calls
from agio.worker.heartbeat import Heartbeat

_log = logging.getLogger("agio.worker")

_OPEN_S = 5.0
_PING_S = 10.0
_PONG_S = 20.0
_CLOSE_S = 2.0
_REFUSED = (401, 403)


class Guest(Worker, Protocol):
    """A worker that greets over a link; `WorkerService` implements it."""

    id: str

    async def join(self, link: Link) -> Welcome:
        """Greet the gateway; called on every new connection."""
        ...

    def release_all(self) -> None:
        """Stop every run without writing; release them once the gateway is reachable."""
        ...


class SocketLink:
    """A worker's link to a gateway, a `core.link.Link`. `run` maintains it, `close` ends it.

    `url` may name several gateways, separated by commas: when one cannot be reached, or its link breaks, the next is
    tried, which continues the worker's runs. Raises UserError `invalid_gateway_url`.
    """

    def __init__(self, url: str, key: str, worker: Guest) -> None:
        self._gateways = parse_addresses(url)
        self._key = key
        self._worker = worker
        self._heartbeat = Heartbeat(
            self._gateways[0], key, worker.id, on_silence=worker.release_all, on_gone=self._come_again
        )
        self._calls = Calls(self._post)
        self._outgoing: list[bytes] = []
        self._ready = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self._gone = asyncio.Event()
        """Set when the gateway has declared this worker dead."""
        self.joined = asyncio.Event()
        """Set once the gateway has welcomed this worker for the first time."""

    async def run(self) -> None:
        """Keep the link up until it is closed.

        Raises UserError `worker_key_refused`, and the gateway's error if it refuses the first greeting.
        """
        delays = _delays()
        try:
            while not self._closing.is_set():
                try:
                    await self._connect()
                except InvalidStatus as error:
                    if error.response.status_code in _REFUSED:
                        raise UserError(
                            "worker_key_refused",
                            f"The gateway at {self._url} does not know this worker's key: set AGIO_WORKER_KEY "
                            "to the same value for both.",
                        ) from error
                    _log.warning("the gateway refuses the link: %s", error)
                except ConnectionClosed as error:
                    delays = _delays()
                    if not self._closing.is_set():
                        _log.warning("the link to the gateway broke: %s", error)
                except UserError:
                    if not self.joined.is_set():
                        raise
                    _log.exception("the gateway does not admit this worker yet")
                except (OSError, TimeoutError, WebSocketException, AgioError) as error:
                    _log.warning("the gateway cannot be reached: %s", error)
                self._gateways.append(self._gateways.pop(0))
                await self._pause(next(delays))
        finally:
            self._heartbeat.stop()
            self._calls.close()

    async def close(self) -> None:
        """Close the link. Calls without an answer fail with `link_lost`."""
        self._closing.set()
        self._gone.set()
        self._heartbeat.stop()
        self._calls.close()

    # Calls

    async def greet(self, greeting: Greeting) -> Welcome:
        """Greet: the first call on every connection."""
        number = self._calls.number()
        return cast(Welcome, await self._calls.ask(number, wire.Greet(number, greeting), now=True))

    def append(self, claim: Claim, write: Append) -> Awaitable[Answer]:
        """Append events to the log."""
        number = self._calls.number()
        answered = self._calls.ask(number, wire.Write(number, claim, write), claim.run_id)
        return cast("asyncio.Future[Answer]", answered)

    async def begin_tool(
        self, claim: Claim, key: str, tool: str, effect: Effect, lane: str = ""
    ) -> ToolRecord | None:
        """Record the start of a worker's tool."""
        number = self._calls.number()
        frame = wire.Begin(number, claim, key, tool, effect, lane)
        return cast("ToolRecord | None", await self._calls.ask(number, frame, claim.run_id))

    async def end_tool(self, claim: Claim, key: str, record: ToolRecord) -> None:
        """Record a call's result."""
        number = self._calls.number()
        await self._calls.ask(number, wire.End(number, claim, key, record), claim.run_id)

    async def call_tool(
        self, claim: Claim, key: str, tool: str, arguments: dict[str, Json], lane: str = "", agent: str = ""
    ) -> ToolReply:
        """Run a tool at the gateway."""
        number = self._calls.number()
        frame = wire.Use(number, claim, key, tool, msgspec.json.encode(arguments), lane, agent)
        return cast(ToolReply, await self._calls.ask(number, frame, claim.run_id))

    async def read_file(self, claim: Claim, file_id: str, idx: int) -> FilePiece:
        """Read one piece of a file of the run's session."""
        number = self._calls.number()
        frame = wire.Read(number, claim, file_id, idx)
        return cast(FilePiece, await self._calls.ask(number, frame, claim.run_id))

    async def release(self, claim: Claim) -> None:
        """Release an unfinished run."""
        number = self._calls.number()
        await self._calls.ask(number, wire.Release(number, claim), claim.run_id)

    def out_of_touch(self) -> bool:
        """See `Link`. A process that was suspended detects it here, before its heartbeat does."""
        return self._heartbeat.overdue or not self._calls.linked.is_set()

    async def linked(self) -> None:
        """See `Link`."""
        while not self._calls.linked.is_set():  # it may break again before this task runs
            await self._calls.linked.wait()

    async def leave(self) -> None:
        """Leave, if the link is up."""
        if self._calls.linked.is_set():
            number = self._calls.number()
            await self._calls.ask(number, wire.Leave(number), now=True)

    # Connection

    @property
    def _url(self) -> str:
        return self._gateways[0].link_url

    async def _connect(self) -> None:
        connecting = connect(
            self._url,
            additional_headers={"Authorization": f"Bearer {self._key}"},
            compression=None,
            proxy=None,
            max_size=wire.MAX_DOWN_BYTES,
            max_queue=64,
            open_timeout=_OPEN_S,
            ping_interval=_PING_S,
            ping_timeout=_PONG_S,
            close_timeout=_CLOSE_S,
        )
        async with connecting as socket:
            self._outgoing.clear()
            if not self._closing.is_set():
                self._gone.clear()
            parts = [
                asyncio.create_task(part)
                for part in (self._read(socket), self._write(socket), self._join(), self._hang_up(socket))
            ]
            try:
                done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                self._calls.linked.clear()
                for part in (*parts, *self._tasks):
                    part.cancel()
                await asyncio.gather(*parts, *self._tasks, return_exceptions=True)
            for part in done:
                if (error := part.exception()) is not None:
                    raise error

    async def _join(self) -> None:
        before = self._calls.last
        welcome = await self._worker.join(self)
        self._calls.resume(set(welcome.claims), before)
        self._heartbeat.start(welcome.heartbeat_s, welcome.silence_s, self._gateways[0], welcome.gateway)
        self.joined.set()

    async def _read(self, socket: ClientConnection) -> None:
        while True:
            message = await socket.recv(decode=False)
            self._heartbeat.heard()
            for frame in wire.decode_down(message):
                self._take(frame)

    async def _write(self, socket: ClientConnection) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            frames, self._outgoing = self._outgoing, []
            for message in wire.messages_of(frames):
                await socket.send(message)

    async def _hang_up(self, socket: ClientConnection) -> None:
        """Close the connection when the link is closed or must reconnect."""
        await self._gone.wait()
        await socket.close()

    def _come_again(self) -> None:
        if self._calls.linked.is_set():
            self._gone.set()

    async def _pause(self, delay_s: float) -> None:
        try:
            async with asyncio.timeout(delay_s):
                await self._closing.wait()
        except TimeoutError:
            pass

    def _post(self, frame: bytes) -> None:
        self._outgoing.append(frame)
        self._ready.set()

    def _take(self, frame: wire.DownFrame) -> None:
        match frame:
            case wire.Written(id=number, answer=answer):
                self._calls.answer(number, answer)
            case wire.Start(job=job):
                self._worker.start(job)
            case wire.Cancel(run_id=run_id, epoch=epoch):
                self._worker.cancel(run_id, epoch)
            case wire.Give(run_id=run_id, epoch=epoch, inputs=inputs):
                self._worker.give(run_id, epoch, inputs)
            case wire.Drop(run_id=run_id, epoch=epoch):
                self._worker.drop(run_id, epoch)
            case wire.Used(id=number, reply=reply):
                self._calls.answer(number, reply)
            case wire.Piece(id=number, piece=piece):
                self._calls.answer(number, piece)
            case wire.Begun(id=number, record=record):
                self._calls.answer(number, record)
            case wire.Done(id=number):
                self._calls.answer(number, None)
            case wire.Welcomed(id=number, welcome=welcome):
                self._calls.answer(number, welcome)
            case wire.Failed(id=number):
                self._calls.fail(number, frame.error())
            case wire.Report(run_id=run_id, epoch=epoch, key=key, progress=progress):
                self._worker.report(run_id, epoch, key, cast(Json, msgspec.json.decode(progress)))
            case wire.Perform(id=number, task=task):
                performing = asyncio.create_task(self._perform(number, task))
                self._tasks.add(performing)
                performing.add_done_callback(self._tasks.discard)
            case wire.Drain(within_s=within_s):
                self._worker.drain(within_s)

    async def _perform(self, number: int, task: Task) -> None:
        try:
            result = await self._worker.perform(task)
            self._post(wire.encode_frame(wire.Performed(number, result)))
        except AgioError as error:
            self._post(wire.encode_frame(wire.failed(number, error)))
        except Exception as error:  # a driver's own error: report it to the gateway
            _log.exception("a task failed")
            wrapped = AgioError("internal_error", f"An unexpected {type(error).__name__} ended the task.")
            self._post(wire.encode_frame(wire.failed(number, wrapped)))


def _delays() -> Iterator[float]:
    """Yield the backoff before each attempt to connect: short at first, within the grace period of two seconds."""
    delay_s = 0.05
    while True:
        yield delay_s
        delay_s = min(5.0, delay_s * 1.6)
