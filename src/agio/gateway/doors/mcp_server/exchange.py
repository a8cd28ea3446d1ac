"""One MCP request over HTTP: its handler runs, progress goes out as events, and a client that leaves cancels it.

The answer is JSON unless the handler has sent something before, or takes longer than the keep-alive interval.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import msgspec
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data, progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ErrorData, JSONRPCRequest, RequestId
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agio.errors import UserError
from agio.gateway.doors.mcp_server.message import Posted
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Event, Send
from agio.gateway.http.body import ClientGone
from agio.gateway.http.errors import wrapped

_KEEP_ALIVE = b": keep-alive\n\n"
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Exchange:
    """A request and its response. It is the `DispatchContext` of the package, and its handlers' `ctx.request`."""

    can_send_request = False

    def __init__(
        self, gateway: Gateway, posted: Posted, request: JSONRPCRequest, connection: Connection, send: Send
    ) -> None:
        self.who = posted.who
        self.base_url = posted.base_url
        self.request_id: RequestId | None = request.id
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=False, headers=posted.headers
        )
        self.message_metadata = ServerMessageMetadata(request_context=self)
        self.cancel_requested = anyio.Event()
        self._posted = posted
        self._request = request
        self._connection = connection
        self._send = send
        self._keep_alive_s = gateway.limits.keep_alive_s
        self._token = progress_token_from_params(request.params)
        self._writing = asyncio.Lock()
        self._started = False
        self._left = False

    @property
    def wants_progress(self) -> bool:
        """Whether the client asked for progress and accepts events."""
        return self._token is not None and self._posted.takes_events

    def cancel(self) -> None:
        """Ask the handler to stop: `receive` reports that the client has gone."""
        self.cancel_requested.set()

    async def receive(self) -> Event:
        """Wait until the client has disconnected or has cancelled the request."""
        await self.cancel_requested.wait()
        return {"type": "http.disconnect"}

    async def serve(self, server: "Server[dict[str, Any]]") -> None:
        """Run the handler and answer."""
        handling = asyncio.create_task(self._result(server))
        watching = asyncio.create_task(self._watch())
        try:
            while not (await asyncio.wait((handling,), timeout=self._keep_alive_s))[0]:
                if self._posted.takes_events:
                    await self._write(_KEEP_ALIVE)
            await self._reply(handling.result())
        finally:
            watching.cancel()
            handling.cancel()

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Send a notification before the answer, if the client accepts events."""
        if self._posted.takes_events:
            said = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
            await self._write(_event(said))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client asked for it."""
        if self._token is not None:
            said = {"progressToken": self._token, "progress": progress, "total": total, "message": message}
            await self.notify(
                "notifications/progress", {name: value for name, value in said.items() if value is not None}
            )

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: without a session the client's answer would reach no one."""
        raise NoBackChannelError(method)

    async def _result(self, server: "Server[dict[str, Any]]") -> dict[str, Any] | ErrorData:
        request = self._request
        try:
            return await serve_one(
                server, self, request.method, request.params, connection=self._connection, lifespan_state={}
            )
        except ClientGone:
            return ErrorData(code=REQUEST_CANCELLED, message="The request was cancelled.")
        except Exception as error:
            return handler_exception_to_error_data(error) or _error_data(error)

    async def _reply(self, result: dict[str, Any] | ErrorData) -> None:
        if self._left:
            return
        if self._started:
            await self._write(_event(_message(self._request.id, result)))
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        elif isinstance(result, ErrorData):
            is_modern = self._connection.protocol_version in MODERN_PROTOCOL_VERSIONS
            status = ERROR_CODE_HTTP_STATUS.get(result.code, 200) if is_modern else 200
            await send_error(self._send, self._request.id, result, status)
        else:
            await send_json(self._send, 200, _message(self._request.id, result))

    async def _watch(self) -> None:
        while (await self._posted.receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        self._left = True
        self.cancel()

    async def _write(self, frame: bytes) -> None:
        async with self._writing:
            if self._left:
                return
            try:
                if not self._started:
                    self._started = True
                    await self._send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
                await self._send({"type": "http.response.body", "body": frame, "more_body": True})
            except OSError:
                self._leave()


async def send_error(send: Send, request_id: RequestId | None, error: ErrorData, status: int) -> None:
    """Answer a request with a JSON-RPC error."""
    await send_json(send, status, _message(request_id, error))


async def send_json(send: Send, status: int, message: dict[str, Any] | None) -> None:
    """Answer with one JSON-RPC message, or with nothing but a status."""
    body = b"" if message is None else msgspec.json.encode(message)
    headers = [(b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    if message is not None:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _message(request_id: RequestId | None, result: dict[str, Any] | ErrorData) -> dict[str, Any]:
    if isinstance(result, ErrorData):
        return {
            "jsonrpc": "2.0",
            "id": request_id,
            "error": result.model_dump(mode="json", exclude_none=True),
        }
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _event(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: %b\n\n" % msgspec.json.encode(message)


def _error_data(error: Exception) -> ErrorData:
    problem = wrapped(error)
    code = INVALID_PARAMS if isinstance(problem, UserError) else INTERNAL_ERROR
    return ErrorData(code=code, message=problem.message, data={"code": problem.code})
