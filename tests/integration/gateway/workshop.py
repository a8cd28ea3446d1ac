"""A server on a real socket whose tools may call one canary, and somebody who talks to it by REST."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from agio.core.config import ServerLimits
from agio.core.identity.principal import Role
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from tests.support.canary import Canary, answer_with, canary
from tests.support.engine import QUICK
from tests.support.served import Served, served

SECRET = "sk-canary-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Workshop:
    """The server, the canary, and a client of user `local`, who is an owner."""

    def __init__(self, server: Served, bird: Canary, client: httpx.AsyncClient) -> None:
        self.server = server
        self.bird = bird
        self.client = client
        self.store = server.gateway.store

    def tool(self, **fields: object) -> dict[str, object]:
        """What is said of a tool that calls the canary, with a secret header."""
        return {
            "name": "weather",
            "description": "The weather.",
            "method": "GET",
            "url": f"{self.bird.url}/weather/{{city}}",
            "parameters": SCHEMA,
            "headers": [
                {"name": "X-Key", "value": SECRET, "secret": True},
                {"name": "X-Team", "value": "blue"},
            ],
            "effect": "read",
            **fields,
        }

    async def make(self, **fields: object) -> dict[str, Any]:
        """Make a tool."""
        made = await self.client.post("/api/agent-tools", json=self.tool(**fields))
        assert made.status_code == 201, made.text
        return made.json()

    async def execute(
        self, tool: str, arguments: Mapping[str, object], key: str | None = None, **more: object
    ) -> httpx.Response:
        """Call a tool outside a run."""
        headers = {} if key is None else {"idempotency-key": key}
        body = {"tool": tool, "arguments": dict(arguments), **more}
        return await self.client.post("/api/tools/execute", json=body, headers=headers)

    async def somebody(self, tenant: str, user: str, role: Role = "admin") -> httpx.AsyncClient:
        """A client of somebody who is added."""
        await self.store.add_tenant(tenant, tenant)
        await self.store.add_user(tenant, user, user, role)
        key = new_api_key()
        await self.store.add_api_key(describe_key(key, tenant, user, "test"), hash_secret(key))
        return httpx.AsyncClient(
            base_url=self.server.url, headers={"authorization": f"Bearer {key}"}, timeout=60
        )


@asynccontextmanager
async def workshop(folder: Path, limits: ServerLimits = QUICK) -> AsyncGenerator[Workshop]:
    """Open the workshop."""
    async with (
        canary() as bird,
        served(folder, limits, egress_allow=[f"127.0.0.1:{bird.port}"]) as server,
        httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
    ):
        bird.answers["/weather/Wien"] = answer_with(b'{"sky": "blue"}', kind="application/json")
        yield Workshop(server, bird, client)


async def held(bird: Canary, path: str) -> tuple[asyncio.Event, asyncio.Event]:
    """Let the canary answer at a path only when it is told; returns that it was asked, and what to set."""
    asked, go = asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await go.wait()
        writer.write(answer_with(b"done"))
        await writer.drain()

    bird.answers[path] = answer
    return asked, go
