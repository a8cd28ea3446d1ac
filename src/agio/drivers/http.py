"""A driver's HTTP client: kept-alive connections, event streams, every failure a ModelError."""

import asyncio
import errno
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import suppress
from typing import Protocol

import msgspec

from agio.core.model import ModelEvent, PartialUsage, Usage
from agio.core.trace_context import HEADER as TRACE_HEADER
from agio.core.trace_context import TRACEPARENT
from agio.drivers.connection import BrokenAnswer, Connection, parse_url
from agio.drivers.endpoint import Endpoint
from agio.drivers.faults import Faults, read_error
from agio.drivers.pool import CONNECT_TIMEOUT_S, Connections
from agio.drivers.sse import SSEReader
from agio.errors import ModelError, UpstreamError
from agio.telemetry.context import HEADER, REQUEST_ID

_ERROR_BODY_BYTES = 64 * 1024
_ERROR_BODY_TIMEOUT_S = 5.0
_DRAIN_S = 0.05
_GARBLED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_NOT_A_STREAM = ("application/json", "text/html", "application/xml", "text/xml")


class TurnDecoder(Protocol):
    """Decodes one turn of a vendor's stream."""

    @property
    def ended(self) -> bool:
        """Whether the TurnEnd was emitted."""
        ...

    @property
    def partial_usage(self) -> Usage:
        """The usage reported so far."""
        ...

    def read(self, items: list[bytes]) -> list[ModelEvent]:
        """Decode the data of events into model events. Raises ModelError for an error in them."""
        ...

    def close(self) -> list[ModelEvent]:
        """Return the last events at the end of the stream. Without a TurnEnd the stream counts as broken."""
        ...


class ModelHttp:
    """One service's address, headers and connections. Usable from one event loop after another."""

    def __init__(self, default_base: str, endpoint: Endpoint, headers: Mapping[str, str]) -> None:
        self.base_url = (endpoint.base_url or default_base).rstrip("/")
        host = parse_url(self.base_url).authority
        secrets = [endpoint.api_key or "", *endpoint.headers.values()]
        self.faults = Faults(host, [secret.strip() for secret in secrets])
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # Compression would delay deltas.
            "Accept-Encoding": "identity",
            **headers,
            **endpoint.headers,
        }
        self._named = {name.lower() for name in self._headers}
        self._guard = endpoint.guard
        self._pools: dict[asyncio.AbstractEventLoop, Connections] = {}

    async def turn(self, url: str, body: bytes, decoder: TurnDecoder) -> AsyncGenerator[list[ModelEvent]]:
        """Post the body and yield the decoded events of each network read, up to and including the TurnEnd.

        Closing the generator disconnects.
        """
        pool = self._pool()
        answer = await self._reach(pool.post(parse_url(url), self._sent(), body))
        try:
            if answer.status != 200 or _content_type(answer) in _NOT_A_STREAM:
                raise await self._refusal(answer)
            reader, more = SSEReader(), True
            while more and not decoder.ended:
                chunk = await answer.read()
                more = bool(chunk)
                try:
                    events = decoder.read(reader.feed(chunk) if more else reader.close())
                except (ModelError, *_GARBLED):
                    # The error discards the events of its read, but their usage still counts.
                    if decoder.partial_usage.total:
                        yield [PartialUsage(decoder.partial_usage)]
                    raise
                if decoder.ended:
                    await _drain(answer)
                yield events
            if not decoder.ended:
                events = decoder.close()
                if not decoder.ended:
                    raise self.faults.make("stream_broken", "the stream ended before the turn did.")
                yield events
        except BrokenAnswer as error:
            raise self.faults.make("stream_broken", f"{error}.") from error
        except _GARBLED as error:
            raise self.faults.make("invalid_response", f"{error}.") from error
        finally:
            pool.release(answer)

    async def fetch(self, url: str, limit_bytes: int) -> bytes:
        """Get a document of at most `limit_bytes`. Raises ModelError."""
        return await self._document(
            self._pool().get(parse_url(url), self._sent("application/json")), limit_bytes
        )

    async def send(self, url: str, body: bytes, limit_bytes: int) -> bytes:
        """Post a body and return the document that answers it. Raises ModelError."""
        sent = self._pool().post(parse_url(url), self._sent("application/json"), body)
        return await self._document(sent, limit_bytes)

    async def _document(self, asked: Awaitable[Connection], limit_bytes: int) -> bytes:
        pool = self._pool()
        answer = await self._reach(asked)
        try:
            if answer.status != 200:
                raise await self._refusal(answer)
            body = bytearray()
            while chunk := await answer.read():
                body += chunk
                if len(body) > limit_bytes:
                    raise self.faults.make("invalid_response", f"it is larger than {limit_bytes} bytes.")
            return bytes(body)
        except BrokenAnswer as error:
            raise self.faults.make("stream_broken", f"{error}.") from error
        finally:
            pool.release(answer)

    async def aclose(self) -> None:
        """Close the idle connections of the running loop; those of other loops close with them."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        self._pools.clear()
        if pool is not None:
            await pool.aclose()

    def _sent(self, accept: str | None = None) -> Mapping[str, str]:
        headers = self._headers if accept is None else {**self._headers, "Accept": accept}
        if (request_id := REQUEST_ID.get()) and HEADER not in self._named:
            headers = {**headers, HEADER: request_id}
        if (context := TRACEPARENT.get()) and TRACE_HEADER not in self._named:
            headers = {**headers, TRACE_HEADER: context}
        return headers

    async def _reach(self, asked: Awaitable[Connection]) -> Connection:
        try:
            return await asked
        except BrokenAnswer as error:
            code = "invalid_response" if error.garbled else "connection_failed"
            raise self.faults.make(code, f"{error}.") from error
        except UpstreamError as error:
            raise self.faults.make("connection_failed", error.message) from error
        except (OSError, TimeoutError) as error:
            words = f"{error}." if str(error) else f"no connection within {CONNECT_TIMEOUT_S:g} s."
            code = "too_many_open_files" if error.errno in _NO_DESCRIPTORS else "connection_failed"
            raise self.faults.make(code, words) from error

    async def _refusal(self, response: Connection) -> ModelError:
        body = b""
        with suppress(BrokenAnswer, TimeoutError):
            async with asyncio.timeout(_ERROR_BODY_TIMEOUT_S):
                while len(body) < _ERROR_BODY_BYTES and (chunk := await response.read()):
                    body += chunk
        if response.status == 200:
            error = read_error(body)
            if error is not None:
                return self.faults.from_error(error)
            return self.faults.make(
                "invalid_response", f"it is {_content_type(response)}, not an event stream."
            )
        if 300 <= response.status < 400:
            target = response.headers.get("location", "another address")
            return self.faults.make("bad_request", f"it redirects to {target}.", response.status)
        return self.faults.from_answer(response.status, response.headers, body)

    def _pool(self) -> Connections:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for old in [each for each in self._pools if each.is_closed()]:
                del self._pools[old]
            pool = self._pools[loop] = Connections(self._guard)
        return pool


def _content_type(answer: Connection) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _drain(answer: Connection) -> None:
    """Read the bytes after the end of a turn, so that the connection can be reused."""
    if answer.complete:
        return
    with suppress(TimeoutError, BrokenAnswer):
        async with asyncio.timeout(_DRAIN_S):
            while await answer.read():
                pass
