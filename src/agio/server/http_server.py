"""uvicorn as a part of the process: it serves until `stop`, and does not handle signals."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

import uvicorn

from agio.core.config import ServerLimits
from agio.server.edge import EdgeConfig
from agio.server.http_protocol import BoundedHttp
from agio.server.socket_protocol import BoundedSocket
from agio.server.unsent import UnsentBytes

_LAST_RESPONSES_S = 5
_WEBSOCKET_QUEUE = 32
_USUAL = ServerLimits()


class HttpServer:
    """Serves an ASGI app on a socket.

    `message_bytes` has the WebSocket paths with another limit than `max_message_bytes`. A reader that stalls for
    `write_timeout_s` is disconnected.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        sock: socket.socket,
        *,
        max_message_bytes: int,
        message_bytes: Mapping[str, int] | None = None,
        max_connections: int = _USUAL.open_connections,
        write_timeout_s: float = _USUAL.write_timeout_s,
    ) -> None:
        config = EdgeConfig(
            app,
            max_connections=max_connections,
            message_bytes=message_bytes or {},
            loop="none",
            http=BoundedHttp,
            ws=BoundedSocket,
            ws_max_size=max_message_bytes,
            ws_max_queue=_WEBSOCKET_QUEUE,
            ws_per_message_deflate=False,
            lifespan="off",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            forwarded_allow_ips="",
            server_header=False,
            workers=1,
            timeout_graceful_shutdown=_LAST_RESPONSES_S,
        )
        self._server = QuietServer(config)
        self._socket = sock
        self._write_timeout_s = write_timeout_s

    async def run(self) -> None:
        """Serve until `stop` is called: open WebSockets are closed with 1012, the last responses are sent."""
        watching = asyncio.create_task(self._watch_readers())
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            watching.cancel()

    async def wait_started(self) -> None:
        """Wait until the server accepts requests."""
        await self._server.ready.wait()

    def stop(self, *, at_once: bool = False) -> None:
        """Accept no more connections and close the open ones; `at_once`: without waiting for their responses."""
        self._server.should_exit = True
        self._server.force_exit = self._server.force_exit or at_once

    async def _watch_readers(self) -> None:
        while True:
            await asyncio.sleep(self._write_timeout_s)
            for connection in list(self._server.server_state.connections):
                if isinstance(connection, UnsentBytes):
                    connection.drop_if_stalled()


class QuietServer(uvicorn.Server):
    """uvicorn's server without its signal handlers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    def capture_signals(self) -> AbstractContextManager[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Leave signals to the process."""
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.ready.set()
