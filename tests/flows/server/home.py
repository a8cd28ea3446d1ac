"""A server in this process, in one of its homes: a store, a gateway on a real socket, a worker on a link, a model."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import aiohttp
import pytest
from msgspec import Struct

from agio.bus.options import NatsOptions
from agio.core.config import Price, ServerLimits
from agio.core.passage import EmbeddingModel
from agio.gateway.gateway import Gateway
from agio.protocol.ids import new_id
from agio.telemetry.export.config import TraceSettings
from agio.testing import ModelServer
from agio.testing.in_process import START_S
from agio.worker.app import App
from agio.worker.service import WorkerService
from tests.flows.server.tools import APP
from tests.support.served import LinkKind, served

LIMITS = ServerLimits(
    running_per_user=50, link_grace_s=0.2, cancel_s=1.0, tick_s=0.5, drain_s=2.0, gateway_lease_s=4.0
)
PAIRS: tuple[tuple[str, LinkKind], ...] = (
    ("sqlite", "direct"),
    ("postgres", "websocket"),
    ("postgres", "other gateway"),
)
"""Homes that together have each database and each link once."""
one_gateway = pytest.mark.parametrize("place", PAIRS[:2], ids="-".join, indirect=True)
"""Homes where a message reaches the run at once; from another gateway it comes a moment later."""
every_home = pytest.mark.parametrize(
    "place",
    [*PAIRS, ("sqlite", "websocket"), ("postgres", "direct")],
    ids="-".join,
    indirect=True,
)
PRICES = {"openai-chat:priced": Price(2.0, 10.0)}


class Home(Struct, frozen=True):
    """A running server and what a test needs of it."""

    url: str
    gateway: Gateway
    model: ModelServer
    http: aiohttp.ClientSession
    """Signed in with an API key of user `local`."""
    worker: WorkerService
    holder: Gateway
    """The gateway that the worker is linked to: `gateway`, or the other one."""

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
    embeddings: EmbeddingModel | None = None,
    traces: TraceSettings | None = None,
    nats: NatsOptions | None = None,
) -> AsyncGenerator[Home]:
    """Open a server on a store, at a URL or in a folder; it is stopped at the end, and the store stays."""
    async with ModelServer() as model:
        wires = {name: model.endpoint(name) for name in ("openai", "openai-chat", "anthropic", "gemini")}
        async with (
            served(
                database,
                limits,
                link=link,
                endpoints=wires,
                app=app,
                egress_allow=egress_allow,
                prices=PRICES,
                embeddings=embeddings,
                traces=traces,
                nats=nats,
            ) as server,
            aiohttp.ClientSession(headers=server.headers, timeout=aiohttp.ClientTimeout(START_S)) as http,
        ):
            yield Home(server.url, server.gateway, model, http, server.worker, server.holder)
