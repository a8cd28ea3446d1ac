"""The gateway's end of the link over a WebSocket: `/link`, and `POST /link/heartbeat`. Plain ASGI.

A worker in this process calls the same `WorkerPool`. The other end is worker/link_socket.py.
"""

import asyncio
from typing import Any

from agio.core.link import wire
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.in_flight import held_of
from agio.gateway.workers.connected_worker import Permit
from agio.gateway.workers.greeting_check import ID_BYTES
from agio.gateway.workers.pool import WorkerPool
from agio.gateway.workers.remote_worker import RemoteWorker
from agio.gateway.workers.worker_keys import WorkerKeys


def link_socket(gateway: Gateway) -> Application:
    """Make the ASGI application for both endpoints."""
    keys = WorkerKeys(
        gateway.store,
        gateway.attempts,
        gateway.addresses,
        operators=gateway.worker_key,
        recheck_s=gateway.limits.recheck_s,
    )
    return LinkDoor(gateway.pool, keys)


class LinkDoor:
    """Admits workers that present a key, and disconnects them when it is revoked."""

    def __init__(self, pool: WorkerPool, keys: WorkerKeys) -> None:
        self._pool = pool
        self._keys = keys
        self._calls: set[asyncio.Future[Any]] = set()
        """Calls that outlive their connection: a started tool runs to its end, and its result is stored."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection or a heartbeat."""
        permit = await self._keys.permit(scope)
        if scope["type"] == "http":
            await self._beat(permit, receive, send)
            return
        await receive()
        if permit is None:
            await send({"type": "websocket.close", "code": wire.REFUSED})
            return
        held_of(scope).exempt()
        await send({"type": "websocket.accept"})
        remote = RemoteWorker(self._pool, self._calls, receive, send, permit)
        serving = asyncio.ensure_future(remote.serve())
        revoked = asyncio.ensure_future(self._keys.wait_revoked(scope, permit))
        try:
            await asyncio.wait((serving, revoked), return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                remote.revoke()
            await serving
        finally:
            revoked.cancel()
            serving.cancel()

    async def _beat(self, permit: Permit | None, receive: Receive, send: Send) -> None:
        status = 401
        if permit is not None:
            worker, _, gateway = (await _body(receive)).decode(errors="replace").partition(" ")
            status = self._pool.beat_for(worker, permit, gateway)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def _body(receive: Receive) -> bytes:
    body = b""
    while len(body) <= 2 * ID_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body
    return b""
