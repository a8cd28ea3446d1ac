"""Errors as HTTP responses: a status, a body `{"error": {"code", "message", "details"}}`, and headers.

REST, streams and pages all use it, so a code means the same everywhere.
"""

import logging
import math
from typing import TypeAlias

import msgspec
from msgspec import Struct

from agio.errors import AgioError, BusError, LimitExceeded, ModelError, StoreError, UpstreamError, UserError
from agio.gateway.http.asgi import Scope, Send
from agio.protocol.messages import Json

Headers: TypeAlias = list[tuple[bytes, bytes]]

_log = logging.getLogger("agio.gateway")

_STATUS = {
    "empty_input": 400,
    "invalid_cursor": 400,
    "invalid_json": 400,
    "invalid_request": 400,
    "invalid_oauth_state": 400,
    "invalid_sign_in_state": 400,
    "unauthenticated": 401,
    "wrong_credentials": 401,
    "email_not_allowed": 403,
    "email_not_verified": 403,
    "forbidden": 403,
    "forbidden_host": 403,
    "forbidden_origin": 403,
    "invitation_not_yours": 403,
    "reauthentication_required": 403,
    "invalid_id_token": 403,
    "no_membership": 403,
    "sign_in_link_over": 403,
    "not_confirmed": 403,
    "not_invited": 403,
    "mcp_oauth_denied": 403,
    "sign_in_denied": 403,
    "not_found": 404,
    "request_timeout": 408,
    "tool_not_assigned": 404,
    "method_not_allowed": 405,
    "account_exists": 409,
    "memory_exists": 409,
    "collection_exists": 409,
    "too_many_documents": 409,
    "suggestion_closed": 409,
    "agent_exists": 409,
    "already_member": 409,
    "email_taken": 409,
    "last_owner": 409,
    "member_elsewhere": 409,
    "agent_inactive": 409,
    "agent_read_only": 409,
    "append_conflict": 409,
    "approval_required": 409,
    "identity_not_linked": 409,
    "identity_taken": 409,
    "last_sign_in": 409,
    "incomplete_answer": 409,
    "no_secret_key": 409,
    "provider_exists": 409,
    "secret_unreadable": 409,
    "interrupt_closed": 409,
    "job_claim_lost": 409,
    "job_not_dead": 409,
    "mcp_server_exists": 409,
    "mcp_server_off": 409,
    "mcp_server_read_only": 409,
    "mcp_not_connected": 409,
    "mcp_not_oauth": 409,
    "mcp_tool_changed": 409,
    "too_many_mcp_servers": 409,
    "parent_not_ended": 409,
    "run_cancelled": 409,
    "run_ended": 409,
    "run_exists": 409,
    "session_busy": 409,
    "stale_epoch": 409,
    "thread_busy": 409,
    "too_many_tools": 409,
    "tool_exists": 409,
    "tool_not_runnable": 409,
    "tool_read_only": 409,
    "session_deleted": 410,
    "changed_elsewhere": 412,
    "body_too_large": 413,
    "file_too_large": 413,
    "memory_too_large": 413,
    "message_too_large": 413,
    "session_too_large": 413,
    "unsupported_media_type": 415,
    "upgrade_required": 426,
    "queue_full": 429,
    "rate_limited": 429,
    "headers_too_large": 431,
    "too_many_bytes": 429,
    "too_many_files": 429,
    "too_many_streams": 429,
    "too_many_sessions": 429,
    "mcp_oauth_failed": 502,
    "sign_in_provider_failed": 502,
    "not_ready": 503,
    "too_many_connections": 503,
    "store_closed": 503,
    "store_failed": 503,
    "store_full": 503,
    "store_locked": 503,
    "store_unavailable": 503,
    "upstream_timeout": 504,
    "expired": 504,
    "time_budget": 504,
}
"""The status of codes that do not follow from the code's suffix or the error's class."""

CHALLENGE = b'Bearer realm="agio"'

_RETRY_AFTER_S = {"too_many_sessions": 2, "queue_full": 5, "store_full": 30}


class ErrorDetail(Struct, frozen=True):
    """`code` is stable; `message` is for people and may change."""

    code: str
    message: str
    details: dict[str, Json]


class Error(Struct, frozen=True):
    """The body of every error response."""

    error: ErrorDetail


def status_of(error: AgioError) -> int:
    """Return the HTTP status of an error."""
    if (status := _STATUS.get(error.code)) is not None:
        return status
    if error.code.endswith("_not_found"):
        return 404
    match error:
        case LimitExceeded():
            return 429
        case UserError():
            return 422
        case StoreError():
            return 500
        case ModelError() | UpstreamError():
            return 502
        case _:
            return 500


def error_body(error: AgioError) -> bytes:
    """Return the JSON body of an error."""
    body = {"error": {"code": error.code, "message": error.message, "details": error.details}}
    return msgspec.json.encode(body, enc_hook=str)


def error_headers(error: AgioError, challenge: bytes = CHALLENGE) -> Headers:
    """Return the headers of an error: how to authenticate, when to retry, which methods are allowed."""
    status = status_of(error)
    headers: Headers = []
    if status == 401:
        headers.append((b"www-authenticate", challenge))
    if status in (429, 503):
        seconds = _RETRY_AFTER_S.get(error.code, 1)
        if isinstance(error, ModelError) and error.retry_after_s is not None:
            seconds = math.ceil(error.retry_after_s)
        elif isinstance(given := error.details.get("retry_after_s"), int):
            seconds = given
        headers.append((b"retry-after", str(seconds).encode()))
    if status == 426:
        headers += [(b"upgrade", b"websocket"), (b"connection", b"upgrade")]
    if error.code == "method_not_allowed":
        headers.append((b"allow", str(error.details.get("allowed", "")).encode("latin-1", "replace")))
    return headers


def wrapped(error: Exception) -> AgioError:
    """Return an error for the client: an AgioError unchanged, anything else as `internal_error`, logged.

    Failures of the store and the bus are logged too, because the operator must fix them.
    """
    if isinstance(error, StoreError | BusError) and status_of(error) >= 500:
        _log.warning("request failed: %s", error)
    if isinstance(error, AgioError):
        return error
    _log.error("request failed with an unexpected error", exc_info=error)
    return AgioError("internal_error", "Internal server error. See the server's log; a retry may help.")


async def refuse(scope: Scope, send: Send, error: AgioError) -> None:
    """Respond to a request, or a WebSocket handshake, with an error."""
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": error.code})
            return
        await send_error(send, error, kind="websocket.http.response")
    else:
        await send_error(send, error)


async def send_error(
    send: Send, error: AgioError, kind: str = "http.response", challenge: bytes = CHALLENGE
) -> None:
    """Respond with an error; with 401, `challenge` says how to authenticate. Nothing may have been sent before."""
    body = error_body(error)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *error_headers(error, challenge),
    ]
    await send({"type": f"{kind}.start", "status": status_of(error), "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
