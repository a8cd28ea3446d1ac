"""A gateway with a worker in this process, on a real socket."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from agio.bus.options import NatsOptions
from agio.core.config import Price, ServerLimits
from agio.core.passage import EmbeddingModel
from agio.drivers.endpoint import Endpoint
from agio.egress import Egress
from agio.gateway.auth.authenticator import SignInLink
from agio.gateway.gateway import Gateway
from agio.server.composition import GatewayConfig, make_http_server, opened_gateway
from agio.server.http_server import HttpServer
from agio.server.listening import listen, loopback_url
from agio.telemetry.export.config import TraceSettings
from agio.testing.in_process import ServedGateway, serve_in_process
from agio.tools.mcp.link import Command
from agio.worker.app import App
from agio.worker.service import WorkerService
from tests.support.clock import until
from tests.support.engine import QUICK, soon

LinkKind: TypeAlias = Literal["direct", "websocket", "other gateway"]
"""With `other gateway` two gateways share the store over NATS: the clients are at one, the worker at the other."""
KEY = "agio_" + "k" * 43


class Served(Struct, frozen=True):
    """A server that takes requests. `headers` are those of user `local`, an owner."""

    url: str
    gateway: Gateway
    worker: WorkerService
    sign_in: SignInLink
    headers: Mapping[str, str]
    holder: Gateway
    """The gateway that the worker is linked to."""

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
    nats: NatsOptions | None = None,
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
        nats=nats,
    )
    worker = WorkerService(
        "w1",
        room=limits.running_per_worker,
        endpoints=endpoints or {"demo": Endpoint()},
        app=app,
        egress=Egress(egress_allow),
    )
    kind: Literal["direct", "websocket"] = "direct" if link == "direct" else "websocket"
    async with serve_in_process(plan, worker, link=kind) as running, _front(plan, running, link) as front:
        sign_in = await SignInLink().keep(front.gateway.store)
        yield Served(
            front.url, front.gateway, worker, sign_in, {"authorization": f"Bearer {KEY}"}, running.gateway
        )


@asynccontextmanager
async def _front(plan: GatewayConfig, far: ServedGateway, link: LinkKind) -> AsyncGenerator[ServedGateway]:
    """The gateway that clients call: the one that was opened, or a second one without a worker."""
    if link != "other gateway":
        yield far
        return
    with listen("127.0.0.1", 0) as sock:
        async with opened_gateway(plan) as gateway:
            await gateway.start()
            async with listening(make_http_server(gateway, sock)):
                await soon(until(lambda: gateway.pool.count() > 0))
                yield ServedGateway(loopback_url(sock), gateway)
                gateway.hub.close()


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
