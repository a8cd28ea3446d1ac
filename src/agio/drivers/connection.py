"""An HTTP/1.1 connection to a model's service: one request at a time, its answer as it arrives.

Written on httptools because it is the hot path: a general client spends more on a token than the rest of agio.
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
"""How much of a compressed answer may wait unpacked for its reader."""
_SAFE = "/:@!$&'()*+,;=%-._~?"


class BrokenAnswer(Exception):
    """The connection ended, or made no sense, before the answer was complete."""

    def __init__(self, message: str, *, silent: bool = False, garbled: bool = False) -> None:
        super().__init__(message)
        self.silent = silent
        """Whether not one byte came: a kept-alive connection that the other side had closed."""
        self.garbled = garbled
        """Whether what came was no HTTP."""


class _Inflater(Protocol):
    """What is used of zlib's decompressors, whose type has no name."""

    @property
    def unconsumed_tail(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


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
        """Received since the last bytes of a body: an unfinished head, chunk size or trailer."""
        self._failure: BrokenAnswer | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._inflate: _Inflater | None = None
        self._inflated_bytes = 0
        """Inflated and not yet read."""

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
        """Return what has arrived of the body since the last call, nothing at its end. Raises BrokenAnswer."""
        while not self._parts:
            if self.complete:
                return b""
            await self._wait()
        chunk = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._inflated_bytes = 0
        return chunk

    def resume(self) -> None:
        """Resume reading, if it was paused for lack of a reader."""
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
        # uvloop's transports are no subclass of asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Feed the parser and wake the reader."""
        self._silent = False
        if self.complete:
            self.close()  # unsolicited bytes: the connection cannot be trusted with another request
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
            # No reader waits: let the rest gather in the kernel and arrive as one read.
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

    # Callbacks of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header. Fields after the body (trailers) are not read."""
        if not self._began:
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
            self._inflate = zlib.decompressobj(wbits=47)

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body."""
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
        """End the answer. A second one in the same breath was not asked for: the connection is not used again."""
        if self.complete:
            self.reusable = False
        elif self.status >= 200:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
