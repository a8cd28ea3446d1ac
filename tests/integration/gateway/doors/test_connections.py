"""Streams end when their credential does: revoked, changed, signed out or expired, here or by another process."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from agio.core.config import ServerLimits
from agio.core.identity.principal import Principal, Role
from agio.core.store.store import Store
from agio.errors import StoreError
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.gateway.stream.connections import Connections, Cut
from tests.integration.gateway.streams import server as streaming
from tests.support.clock import until
from tests.support.engine import QUICK, engine, soon
from tests.support.house import house
from tests.support.postgres import PostgresServer
from tests.support.served import Served, served

LATE = structs.replace(QUICK, recheck_s=3600.0)
"""The watch sleeps: what ends a stream was told at once."""
POLICY_VIOLATION = 1008


class Guest:
    """Somebody with a key, a WebSocket and an SSE stream."""

    def __init__(self, headers: dict[str, str], key_id: str) -> None:
        self.headers = headers
        self.key_id = key_id
        self.socket: ClientConnection
        self.reading: asyncio.Task[int]

    async def gone(self) -> tuple[int | None, str | None]:
        """Wait until both streams were ended by the server; returns what the WebSocket was told."""
        async with asyncio.timeout(60):
            await self.socket.wait_closed()
            await self.reading
        return self.socket.close_code, self.socket.close_reason

    async def here(self) -> bool:
        """Whether both streams are open."""
        await self.socket.send('{"type": "ping", "id": "1"}')
        return '"pong"' in str(await soon(self.socket.recv())) and not self.reading.done()


async def _add(store: Store, user: str, role: Role, expires_at: int | None = None) -> Guest:
    key = new_api_key()
    await store.add_user("default", user, user, role)
    row = structs.replace(describe_key(key, "default", user, "test"), expires_at=expires_at)
    await store.add_api_key(row, hash_secret(key))
    return Guest({"authorization": f"Bearer {key}"}, row.id)


async def _read(url: str, headers: dict[str, str], open_: asyncio.Event) -> int:
    """Read a stream to its end; returns how many bytes there were."""
    size = 0
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        open_.set()
        async for part in answer.aiter_bytes():
            size += len(part)
    return size


@asynccontextmanager
async def _streaming(server: Served, guest: Guest) -> AsyncGenerator[Guest]:
    """Open a guest's two streams."""
    async with httpx.AsyncClient(base_url=server.url, headers=guest.headers, timeout=60) as client:
        agent = (await client.get("/api/agents")).json()["items"][0]
        session = (
            await client.post(f"/api/agents/{agent['id']}/sessions", headers={"origin": server.url})
        ).json()
    open_ = asyncio.Event()
    url = f"{server.url}/api/agent-sessions/{session['id']}/stream"
    guest.reading = asyncio.create_task(_read(url, guest.headers, open_))
    try:
        await soon(open_.wait())
        address = server.url.replace("http", "ws") + "/realtime"
        shown = {**guest.headers, "origin": server.url} if "cookie" in guest.headers else guest.headers
        async with connect(address, additional_headers=shown, open_timeout=60) as guest.socket:
            assert await guest.here()
            yield guest
    finally:
        guest.reading.cancel()
        await asyncio.wait([guest.reading])


async def _revoke_by_rest(server: Served, guest: Guest) -> None:
    async with httpx.AsyncClient(base_url=server.url, headers=guest.headers, timeout=60) as client:
        assert (await client.delete(f"/api/api-keys/{guest.key_id}")).status_code == 204


async def _revoke_elsewhere(server: Served, guest: Guest) -> None:
    await server.gateway.store.revoke_api_key("default", "ann", guest.key_id)


async def _lower(server: Served, guest: Guest) -> None:
    await server.gateway.store.set_role("default", "ann", "member")


async def _remove(server: Served, guest: Guest) -> None:
    await server.gateway.store.remove_member("default", "ann")


ENDS: dict[str, tuple[ServerLimits, Callable[[Served, Guest], Coroutine[Any, Any, None]], str]] = {
    "the key is revoked": (LATE, _revoke_by_rest, "revoked"),
    "another process revokes the key": (QUICK, _revoke_elsewhere, "revoked"),
    "another process changes the role": (QUICK, _lower, "rights"),
    "another process removes the member": (QUICK, _remove, "revoked"),
}


@pytest.mark.parametrize("how", ENDS)
async def test_streams_end_with_what_let_them_in_and_others_stay(tmp_path: Path, how: str) -> None:
    """R2: the WebSocket is told 1008 and why, the SSE stream ends, whoever comes again is refused."""
    limits, end, reason = ENDS[how]
    async with served(tmp_path, limits) as server, AsyncExitStack() as stack:
        store = server.gateway.store
        ann = await stack.enter_async_context(_streaming(server, await _add(store, "ann", "admin")))
        cid = await stack.enter_async_context(_streaming(server, await _add(store, "cid", "admin")))
        await end(server, ann)
        code, why = await ann.gone()
        assert code == POLICY_VIOLATION
        assert reason in str(why)
        assert await cid.here()
        assert len(server.gateway.connections) == 2


async def test_a_credential_has_only_so_many_streams(tmp_path: Path) -> None:
    """S14: one too many is refused at every door; another credential is not, nor who has closed one."""
    async with served(tmp_path, structs.replace(LATE, streams_per_credential=2)) as server:
        store = server.gateway.store
        ann, cid = await _add(store, "ann", "admin"), await _add(store, "cid", "admin")
        async with httpx.AsyncClient(base_url=server.url, headers=ann.headers, timeout=60) as client:
            agent = (await client.get("/api/agents")).json()["items"][0]["id"]
            session = (await client.post(f"/api/agents/{agent}/sessions")).json()["id"]
            described = {"session_id": "s", "agent_name": "Ann's", "instructions": "Hi", "model": "demo:demo"}
            assert (await client.post("/api/sdk/session/create", json=described)).is_success
            streamed = {"session_id": "s", "user_input": "Hi", "stream": True}
            for _ in range(2):
                async with _streaming(server, ann):
                    doors = [
                        await client.get(f"/api/agent-sessions/{session}/stream"),
                        await client.post(f"/api/agents/{agent}/ag-ui", json={}),
                        await client.post("/api/sdk/session/message", json=streamed),
                    ]
                    for refused in doors:
                        assert (refused.status_code, refused.json()["error"]["code"]) == (
                            429,
                            "too_many_streams",
                        )
                    with pytest.raises(InvalidStatus) as shut:
                        await connect(
                            server.url.replace("http", "ws") + "/realtime",
                            additional_headers=ann.headers,
                            open_timeout=60,
                        )
                    assert shut.value.response.status_code == 429
                    async with _streaming(server, cid):
                        assert await cid.here()
                async with asyncio.timeout(60):
                    while (await client.get("/api/agents")).is_success and len(server.gateway.connections):
                        pass


async def test_streams_that_come_at_once_are_counted_one_by_one(tmp_path: Path) -> None:
    """S14: as many as may are let in, however many there are at the door."""
    async with (
        served(tmp_path, structs.replace(LATE, streams_per_credential=3)) as server,
        AsyncExitStack() as stack,
    ):
        ann = await _add(server.gateway.store, "ann", "admin")
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=server.url, headers=ann.headers, timeout=60)
        )
        agent = (await client.get("/api/agents")).json()["items"][0]["id"]
        session = (await client.post(f"/api/agents/{agent}/sessions")).json()["id"]

        async def knock() -> int:
            path = f"/api/agent-sessions/{session}/stream"
            return (await stack.enter_async_context(client.stream("GET", path))).status_code

        answers = await asyncio.gather(*(knock() for _ in range(20)))
        assert sorted(answers) == [200] * 3 + [429] * 17


async def test_streams_end_when_the_key_that_made_theirs_is_revoked(tmp_path: Path) -> None:
    """R2: at once, two generations on; those of the keys before it stay open."""
    async with served(tmp_path, LATE) as server, AsyncExitStack() as stack:
        family = [await _add(server.gateway.store, "ann", "admin")]
        for name in ("child", "grandchild"):
            async with httpx.AsyncClient(
                base_url=server.url, headers=family[-1].headers, timeout=60
            ) as client:
                made = (await client.post("/api/api-keys", json={"name": name})).json()
            family.append(Guest({"authorization": f"Bearer {made['key']}"}, made["id"]))
        for guest in family:
            await stack.enter_async_context(_streaming(server, guest))
        first, child, grandchild = family
        async with httpx.AsyncClient(base_url=server.url, headers=first.headers, timeout=60) as client:
            assert (await client.delete(f"/api/api-keys/{child.key_id}")).status_code == 204
        assert [(await guest.gone())[0] for guest in (child, grandchild)] == [POLICY_VIOLATION] * 2
        assert await first.here()


async def test_streams_end_when_the_browser_signs_out(tmp_path: Path) -> None:
    """R2: in every tab of it, at once; another browser of the same person's stays signed in."""
    async with served(tmp_path, LATE) as server, AsyncExitStack() as stack:
        guests: list[Guest] = []
        for _ in range(2):
            async with httpx.AsyncClient(timeout=60) as client:
                link = await server.new_link()
                cookie = (await client.get(link)).headers["set-cookie"].partition(";")[0]
            guest = Guest({"cookie": cookie}, "")
            guests.append(await stack.enter_async_context(_streaming(server, guest)))
        async with httpx.AsyncClient(base_url=server.url, headers=guests[0].headers, timeout=60) as client:
            out = await client.post("/sign-out", headers={"origin": server.url})
            assert out.status_code == 204
        assert (await guests[0].gone())[0] == POLICY_VIOLATION
        assert await guests[1].here()


async def test_streams_end_when_their_key_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: an API key that is good for another hour, and no longer."""
    now_ns = time.time_ns
    async with served(tmp_path) as server:
        guest = await _add(server.gateway.store, "ann", "member", now_ns() // 1_000_000 + 3_600_000)
        async with _streaming(server, guest):
            monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 3_601 * 1_000_000_000)
            assert (await guest.gone())[0] == POLICY_VIOLATION


def test_five_seconds_are_enough() -> None:
    """R2: the credentials behind streams are looked at twice in that time."""
    assert ServerLimits().recheck_s <= 2.0


async def test_the_command_line_ends_streams_of_a_running_server(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """R2: `agio keys revoke` beside a gateway, on the database both have."""
    url = postgres.create_database()
    async with served(url) as server:
        guest = await _add(server.gateway.store, "local", "owner")
        async with _streaming(server, guest):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "agio.cli.main", "keys", "revoke", guest.key_id),
                env={**os.environ, "AGIO_DATABASE_URL": url},
                stdout=asyncio.subprocess.DEVNULL,
            )
            async with asyncio.timeout(60):
                assert await process.wait() == 0
            assert (await guest.gone())[0] == POLICY_VIOLATION


async def test_a_stream_of_a_run_ends_too() -> None:
    """R2: over AG-UI, while its run waits; the run itself is not touched."""
    async with streaming(room=0) as place:
        agent = await place.agent()
        given = {"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Hi"}]}
        given |= {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        reading = place.post(agent, given)
        await reading.until(lambda: reading.status == 200)
        (key,) = await place.store.list_api_keys("default", "ann")
        await place.store.revoke_api_key("default", "ann", key.id)
        await soon(reading.done())
        assert (await place.store.count_runs())["queued"] == 1


@pytest.mark.parametrize("what", ["log", "file"])
async def test_a_download_that_nobody_reads_is_broken_off(what: str) -> None:
    """R2: the reader has stopped in the middle, and must not get the rest later as if nothing had been."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        _, hand = await place.begin(client, session_id)
        await hand.say("Hello")
        await hand.finish()
        uploaded = await client.post("/api/files", files={"file": b"a" * 100_000})
        paths = {
            "log": f"/api/agent-sessions/{session_id}/events",
            "file": f"/api/files/{uploaded.json()['id']}/content",
        }
        stalled = asyncio.Event()
        sent: list[dict[str, Any]] = []

        async def send(event: Any) -> None:
            sent.append(event)
            if event["type"] == "http.response.body":
                stalled.set()
                await asyncio.Event().wait()

        async def receive() -> Any:
            await asyncio.Event().wait()

        scope = {
            "type": "http",
            "method": "GET",
            "path": paths[what],
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {place.keys['ann']}".encode())],
        }
        serving = asyncio.ensure_future(place.app(scope, receive, send))
        await soon(stalled.wait())
        (key,) = await place.store.list_api_keys("default", "ann")
        await place.store.revoke_api_key("default", "ann", key.id)
        await soon(serving)
        assert sent[-1]["more_body"]
        assert len(place.gateway.connections) == 0


async def test_a_cut_is_told_from_a_cancellation() -> None:
    """R2: who cancels a stream's task from outside gets a cancellation, not a cut; and both at once, the former."""
    who = Principal("default", "ann", "admin", "key_1")
    inside = asyncio.Event()

    async def stream(connections: Connections) -> None:
        async with connections.open(who):
            inside.set()
            await asyncio.Event().wait()

    async with engine(LATE) as room:
        for cuts, cancels, outcome in (
            (1, 0, Cut),
            (0, 1, asyncio.CancelledError),
            (1, 1, asyncio.CancelledError),
        ):
            inside.clear()
            task = asyncio.create_task(stream(room.gateway.connections))
            await soon(inside.wait())
            for _ in range(cuts):
                room.gateway.connections.close_credential("key_1")
                room.gateway.connections.close_credential("key_1")
            for _ in range(cancels):
                task.cancel()
            with pytest.raises(outcome):
                await soon(task)
            assert len(room.gateway.connections) == 0


async def test_many_streams_are_looked_at_together_and_nobody_is_cut_for_somebody_else() -> None:
    """R2: a thousand streams of six hundred keys, one of which is revoked and one of a user whose role changed."""
    cut: list[str] = []

    async def stream(connections: Connections, who: Principal) -> None:
        try:
            async with connections.open(who):
                await asyncio.Event().wait()
        except Cut:
            cut.append(who.user)

    async with engine(LATE) as room:
        guests = [await _add(room.store, f"u{number}", "admin") for number in range(600)]
        people = await room.store.find_credentials([guest.key_id for guest in guests])
        assert len(people) == 600
        tasks = [
            asyncio.create_task(stream(room.gateway.connections, who)) for who in (*people, *people[:400])
        ]
        await asyncio.sleep(0)
        await room.gateway.connections.recheck()
        assert (len(room.gateway.connections), cut) == (1000, [])
        first = people[7].user
        await room.store.set_role("default", first, "member")
        await room.store.revoke_api_key("default", people[550].user, people[550].credential)
        await room.gateway.connections.recheck()
        await until(lambda: sum(task.done() for task in tasks) >= 3)
        assert sorted(cut) == sorted([first, first, people[550].user])
        assert len(room.gateway.connections) == 997
        others = [task for task in tasks if not task.done()]
        assert len(others) == 997
        for task in others:
            task.cancel()
        await asyncio.wait(others)


async def test_a_store_that_cannot_be_asked_cuts_nobody() -> None:
    """R2, B1: streams outlive an outage."""
    async with engine(LATE) as room:
        who = Principal("default", "ann", "admin", "key_1")
        async with room.gateway.connections.open(who):
            await room.store.close()
            with pytest.raises(StoreError):
                await room.gateway.connections.recheck()
        assert len(room.gateway.connections) == 0
