"""HTTP/1.1 connections to a model's service: one request at a time, its answer as it arrives, kept alive.

By hand on httptools because it is the hot path: a general client spends more on a token than the rest
of agio together.
"""

import asyncio
import functools
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple, cast
from urllib.parse import quote, urlsplit

from agio.errors import UserError

CONNECT_TIMEOUT_S = 10.0
_IDLE_S = 60.0
_MAX_IDLE = 64
_HEAD_BYTES = 256 * 1024
_SAFE = "/:@!$&'()*+,;=%-._~?"


class BrokenAnswer(Exception):
    """The connection ended, or made no sense, before the answer was complete."""

    def __init__(self, message: str, *, silent: bool = False, garbled: bool = False) -> None:
        super().__init__(message)
        self.silent = silent
        """Whether not one byte came: a kept-alive connection that the other side had closed."""
        self.garbled = garbled
        """Whether what came was no HTTP."""


class Target(NamedTuple):
    """Where a request goes: the connection's other end, and what the request line and Host say."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str


@functools.lru_cache(maxsize=256)
def parse_url(url: str) -> Target:
    """Take a URL apart. Raises UserError `invalid_base_url`."""
    try:
        return _parse(url)
    except (ValueError, KeyError):
        raise UserError(
            "invalid_base_url", f"{url!r} is no address of a model service: give an http(s) URL."
        ) from None


def _parse(url: str) -> Target:
    parts = urlsplit(url)
    secure = {"http": False, "https": True}[parts.scheme]
    if not parts.hostname:
        raise ValueError
    host = parts.hostname.encode("idna").decode()
    name = f"[{host}]" if ":" in host else host
    authority = name if parts.port is None else f"{name}:{parts.port}"
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    path = quote(parts.path or "/", safe=_SAFE) + query
    return Target(secure, host, parts.port or (443 if secure else 80), authority, path)


class Connection(asyncio.Protocol):
    """One connection. `send` a request, `await head()`, then `read()` until it returns nothing."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = True
        self.reusable = False
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._paused = False
        self._began = False
        self._silent = True
        self._head_bytes = 0
        self._failure: BrokenAnswer | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._inflate: Callable[[bytes], bytes] | None = None

    @property
    def closed(self) -> bool:
        """Whether the connection can no longer be used."""
        return self._transport is None or self._transport.is_closing()

    def send(self, head: bytes, body: bytes) -> None:
        """Begin an exchange."""
        import httptools

        self.status, self.headers = 0, {}
        self.complete = self.reusable = self._began = False
        self._silent = True
        self._head_bytes = 0
        self._inflate = None
        self._parser = httptools.HttpResponseParser(self)
        if self._transport is not None:
            self._transport.write(head + body)

    async def head(self) -> None:
        """Wait for the status and the headers. Raises BrokenAnswer."""
        while not self._began:
            await self._wait()

    async def read(self) -> bytes:
        """Return what has arrived of the body since the last call, nothing at its end. Raises BrokenAnswer."""
        while not self._parts:
            if self.complete:
                return b""
            await self._wait()
        chunk = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        return chunk

    def resume(self) -> None:
        """Go on listening, if reading was put off while nobody read."""
        if self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    def close(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self) -> None:
        if self._failure is not None:
            raise self._failure
        self.resume()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # uvloop's transports are no subclass of asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Feed the parser and wake whoever reads."""
        self._silent = False
        if self.complete:
            self.close()  # bytes nobody asked for: the connection cannot be trusted with another request
            return
        import httptools

        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"this is not HTTP ({error})", garbled=True)
            self.close()
        except zlib.error as error:
            self._fail(f"the compressed answer is damaged ({error})")
            self.close()
        if not self._began:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES and self._failure is None:
                self._fail(f"its headers are larger than {_HEAD_BYTES} bytes", garbled=True)
                self.close()
        if self._waiter is None and not self._paused and self._transport is not None:
            # Nobody waits for this: let the rest gather in the kernel and come as one read.
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer: properly if only the connection's end could end it."""
        self._transport = None
        until_close = "content-length" not in self.headers and "transfer-encoding" not in self.headers
        if not self.complete:
            if self._began and until_close and exc is None:
                self.complete = True
            else:
                self._fail(str(exc) if exc else "the connection was closed")
        self._wake()

    def _fail(self, message: str, *, garbled: bool = False) -> None:
        if self._failure is None:
            self._failure = BrokenAnswer(message, silent=self._silent, garbled=garbled)

    # What the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Begin the body, unless this is an interim answer."""
        if self.complete:
            return
        self.status = self._parser.get_status_code()
        if self.status < 200:
            self.headers = {}
            return
        self._began = True
        if self.headers.get("content-encoding", "identity") != "identity":
            self._inflate = zlib.decompressobj(wbits=47).decompress

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body."""
        if self._inflate is not None:
            body = self._inflate(body)
        if body and not self.complete:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """End the answer. A second one in the same breath was not asked for: the connection is not used again."""
        if self.complete:
            self.reusable = False
        elif self.status >= 200:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()


class Connections:
    """The connections of one event loop to one service. They close with the loop's generators."""

    def __init__(self) -> None:
        self._idle: list[Connection] = []
        self._context: ssl.SSLContext | None = None
        self._closed = False
        self._keeper = self._keep()
        self._kept = False

    async def post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Connection:
        """Send a POST and return its connection once the answer's headers are there.

        Raises OSError or TimeoutError when there is no connection, BrokenAnswer when it breaks.
        """
        head = _head(target, headers, len(body))
        while True:
            connection = self._reuse()
            fresh = connection is None
            connection = connection or await self._open(target)
            try:
                connection.send(head, body)
                await connection.head()
                return connection
            except BrokenAnswer as error:
                connection.close()
                if fresh or not error.silent:
                    raise
            except BaseException:
                connection.close()
                raise

    def release(self, connection: Connection) -> None:
        """Give a connection back: kept if its answer is complete, closed otherwise."""
        now = asyncio.get_running_loop().time()
        while self._idle and (len(self._idle) >= _MAX_IDLE or self._idle[0].idle_since < now - _IDLE_S):
            self._idle.pop(0).close()
        if connection.complete and connection.reusable and not connection.closed and not self._closed:
            connection.idle_since = now
            connection.resume()
            self._idle.append(connection)
        else:
            connection.close()

    async def aclose(self) -> None:
        """Close what is idle."""
        await self._keeper.aclose()

    def _reuse(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - _IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def _open(self, target: Target) -> Connection:
        if not self._kept:
            self._kept = True
            await anext(self._keeper)
        if target.secure and self._context is None:
            self._context = ssl.create_default_context()
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await _connect(target, self._context if target.secure else None)

    async def _keep(self) -> AsyncGenerator[None, None]:
        """Close idle connections when the loop closes its generators, as `asyncio.run` does at its end."""
        try:
            yield
        finally:
            self._closed = True
            while self._idle:
                self._idle.pop().close()


async def _connect(target: Target, context: ssl.SSLContext | None) -> Connection:
    """Open a connection to whichever address of the host answers first."""
    from aiohappyeyeballs import start_connection  # pyright: ignore[reportUnknownVariableType]

    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    connected = await start_connection(addresses, happy_eyeballs_delay=0.25)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = target.host if context is not None else None
        _, connection = await loop.create_connection(
            Connection, sock=connected, ssl=context, server_hostname=name
        )
    except BaseException:
        connected.close()
        raise
    return connection


def _head(target: Target, headers: Mapping[str, str], size: int) -> bytes:
    lines = [f"POST {target.path} HTTP/1.1", f"Host: {target.authority}", f"Content-Length: {size}"]
    for name, value in headers.items():
        if not value.isprintable() or not value.isascii():
            raise UserError(
                "invalid_header", f"The value of the header {name} has characters no header may have."
            )
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
