"""Readers that stop reading, over real sockets: what they cost, and that they get everything later."""

import asyncio
import gc
import socket
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from agio.core.config import ServerLimits
from agio.gateway.app import create_app
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.server.http_server import HttpServer
from tests.support.engine import Engine, engine, soon
from tests.support.served import listening
from tests.support.written_run import TENANT, USER, WrittenRun, new_session

FRAMES, EVENTS, EVENT_BYTES = 200, 50, 1000


class Place:
    """A served gateway: its port, and a key to it."""

    def __init__(self, room: Engine, port: int, key: str) -> None:
        self.room = room
        self.port = port
        self.key = key

    def read(self, session_id: str) -> socket.socket:
        """Ask for a session's stream, and read only that it will come."""
        return self._connect(f"GET /api/agent-sessions/{session_id}/stream", "")

    def talk(self, session_id: str) -> socket.socket:
        """Subscribe over a WebSocket, and read only that it is done."""
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        connection = self._connect("GET /realtime", upgrade + key)
        command = msgspec.json.encode({"id": "1", "type": "subscribe", "session_id": session_id})
        assert len(command) < 126
        connection.sendall(bytes([0x81, 0x80 | len(command), 0, 0, 0, 0]) + command)
        kind, length = connection.recv(2)
        assert (kind, b'"type":"ack"' in connection.recv(length)) == (0x81, True)
        return connection

    def _connect(self, request: str, headers: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        host = f"Host: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
        connection.sendall(f"{request} HTTP/1.1\r\n{host}{headers}\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        return connection


@asynccontextmanager
async def _serve(path: Path) -> AsyncGenerator[Place]:
    async with engine(ServerLimits(), path=path) as room:
        key = new_api_key()
        await room.store.add_api_key(describe_key(key, TENANT, USER, "test"), hash_secret(key))
        listener = socket.create_server(("127.0.0.1", 0))
        async with listening(HttpServer(create_app(room.gateway), listener, max_message_bytes=2**20)):
            yield Place(room, listener.getsockname()[1], key)
            room.hub.close()


async def test_a_hundred_readers_that_stop_reading_cost_less_than_50_megabytes(tmp_path: Path) -> None:
    """C7, R1: law 10, with 50 SSE streams and 50 sockets stalled beside a run of 10 MB that one reader follows."""
    async with _serve(tmp_path / "store.db") as place:
        session = await new_session(place.room.store)
        stalled = [
            await asyncio.to_thread(open_one, session.id)
            for open_one in (place.read, place.talk)
            for _ in range(50)
        ]
        assert place.room.hub.open_streams == 100
        run = await WrittenRun(place.room.store, place.room.hub, session.id).start()
        live = place.room.hub.subscribe(session.id, 0)
        gc.collect()
        tracemalloc.start()
        for _ in range(FRAMES):
            await run.write(EVENTS, EVENT_BYTES)
            while (await soon(live.take()))[-1].last_pos < run.seq:
                pass
        grown = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert grown < 50_000_000
        await run.finish()
        stored = await place.room.store.read_session(session.id, 0, 2**30)
        payload = b"".join(chunk.payload for chunk in stored)
        frames = b"".join(
            b"id: %d\ndata: %b\n\n" % (pos, line) for pos, line in enumerate(payload.split(b"\n")[:-1], 1)
        )
        body = await asyncio.to_thread(_body, stalled[0], len(frames))
        same = body == frames  # pytest would spell out megabytes of difference
        assert same
        for connection in stalled:
            connection.close()
        live.close()


def _body(connection: socket.socket, size: int) -> bytes:
    """Read a chunked response up to a size, in a thread: as slow as it likes."""
    body = bytearray()
    with connection.makefile("rb") as file:
        while len(body) < size:
            length = int(file.readline(), 16)
            body += file.read(length)
            file.readline()
    return bytes(body)
