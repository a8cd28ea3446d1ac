"""A gateway with a worker in this process, on a real socket."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from agio.core.config import Price, ServerLimits
from agio.core.passage import EmbeddingModel
from agio.drivers.endpoint import Endpoint
from agio.egress import Egress
from agio.gateway.auth.authenticator import SignInLink
from agio.gateway.gateway import Gateway
from agio.server.composition import GatewayConfig
from agio.server.http_server import HttpServer
from agio.telemetry.export.config import TraceSettings
from agio.testing.in_process import serve_in_process
from agio.tools.mcp.link import Command
from agio.worker.app import App
from agio.worker.service import WorkerService
from tests.support.engine import QUICK, soon

LinkKind: TypeAlias = Literal["direct", "websocket"]
KEY = "agio_" + "k" * 43


class Served(Struct, frozen=True):
    """A server that takes requests. `headers` are those of user `local`, an owner."""

    url: str
    gateway: Gateway
    worker: WorkerService
    sign_in: SignInLink
    headers: Mapping[str, str]

    async def new_link(self) -> str:
        """Another sign-in link."""
        return (await SignInLink().keep(self.gateway.store)).url(self.url)

    @property
    def link(self) -> str:
        """The sign-in link."""
        return self.sign_in.url(self.url)


@asynccontextmanager
async def served(
    database: Path | str,
    limits: ServerLimits = QUICK,
    *,
    link: LinkKind = "direct",
    endpoints: Mapping[str, Endpoint] | None = None,
    app: App | None = None,
    egress_allow: Sequence[str] = (),
    prices: Mapping[str, Price] | None = None,
    commands: Mapping[str, Command] | None = None,
    public_url: str | None = None,
    embeddings: EmbeddingModel | None = None,
    traces: TraceSettings | None = None,
) -> AsyncGenerator[Served]:
    """Serve on a free loopback port until the test ends. The store is at a URL, or a file in a folder; it stays.

    `endpoints` and `app` are the worker's own models and module; `commands` the operator's MCP servers.
    """
    plan = GatewayConfig(
        database=database / "agio.db" if isinstance(database, Path) else database,
        limits=limits,
        worker_key="w" * 40,
        bootstrap_key=KEY,
        secret_keys=[b"k" * 32],
        egress_allow=egress_allow,
        prices=prices or {},
        mcp=commands or {},
        public_url=public_url,
        embeddings=embeddings,
        traces=traces or TraceSettings(),
    )
    worker = WorkerService(
        "w1",
        room=limits.running_per_worker,
        endpoints=endpoints or {"demo": Endpoint()},
        app=app,
        egress=Egress(egress_allow),
    )
    async with serve_in_process(plan, worker, link=link) as running:
        sign_in = await SignInLink().keep(running.gateway.store)
        yield Served(running.url, running.gateway, worker, sign_in, {"authorization": f"Bearer {KEY}"})


@asynccontextmanager
async def listening(server: HttpServer) -> AsyncGenerator[None]:
    """Let a server that a test has made take requests."""
    running = asyncio.create_task(server.run())
    await soon(server.wait_started())
    try:
        yield
    finally:
        server.stop(at_once=True)
        await soon(running)
