"""The HTTP application of a gateway in this process: people with keys, and clients that call it without a socket."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import msgspec

from agio.agents import demo
from agio.core.config import ServerLimits
from agio.core.identity.principal import Principal
from agio.core.tool import AnyTool
from agio.egress import Egress
from agio.gateway.app import create_app
from agio.gateway.auth.authenticator import Authenticator, SignInLink, describe_key, hash_secret, new_api_key
from agio.gateway.auth.passwords import Passwords
from agio.gateway.http.origin import Origins
from agio.gateway.workers.link import WorkerLink
from tests.support.engine import QUICK, Engine, Hand, HandWorker, engine

ADDRESS = "http://127.0.0.1:8700"
TOOLS: dict[str, AnyTool] = {tool.name: tool for tool in demo.TOOLS}
AGENT: dict[str, object] = {
    "name": "Ada",
    "system_prompt": "Be brief.",
    "model_provider": "demo",
    "model_name": "demo",
}
HOSTS = ("agio.test",)


class House:
    """A gateway with its application. `ann` and `bob` are of different tenants; `cid` is of ann's."""

    def __init__(self, room: Engine, origins: Origins) -> None:
        self.room = room
        self.store = room.store
        self.sign_in = SignInLink("default", "ann")
        parts = room.gateway
        self.auth = Authenticator(room.store, rates=parts.rates, addresses=parts.addresses, origins=origins)
        self.passwords = Passwords(memory_kib=64, passes=1)
        self.gateway = replace(
            parts,
            auth=self.auth,
            passwords=self.passwords,
            providers=frozenset({"demo", "openai"}),
            egress=Egress(["127.0.0.1:9"]),
            worker_key="w" * 40,
        )
        self.app = create_app(self.gateway)
        self.keys: dict[str, str] = {}

    async def add(self, user: str, tenant: str) -> None:
        """Add somebody with a key."""
        await self.store.add_tenant(tenant, tenant)
        await self.store.add_user(tenant, user, user.title(), "admin")
        key = new_api_key()
        await self.store.add_api_key(describe_key(key, tenant, user, "test"), hash_secret(key))
        self.keys[user] = key

    def client(self, user: str | None = "ann", headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
        """A client in somebody's name, or in nobody's."""
        shown = {} if user is None else {"authorization": f"Bearer {self.keys[user]}"}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, client=("203.0.113.9", 5000)),
            base_url=ADDRESS,
            headers={**shown, **(headers or {})},
        )

    async def start_session(self, client: httpx.AsyncClient, **agent: object) -> str:
        """Make an agent and start a session with it."""
        made = await client.post("/api/agents", json={**AGENT, **agent})
        assert made.status_code == 201, made.text
        started = await client.post(f"/api/agents/{made.json()['id']}/sessions")
        assert started.status_code == 201, started.text
        return started.json()["id"]

    async def joined(self) -> tuple[HandWorker, WorkerLink]:
        """Let a worker come whom the test plays."""
        worker, link, _ = await self.room.join()
        return worker, link

    async def begin(self, client: httpx.AsyncClient, session_id: str, text: str = "Hi") -> tuple[str, Hand]:
        """Send a message and take its job."""
        worker, link = await self.joined()
        sent = await client.post(f"/api/agent-sessions/{session_id}/message", json={"content": text})
        assert sent.status_code == 202, sent.text
        return sent.json()["run_id"], Hand(link, await worker.next_job())


@asynccontextmanager
async def house(limits: ServerLimits = QUICK, *, origins: Origins | None = None) -> AsyncGenerator[House]:
    """Open the application."""
    async with engine(limits, tools=TOOLS) as room:
        made = House(room, origins or Origins(HOSTS))
        await made.add("ann", "default")
        await made.add("cid", "default")
        await made.add("bob", "other")
        await made.sign_in.keep(made.store)
        yield made


def code_of(response: httpx.Response) -> str:
    """Return the code of a refusal, which must have our shape."""
    assert response.headers["content-type"] == "application/json", response.text
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    body: dict[str, Any] = response.json()
    assert set(body) == {"error"}, body
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "details"}, error
    assert error["message"]
    assert "Traceback" not in response.text
    return error["code"]


def lines_of(response: httpx.Response) -> list[dict[str, Any]]:
    """Return the events of an NDJSON answer."""
    assert response.headers["content-type"] == "application/x-ndjson"
    return [msgspec.json.decode(line) for line in response.content.splitlines()]


def ids_of(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of listed things."""
    return [item["id"] for item in items]


ANN = Principal("default", "ann", "admin", "test")
