"""The HTTP client of a driver: one pooled session, event streams in, every failure a ModelError."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from agio.core.model import ModelEvent
from agio.drivers.endpoint import Endpoint
from agio.drivers.faults import Faults, read_error
from agio.drivers.sse import SSEReader
from agio.errors import ModelError, UserError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_CONNECT_TIMEOUT_S = 10.0
_ERROR_BODY_BYTES = 64 * 1024
_ERROR_BODY_TIMEOUT_S = 5.0
_DRAIN_S = 0.05
_NOT_A_STREAM = ("application/json", "text/html", "application/xml", "text/xml")


class TurnDecoder(Protocol):
    """A vendor's reading of one turn."""

    @property
    def ended(self) -> bool:
        """Whether the turn's TurnEnd was said."""
        ...

    def read(self, items: list[bytes]) -> list[ModelEvent]:
        """Turn the data of some events into model events. Raises ModelError for an error in them."""
        ...

    def close(self) -> list[ModelEvent]:
        """Say what is left at the end of the stream; without a TurnEnd the stream counts as broken."""
        ...


class _Pool(NamedTuple):
    session: "ClientSession"
    keeper: AsyncGenerator[None]


class ModelHttp:
    """One service's address, headers and connections. Usable from one event loop after another."""

    def __init__(self, default_base: str, endpoint: Endpoint, headers: Mapping[str, str]) -> None:
        self.base_url = (endpoint.base_url or default_base).rstrip("/")
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(
                "invalid_base_url",
                f"{self.base_url!r} is no address of a model service: give an http(s) URL.",
            )
        host = parts.netloc.rpartition("@")[2]
        secrets = [endpoint.api_key or "", *endpoint.headers.values()]
        self.faults = Faults(host, [secret.strip() for secret in secrets])
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # Compression would only hold deltas back.
            "Accept-Encoding": "identity",
            **headers,
            **endpoint.headers,
        }
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def turn(self, url: str, body: bytes, decoder: TurnDecoder) -> AsyncGenerator[list[ModelEvent]]:
        """Post the body and yield what the decoder makes of each network read, up to and with the TurnEnd."""
        async with aclosing(self.stream(url, self._headers, body)) as reads:
            try:
                async for items in reads:
                    events = decoder.read(items)
                    if decoder.ended:
                        await _drain(reads)
                        yield events
                        return
                    yield events
                events = decoder.close()
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise self.faults.make("invalid_response", f"{error}.") from error
            if not decoder.ended:
                raise self.faults.make("stream_broken", "the stream ended before the turn did.")
            yield events

    async def stream(self, url: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[list[bytes]]:
        """Post the body and yield the data of the events of each network read. Closing it hangs up."""
        from aiohttp import ClientError

        response = await self._post(url, headers, body)
        try:
            if response.status != 200 or response.content_type in _NOT_A_STREAM:
                raise await self._refusal(response)
            reader = SSEReader()
            read = response.content.readany
            while True:
                try:
                    chunk = await read()
                except (ClientError, OSError) as error:
                    raise self.faults.make("stream_broken", f"{error}.") from error
                if not chunk:
                    break
                yield reader.feed(chunk)
            yield reader.close()
        finally:
            response.close()

    async def aclose(self) -> None:
        """Close the pooled connections of the running loop; those of other loops close with them."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        self._pools.clear()
        if pool is not None:
            await pool.keeper.aclose()

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> "ClientResponse":
        from aiohttp import ClientError, ClientResponseError, InvalidURL

        session = await self._open()
        try:
            return await session.post(url, data=body, headers=headers, allow_redirects=False)
        except InvalidURL as error:
            raise UserError("invalid_base_url", f"{self.base_url!r} is not a valid URL.") from error
        except ClientResponseError as error:
            raise self.faults.make("invalid_response", f"{error.message}.") from error
        except (ClientError, OSError, TimeoutError) as error:
            words = f"{error}." if str(error) else f"no connection within {_CONNECT_TIMEOUT_S:g} s."
            raise self.faults.make("connection_failed", words) from error

    async def _refusal(self, response: "ClientResponse") -> ModelError:
        from aiohttp import ClientError

        body = b""
        with suppress(ClientError, OSError, TimeoutError):
            async with asyncio.timeout(_ERROR_BODY_TIMEOUT_S):
                while len(body) < _ERROR_BODY_BYTES and (chunk := await response.content.readany()):
                    body += chunk
        if response.status == 200:
            error = read_error(body)
            if error is not None:
                return self.faults.from_error(error)
            return self.faults.make(
                "invalid_response", f"it is {response.content_type}, not an event stream."
            )
        if 300 <= response.status < 400:
            target = response.headers.get("location", "another address")
            return self.faults.make("bad_request", f"it redirects to {target}.", response.status)
        return self.faults.from_answer(response.status, response.headers, body)

    async def _open(self) -> "ClientSession":
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is not None and not pool.session.closed:
            return pool.session
        for old in [each for each in self._pools if each.is_closed()]:
            del self._pools[old]
        session = _new_session()
        keeper = _keep(session)
        await anext(keeper)
        self._pools[loop] = _Pool(session, keeper)
        return session


def _new_session() -> "ClientSession":
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    return ClientSession(
        connector=TCPConnector(limit=0, ttl_dns_cache=60, keepalive_timeout=60),
        timeout=ClientTimeout(total=None, connect=_CONNECT_TIMEOUT_S),
        cookie_jar=DummyCookieJar(),
    )


async def _keep(session: "ClientSession") -> AsyncGenerator[None]:
    """Close the session when the loop closes its generators, as `asyncio.run` does at its end."""
    try:
        yield
    finally:
        await session.close()


async def _drain(reads: AsyncGenerator[list[bytes]]) -> None:
    """Read the little that follows the end of a turn, so that its connection can be used again."""
    with suppress(TimeoutError, ModelError):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in reads:
                pass
