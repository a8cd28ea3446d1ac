"""A server in this process, in one of its homes: a store, a gateway on a real socket, a worker on a link, a model."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias, cast

import aiohttp
from msgspec import Struct

from agio.core.config import Price, ServerLimits
from agio.gateway.app import create_app
from agio.gateway.gateway import Gateway
from agio.protocol.ids import new_id
from agio.server.composition import Plan, opened_gateway
from agio.server.http_server import HttpServer
from agio.server.listening import listen, loopback_url
from agio.testing import ModelServer
from agio.worker.app import App
from agio.worker.link_socket import SocketLink
from agio.worker.service import WorkerService
from tests.flows.server.tools import APP

LinkKind: TypeAlias = Literal["direct", "websocket"]
API_KEY = "flow-test-key-of-more-than-32-characters"
LIMITS = ServerLimits(running_per_user=50, link_grace_s=0.2, cancel_s=1.0, tick_s=0.5, drain_s=2.0)
PRICES = {"openai-chat:priced": Price(2.0, 10.0)}
START_S = 60.0


class Home(Struct, frozen=True):
    """A running server and what a test needs of it."""

    url: str
    gateway: Gateway
    model: ModelServer
    http: aiohttp.ClientSession
    """Signed in with an API key of user `local`."""
    worker: WorkerService

    async def ask(
        self, method: str, path: str, body: object = None, *, expect: int = 200
    ) -> dict[str, object]:
        """Call the REST API; the status must be the expected one."""
        async with self.http.request(method, self.url + path, json=body) as answer:
            text = await answer.text()
            assert answer.status == expect, f"{method} {path}: {answer.status} {text}"
            return cast("dict[str, object]", await answer.json()) if text else {}

    async def create_agent(self, **fields: object) -> str:
        """Add an agent that talks to the model server; returns its id."""
        body = {
            "name": new_id("agent"),
            "system_prompt": "Be brief.",
            "model_provider": "openai-chat",
            "model_name": "test",
            **fields,
        }
        return str((await self.ask("POST", "/api/agents", body, expect=201))["id"])

    async def start_session(self, agent_id: str, **fields: object) -> str:
        """Start a session; returns its id."""
        return str((await self.ask("POST", f"/api/agents/{agent_id}/sessions", fields, expect=201))["id"])


@asynccontextmanager
async def open_home(
    database: str | Path,
    link: LinkKind,
    *,
    limits: ServerLimits = LIMITS,
    app: App = APP,
    egress_allow: Sequence[str] = (),
) -> AsyncGenerator[Home]:
    """Open a server on a store; it is stopped at the end, and the store stays."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelServer())
        worker_key = secrets.token_urlsafe(32)
        plan = Plan(
            database=database,
            limits=limits,
            worker_key=worker_key,
            bootstrap_key=API_KEY,
            secret_keys=[b"k" * 32],
            egress_allow=egress_allow,
            prices=PRICES,
        )
        gateway = await stack.enter_async_context(opened_gateway(plan))
        sock = stack.enter_context(listen("127.0.0.1", 0))
        server = HttpServer(create_app(gateway), sock, max_message_bytes=limits.ag_ui_body_bytes)
        url = loopback_url(sock)
        await gateway.link.start("at once")
        watching = asyncio.create_task(gateway.link.watch())
        serving = asyncio.create_task(server.run())
        worker = WorkerService(
            new_id("wrk"),
            room=limits.running_per_worker,
            endpoints={
                name: model.endpoint(name) for name in ("openai", "openai-chat", "anthropic", "gemini")
            },
            app=app,
        )
        async with asyncio.timeout(START_S):
            await server.wait_started()
        linked: asyncio.Task[None] | None = None
        socket_link: SocketLink | None = None
        if link == "direct":
            await worker.join(gateway.link.connect(worker))
        else:
            socket_link = SocketLink(url, worker_key, worker)
            linked = asyncio.create_task(socket_link.run())
            async with asyncio.timeout(START_S):
                await socket_link.joined.wait()
        http = await stack.enter_async_context(
            aiohttp.ClientSession(
                headers={"authorization": f"Bearer {API_KEY}"}, timeout=aiohttp.ClientTimeout(START_S)
            )
        )
        try:
            yield Home(url, gateway, model, http, worker)
        finally:
            await http.close()
            await worker.leave(0.5)
            if socket_link is not None and linked is not None:
                await socket_link.close()
                await asyncio.wait([linked])
            gateway.hub.close()
            server.stop(at_once=True)
            watching.cancel()
            await asyncio.wait([serving, watching])
