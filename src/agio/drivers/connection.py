"""An HTTP/1.1 connection to a model's service: one request at a time, the response streamed as it arrives.

It uses httptools because this is the hot path: a general client costs more per token than the rest of agio.
"""

import asyncio
import functools
import zlib
from typing import NamedTuple, Protocol, cast
from urllib.parse import quote

from agio.core.url import DEFAULT_PORTS, bracketed, split_url
from agio.errors import UserError

_HEAD_BYTES = 256 * 1024
_INFLATED_BYTES = 16 * 1024 * 1024
"""How many decompressed bytes may wait for the reader."""
_SAFE = "/:@!$&'()*+,;=%-._~?"


class BrokenAnswer(Exception):
    """The connection closed or sent invalid HTTP before the response was complete."""

    def __init__(self, message: str, *, silent: bool = False, garbled: bool = False) -> None:
        super().__init__(message)
        self.silent = silent
        """Whether no byte arrived: the server had closed the kept-alive connection."""
        self.garbled = garbled
        """Whether the response was not valid HTTP."""


class _Inflater(Protocol):
    """The part of zlib's decompressor that we use; its type is not public."""

    @property
    def unconsumed_tail(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Target(NamedTuple):
    """A request's destination: the peer to connect to, the request target and the Host header."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str


@functools.lru_cache(maxsize=256)
def parse_url(url: str) -> Target:
    """Parse a URL. Raises UserError `invalid_base_url`."""
    try:
        return _parse(url)
    except ValueError:
        raise UserError(
            "invalid_base_url", f"{url!r} is no address of a model service: give an http(s) URL."
        ) from None


def _parse(url: str) -> Target:
    parts = split_url(url, "http", "https")
    host = (parts.hostname or "").encode("idna").decode()
    authority = bracketed(host) if parts.port is None else f"{bracketed(host)}:{parts.port}"
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    path = quote(parts.path or "/", safe=_SAFE) + query
    return Target(parts.scheme == "https", host, parts.port or DEFAULT_PORTS[parts.scheme], authority, path)


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
        self._bare_bytes = 0
        """Bytes received since the last body bytes: an unfinished head, chunk size or trailer."""
        self._failure: BrokenAnswer | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._inflate: _Inflater | None = None
        self._inflated_bytes = 0
        """Decompressed bytes not yet read."""

    @property
    def closed(self) -> bool:
        """Whether the connection can no longer be used."""
        return self._transport is None or self._transport.is_closing()

    def send(self, head: bytes, body: bytes) -> None:
        """Send a request."""
        import httptools

        self.status, self.headers = 0, {}
        self.complete = self.reusable = self._began = False
        self._silent = True
        self._bare_bytes = 0
        self._inflate = None
        self._inflated_bytes = 0
        self._parser = httptools.HttpResponseParser(self)
        if self._transport is not None:
            self._transport.write(head + body)

    async def head(self) -> None:
        """Wait for the status and the headers. Raises BrokenAnswer."""
        while not self._began:
            await self._wait()

    async def read(self) -> bytes:
        """Return the body bytes since the last call, empty at the end. Raises BrokenAnswer."""
        while not self._parts:
            if self.complete:
                return b""
            await self._wait()
        chunk = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._inflated_bytes = 0
        return chunk

    def resume(self) -> None:
        """Resume reading from the transport, if it was paused."""
        if self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()

    def close(self) -> None:
        """Abort the connection."""
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

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # uvloop's transports do not subclass asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Feed the parser and wake the reader."""
        self._silent = False
        if self.complete:
            self.close()  # unsolicited bytes: do not reuse the connection
            return
        import httptools

        self._bare_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"this is not HTTP ({error})", garbled=True)
            self.close()
        except zlib.error as error:
            self._fail(f"the compressed answer is damaged ({error})")
            self.close()
        if self._bare_bytes > _HEAD_BYTES and self._failure is None and not self.complete:
            self._fail(f"its headers are larger than {_HEAD_BYTES} bytes", garbled=True)
            self.close()
        if self._waiter is None and not self._paused and self._transport is not None:
            # No reader is waiting: let the kernel buffer the rest, to arrive as one read.
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the response: complete if its body is delimited by the close, else broken."""
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

    # Callbacks of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header. Trailers are ignored."""
        if not self._began:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Begin the body, unless this is an interim (1xx) response."""
        if self.complete:
            return
        self.status = self._parser.get_status_code()
        if self.status < 200:
            self.headers = {}
            return
        self._began = True
        if self.headers.get("content-encoding", "identity") != "identity":
            self._inflate = zlib.decompressobj(wbits=47)

    def on_body(self, body: bytes) -> None:
        """Store a piece of the body."""
        self._bare_bytes = 0
        if self._inflate is not None:
            body = self._inflate.decompress(body, max(1, _INFLATED_BYTES - self._inflated_bytes))
            self._inflated_bytes += len(body)
            if self._inflate.unconsumed_tail:
                self._fail(f"a piece of its compressed answer has more than {_INFLATED_BYTES} bytes")
                self.close()
                return
        if body and not self.complete:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """End the response. After an unsolicited second response the connection is not reused."""
        if self.complete:
            self.reusable = False
        elif self.status >= 200:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
