"""A run on a server, followed over `/realtime` until it ends. After a lost connection it reconnects by position."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress

import msgspec
from msgspec import Struct, field
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from agio.cli.client.server_client import ServerClient, refusal, unreachable
from agio.errors import AgioError, UserError
from agio.protocol.codec import encode
from agio.protocol.commands import Ack, Cancel, Command, Problem, Subscribe
from agio.protocol.events import NOTICE, AgentEvent, Custom, RunError, RunFinished
from agio.protocol.ids import new_id

_PATIENCE_S = 60.0
"""How long to retry a lost connection."""
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 3.0
_CLOSE_S = 1.0


class Place(Struct):
    """A cursor: the session, and the position of the last event seen."""

    session_id: str = ""
    pos: int = 0


class RemoteRun:
    """A run to watch. `begin` starts it and returns its id; it may be called again after a break."""

    def __init__(
        self, server: ServerClient, place: Place, begin: "Callable[[RealtimeSocket], Awaitable[str]]"
    ) -> None:
        self._server = server
        self._place = place
        self._begin = begin
        self._started = False
        self._run_id = ""
        self._cancelling = False
        self._left = False
        self._current_socket: RealtimeSocket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._events: AsyncGenerator[AgentEvent] | None = None

    def cancel(self) -> None:
        """Ask the server to end the run; asked twice, stop watching instead."""
        if self._cancelling:
            self._left = True
            if self._current_socket is not None:
                self._do(self._current_socket.close())
        self._cancelling = True
        if self._run_id and self._current_socket is not None:
            self._do(self._current_socket.tell(Cancel(id=new_id("cmd"), run_id=self._run_id)))

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        if self._events is None:
            self._events = self._follow()
        return self._events

    async def aclose(self) -> None:
        """Stop watching. The run continues."""
        if self._events is not None:
            await self._events.aclose()
        if self._current_socket is not None:
            await self._current_socket.close()

    async def _follow(self) -> AsyncGenerator[AgentEvent]:
        loop = asyncio.get_running_loop()
        lost_at: float | None = None
        pause_s = _FIRST_PAUSE_S
        while not self._left:
            try:
                async with RealtimeSocket(self._server) as socket:
                    if lost_at is not None:
                        lost_at, pause_s = None, _FIRST_PAUSE_S
                        yield _notice(
                            "reconnected", f"Reconnected. Continuing after event {self._place.pos}."
                        )
                    async for event in self._read(socket):
                        yield event
                        if isinstance(event, RunFinished | RunError):
                            return
            except (OSError, TimeoutError, WebSocketException) as error:
                if self._left:
                    return
                if not self._started:
                    raise unreachable(self._server.url, error) from error
                if lost_at is None:
                    lost_at = loop.time()
                    yield _notice("connection_lost", "Connection lost. Reconnecting.")
                elif loop.time() - lost_at > _PATIENCE_S:
                    raise unreachable(self._server.url, error) from error
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def _read(self, socket: "RealtimeSocket") -> AsyncGenerator[AgentEvent]:
        """Begin, and yield the events of our run, skipping other runs of the session."""
        self._current_socket = socket
        place = self._place
        run_id = await self._begin(socket)
        if not self._run_id and self._cancelling:
            await socket.tell(Cancel(id=new_id("cmd"), run_id=run_id))
        self._run_id, self._started = run_id, True
        await socket.ask(Subscribe(id=new_id("cmd"), session_id=place.session_id, after=place.pos))
        async for of_run, pos, event in socket.events():
            if pos <= place.pos:
                continue
            place.pos = pos
            if of_run == run_id:
                yield event

    def _do(self, work: Awaitable[None]) -> None:
        async def quietly() -> None:
            with suppress(OSError, WebSocketException):
                await work

        task = asyncio.ensure_future(quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class RealtimeSocket:
    """A connection to `/realtime`: commands, their replies, and events."""

    def __init__(self, server: ServerClient) -> None:
        self._server = server
        self._socket: ClientConnection | None = None
        self._early: list[_ServerMessage] = []
        """Messages that arrived before a reply."""

    async def __aenter__(self) -> "RealtimeSocket":
        url = f"ws{self._server.url.removeprefix('http')}/realtime"
        try:
            self._socket = await connect(
                url,
                additional_headers=self._server.headers,
                compression=None,
                proxy=None,
                max_size=None,
                close_timeout=_CLOSE_S,
            )
        except InvalidStatus as error:
            response = error.response
            raise refusal(response.status_code, bytes(response.body or b"")) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            await self._socket.close()

    async def tell(self, command: Command) -> None:
        """Send a command without waiting for its reply."""
        await self._connection().send(encode(command).decode())

    async def ask(self, command: Command) -> Ack:
        """Send a command and wait for its reply. Raises AgioError with the server's code."""
        await self.tell(command)
        while True:
            said = await self._receive()
            if said.id == command.id and said.type == "ack":
                return Ack(id=command.id, run_id=said.run_id)
            if said.id == command.id and said.error is not None:
                raise AgioError(said.error.code, said.error.message, said.error.details)
            self._early.append(said)

    async def events(self) -> AsyncGenerator[tuple[str | None, int, AgentEvent]]:
        """The events that come, each with its run and position. Raises UserError `session_not_found`."""
        while True:
            said = self._early.pop(0) if self._early else await self._receive()
            if said.type == "deleted":
                raise UserError("session_not_found", "The session was deleted.")
            if said.error is not None and said.id is None:
                raise AgioError(said.error.code, said.error.message, said.error.details)
            for pos, event in enumerate(said.events, said.pos):
                yield said.run_id, pos, event

    async def _receive(self) -> "_ServerMessage":
        text = await self._connection().recv()
        return _decode(text)

    def _connection(self) -> ClientConnection:
        if self._socket is None:
            raise ConnectionClosed(None, None)
        return self._socket


class _ServerMessage(Struct):
    """Any message of the server."""

    type: str = ""
    id: str | None = None
    run_id: str | None = None
    error: Problem | None = None
    pos: int = 0
    events: list[AgentEvent] = field(default_factory=list[AgentEvent])


_decode = msgspec.json.Decoder(_ServerMessage).decode


def _notice(code: str, message: str) -> AgentEvent:
    return Custom(name=NOTICE, value={"code": code, "message": message})
