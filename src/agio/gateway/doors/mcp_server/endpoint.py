"""Answers one posted JSON-RPC message in either era of MCP: 2026-07-28 without a handshake, and those before with one.

Both are served without sessions. The rules of the protocol are those of the package `mcp`.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeAlias

from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.shared.inbound import (
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from agio.errors import UserError
from agio.gateway.doors.mcp_server.exchange import Exchange, send_error, send_json
from agio.gateway.doors.mcp_server.message import Posted
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Send
from agio.gateway.http.body import decode_json

_Caller: TypeAlias = tuple[str, str, str, RequestId]
_NOT_ONE = "The body must be one JSON-RPC request or notification. Batches and responses are not accepted."


class Endpoint:
    """Serves an MCP server's handlers over HTTP."""

    def __init__(self, gateway: Gateway, server: "Server[dict[str, Any]]") -> None:
        self._gateway = gateway
        self._server = server
        self._open: defaultdict[_Caller, list[Exchange]] = defaultdict(list)
        """The requests being answered, as a later `notifications/cancelled` names them."""

    async def answer(self, posted: Posted, send: Send) -> None:
        """Answer a message: a request with JSON or with events, a notification with 202."""
        try:
            given = decode_json(posted.body, self._gateway.limits)
        except UserError as error:
            data = {"code": error.code, "details": error.details}
            await send_error(send, None, ErrorData(code=PARSE_ERROR, message=error.message, data=data), 400)
            return
        try:
            if isinstance(given, dict) and "id" not in given:
                await self._notice(posted, JSONRPCNotification.model_validate(given), send)
                return
            request = JSONRPCRequest.model_validate(given)
        except ValidationError:
            await send_error(send, None, ErrorData(code=INVALID_REQUEST, message=_NOT_ONE), 400)
            return
        connection = _connection(posted, request)
        if isinstance(connection, InboundLadderRejection):
            error = ErrorData(code=connection.code, message=connection.message, data=connection.data)
            await send_error(send, request.id, error, 400)
            return
        exchange = Exchange(self._gateway, posted, request, connection, send)
        caller = _caller(posted, request.id)
        self._open[caller].append(exchange)
        try:
            await exchange.serve(self._server)
        finally:
            self._open[caller].remove(exchange)
            if not self._open[caller]:
                del self._open[caller]

    async def _notice(self, posted: Posted, notification: JSONRPCNotification, send: Send) -> None:
        """Take a notification. Only the handshake era cancels by one; 2026-07-28 by closing the response."""
        version = posted.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            if (rejection := unsupported_protocol_version_rejection(version)) is not None:
                error = ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
                await send_error(send, None, error, 400)
                return
        elif notification.method == "notifications/cancelled":
            request_id = cancelled_request_id_from_params(notification.params)
            named = [] if request_id is None else self._open.get(_caller(posted, request_id), [])
            if len(named) == 1:  # clients count alike: of two with this id, neither is certain to be meant
                named[0].cancel()
        await send_json(send, 202, None)


def _connection(posted: Posted, request: JSONRPCRequest) -> Connection | InboundLadderRejection:
    """Return the era a request belongs to, with what it says about the client; or why it is refused."""
    version = posted.headers.get(MCP_PROTOCOL_VERSION_HEADER)
    params: Mapping[str, Any] = request.params or {}
    meta = params.get("_meta")
    is_modern = isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
    if not is_modern and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS):
        return Connection.from_envelope(version or DEFAULT_NEGOTIATED_VERSION, None, None)
    if name := find_duplicated_routing_header((name, "") for name in (*posted.repeated, *posted.repeated)):
        return InboundLadderRejection(HEADER_MISMATCH, f"The header {name} appears more than once.")
    verdict = classify_inbound_request({"method": request.method, "params": params}, headers=posted.headers)
    if isinstance(verdict, InboundLadderRejection):
        return verdict
    return Connection.from_envelope(
        verdict.protocol_version, verdict.client_info, verdict.client_capabilities
    )


def _caller(posted: Posted, request_id: RequestId) -> _Caller:
    """Return what makes a request id unique: without sessions, clients that share a key differ by address and agent."""
    return posted.who.credential, posted.address, posted.headers.get("user-agent", ""), request_id
