"""The link over a WebSocket, as the gateway has it: `/link`, and `POST /link/heartbeat`. Plain ASGI.

Behind it is the same `LinkService` that a worker in this process calls. The other end is worker/link_socket.py.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from agio.core import link_wire as wire
from agio.gateway.gateway import Gateway
from agio.gateway.link import LinkService
from agio.gateway.remote_worker import Message, Receive, RemoteWorker, Send

App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

_ID_BYTES = 256


def link_socket(gateway: Gateway) -> App:
    """Make the application of both doors."""
    return LinkDoor(gateway.link, gateway.worker_key)


class LinkDoor:
    """Lets workers in that show the key; without a key, nobody."""

    def __init__(self, service: LinkService, worker_key: str | None) -> None:
        self._service = service
        self._key = None if worker_key is None else f"Bearer {worker_key}".encode()
        self._calls: set[asyncio.Future[Any]] = set()
        """Calls that outlive their connection: a tool that has begun is finished, and its result kept."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a connection or a heartbeat."""
        known = self._knows(scope["headers"])
        if scope["type"] == "http":
            await self._beat(known, receive, send)
            return
        await receive()
        if not known:
            await send({"type": "websocket.close", "code": wire.REFUSED})
            return
        await send({"type": "websocket.accept"})
        await RemoteWorker(self._service, self._calls, receive, send).serve()

    def _knows(self, headers: list[tuple[bytes, bytes]]) -> bool:
        shown = next((value for name, value in headers if name == b"authorization"), b"")
        return self._key is not None and hmac.compare_digest(shown, self._key)

    async def _beat(self, known: bool, receive: Receive, send: Send) -> None:
        status = 401
        if known:
            worker = (await _body(receive)).decode(errors="replace")
            status = 200 if self._service.beat(worker) else 410
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def _body(receive: Receive) -> bytes:
    body = b""
    while len(body) <= _ID_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body
    return b""
