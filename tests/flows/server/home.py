"""A server in this process, in one of its homes: a store, a gateway on a real socket, a worker on a link, a model."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias, cast

import aiohttp
from msgspec import Struct

from agio.core.config import Price, ServerLimits
from agio.gateway.gateway import Gateway
from agio.protocol.ids import new_id
from agio.server.composition import GatewayConfig
from agio.testing import ModelServer
from agio.testing.in_process import START_S, serve_in_process
from agio.worker.app import App
from agio.worker.service import WorkerService
from tests.flows.server.tools import APP

LinkKind: TypeAlias = Literal["direct", "websocket"]
API_KEY = "flow-test-key-of-more-than-32-characters"
LIMITS = ServerLimits(running_per_user=50, link_grace_s=0.2, cancel_s=1.0, tick_s=0.5, drain_s=2.0)
PRICES = {"openai-chat:priced": Price(2.0, 10.0)}


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
        plan = GatewayConfig(
            database=database,
            limits=limits,
            worker_key=secrets.token_urlsafe(32),
            bootstrap_key=API_KEY,
            secret_keys=[b"k" * 32],
            egress_allow=egress_allow,
            prices=PRICES,
        )
        worker = WorkerService(
            new_id("wrk"),
            room=limits.running_per_worker,
            endpoints={
                name: model.endpoint(name) for name in ("openai", "openai-chat", "anthropic", "gemini")
            },
            app=app,
        )
        served = await stack.enter_async_context(serve_in_process(plan, worker, link=link))
        http = await stack.enter_async_context(
            aiohttp.ClientSession(
                headers={"authorization": f"Bearer {API_KEY}"}, timeout=aiohttp.ClientTimeout(START_S)
            )
        )
        yield Home(served.url, served.gateway, model, http, worker)
