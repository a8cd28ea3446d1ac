"""Appends on Postgres: many runs in one commit, deltas at a pace, and text Postgres cannot hold."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agio.core.store.records import ClaimBy, Limits
from agio.core.store.repository import Append, Outcome, ToolBegin
from agio.db.postgres import append as postgres_append
from agio.db.postgres.driver import Connection, connect
from agio.db.postgres.executor import open_postgres
from agio.db.repository import Repository
from agio.protocol.messages import AssistantMessage
from tests.support.backends import begin, frame, turn
from tests.support.scenes import agent_fields, end, person

RUNS = [f"r{number}" for number in range(60)]


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Repository]:
    """A store on Postgres."""
    opened = Repository(await open_postgres(postgres_url))
    yield opened
    await opened.close()


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Connection]:
    """The database behind the store."""
    connection = await connect(postgres_url)
    yield connection
    await connection.close()


async def test_the_frames_of_many_runs_share_commits(store: Repository, database: Connection) -> None:
    """L9: a hundred and eighty appends at once are a few transactions, and a row a run in each."""
    for run_id in RUNS:
        await begin(store, run_id)
    await asyncio.gather(
        *(store.append(Append(frame(run_id, seq, 1))) for seq in (1, 2, 3) for run_id in RUNS)
    )
    [(commits, rows)] = await database.fetch("select count(distinct xmin::text), count(*) from frames")
    assert isinstance(commits, int)
    assert isinstance(rows, int)
    assert commits <= 3
    assert rows <= 60 * commits
    assert (await store.get_log("r7")).payload == frame("r7", 1, 3).payload


async def test_deltas_of_a_busy_server_wait_for_each_other(store: Repository, database: Connection) -> None:
    """L9: sixty runs that write all the time make a commit every fifty milliseconds, not one each."""
    for run_id in RUNS:
        await begin(store, run_id)

    async def write(run_id: str) -> None:
        for seq in range(1, 6):
            await store.append(Append(frame(run_id, seq, 1)))

    await asyncio.gather(*map(write, RUNS))
    [(commits,)] = await database.fetch("select count(distinct xmin::text) from frames")
    assert isinstance(commits, int)
    assert commits <= 12


async def test_a_finished_turn_does_not_wait_for_others(
    store: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L9: turns are committed at once, however slow the pace is that the others share."""
    for run_id in RUNS:
        await begin(store, run_id)
    await asyncio.gather(*(store.append(Append(frame(run_id, 1, 1))) for run_id in RUNS))
    monkeypatch.setattr(postgres_append, "pace_s", _an_hour)
    for seq in range(2, 12):
        await asyncio.wait_for(store.append(Append(frame("r0", seq, 1), [turn("r0", seq, seq)])), 60)


async def test_text_that_postgres_cannot_hold_is_mended(store: Repository) -> None:
    """L13: NUL and half of a surrogate pair in names, titles and ids do not break a run; its log keeps them."""
    who = await person(store)
    odd = "a\0b\ud800c"
    agent = await store.create_agent("default", agent_fields(odd, description=odd))
    assert agent.name == agent.description == "a\ufffdb?c"
    session = await store.start_session("default", "local", agent.id, title=odd, alias=odd)
    assert (await store.start_session("default", "local", agent.id, alias=odd)).id == session.id
    await who.send(session, "nul \0 here")
    claimed = await store.claim_next(ClaimBy(odd, b""), Limits())
    assert claimed is not None
    run_id = claimed.info.run_id
    written = Append(frame(run_id, 2, 1, text="nul \0"), begins=[ToolBegin(odd, odd)])
    await store.append(written)
    answer = AssistantMessage(id="msg_2", content="nul \0")
    await end(store, claimed, after=2, outcome=Outcome(messages=[answer], pending=[odd[:3]]))
    assert b"\\u0000" in (await store.get_log(run_id)).payload
    messages = (await store.list_messages("default", "local", session.id)).items
    assert [b"nul \\u0000" in message.message for message in messages] == [True, True]
    assert (await who.session_now(session)).pending == [odd[:3]]
    assert (await store.list_sessions("default", "local", search="b\0")).items == []


def _an_hour(running: int) -> float:
    return 3600.0
