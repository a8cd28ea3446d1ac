"""The whole server on a real socket, in this process: gateway, worker with the demo model, uvicorn."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agio.core.config import ServerLimits
from agio.drivers.endpoint import Endpoint
from agio.egress import Egress
from agio.gateway.auth.authenticator import SignInLink
from agio.gateway.gateway import Gateway
from agio.server.composition import GatewayConfig
from agio.testing.in_process import serve_in_process
from agio.worker.service import WorkerService
from tests.support.engine import QUICK

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
    plan = GatewayConfig(database=place, limits=limits, bootstrap_key=KEY, egress_allow=egress_allow)
    worker = WorkerService(
        "w1", room=10, endpoints=endpoints or {"demo": Endpoint()}, egress=Egress(egress_allow)
    )
    async with serve_in_process(plan, worker) as running:
        sign_in = await SignInLink().keep(running.gateway.store)
        yield Served(running.url, running.gateway, sign_in)
