"""Workers whose key names tenants: they see those tenants' runs, tasks and agents, and nothing of anybody else's."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from agio.core.identity.principal import DEFAULT_TENANT, Principal
from agio.core.identity.worker_key import WorkerKey
from agio.core.link.link import Greeting, Task, ToolOffer
from agio.core.store.records import AgentFields, SessionRecord
from agio.errors import ModelError, UserError
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.workers.connected_worker import OPERATOR, Permit
from agio.gateway.workers.link import WorkerLink
from agio.gateway.workers.worker_keys import WorkerKeys, new_worker_key
from agio.worker.link_socket import SocketLink
from tests.support.engine import QUICK, Engine, Hand, HandWorker, engine, soon
from tests.support.house import code_of, house
from tests.support.postgres import PostgresServer
from tests.support.wiring import RING, Visitor, served_link

ANN = Principal("default", "ann", "member", "key_1")
BOB = Principal("other", "bob", "member", "key_2")
EVE = Principal("third", "eve", "member", "key_3")
FOR_BOB = Permit("wkey_1", frozenset({"other"}))
TASK = Task(provider="demo", model="demo", instructions="", prompt="Hi")
PATIENT = structs.replace(QUICK, link_grace_s=3600.0, silence_s=3600.0)


def _fields(name: str) -> AgentFields:
    return AgentFields(name=name, system_prompt="Help.", model_provider="demo", model_name="demo")


async def _come(
    room: Engine,
    name: str,
    permit: Permit = OPERATOR,
    *,
    size: int = 10,
    agents: Sequence[AgentFields] = (),
    tools: Sequence[ToolOffer] = (),
) -> tuple[HandWorker, WorkerLink]:
    worker = HandWorker()
    link = room.pool.connect(worker, permit)
    greeting = Greeting(worker=name, room=size, agents=list(agents), tools=list(tools))
    await soon(link.greet(greeting))
    return worker, link


async def test_a_limited_worker_is_given_its_tenants_runs_alone() -> None:
    """R7: begun at once, from the queue, and as somebody else's leftovers; the others wait for another worker."""
    async with engine(PATIENT) as room:
        sessions = [await room.session(who) for who in (ANN, BOB, EVE)]
        queued = [
            await room.say(session, who=who) for session, who in zip(sessions, (ANN, BOB, EVE), strict=True)
        ]
        limited, link = await _come(room, "w1", FOR_BOB)
        first = await limited.next_job()
        assert first.claim.run_id == queued[1].run_id
        await Hand(link, first).finish()
        more = await room.say(sessions[1], who=BOB)
        assert (await limited.next_job()).claim.run_id == more.run_id
        assert (await room.say(await room.session(ANN), who=ANN)).claimed is None
        anybody, _ = await _come(room, "w2")
        given = {(await anybody.next_job()).claim.run_id for _ in range(3)}
        assert {queued[0].run_id, queued[2].run_id} < given
        assert limited.jobs.empty()


async def test_what_a_lost_worker_leaves_goes_only_to_who_may_have_it() -> None:
    """R7, B1: a run of another tenant waits, though a limited worker has room."""
    async with engine() as room:
        anybody, link = await _come(room, "w1")
        session = await room.session(ANN)
        await room.say(session, who=ANN)
        job = await anybody.next_job()
        limited, limited_link = await _come(room, "w2", FOR_BOB)
        link.closed()
        theirs = await room.say(await room.session(BOB), who=BOB)
        mine = await limited.next_job()
        assert mine.claim.run_id == theirs.run_id
        await Hand(limited_link, mine).finish()
        heir, _ = await _come(room, "w3")
        taken = await heir.next_job()
        assert (taken.claim.run_id, taken.claim.epoch) == (job.claim.run_id, 2)
        assert limited.jobs.empty()


async def test_runs_that_are_only_to_be_ended_need_no_worker_of_their_tenants() -> None:
    """R7, L14: with nobody there but a worker of another tenant's, a cancelled message still ends."""
    async with engine() as room:
        await _come(room, "w1", FOR_BOB)
        session = await room.session(ANN)
        sent = await room.say(session, who=ANN)
        assert sent.claimed is None
        await room.intake.cancel(ANN, run_id=sent.run_id)
        assert (await room.ended(session, sent.run_id)).status == "cancelled"


async def test_a_task_goes_to_a_worker_that_may_serve_its_tenant() -> None:
    """R7: with nobody who may, it is not done."""
    async with engine() as room:
        await _come(room, "w1", FOR_BOB)
        with pytest.raises(ModelError, match="no_worker"):
            await room.pool.perform(TASK, "default")
        assert (await soon(room.pool.perform(TASK, "other"))).text
        await _come(room, "w2", size=1)
        assert (await soon(room.pool.perform(TASK, "default"))).text


async def test_agents_in_code_are_in_the_tenants_of_the_key() -> None:
    """R7: an agent of the same name is another one in another tenant, and runs where its code is."""
    async with engine() as room:
        for who in (ANN, BOB, EVE):
            await room.session(who)
        permit = Permit("wkey_1", frozenset({"other", "third"}))
        limited, limited_link = await _come(room, "w1", permit, agents=[_fields("mine")])
        anybody, _ = await _come(room, "w2", agents=[_fields("mine"), _fields("more")])
        found: dict[str, dict[str, str]] = {}
        for tenant in ("default", "other", "third"):
            page = await room.store.list_agents(tenant)
            found[tenant] = {agent.name: agent.id for agent in page.items if agent.source == "code"}
        assert {tenant: sorted(names) for tenant, names in found.items()} == {
            "default": ["mine", "more"],
            "other": ["mine"],
            "third": ["mine"],
        }
        session = await room.store.start_session("other", "bob", found["other"]["mine"])
        await room.say(session, who=BOB)
        await Hand(limited_link, await limited.next_job()).finish()
        session = await room.store.start_session("default", "ann", found["default"]["mine"])
        await room.say(session, who=ANN)
        await anybody.next_job()
        await limited_link.leave()
        waiting = await room.say(await _code_session(room, found["third"]["mine"]), who=EVE)
        assert waiting.claimed is None


async def _code_session(room: Engine, agent_id: str) -> SessionRecord:
    return await room.store.start_session("third", "eve", agent_id)


async def test_tools_of_a_limited_worker_are_its_tenants() -> None:
    """R7, C3: others neither see them nor can give them to an agent."""
    async with house() as place, place.client("ann") as ann, place.client("bob") as bob:
        await _come(place.room, "w1", FOR_BOB, tools=[RING])
        listed = {
            user: {tool["name"] for tool in (await client.get("/api/tools")).json()["items"]}
            for user, client in (("ann", ann), ("bob", bob))
        }
        assert listed["bob"] - listed["ann"] == {"ring"}
        body = {
            "name": "Ringer",
            "system_prompt": "Ring.",
            "model_provider": "demo",
            "model_name": "demo",
            "tools": [{"name": "ring"}],
        }
        assert (await bob.post("/api/agents", json=body)).status_code == 201
        refused = await ann.post("/api/agents", json=body)
        assert code_of(refused) == "unknown_tool"
        assert "ring" not in refused.json()["error"]["details"]["known"]


async def _stored_key(room: Engine, key_id: str, tenants: list[str] | None) -> str:
    key = new_worker_key()
    await room.store.add_worker_key(WorkerKey(key_id, "test", key[:9], tenants, 1), hash_secret(key))
    return key


async def test_a_worker_whose_key_is_revoked_is_dismissed_and_its_runs_go_to_others() -> None:
    """R7: at once, without the time a broken link has; it may not come back, and the others stay."""
    async with engine(PATIENT) as room, served_link(room) as url:
        await room.session(BOB)
        keys = {name: await _stored_key(room, f"wkey_{name}", ["other"]) for name in ("bad", "good")}
        bad, good = Visitor("wrk_bad", room=5), Visitor("wrk_good", room=1)
        links = [SocketLink(url, keys["bad"], bad), SocketLink(url, keys["good"], good)]
        running = [asyncio.create_task(link.run()) for link in links]
        for link in links:
            await soon(link.joined.wait())
        session = await room.session(BOB)
        sent = await room.say(session, who=BOB)
        job = await bad.next_job()
        assert job.claim.run_id == sent.run_id
        await room.store.revoke_worker_key("wkey_bad")
        async with asyncio.timeout(60):
            taken = await good.next_job()
            with pytest.raises(UserError, match="worker_key_refused"):
                await running[0]
        assert (taken.claim.run_id, taken.claim.epoch) == (sent.run_id, 2)
        assert [worker.id for worker in room.pool.workers.values()] == ["wrk_good"]
        assert not running[1].done()
        await links[1].close()
        await soon(running[1])


async def test_others_bad_keys_do_not_shut_out_a_worker_with_a_good_one() -> None:
    """R7, S14: from the same address, as behind a proxy: the worker's heartbeat goes on."""
    async with engine(QUICK) as room:
        keys = WorkerKeys(
            room.store, room.gateway.attempts, room.gateway.addresses, operators=None, recheck_s=60
        )
        await room.session(BOB)
        good = await _stored_key(room, "wkey_1", ["other"])

        async def shown(key: str) -> Permit | None:
            headers = [(b"authorization", f"Bearer {key}".encode())]
            return await keys.permit({"headers": headers, "client": ("203.0.113.9", 1)})

        assert await shown(good) == FOR_BOB
        for _ in range(QUICK.bad_keys_per_minute + 1):
            assert await shown(new_worker_key()) is None
        late = await _stored_key(room, "wkey_2", ["other"])
        assert await shown(late) is None
        assert await shown(good) == FOR_BOB
        await room.store.revoke_worker_key("wkey_1")
        assert await shown(good) is None


async def test_a_key_for_every_tenant_is_like_the_operators() -> None:
    """R7: it can be revoked, which the operator's cannot."""
    async with engine() as room, served_link(room, key=None) as url:
        key = await _stored_key(room, "wkey_all", None)
        visitor = Visitor("wrk_1")
        link = SocketLink(url, key, visitor)
        running = asyncio.create_task(link.run())
        await soon(link.joined.wait())
        for who in (ANN, BOB):
            await room.say(await room.session(who), who=who)
            await visitor.next_job()
        await link.close()
        await soon(running)


async def _agio(url: str, *arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agio.cli.main", *arguments),
        env={**os.environ, "AGIO_DATABASE_URL": url, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        printed, _ = await process.communicate()
    return process.returncode, printed.decode()


async def test_the_operator_makes_lists_and_revokes_keys_of_workers(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """R7: shown once, with the tenants they may serve; a tenant that is not there is refused."""
    url = postgres.create_database()
    code, key = await _agio(url, "keys", "create-worker", "far away", "--tenant", DEFAULT_TENANT)
    assert (code, key.startswith("agiow_"), len(key.strip())) == (0, True, 49)
    code, said = await _agio(url, "keys", "create-worker", "x", "--tenant", "nowhere")
    assert code == 1
    assert "tenant_not_found" in said
    code, listed = await _agio(url, "keys", "list-workers")
    assert code == 0
    assert "far away" in listed
    assert "default" in listed
    assert key.strip() not in listed
    key_id = next(word for word in listed.split() if word.startswith("wkey_"))
    assert (await _agio(url, "keys", "revoke-worker", key_id))[0] == 0
    assert "revoked" in (await _agio(url, "keys", "list-workers"))[1]
    code, said = await _agio(url, "keys", "revoke-worker", "wkey_none")
    assert "key_not_found" in said
