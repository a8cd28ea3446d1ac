"""A worker that is played by hand, at the end of each kind of link."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal, Protocol, TypeAlias

from agio.core.link import wire as link_wire
from agio.core.link.link import Claim, Greeting, Link, ToolOffer, Welcome
from agio.gateway.doors.link_socket import LinkDoor
from agio.gateway.workers.worker_keys import WorkerKeys
from agio.server.http_server import HttpServer
from agio.worker.link_socket import Guest, SocketLink
from tests.support.engine import Engine, HandWorker, soon
from tests.support.served import LinkKind, listening

KEY = "a key that only workers and their gateway know"
RING = ToolOffer(
    name="ring",
    description="Ring a bell.",
    parameters={"type": "object", "properties": {}},
    kind="module",
)
Way: TypeAlias = Literal["question", "answer"]


class Visitor(HandWorker):
    """A hand-played worker that comes with what it holds, and keeps what it was told when it came."""

    def __init__(self, name: str = "wrk_1", room: int = 10) -> None:
        super().__init__()
        self.id = name
        self.room = room
        self.claims: list[Claim] = []
        self.welcomes: asyncio.Queue[Welcome] = asyncio.Queue()
        self.deserted = asyncio.Event()

    async def join(self, link: Link) -> Welcome:
        greeting = Greeting(worker=self.id, room=self.room, tools=[RING], claims=self.claims)
        welcome = await link.greet(greeting)
        self.welcomes.put_nowait(welcome)
        return welcome

    def release_all(self) -> None:
        self.deserted.set()


class Join(Protocol):
    """Lets a worker come, and gives it its link."""

    async def __call__(self, visitor: Guest) -> Link: ...


@asynccontextmanager
async def wired(kind: LinkKind, room: Engine) -> AsyncGenerator[Join]:
    """Make links of one kind to a gateway."""
    if kind == "direct":

        async def join(visitor: Guest) -> Link:
            link = room.pool.connect(visitor)
            await soon(visitor.join(link))
            return link

        yield join
        return
    async with served_link(room) as url, visiting(url) as join:
        yield join


@asynccontextmanager
async def visiting(url: str) -> AsyncGenerator[Join]:
    """Let workers come over a WebSocket; they go at the end."""
    links: list[tuple[SocketLink, asyncio.Task[None]]] = []

    async def join(visitor: Guest) -> SocketLink:
        link = SocketLink(url, KEY, visitor)
        links.append((link, asyncio.create_task(link.run())))
        await soon(link.joined.wait())
        return link

    try:
        yield join
    finally:
        for link, running in links:
            await link.close()
            await soon(running)


@asynccontextmanager
async def served_link(room: Engine, key: str | None = KEY) -> AsyncGenerator[str]:
    """Serve a gateway's link on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        parts = room.gateway
        recheck_s = parts.limits.recheck_s
        keys = WorkerKeys(room.store, parts.attempts, parts.addresses, operators=key, recheck_s=recheck_s)
        server = HttpServer(LinkDoor(room.pool, keys), sock, max_message_bytes=link_wire.MAX_UP_BYTES)
        async with listening(server):
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"


class Cable:
    """What lies between a worker and its gateway: it can be cut, and lose what is on its way just then."""

    def __init__(self, port: int) -> None:
        self.broken = False
        """Whether nobody gets through."""
        self.deaf = False
        """Whether answers are lost on their way."""
        self.swallowed = asyncio.Event()
        self.left = 0
        """How many pieces go by before the next cut; 0: there is none to come."""
        self.cuts = 0
        self._loses: Way = "answer"
        self._port = port
        self._ends: set[asyncio.StreamWriter] = set()

    def cut_after(self, pieces: int, loses: Way) -> None:
        """Be cut at the piece of this number that goes this way, which is lost."""
        self.left, self._loses = pieces, loses

    async def carry(self, worker: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self.broken:
            back.transport.abort()
            return
        gateway, there = await asyncio.open_connection("127.0.0.1", self._port)
        self._ends |= {back, there}
        await asyncio.gather(self._pump(worker, there, "question"), self._pump(gateway, back, "answer"))

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, way: Way) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                if self.left and way == self._loses:
                    self.left -= 1
                    if self.left == 0:
                        self.cut()
                        return
                if self.deaf and way == "answer":
                    self.swallowed.set()
                    continue
                sink.write(data)
                await sink.drain()
        sink.transport.abort()

    def cut(self) -> None:
        """Break every connection, at both ends."""
        self.cuts += 1
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()


@asynccontextmanager
async def cabled(url: str) -> AsyncGenerator[tuple[str, Cable]]:
    """Lay a cable to a gateway; the address is its near end."""
    cable = Cable(int(url.rpartition(":")[2]))
    server = await asyncio.start_server(cable.carry, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", cable
    finally:
        cable.cut()
        server.close()
