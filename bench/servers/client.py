"""A client that costs little: one HTTP/1.1 connection, kept alive, that counts pieces of text by their mark.

It shares the machine with the server it loads, so it parses no JSON and no events.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

LAST_CHUNK = b"\r\n0\r\n\r\n"
TAIL_BYTES = 16384


class Mark(NamedTuple):
    """What to look for in a stream: each `piece` is one delta of text, and a run that went well shows `end`.

    A stream with `open_ended` goes on after the run: the client leaves when it has seen the end.
    """

    piece: bytes
    end: bytes
    open_ended: bool = False


class Reply(NamedTuple):
    """What came back. Of a stream the `body` is only its end, unless all of it was to be kept."""

    status: int
    body: bytes
    pieces: int = 0
    first_piece_at: float | None = None
    ended: bool = False


class ConnectionLost(Exception):
    """The server closed the connection before its answer was complete."""


class Connection(asyncio.Protocol):
    """One request at a time. Raises ConnectionLost from `ask`."""

    def __init__(self, on_first_piece: Callable[[], None] | None, *, keep: bool) -> None:
        self._on_first_piece = on_first_piece
        self._keep = keep
        self._reply: asyncio.Future[Reply] | None = None
        self.closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if self._reply and not self._reply.done():
            self._reply.set_exception(ConnectionLost(str(error or "closed by the server")))

    def ask(self, request: bytes, mark: Mark | None = None) -> asyncio.Future[Reply]:
        self._mark = mark
        self._head = b""
        self._status = 0
        self._length: int | None = None
        self._received = 0
        self._body = b""
        self._split = b""
        self._pieces = 0
        self._first_piece_at: float | None = None
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._reply

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if not self._status:
            self._head += data
            head, blank, data = self._head.partition(b"\r\n\r\n")
            if not blank:
                return
            self._read_head(head.lower())
        self._received += len(data)
        self._body += data
        mark = self._mark
        if mark:
            self._count(data, mark.piece)
            if not self._keep and len(self._body) > 2 * TAIL_BYTES:
                self._body = self._body[-TAIL_BYTES:]
        if self._is_complete():
            ended = mark is not None and mark.end in self._body[-TAIL_BYTES:]
            reply = Reply(self._status, self._body, self._pieces, self._first_piece_at, ended)
            self._reply.set_result(reply)
            self._reply = None

    def _read_head(self, head: bytes) -> None:
        self._status = int(head[9:12])
        _, found, rest = head.partition(b"\r\ncontent-length:")
        if found:
            self._length = int(rest.split(b"\r\n", 1)[0])

    def _count(self, data: bytes, piece: bytes) -> None:
        text = self._split + data
        found = text.count(piece)
        if found:
            if self._first_piece_at is None:
                self._first_piece_at = time.perf_counter()
                if self._on_first_piece:
                    self._on_first_piece()
            self._pieces += found
            text = text[text.rindex(piece) + len(piece) :]
        self._split = text[-len(piece) + 1 :]

    def _is_complete(self) -> bool:
        if self._length is not None:
            return self._received >= self._length
        if self._mark and self._mark.open_ended and self._status == 200:
            return self._mark.end in self._body[-TAIL_BYTES:]
        return self._body.endswith(LAST_CHUNK) or self._body == LAST_CHUNK[2:]


class Client:
    """Whoever talks to a server: its connections, opened when needed."""

    def __init__(
        self, port: int, on_first_piece: Callable[[], None] | None = None, *, keep: bool = False
    ) -> None:
        self._port = port
        self._on_first_piece = on_first_piece
        self._keep = keep
        self._idle: Connection | None = None

    async def ask(self, request: bytes, mark: Mark | None = None) -> Reply:
        """Send a request and wait for the whole answer. Raises ConnectionLost, OSError."""
        connection, self._idle = self._idle, None
        if connection is None or connection.closed:
            connection = await self._connect()
        try:
            reply = await connection.ask(request, mark)
        except BaseException:
            connection.close()
            raise
        if mark and mark.open_ended:
            connection.close()
        else:
            self._idle = connection
        return reply

    def close(self) -> None:
        if self._idle:
            self._idle.close()

    async def _connect(self) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self._on_first_piece, keep=self._keep), "127.0.0.1", self._port
        )
        return connection
