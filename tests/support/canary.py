"""A small HTTP server on loopback that remembers who called: for tests of what must be called, and what must not."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

from msgspec import Struct


class Call(Struct, frozen=True):
    """A request that came in."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Answer: TypeAlias = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


class Canary:
    """Answers by path, `ok` where nothing else was said; `calls` are the requests, `connections` counts them all."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.calls: list[Call] = []
        self.answers: dict[str, Answer] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Call:
        return self.calls[-1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method, target, _ = first.split(" ")
            self.calls.append(Call(method, target, headers, body))
            answer = self.answers.get(target.partition("?")[0], answer_with(b"ok"))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def answer_with(body: bytes, *headers: str, status: int = 200, kind: str = "text/plain") -> bytes:
    """Make an answer."""
    lines = [f"HTTP/1.1 {status} So", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str | bytes, status: int = 302) -> bytes:
    """Make an answer that leads elsewhere."""
    place = location.encode() if isinstance(location, str) else location
    return b"HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, place)


@asynccontextmanager
async def canary(tls: ssl.SSLContext | None = None) -> AsyncGenerator[Canary]:
    """Listen on one port of 127.0.0.1 and, where there is one, of ::1."""
    bird = Canary()
    servers = [await asyncio.start_server(bird.serve, "127.0.0.1", 0, ssl=tls)]
    bird.port = servers[0].sockets[0].getsockname()[1]
    with suppress(OSError):
        servers.append(await asyncio.start_server(bird.serve, "::1", bird.port, ssl=tls))
    try:
        yield bird
    finally:
        for server in servers:
            server.close()
            await server.wait_closed()
