"""Bytes in flight over real sockets: trailers, stalled readers, bodies and frames, and what a credential may have of
them.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from agio.core.link.wire import MAX_UP_BYTES
from agio.gateway.app import App
from agio.gateway.http.asgi import Receive, Scope, Send
from agio.server.http_server import HttpServer
from tests.support.clock import until
from tests.support.engine import QUICK, soon
from tests.support.house import AGENT, House, house
from tests.support.served import listening

LIMIT = 1_000_000
PART = 600_000
"""Of a body, a frame or a response: two are more than a credential may have in flight."""
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class Edge:
    """A gateway on a real socket, whose buffers are small."""

    def __init__(self, place: House, app: App, port: int) -> None:
        self.place = place
        self.bytes_of = app.in_flight.bytes_of
        self.scopes: list[Scope] = []
        self._app = app
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await self._app(scope, receive, send)

    async def ask(self, line: str, headers: str = "", body: bytes = b"", *, user: str = "ann") -> "Asked":
        """Send a request, or the beginning of one."""
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self._port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=4096)
        key = f"Authorization: Bearer {self.place.keys[user]}\r\n"
        writer.write(f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}{headers}\r\n".encode() + body)
        return Asked(reader, writer)

    async def in_flight(self, least: int) -> None:
        """Wait until one caller has so much in flight, and see that nobody has too much."""
        await until(lambda: max(self.bytes_of.values(), default=0) >= least)
        assert max(self.bytes_of.values()) <= LIMIT


class Asked:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def rest(self) -> bytes:
        """Read all that comes until the server closes the connection."""
        answered = bytearray()
        try:
            while part := await soon(self.reader.read(65536)):
                answered += part
        except ConnectionResetError:
            pass
        self.writer.close()
        return bytes(answered)


@asynccontextmanager
async def _edge() -> AsyncGenerator[Edge]:
    limits = structs.replace(QUICK, in_flight_bytes_per_credential=LIMIT)
    async with house(limits) as place:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            edge = Edge(place, App(place.gateway), listener.getsockname()[1])
            links = {"/link": MAX_UP_BYTES}
            http = HttpServer(edge, listener, max_message_bytes=limits.json_body_bytes, message_bytes=links)
            async with listening(http):
                yield edge
                place.room.hub.close()


def _frame(size: int) -> bytes:
    """The head of a masked text frame of a size, and nothing of its payload."""
    return b"\x81\xff" + size.to_bytes(8) + bytes(4)


@pytest.mark.parametrize(
    ("line", "headers"),
    [
        ("POST /api/agents", "Content-Type: application/json\r\n"),
        ("GET /api/agent-sessions/{session}/stream", ""),
        ("POST /api/agents/{agent}/ag-ui", "Content-Type: application/json\r\n"),
        ("POST /api/files", "Content-Type: application/octet-stream\r\n"),
        ("GET /realtime", UPGRADE),
    ],
    ids=["REST", "SSE", "AG-UI", "a file", "a WebSocket"],
)
async def test_a_field_after_the_body_is_no_header(line: str, headers: str) -> None:
    """S14: a request with trailers is refused, and its headers are those of its head: nobody becomes another caller."""
    async with _edge() as edge, edge.place.client() as client:
        session = await edge.place.start_session(client)
        agent = (await client.get("/api/agents")).json()["items"][0]["id"]
        bob = edge.place.keys["bob"].encode()
        body = b"2\r\n{}\r\n0\r\nAuthorization: Bearer %s\r\nX-A: " % bob
        asked = await edge.ask(
            line.format(session=session, agent=agent), headers + "Transfer-Encoding: chunked\r\n", body
        )
        assert b" 400 " in (await asked.rest())[:20]
        ann = f"Bearer {edge.place.keys['ann']}".encode()
        for scope in edge.scopes:
            assert [value for name, value in scope["headers"] if name == b"authorization"] == [ann]


async def test_stalled_bodies_of_a_credential_stay_within_its_budget() -> None:
    """S14: the body that would exceed it is refused with 429; others' are taken, and its bytes are free at its end."""
    async with _edge() as edge:
        made = await edge.place.client().post("/api/agents", json=AGENT)
        line = f"POST /api/agents/{made.json()['id']}/ag-ui"
        head = f"Content-Type: application/json\r\nContent-Length: {LIMIT}\r\n"
        stalled = await edge.ask(line, head, b" " * PART)
        await edge.in_flight(PART)
        refused = await edge.ask(line, head + "Connection: close\r\n", b" " * LIMIT)
        answered = await refused.rest()
        assert b" 429 " in answered[:20]
        assert b'"code":"too_many_bytes"' in answered
        other = await edge.ask(line, head, b" " * PART, user="bob")
        await until(lambda: len(edge.bytes_of) == 2)
        for asked in (stalled, other):
            asked.writer.close()
        await until(lambda: not edge.bytes_of)


async def test_stalled_frames_of_a_credential_stay_within_its_budget() -> None:
    """S14: in one frame or many fragments; the socket that would exceed it is closed with 1008."""
    async with _edge() as edge:
        whole = await edge.ask("GET /realtime", UPGRADE)
        await soon(whole.reader.readuntil(b"\r\n\r\n"))
        whole.writer.write(_frame(LIMIT) + b"x" * PART)
        await edge.in_flight(PART)
        pieces = await edge.ask("GET /realtime", UPGRADE)
        await soon(pieces.reader.readuntil(b"\r\n\r\n"))
        first, more = b"\x01\x82" + bytes(4) + b"xx", b"\x00\x82" + bytes(4) + b"xx"
        pieces.writer.write(first + more * (PART // 64))
        assert await pieces.rest() == b"\x88\x10" + (1008).to_bytes(2) + b"too_many_bytes"
        whole.writer.close()
        await until(lambda: not edge.bytes_of)


async def test_a_command_has_a_mebibyte_at_most_and_a_workers_message_more() -> None:
    """S14: a larger frame closes the socket before its payload comes; only the link takes 16 MiB."""
    async with _edge() as edge:
        asked = await edge.ask("GET /realtime", UPGRADE)
        await soon(asked.reader.readuntil(b"\r\n\r\n"))
        asked.writer.write(_frame(2**20 + 1))
        assert (await asked.rest())[2:4] == (1009).to_bytes(2)
        edge.place.keys["worker"] = edge.place.gateway.worker_key or ""
        link = await edge.ask("GET /link", UPGRADE, user="worker")
        await soon(link.reader.readuntil(b"\r\n\r\n"))
        link.writer.write(_frame(2 * LIMIT) + b"x" * 2 * LIMIT)
        assert (await soon(link.reader.readexactly(4)))[2:] == (4400).to_bytes(
            2
        )  # taken whole, and no message of the link
        link.writer.close()


async def test_stalled_readers_of_a_credential_stay_within_its_budget() -> None:
    """S14: the response that would exceed it is cut; the others are sent whole once their readers go on."""
    async with _edge() as edge, edge.place.client() as client:
        sent = await client.post("/api/files", content=b"x" * PART)
        line = f"GET /api/files/{sent.json()['id']}/content"
        stalled: list[Asked] = []
        for count in range(1, 4):
            stalled.append(await edge.ask(line, "Connection: close\r\n"))
            await edge.in_flight(count * 250_000)  # a file is sent in pieces of 256 KiB
        for _ in range(3):
            cut = await edge.ask(line)
            assert (await cut.rest()).count(b"x") < PART
            await edge.in_flight(750_000)
        for asked in stalled:
            assert len((await asked.rest()).partition(b"\r\n\r\n")[2]) == PART
        await until(lambda: not edge.bytes_of)
