"""The whole server on a real socket, in this process: gateway, worker with the demo model, uvicorn."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agio.core.config import ServerLimits
from agio.drivers.endpoint import Endpoint
from agio.egress import Egress
from agio.gateway.app import create_app
from agio.gateway.auth.authenticator import SignInLink
from agio.gateway.gateway import Gateway
from agio.server.composition import Plan, opened_gateway
from agio.server.http_server import HttpServer
from agio.server.listening import listen, url_of
from agio.worker.service import WorkerService
from tests.unit.gateway.engine import QUICK, soon

KEY = "agio_" + "k" * 43


class Served:
    """A server that takes requests."""

    def __init__(self, url: str, gateway: Gateway, sign_in: SignInLink) -> None:
        self.url = url
        self.gateway = gateway
        self.sign_in = sign_in
        self.headers = {"authorization": f"Bearer {KEY}"}

    async def new_link(self) -> str:
        """Another sign-in link."""
        return (await SignInLink().keep(self.gateway.store)).url(self.url)

    @property
    def link(self) -> str:
        """The sign-in link."""
        return self.sign_in.url(self.url)


@asynccontextmanager
async def served(
    folder: Path,
    limits: ServerLimits = QUICK,
    *,
    endpoints: Mapping[str, Endpoint] | None = None,
    egress_allow: Sequence[str] = (),
    database: str | None = None,
) -> AsyncGenerator[Served]:
    """Serve on a free port of loopback until the test is done. `endpoints` are the worker's own models."""
    place = database or folder / "agio.db"
    plan = Plan(database=place, limits=limits, bootstrap_key=KEY, egress_allow=egress_allow)
    with listen("127.0.0.1", 0) as socket:
        async with opened_gateway(plan) as gateway:
            http = HttpServer(create_app(gateway), socket, max_message_bytes=limits.ag_ui_body_bytes)
            await gateway.link.start("at once")
            worker = WorkerService(
                "w1", room=10, endpoints=endpoints or {"demo": Endpoint()}, egress=Egress(egress_allow)
            )
            await soon(worker.join(gateway.link.connect(worker)))
            serving = asyncio.create_task(http.run())
            await soon(http.wait_started())
            try:
                sign_in = await SignInLink().keep(gateway.store)
                yield Served(url_of(socket, "127.0.0.1"), gateway, sign_in)
            finally:
                gateway.hub.close()
                http.stop(at_once=True)
                await soon(serving)
                await soon(worker.aclose())
