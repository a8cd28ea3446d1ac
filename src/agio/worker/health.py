"""Health: whether a worker is linked, asked by this machine's process manager. It listens on loopback alone (law 9)."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from agio.errors import UserError

_HEAD_BYTES = 8192
_TIMEOUT_S = 5.0


@asynccontextmanager
async def serve_health(port: int | None, is_linked: Callable[[], bool]) -> AsyncGenerator[int | None]:
    """Answer any request on a loopback port: 200 while the worker is linked, else 503. None: do not listen.

    Yields the port; 0 picks a free one. Raises UserError `port_taken`.
    """
    if port is None:
        yield None
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_TIMEOUT_S):
                await reader.readuntil(b"\r\n\r\n")
                status, word = (
                    (b"200 OK", b"linked") if is_linked() else (b"503 Service Unavailable", b"not linked")
                )
                writer.write(
                    b"HTTP/1.1 %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
                    % (status, len(word), word)
                )
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, "127.0.0.1", port, limit=_HEAD_BYTES)
    except OSError as error:
        raise UserError(
            "port_taken", f"Port {port} of 127.0.0.1 is in use: take another one for --health-port."
        ) from error
    async with server:
        yield int(server.sockets[0].getsockname()[1])
