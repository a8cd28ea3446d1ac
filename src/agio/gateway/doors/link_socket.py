"""The link over a WebSocket, as the gateway has it: `/link`, and `POST /link/heartbeat`. Plain ASGI.

Behind it is the same `LinkService` that a worker in this process calls. The other end is worker/link_socket.py.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from agio.core.link import wire
from agio.gateway.gateway import Gateway
from agio.gateway.http.in_flight import held_of
from agio.gateway.workers.attendance import ID_BYTES
from agio.gateway.workers.link import LinkService
from agio.gateway.workers.pool import Permit
from agio.gateway.workers.remote_worker import Message, Receive, RemoteWorker, Send
from agio.gateway.workers.worker_keys import WorkerKeys

App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def link_socket(gateway: Gateway) -> App:
    """Make the application of both doors."""
    keys = WorkerKeys(
        gateway.store,
        gateway.rates,
        gateway.addresses,
        operators=gateway.worker_key,
        recheck_s=gateway.limits.recheck_s,
    )
    return LinkDoor(gateway.link, keys)


class LinkDoor:
    """Lets workers in that show a key, and dismisses them when it is revoked."""

    def __init__(self, service: LinkService, keys: WorkerKeys) -> None:
        self._service = service
        self._keys = keys
        self._calls: set[asyncio.Future[Any]] = set()
        """Calls that outlive their connection: a tool that has begun is finished, and its result kept."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
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
        remote = RemoteWorker(self._service, self._calls, receive, send, permit)
        serving = asyncio.ensure_future(remote.serve())
        revoked = asyncio.ensure_future(self._keys.wait_revoked(scope, permit))
        try:
            await asyncio.wait((serving, revoked), return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                remote.dismiss()
            await serving
        finally:
            revoked.cancel()
            serving.cancel()

    async def _beat(self, permit: Permit | None, receive: Receive, send: Send) -> None:
        status = 401
        if permit is not None:
            worker = (await _body(receive)).decode(errors="replace")
            status = 200 if self._service.beat(worker, permit) else 410
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def _body(receive: Receive) -> bytes:
    body = b""
    while len(body) <= ID_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body
    return b""
