"""The access log: an id for each request, and one line when it ends.

The line has no query, header, body or other content, and of the path only the route's own words and our ids.
"""

import logging
import re
import time

from msgspec import structs

from agio.core.identity.principal import Principal
from agio.core.store.audit import ACTOR, Actor
from agio.core.trace_context import TRACEPARENT, read_traceparent
from agio.gateway.http.asgi import Event, Scope, Send
from agio.gateway.http.security_headers import SecurityHeaders
from agio.telemetry.context import HEADER, REQUEST_ID, RUN_ID, TENANT, accept_request_id
from agio.telemetry.logging import NAMED, write_often

_log = logging.getLogger("agio.access")

_HEADER = HEADER.encode()
_QUIET = frozenset(
    {"/api/health", "/api/ready", "/metrics", "/link/heartbeat", "/assets/{name}", "/icon.svg"}
)
"""Polled by monitors, or requested dozens of times per page: logged only on failure."""
_STARTS = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
_is_id = re.compile(r"[a-z]{2,5}_[0-9a-z]{26}").fullmatch


class Access:
    """One request, or one WebSocket from handshake to close. Its responses go through `send`."""

    def __init__(self, scope: Scope, send: Send, address: str, security_headers: SecurityHeaders) -> None:
        given = next((value for name, value in scope["headers"] if name == _HEADER), None)
        self.request_id = accept_request_id(given)
        self._scope = scope
        self._send = send
        self._security_headers = security_headers
        self._began = time.perf_counter()
        self._status = 0
        self._bytes = 0
        actor = Actor(tenant="", user="", credential="", address=address, request_id=self.request_id)
        self._before = (REQUEST_ID.set(self.request_id), TENANT.set(""), RUN_ID.set(""), ACTOR.set(actor))
        context = next((value for name, value in scope["headers"] if name == b"traceparent"), None)
        self._traceparent = None if context is None else TRACEPARENT.set(read_traceparent(context))

    async def send(self, event: Event) -> None:
        """Forward an event, adding the request id and the default headers."""
        kind: str = event["type"]
        if kind in _STARTS:
            headers: list[tuple[bytes, bytes]] = [*event.get("headers", ())]
            if kind == "websocket.accept":
                self._status = 101
            else:
                self._status = event["status"]
                headers = self._security_headers.with_defaults(headers)
            event["headers"] = [*headers, (_HEADER, self.request_id.encode())]
        elif kind == "websocket.send":
            self._bytes += len(event.get("text") or event.get("bytes") or "")
        elif kind == "websocket.close" and not self._status:
            self._status = 403
        else:
            self._bytes += len(event.get("body", b""))
        await self._send(event)

    def finish(self, path: str | None) -> None:
        """Write the line. `path` is the route's pattern; None if no route matched."""
        self._write_line(path)
        request_id, tenant, run_id, actor = self._before
        REQUEST_ID.reset(request_id)
        TENANT.reset(tenant)
        RUN_ID.reset(run_id)
        ACTOR.reset(actor)
        if self._traceparent is not None:
            TRACEPARENT.reset(self._traceparent)

    def _write_line(self, path: str | None) -> None:
        status = self._status or 499
        level = logging.DEBUG if path in _QUIET and status < 400 else logging.INFO
        if not _log.isEnabledFor(level):
            return
        scope, actor = self._scope, ACTOR.get()
        method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        shown = "-" if path is None else shown_path(path, scope["path"])
        named: dict[str, object] = {
            "method": method,
            "path": shown,
            "status": status,
            "ms": round((time.perf_counter() - self._began) * 1000, 1),
            "bytes": self._bytes,
            "tenant": actor.tenant if actor is not None else "",
            "user": actor.user if actor is not None else "",
            "request_id": self.request_id,
        }
        message = f"{method} {shown} {status}"
        if level == logging.INFO:
            write_often(_log, message, named)
        else:
            _log.debug(message, extra={NAMED: named})


def note_actor(who: Principal) -> None:
    """Record the authenticated caller, for the audit log and the access log."""
    known = ACTOR.get()
    TENANT.set(who.tenant)
    ACTOR.set(
        Actor(
            tenant=who.tenant,
            user=who.user,
            credential=who.credential,
            address="" if known is None else known.address,
            request_id="" if known is None else known.request_id,
        )
    )


def begin_command(request_id: str) -> None:
    """Set the log context for a command on a WebSocket, which counts as a request of the same caller."""
    REQUEST_ID.set(request_id)
    RUN_ID.set("")
    if (actor := ACTOR.get()) is not None:
        ACTOR.set(structs.replace(actor, request_id=request_id))


def write_command_line(command: str, began: float, code: str | None) -> None:
    """Write the line of a WebSocket command; `code` is its error code, if any."""
    level = logging.DEBUG if command == "ping" else logging.INFO
    if not _log.isEnabledFor(level):
        return
    actor = ACTOR.get()
    named: dict[str, object] = {
        "command": command,
        "ms": round((time.perf_counter() - began) * 1000, 1),
        "code": code,
        "user": actor.user if actor is not None else "",
    }
    message = f"{command} {code or 'ok'}"
    if level == logging.INFO:
        write_often(_log, message, named)
    else:
        _log.debug(message, extra={NAMED: named})


def shown_path(pattern: str, path: str) -> str:
    """Return a path in which every part that is not ours (a route word or an id) is replaced by its parameter name."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        return pattern
    after = rest.partition("}")[2]
    if "{" not in after:
        return path if _is_id(path[len(before) : len(path) - len(after)]) else pattern
    names, parts = pattern.split("/"), path.split("/")
    if len(names) != len(parts):
        return pattern
    return "/".join(
        part if name == part or (name[:1] == "{" and _is_id(part)) else name
        for name, part in zip(names, parts, strict=True)
    )
