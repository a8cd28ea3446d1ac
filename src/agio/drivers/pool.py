"""A connection pool for one model service: opened on demand, reused, closed with the event loop."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import TypeAlias

from agio.drivers.connection import BrokenAnswer, Connection, Target
from agio.drivers.endpoint import Guard
from agio.errors import UserError

AddressInfo: TypeAlias = tuple[
    socket.AddressFamily,
    socket.SocketKind,
    int,
    str,
    tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
]

CONNECT_TIMEOUT_S = 10.0
_IDLE_S = 60.0
_MAX_IDLE = 64


class Connections:
    """The connections of one event loop to one service. They close when the loop closes its generators.

    With a guard, they connect only to addresses that it checked.
    """

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard
        self._idle: list[Connection] = []
        self._context: ssl.SSLContext | None = None
        self._closed = False
        self._keeper = self._keep()
        self._kept = False

    async def post(self, target: Target, headers: Mapping[str, str], body: bytes) -> Connection:
        """Send a POST and return its connection once the response headers have arrived.

        Raises OSError or TimeoutError if it cannot connect, the guard's errors, and BrokenAnswer if the
        connection breaks.
        """
        return await self._exchange(target, _head("POST", target, headers, len(body)), body)

    async def get(self, target: Target, headers: Mapping[str, str]) -> Connection:
        """Send a GET; see `post`."""
        return await self._exchange(target, _head("GET", target, headers), b"")

    def release(self, connection: Connection) -> None:
        """Return a connection to the pool if its response is complete; close it otherwise."""
        now = asyncio.get_running_loop().time()
        while self._idle and (len(self._idle) >= _MAX_IDLE or self._idle[0].idle_since < now - _IDLE_S):
            self._idle.pop(0).close()
        if connection.complete and connection.reusable and not connection.closed and not self._closed:
            connection.idle_since = now
            connection.resume()
            self._idle.append(connection)
        else:
            connection.close()

    async def aclose(self) -> None:
        """Close the idle connections."""
        await self._keeper.aclose()

    async def _exchange(self, target: Target, head: bytes, body: bytes) -> Connection:
        while True:
            connection = self._reuse()
            fresh = connection is None
            connection = connection or await self._open(target)
            try:
                connection.send(head, body)
                await connection.head()
                return connection
            except BrokenAnswer as error:
                connection.close()
                if fresh or not error.silent:
                    raise
            except BaseException:
                connection.close()
                raise

    def _reuse(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - _IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def _open(self, target: Target) -> Connection:
        if not self._kept:
            self._kept = True
            await anext(self._keeper)
        if target.secure and self._context is None:
            self._context = ssl.create_default_context()
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            addresses = await self._look_up(target)
            return await _connect(target, addresses, self._context if target.secure else None)

    async def _look_up(self, target: Target) -> list[AddressInfo]:
        if self._guard is None:
            loop = asyncio.get_running_loop()
            return await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        return [
            (
                socket.AF_INET if address.version == 4 else socket.AF_INET6,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
                "",
                (str(address), target.port) if address.version == 4 else (str(address), target.port, 0, 0),
            )
            for address in await self._guard.addresses(target.host, target.port)
        ]

    async def _keep(self) -> AsyncGenerator[None, None]:
        """Close idle connections when the loop closes its generators, as `asyncio.run` does at its end."""
        try:
            yield
        finally:
            self._closed = True
            while self._idle:
                self._idle.pop().close()


async def _connect(
    target: Target, addresses: list[AddressInfo], context: ssl.SSLContext | None
) -> Connection:
    """Open a connection to the first address of the host that answers."""
    from aiohappyeyeballs import start_connection  # pyright: ignore[reportUnknownVariableType]

    loop = asyncio.get_running_loop()
    connected = await start_connection(addresses, happy_eyeballs_delay=0.25)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = target.host if context is not None else None
        _, connection = await loop.create_connection(
            Connection, sock=connected, ssl=context, server_hostname=name
        )
    except BaseException:
        connected.close()
        raise
    return connection


def _head(method: str, target: Target, headers: Mapping[str, str], size: int | None = None) -> bytes:
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
    if size is not None:
        lines.append(f"Content-Length: {size}")
    for name, value in headers.items():
        if not value.isprintable() or not value.isascii():
            raise UserError(
                "invalid_header", f"The value of the header {name} has characters no header may have."
            )
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
