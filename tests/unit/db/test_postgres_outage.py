"""Connections that are cut and servers that crash: nothing acknowledged is lost, nothing is stored twice."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from agio.core.store.records import ClaimBy, Limits
from agio.core.store.repository import Append
from agio.db.postgres.driver import Connection, connect
from agio.db.postgres.executor import open_postgres
from agio.db.repository import Repository
from agio.errors import StoreError
from tests.support.backends import begin, finish, frame, turn
from tests.support.postgres import PostgresServer
from tests.support.scenes import end, person

_CUT = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Repository]:
    """A store whose connections will be cut."""
    opened = Repository(await open_postgres(postgres_url))
    yield opened
    await opened.close()


@pytest.fixture
async def axe(postgres_url: str) -> AsyncIterator[Connection]:
    """The connection that cuts the others."""
    connection = await connect(postgres_url)
    yield connection
    await connection.close()


@pytest.fixture
def durable() -> Iterator[PostgresServer]:
    """A server that syncs what it commits, and may crash."""
    server = PostgresServer(durable=True)
    yield server
    server.close()


async def test_idle_connections_that_were_cut_are_replaced(store: Repository, axe: Connection) -> None:
    """B1: whoever reads or writes after the cut does not notice."""
    await begin(store, "r1")
    for seq in range(1, 6):
        await axe.execute(_CUT)
        await store.append(Append(frame("r1", seq, 1)))
        await axe.execute(_CUT)
        assert (await store.get_log("r1")).payload == frame("r1", 1, seq).payload
        await axe.execute(_CUT)
        assert await store.begin_tool("r1", f"{seq}.0") is None


async def test_appends_go_on_while_connections_are_cut(store: Repository, axe: Connection) -> None:
    """B1: logs are whole and without repeats, whenever an answer was lost."""
    runs = [f"r{number}" for number in range(6)]
    for run_id in runs:
        await begin(store, run_id)
    turnstile = asyncio.Lock()

    async def cut() -> None:
        async with turnstile:
            await axe.execute(_CUT)

    async def write(run_id: str) -> None:
        for seq in range(1, 60):
            cutting = asyncio.ensure_future(cut()) if seq % 20 == 3 * int(run_id[1:]) else None
            turns = [turn(run_id, seq, seq)] if seq % 7 == 0 else []
            await store.append(Append(frame(run_id, seq, 1), turns))
            if cutting is not None:
                await cutting
        await finish(store, run_id, 60)

    async with asyncio.timeout(90):
        await asyncio.gather(*(write(run_id) for run_id in runs))
    for run_id in runs:
        log = await store.get_log(run_id)
        assert log.payload == frame(run_id, 1, 60).payload
        assert [record.seq for record in log.turns] == list(range(7, 60, 7))
        assert log.info.status == "completed"


async def test_a_message_is_taken_once_while_connections_are_cut(store: Repository, axe: Connection) -> None:
    """R3: what is refused because its answer was lost may be sent again with its key."""
    who = await person(store)
    session = await who.session()
    for number in range(15):
        cut = asyncio.ensure_future(axe.execute(_CUT))
        accepted = None
        async with asyncio.timeout(60):
            while accepted is None:
                with suppress(StoreError):
                    accepted = await who.send(session, key=f"k{number}", digest=b"1")
        await cut
    assert await store.count_runs() == {"queued": 15, "running": 0}


async def test_a_crashed_server_has_all_that_was_acknowledged(durable: PostgresServer) -> None:
    """B1: a store goes on by itself when its server has come back from a crash."""
    store = Repository(await open_postgres(durable.take_database()))
    who = await person(store)
    session = await who.session()
    await who.send(session)
    claimed = await store.claim_next(ClaimBy("w", b""), Limits())
    assert claimed is not None
    run_id = claimed.info.run_id
    for seq in range(2, 40):
        await store.append(Append(frame(run_id, seq, 1)))
    durable.crash()
    pending = asyncio.ensure_future(store.append(Append(frame(run_id, 40, 1))))
    await asyncio.to_thread(durable.start)
    async with asyncio.timeout(60):
        await pending
        assert (await store.get_log(run_id, after=1)).payload == frame(run_id, 2, 39).payload
        await end(store, claimed, after=40)
    await store.close()


async def test_a_server_that_stays_away_is_said_to_be(durable: PostgresServer) -> None:
    """B1: after a while each caller is told, and the store works again when the server does."""
    store = Repository(await open_postgres(durable.take_database()))
    await begin(store, "r1")
    await store.append(Append(frame("r1", 1, 1)))
    durable.crash()
    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(
            store.append(Append(frame("r1", 2, 1))),
            store.append(Append(frame("r1", 3, 1))),
            store.get_run("r1"),
            store.check(),
            return_exceptions=True,
        )
    assert [getattr(error, "code", None) for error in outcomes] == ["store_unavailable"] * 4
    await asyncio.to_thread(durable.start)
    await store.check()
    await store.append(Append(frame("r1", 2, 2)))
    assert (await store.get_log("r1")).payload == frame("r1", 1, 3).payload
    await store.close()


async def test_a_closed_store_says_so(store: Repository) -> None:
    """B1: what waits is written before the store closes, what comes after is refused."""
    await begin(store, "r1")
    waiting = [asyncio.ensure_future(store.append(Append(frame("r1", seq, 1)))) for seq in range(1, 30)]
    await store.close()
    await asyncio.gather(*waiting)
    with pytest.raises(StoreError, match="store_closed"):
        await store.append(Append(frame("r1", 30, 1)))
    with pytest.raises(StoreError, match="store_closed"):
        await store.get_run("r1")
