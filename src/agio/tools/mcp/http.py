"""HTTP as the `mcp` package takes it, sent through the egress guard.

Nothing raises into the package's task groups, which would end every call of the connection: a failure becomes a
JSON-RPC error that refers to it, and `Failures.of` finds it again.
"""

import secrets
from collections.abc import AsyncIterator, Callable

import httpx2
import msgspec

from agio.egress import parse_target
from agio.egress.headers import Headers
from agio.egress.pool import EgressPool, EgressStream
from agio.errors import AgioError, UpstreamError
from agio.protocol.messages import Json, json_object
from agio.tools.mcp.challenge import missing_scopes
from agio.tools.mcp.link import Credential

MESSAGE_BYTES = 8 * 1024 * 1024
"""The largest message of a server that is taken."""
_STREAM_BYTES = 64 * 1024 * 1024
_INTERNAL_ERROR = -32603
_KEPT = 100


class Failures:
    """The failures of a connection's requests, which the package knows by their marks."""

    def __init__(self) -> None:
        self.last: AgioError | None = None
        self._known: dict[str, AgioError] = {}

    def mark(self, error: AgioError) -> str:
        """Keep a failure and return its mark."""
        mark = secrets.token_hex(8)
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[mark] = self.last = error
        return mark

    def of(self, data: Json) -> AgioError | None:
        """Return the failure of a JSON-RPC error by its `data`."""
        return self._known.pop(str(json_object(data).get("agio")), None)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests of the `mcp` package over a guarded pool."""

    def __init__(self, pool: EgressPool, url: str, credential: Credential, failures: Failures) -> None:
        self._pool = pool
        self._origin = parse_target(url)
        self._credential = credential
        self._failures = failures
        self.on_failure: Callable[[AgioError], None] | None = None
        """Called when a message could not be sent, by a transport whose answers come over another request."""
        self.session_lost = False
        """Whether the server no longer knows the session: it was restarted."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises nothing but cancellation."""
        try:
            return await self._send(request)
        except AgioError as error:
            return self._failed(error)
        except Exception as error:  # a bug here must not end the connection's other calls
            return self._failed(UpstreamError("upstream_invalid", f"It could not be asked: {error!r}."))

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        stream, refused = await self._exchange(request)
        if stream.status == 401 and refused is not None:
            await stream.aclose()
            if await self._credential.refused(refused):
                stream, _ = await self._exchange(request)
        if (
            stream.status == 403
            and refused is not None
            and (scopes := missing_scopes(stream.headers)) is not None
        ):
            await stream.aclose()
            await self._credential.needs(scopes)
        if stream.status in (401, 403):
            await stream.aclose()
            raise UpstreamError(
                "mcp_unauthorized",
                f"{self._origin.authority} refuses the credentials ({stream.status}). Enter them anew in the "
                "server's settings, or press Connect there.",
            )
        kind = next((value for name, value in stream.headers if name.lower() == "content-type"), "")
        given = [pair for pair in stream.headers if pair[0].lower() != "content-encoding"]
        if kind.lower().startswith("text/event-stream") and stream.status < 400:
            return httpx2.Response(stream.status, headers=given, stream=_Body(stream, self._failures))
        body = await _whole(stream)
        if "mcp-session-id" in request.headers and _forgot_session(stream.status, body):
            self.session_lost = True
        return httpx2.Response(stream.status, headers=given, content=body)

    async def _exchange(self, request: httpx2.Request) -> tuple[EgressStream, Headers | None]:
        """Send a request with the credential, to its own server only; return that too."""
        url = str(request.url)
        headers = [(name.decode(), value.decode("latin-1")) for name, value in request.headers.raw]
        own = None
        if parse_target(url).same_origin(self._origin):
            own = await self._credential.headers()
            named = {name.lower() for name, _ in own}
            headers = [pair for pair in headers if pair[0].lower() not in named] + own
        body = await request.aread()
        return await self._pool.send(request.method, url, headers, body, limit_bytes=_STREAM_BYTES), own

    def _failed(self, error: AgioError) -> httpx2.Response:
        if self.on_failure is not None:
            self.on_failure(error)
        data = {"agio": self._failures.mark(error)}
        words = {"code": _INTERNAL_ERROR, "message": error.message, "data": data}
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": words})
        return httpx2.Response(502, headers={"content-type": "application/json"}, content=body)


class _Body(httpx2.AsyncByteStream):
    """A stream of server-sent events."""

    def __init__(self, stream: EgressStream, failures: Failures) -> None:
        self._stream = stream
        self._failures = failures

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                yield part
        except AgioError as error:
            self._failures.mark(error)
            raise httpx2.ReadError(error.message) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def _forgot_session(status: int, body: bytes) -> bool:
    """Whether a server does not know the session: 404, or as servers of the TypeScript SDK say it, 400 with words."""
    return status == 404 or (status == 400 and b"session" in body[:2000].lower())


async def _whole(stream: EgressStream) -> bytes:
    body = bytearray()
    try:
        async for part in stream:
            body += part
            if len(body) > MESSAGE_BYTES:
                raise UpstreamError(
                    "upstream_too_large", f"It answers with more than {MESSAGE_BYTES} bytes.", {"sent": True}
                )
    finally:
        await stream.aclose()
    return bytes(body)


def open_client(transport: GuardedTransport) -> httpx2.AsyncClient:
    """Return the client the package sends with. Deadlines are the callers' own."""
    return httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False)
