"""A furnished world: one gateway as the server composes it, two teams, and something of every kind there is.

Every text of the team ACME has the canary in it, so that a test can tell when one of its words got out.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from agio.core.config import ServerLimits
from agio.core.identity.account import Account
from agio.core.identity.principal import ApiKey, Permission, Role
from agio.core.link.link import Greeting
from agio.core.mcp import McpOffer
from agio.core.memory import MemoryFields, MemorySource
from agio.db.sqlite.database import open_unchecked
from agio.gateway.app import create_app
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.gateway.auth.passwords import Passwords
from agio.gateway.gateway import Gateway
from agio.gateway.workers.link import WorkerLink
from agio.protocol.ids import new_id
from agio.server.composition import GatewayConfig, opened_gateway
from tests.integration.gateway.accounts import PASSWORD
from tests.integration.gateway.open_calls import end_with_call, end_with_question
from tests.integration.gateway.streams import Reading, Talking
from tests.support.engine import Hand, HandWorker, soon
from tests.support.house import ADDRESS
from tests.support.scenes import dead_job

T = TypeVar("T")

ACME = "acme"
OURS = "default"
ROLES: tuple[Role, ...] = ("owner", "admin", "member")
FURNISHED = (f"{ACME}/owner", f"{ACME}/admin", f"{ACME}/member", f"{OURS}/owner")
CANARY = "canary-acme"
LIMITS = ServerLimits(
    running_per_user=50,
    running_per_tenant=500,
    queued_per_tenant=100_000,
    queued_per_user=100_000,
    silence_s=3600,
    tick_s=3600,
    sweep_s=3600,
    recheck_s=0.05,
    requests_per_minute=10**6,
    messages_per_minute=10**6,
    tool_calls_per_minute=10**6,
    files_per_minute=10**6,
    bad_keys_per_minute=10**6,
    sign_ins_at_once=10**6,
)
"""Nothing runs out or happens by itself while a test looks."""
OWNED_BY = {
    "agent_tool_assignments": "agent_id in (select id from agents where tenant_id = ?)",
    "logs": "run_id in (select run_id from runs where tenant_id = ?)",
    "run_inputs": "run_id in (select run_id from runs where tenant_id = ?)",
    "definitions": "agent_id in (select id from agents where tenant_id = ?)",
    "turns": "run_id in (select run_id from runs where tenant_id = ?)",
    "tool_executions": "run_id in (select run_id from runs where tenant_id = ?)",
    "agent_session_messages": "session_id in (select id from agent_sessions where tenant_id = ?)",
    "interrupts": "session_id in (select id from agent_sessions where tenant_id = ?)",
    "accounts": "id in (select account_id from memberships where tenant_id = ?)",
    "identities": "account_id in (select account_id from memberships where tenant_id = ?)",
    "draft_versions": "draft_id in (select id from drafts where tenant_id = ?)",
    "file_chunks": "file_id in (select id from files where tenant_id = ?)",
    "memory_uses": "memory_id in (select id from agent_long_term_memory where tenant_id = ?)",
    "embeddings": "number in (select number from passages where tenant_id = ?)",
    "tenants": "id = ?",
}
"""The rows of a tenant in tables that do not name it."""
OF_USERS = {
    "logs",
    "run_inputs",
    "turns",
    "tool_executions",
    "agent_session_messages",
    "interrupts",
    "draft_versions",
    "file_chunks",
}
"""Those of them that have what belongs to a user."""
NOBODYS = {"schema_migrations", "tail", "sign_in_flows", "worker_keys", "forks", "leases"}
"""Tables of no tenant. `tail` has the newest events of all that runs: they are compared by reading the log."""
BY_ITSELF = {"last_used_at", "announced_at"}
"""Columns that change by themselves: a key that is used notes it now and then, a run says what was suggested."""


class Person:
    """A user with an account, an API key, and what they have, by kind."""

    def __init__(self, world: "World", tenant: str, user: str, key: str) -> None:
        self.tenant = tenant
        self.user = user
        self.key = key
        self.ids: dict[str, str] = {}
        self._world = world

    def client(self, key: str | None = None) -> httpx.AsyncClient:
        """A program of theirs."""
        return self._world.client({"authorization": f"Bearer {key or self.key}"})

    async def browser(self, signed_in_s_ago: float = 0) -> httpx.AsyncClient:
        """A browser in which they signed in, just now or some time ago."""
        return self._world.client({"cookie": await self.cookie(signed_in_s_ago), "origin": ADDRESS})

    async def cookie(self, signed_in_s_ago: float = 0) -> str:
        """The cookie of a new session of theirs."""
        at = time.time_ns() // 1_000_000 - int(signed_in_s_ago * 1000)
        made = await self._world.gateway.auth.open_session(self.tenant, self.user, at)
        return made.partition(";")[0]


class World:
    """The gateway, its application, and the people by `tenant/role`."""

    def __init__(self, gateway: Gateway, path: Path, worker: HandWorker, link: WorkerLink) -> None:
        self.gateway = gateway
        self.store = gateway.store
        self.app = create_app(gateway)
        self.people: dict[str, Person] = {}
        self.live: dict[str, Hand] = {}
        """The runs that are going on, by user."""
        self._reader = open_unchecked(path)
        self._dumps: dict[tuple[str, str | None], tuple[int, dict[str, list[Any]]]] = {}
        """What was found last, by what was asked for, with the version of the data it was found in."""
        self._worker = worker
        self._link = link
        self._hash = ""

    def client(self, headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
        """A client that shows these headers."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, client=("203.0.113.9", 5000)),
            base_url=ADDRESS,
            headers=headers or {},
        )

    async def add(self, tenant: str, role: Role, name: str | None = None) -> Person:
        """Add somebody with an account and a key."""
        word = CANARY if tenant == ACME else tenant
        user = f"usr-{tenant}-{name or role}"
        await self.store.add_tenant(tenant, f"{word}-team")
        await self.store.add_user(tenant, user, f"{word}-{name or role}", role)
        self._hash = self._hash or await Passwords(memory_kib=64, passes=1).hash(PASSWORD)
        account = Account(f"acc_{user}", f"{word}-{name or role}@example.com", f"{word} {user}", self._hash)
        await self.store.create_account(account, tenant, user)
        made = Person(self, tenant, user, await self.add_key(tenant, user, f"{word}-key"))
        made.ids |= {"email": account.email, "user": user, "tenant": tenant}
        self.people[f"{tenant}/{name or role}"] = made
        return made

    async def add_key(
        self,
        tenant: str,
        user: str,
        name: str = "key",
        *,
        permissions: frozenset[Permission] | None = None,
        expires_in_ms: int | None = None,
    ) -> str:
        """Make a key for somebody."""
        secret = new_api_key()
        plain = describe_key(secret, tenant, user, name)
        until = None if expires_in_ms is None else time.time_ns() // 1_000_000 + expires_in_ms
        key: ApiKey = msgspec.structs.replace(plain, permissions=permissions, expires_at=until)
        await self.store.add_api_key(key, hash_secret(secret))
        return secret

    async def hand(self) -> Hand:
        """Take the next job."""
        return Hand(self._link, await self._worker.next_job())

    def read(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        query: str = "",
        body: bytes = b"",
    ) -> Reading:
        """Open a stream."""
        return Reading(self.app, _scope("http", method, path, headers, query), body)

    def talk(self, headers: Mapping[str, str], path: str = "/realtime") -> Talking:
        """Open a WebSocket."""
        return Talking(self.app, _scope("websocket", "GET", path, headers, ""))

    async def dump(self, tenant: str = ACME, user: str | None = None) -> dict[str, list[Any]]:
        """All that is kept of a tenant, or of one user of it, table by table, and the log of what runs."""
        version = msgspec.convert(self._reader.execute("pragma data_version").get, int)
        known = self._dumps.get((tenant, user))
        if known is None or known[0] != version:
            known = self._dumps[tenant, user] = (version, await self._dump(tenant, user))
        return dict(known[1])

    async def _dump(self, tenant: str, user: str | None) -> dict[str, list[Any]]:
        kept: dict[str, list[Any]] = {}
        tables = self._reader.execute("select name from sqlite_schema where type = 'table'").fetchall()
        for (table,) in msgspec.convert(tables, list[tuple[str]]):
            if table in NOBODYS or table.startswith("passage_words"):  # the index of `passages`
                continue
            info = self._reader.execute(f"pragma table_info({table})").fetchall()
            columns = [str(row[1]) for row in info]
            rule, given = OWNED_BY.get(table, "tenant_id = ?"), [tenant]
            if user is not None:
                if "user_id" not in columns and table not in OF_USERS:
                    continue
                rule, given = rule.replace("tenant_id = ?", "tenant_id = ? and user_id = ?"), [tenant, user]
            shown = ", ".join(column for column in columns if column not in BY_ITSELF)
            found = self._reader.execute(f"select {shown} from {table} where {rule} order by 1, 2", given)
            kept[table] = found.fetchall()
        for person in self.people.values():
            if person.tenant == tenant and user in (None, person.user) and "live_run" in person.ids:
                kept[f"log of {person.user}"] = [await self.store.get_log(person.ids["live_run"])]
        return kept

    def close(self) -> None:
        """Look no more."""
        self._reader.close()


async def furnish_team(world: World, owner: Person) -> None:
    """Make what a team shares, and let everybody in it know."""
    word = CANARY if owner.tenant == ACME else "plain"
    async with owner.client() as client:
        ids: dict[str, str] = {"provider_name": f"{word}-models", "tool_name": f"{word}-tool"}
        provider = {
            "name": ids["provider_name"],
            "kind": "openai",
            "base_url": f"https://{word}.example.com/v1",
            "api_key": f"sk-{word}-key",
            "models": [f"{word}-model"],
        }
        ids["provider"] = (await _made(client.post("/api/providers", json=provider)))["id"]
        tool: dict[str, object] = {
            "name": ids["tool_name"],
            "description": f"{word} tool",
            "method": "GET",
            "url": f"http://127.0.0.1:9/{word}",
            "headers": [
                {"name": "x-secret", "value": f"{word}-header-secret", "secret": True},
                {"name": "x-team", "value": f"{word}-header"},
            ],
            "parameters": {"type": "object", "properties": {}, "description": f"{word} schema"},
            "result_path": f"{word}.path",
        }
        ids["tool"] = (await _made(client.post("/api/agent-tools", json=tool)))["id"]
        ids["agent_name"] = f"{word} Ada"
        agent = {
            "name": ids["agent_name"],
            "system_prompt": f"{word} prompt",
            "description": f"{word} agent",
            "goal": f"{word} goal",
            "model_provider": ids["provider_name"],
            "model_name": f"{word}-model",
            "tools": [{"name": ids["tool_name"], "approval": "ask"}, "clock", "store_draft_content"],
        }
        ids["agent"] = (await _made(client.post("/api/agents", json=agent)))["id"]
        await _made(client.post("/api/agents", json={**agent, "name": f"{word} Bea"}))
        invited = await _made(
            client.post("/api/invitations", json={"email": f"{word}-invited@example.com", "role": "member"})
        )
        ids |= {"invitation": invited["id"], "token": invited["token"]}
        server = {"name": f"{word}-shop", "server_url": f"https://{word}.example.com/mcp"}
        ids |= {"mcp_name": server["name"]}
        ids["mcp_server"] = (await _made(client.post("/api/mcp-servers", json=server)))["id"]
        offer = McpOffer(name=f"{word}-buy", description=f"{word} tool", parameters={"type": "object"})
        [record] = await world.store.see_mcp_tools(owner.tenant, ids["mcp_server"], [offer])
        ids["mcp_tool"] = record.id
        await owner.cookie()
    ids["job"] = await dead_job(world.store, owner.tenant, f"{word}-job")
    for person in world.people.values():
        if person.tenant == owner.tenant:
            person.ids |= ids


async def furnish_person(world: World, person: Person) -> None:
    """Give somebody something of every kind a user has: talks that ended, wait, run; files, drafts, keys, calls."""
    word = CANARY if person.tenant == ACME else "plain"
    ids, agent = person.ids, person.ids["agent"]
    async with person.client() as client:
        ids["key"] = (await _made(client.post("/api/api-keys", json={"name": f"{word}-key"})))["id"]
        text = f"{word} file".encode()
        ids["file"] = (await _made(client.post("/api/files", content=text)))["id"]
        await _made(client.patch("/api/profile", json={"changes": {"note": f"{word} note"}}))
        ids |= {
            "title": f"{word} title",
            "message_key": f"{word}-message-{person.user}",
            "run_key": f"{word}-run-{person.user}",
            "tool_key": f"{word}-tool-{person.user}",
            "draft_kind": f"{word}-kind",
        }

        async def session(name: str, content: object = f"{word} message", **more: object) -> Hand:
            started = await _made(client.post(f"/api/agents/{agent}/sessions", json={"title": ids["title"]}))
            ids[name] = started["id"]
            body = {"content": content, **more}
            sent = await _made(client.post(f"/api/agent-sessions/{ids[name]}/message", json=body))
            ids["message" if name == "session" else f"{name}_message"] = sent["message_id"]
            return await world.hand()

        said: list[object] = [
            {"type": "text", "text": f"{word} message"},
            {"type": "document", "source": {"type": "file", "value": ids["file"]}},
        ]
        hand = await session("session", said, client_message_id=ids["message_key"])
        ids["run"] = hand.run_id
        await hand.say(f"{word} answer")
        await hand.ask(ids["tool_name"], f'{{"q": "{word} argument"}}')
        await hand.finish()

        hand = await session("waiting")
        ids["interrupt"] = await end_with_question(
            hand, f"{word}-call", f'{{"q": "{word} argument"}}', f"{word} question"
        )
        hand = await session("calling")
        ids["call"] = await end_with_call(hand, f"{word}-call", f'{{"q": "{word} argument"}}')
        hand = await session("live")
        ids["live_run"] = hand.run_id
        world.live[person.user] = hand
        await hand.say(f"{word} part")

        draft = {"title": f"{word} draft", "kind": ids["draft_kind"]}
        for number, name in enumerate(("old", "new", "new")):
            arguments = {**draft, "key": f"{word}-{name}", "content": f"{word} version {number}"}
            asked = {"tool": "store_draft_content", "arguments": arguments, "session_id": ids["session"]}
            key = {"idempotency-key": f"{ids['tool_key']}-{number}"} if number else {}
            made = await _made(client.post("/api/tools/execute", json=asked, headers=key))
            assert made["ok"], made
        await _made(
            client.post(
                "/api/tools/execute", json={"tool": "clock"}, headers={"idempotency-key": ids["tool_key"]}
            )
        )
        memory = {"content": f"{word} memory of {person.user}"}
        ids["memory"] = (await _made(client.post(f"/api/agents/{agent}/memories", json=memory)))["id"]
        suggested = await world.store.suggest_memory(
            person.tenant,
            person.user,
            agent,
            MemoryFields(content=f"{word} suggestion for {person.user}"),
            MemorySource(session_id=ids["session"]),
        )
        assert suggested is not None
        ids["suggestion"] = suggested.id

        drafts = (await client.get("/api/drafts")).json()["items"]
        ids["draft"] = drafts[0]["id"]

        ids["sdk"] = f"{word}-sdk-{person.user}"
        inline = {"agent_name": f"{word} Sam", "instructions": f"{word} inline", "session_id": ids["sdk"]}
        await _made(client.post("/api/sdk/session/create", json=inline))
        sent = client.post(
            "/api/sdk/session/message", json={"session_id": ids["sdk"], "user_input": f"{word} inline"}
        )
        await _answered(world, sent, word)
        once = client.post(
            "/api/agent/run",
            json={"agent": agent, "input": f"{word} once"},
            headers={"idempotency-key": ids["run_key"]},
        )
        await _answered(world, once, word)
        ids |= {"thread": f"{word}-thread-{person.user}", "thread_run": f"{word}-thread-run"}
        thread = client.post(
            f"/api/agents/{agent}/ag-ui", json=ag_ui_input(ids["thread"], ids["thread_run"], word)
        )
        await _answered(world, thread, word)


def ag_ui_input(thread: str, run: str, text: str, **more: object) -> dict[str, object]:
    """What an AG-UI client sends to begin."""
    said = {"id": new_id("msg"), "role": "user", "content": f"{text} said"}
    return {"threadId": thread, "runId": run, "messages": [said], **more}


@asynccontextmanager
async def world(
    folder: Path, limits: ServerLimits = LIMITS, *, furnished: Sequence[str] = FURNISHED
) -> AsyncGenerator[World]:
    """Open the world: two teams of an owner, an admin and two members; who of them is furnished has things."""
    path = folder / "agio.db"
    async with opened_gateway(
        GatewayConfig(database=path, limits=limits, egress_allow=["127.0.0.1:9"])
    ) as gateway:
        await gateway.start("at once")
        worker = HandWorker()
        link = gateway.pool.connect(worker)
        await soon(link.greet(Greeting(worker="w1", room=1000)))
        made = World(gateway, path, worker, link)
        for tenant in (ACME, OURS):
            for role in ROLES:
                await made.add(tenant, role)
            await made.add(tenant, "member", "spare")
            await gateway.store.set_sdk_sessions(tenant, "use")
            await furnish_team(made, made.people[f"{tenant}/owner"])
        for name in furnished:
            await furnish_person(made, made.people[name])
        try:
            yield made
        finally:
            made.close()


def nowhere(ids: Mapping[str, str]) -> dict[str, str]:
    """Ids and names that look like these, and nobody has."""
    made: dict[str, str] = {}
    for kind, value in ids.items():
        head, line, tail = value.partition("_")
        if line and len(tail) == 26:
            made[kind] = new_id(head)
        elif kind == "email":
            made[kind] = f"nobody-{secrets.token_hex(4)}@example.com"
        else:
            made[kind] = f"nobody-{secrets.token_hex(4)}"
    return made


async def _made(sending: Awaitable[httpx.Response]) -> dict[str, Any]:
    answered = await soon(sending)
    assert answered.status_code < 300, answered.text
    return answered.json()


async def _answered(world: World, sending: Awaitable[httpx.Response], word: str) -> None:
    """Let a request that waits for its run have its answer."""
    waiting = asyncio.ensure_future(sending)
    hand = await world.hand()
    await hand.say(f"{word} answer")
    await hand.finish()
    answered = await soon(waiting)
    assert answered.status_code == 200, answered.text


def _scope(kind: str, method: str, path: str, headers: Mapping[str, str], query: str) -> dict[str, Any]:
    given = {"host": "127.0.0.1:8700", **headers}
    return {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("203.0.113.9", 5000),
        "extensions": {"websocket.http.response": {}},
    }
