"""Reading sessions and runs while they are written, alike on every store."""

import pytest

from agio.core.store.records import EventSlice, ToolExecution
from agio.core.store.repository import Append, Charge, Outcome, RunStatus, ToolBegin, ToolEnd, ToolRecord
from agio.core.store.store import Store
from agio.db.records import now_ms
from agio.errors import UserError
from agio.protocol.codec import encode
from agio.protocol.events import StepStarted
from agio.protocol.frames import Frame
from tests.support.backends import begin, finish
from tests.support.scenes import WORKER, Person, agent_fields, claim, end, events, person


async def test_a_session_reads_as_one_stream(store: Store) -> None:
    """L9: from any position, in chunks of any size, the same bytes: ended runs and the running one."""
    session_id, whole = await _three_runs(store)
    lines = whole.splitlines(keepends=True)
    for limit_bytes in (1, 100, 350, 1_000_000):
        for after in range(len(lines) + 2):
            read = await _read_all(store, session_id, after, limit_bytes)
            assert b"".join(chunk.payload for chunk in read) == b"".join(lines[after:])
            _check_positions(read, after)


async def test_a_read_is_bounded(store: Store) -> None:
    """L9: a chunk stops soon after so many bytes, at the end of a line, and is never empty."""
    session_id, whole = await _three_runs(store)
    longest = max(map(len, whole.splitlines(keepends=True)))
    for limit_bytes in (1, 200, 400):
        chunks = await store.read_session(session_id, 0, limit_bytes)
        size = sum(len(chunk.payload) for chunk in chunks)
        assert size > 0
        assert chunks[-1].payload.endswith(b"\n")
        assert size <= whole.find(b"\n", limit_bytes) + 4 * longest
    assert await store.read_session(session_id, 10_000, 100) == []
    assert await store.read_session("nobody", 0, 100) == []


async def test_a_run_is_read_from_any_event(store: Store) -> None:
    """L9: its events after one, with their positions in the session."""
    session_id, whole = await _three_runs(store)
    [run_id] = [info.run_id for info in await store.running_runs()]
    info = await store.get_run(run_id)
    lines = whole.splitlines(keepends=True)[info.first_pos :]
    for after in range(len(lines) + 2):
        chunk = await store.read_run(run_id, after, 1_000_000)
        assert chunk == EventSlice(
            run_id, info.first_pos + after + 1, max(len(lines) - after, 0), b"".join(lines[after:])
        )
    assert (await store.read_run(run_id, 0, 1)).count >= 1
    with pytest.raises(UserError, match="run_not_found"):
        await store.read_run("nobody", 0, 100)
    assert (await store.get_session("default", "local", session_id)).last_pos == len(
        whole.splitlines(keepends=True)
    )


async def test_the_history_of_a_run_is_the_newest_runs_before_it(store: Store) -> None:
    """L5: a claim gets as much of the session as it uses, oldest first."""
    who = await person(store)
    session = await who.session()
    runs: list[str] = []
    for _ in range(4):
        sent = await who.send(session, claim=WORKER)
        assert sent.claimed is not None
        runs.append(sent.run_id)
        step = encode(StepStarted("step-1")) + b"\n"
        await store.append(Append(Frame(sent.run_id, 1, 2, 1, step)))
        await end(store, sent.claimed, after=2)
    now = await who.send(session, claim=WORKER)
    assert now.claimed is not None
    for enough, expected in ((100, runs), (7, runs), (3, runs[2:]), (1, runs[3:]), (0, runs[3:])):
        logs = await store.history(now.claimed.info, enough)
        assert [log.info.run_id for log in logs] == expected
        assert all(log.payload.count(b"\n") == 3 for log in logs)
    assert await store.history(await store.get_run(runs[0]), 10) == []
    first_two = await store.history(await store.get_run(runs[2]), 100)
    assert [log.info.run_id for log in first_two] == runs[:2]


async def test_runs_are_found_by_session_agent_and_status(store: Store) -> None:
    """C5: a user's runs, newest first, in pages."""
    who = await person(store)
    agent = await who.agent("helper")
    first, second = await who.session(agent), await who.session()
    runs = [(await who.send(first)).run_id for _ in range(5)]
    other = (await who.send(second)).run_id
    await end(store, await claim(store))

    async def found(
        session_id: str | None = None, agent_id: str | None = None, status: str | None = None
    ) -> list[str]:
        names: list[str] = []
        after = None
        while True:
            page = await store.find_runs(
                "default",
                "local",
                session_id=session_id,
                agent_id=agent_id,
                status=status,
                after=after,
                limit=2,
            )
            names += [info.run_id for info in page.items]
            if (after := page.next) is None:
                return names

    assert await found() == [other, *reversed(runs)]
    assert await found(session_id=first.id) == list(reversed(runs))
    assert await found(agent_id=agent.id) == list(reversed(runs))
    assert await found(session_id=second.id, agent_id=agent.id) == []
    assert await found(status="completed") == runs[:1]
    assert await found(session_id=first.id, status="queued") == list(reversed(runs[1:]))
    with pytest.raises(UserError, match="invalid_cursor"):
        await store.find_runs("default", "local", after="x")


async def test_runs_are_listed_by_time_and_for_a_whole_team(store: Store) -> None:
    """C5, C2: from a time on and before another; everybody's of a tenant with their names, none of another's."""
    ann, ben, bob = (
        await person(store, "a", "ann"),
        await person(store, "a", "ben"),
        await person(store, "b", "bob"),
    )
    agent = await ann.agent("helper")
    runs = [(await who.send(await who.session(agent))).run_id for who in (ann, ben, ann)]
    theirs = (await bob.send(await bob.session())).run_id
    at = [(await store.find_run("a", None, run_id)).created_at for run_id in runs]

    async def found(user: str | None, tenant: str = "a", **filters: int | str) -> list[str]:
        names: list[str] = []
        after = None
        while True:
            page = await store.find_runs(tenant, user, after=after, limit=1, **filters)  # pyright: ignore[reportArgumentType]
            names += [info.run_id for info in page.items]
            if (after := page.next) is None:
                return names

    newest_first = [runs[2], runs[1], runs[0]]
    assert await found(None) == newest_first
    assert await found("ann") == [runs[2], runs[0]]
    assert await found(None, "b") == [theirs]
    for status in ("queued", "running"):
        assert await found(None, status=status) == (newest_first if status == "queued" else [])
    assert await found("ben", status="queued", agent_id=agent.id) == [runs[1]]
    assert await found(None, since=at[0]) == newest_first
    assert await found(None, since=at[2] + 1) == []
    assert await found(None, until=at[0]) == []
    assert await found("ann", since=at[0], until=at[2] + 1, agent_id=agent.id) == [runs[2], runs[0]]
    page = await store.find_runs("a", None)
    assert [info.user_name for info in page.items] == ["Ann", "Ben", "Ann"]
    assert (await store.show_run("a", None, runs[1])).user_name == "Ben"
    for tenant, user in (("a", "ann"), ("b", None)):
        with pytest.raises(UserError, match="run_not_found"):
            await store.show_run(tenant, user, runs[1])
        with pytest.raises(UserError, match="run_not_found"):
            await store.list_tool_executions(tenant, user, runs[1])


@pytest.mark.parametrize("status", ["failed", "cancelled", "interrupted", "expired", "completed"])
async def test_runs_are_found_by_how_they_ended_with_what_they_used(store: Store, status: RunStatus) -> None:
    """C5, C8: steps, tokens and cost come with the end of a run; where nobody counted there are none."""
    who = await person(store)
    counted, uncounted = await who.session(), await who.session()
    sent = [(await who.send(session)).run_id for session in (counted, uncounted)]
    charge = Charge(2**40, 7, 0.125)
    await end(store, await claim(store), status, outcome=Outcome(steps=3), charge=charge)
    await end(store, await claim(store), status)
    for user in ("local", None):
        page = await store.find_runs("default", user, status=status)
        assert [info.run_id for info in page.items] == sent[::-1]
        told = [(info.steps, info.input_tokens, info.output_tokens, info.cost) for info in page.items]
        assert told == [(None, None, None, None), (3, 2**40, 7, 0.125)]
        of_session = await store.find_runs("default", user, session_id=counted.id, status=status)
        assert [info.run_id for info in of_session.items] == sent[:1]
    others = {"failed", "cancelled", "interrupted", "expired", "completed", "queued", "running"} - {status}
    for other in others:
        assert (await store.find_runs("default", None, status=other)).items == []


async def test_a_run_ended_when_its_last_event_says(store: Store) -> None:
    """C8: so that it took as long for who followed it as for who looks later; a clock that is wrong is not believed."""
    who = await person(store)
    for late_ms in (0, -3_600_000, 3_600_000):
        await who.send(await who.session())
        claimed = await claim(store)
        started = claimed.info.started_at or 0
        await end(store, claimed, outcome=Outcome(ended_at=started + late_ms))
        ended = (await store.get_run(claimed.info.run_id)).ended_at or 0
        assert started <= ended <= now_ms()
        assert late_ms or ended == started


async def test_tool_calls_are_told_as_they_were_recorded(store: Store) -> None:
    """R7: begun in the commit of their turn, ended in the one of their result."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    run_id = sent.run_id
    begins = [ToolBegin("k1", "pay"), ToolBegin("k2", "clock", "read")]
    await store.append(Append(events(run_id, 1, 2, 1), begins=begins))
    assert await store.begin_tool(run_id, "k1", tool="pay", epoch=1) == ToolRecord(None)
    await store.append(Append(events(run_id, 1, 3, 1), ends=[ToolEnd("k1", "failed")]))
    assert await store.begin_tool(run_id, "k3", tool="add", effect="idempotent", epoch=1) is None
    await store.end_tool(run_id, "k3", ToolRecord("4"))
    assert await store.begin_tool(run_id, "k3", tool="add", epoch=1) == ToolRecord("4")
    calls = (await store.list_tool_executions("default", "local", run_id)).items
    paged: list[ToolExecution] = []
    after = None
    for _ in calls:
        page = await store.list_tool_executions("default", "local", run_id, after=after, limit=1)
        paged += page.items
        after = page.next
    assert (paged, after) == (calls, None)
    assert sorted((call.key, call.tool, call.effect, call.state, call.error) for call in calls) == [
        ("k1", "pay", "once", "finished", "failed"),
        ("k2", "clock", "read", "started", None),
        ("k3", "add", "idempotent", "finished", None),
    ]
    assert [call.ended_at is None for call in sorted(calls, key=lambda call: call.key)] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("met", [True, False, None])
async def test_whether_the_goal_was_met_is_kept(store: Store, met: bool | None) -> None:
    """C6: a run that ended says whether its goal was met, if it knows."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    assert sent.claimed is not None
    await end(store, sent.claimed, outcome=Outcome(goal_met=met))
    assert (await store.get_run(sent.run_id)).goal_met is met


async def test_programs_and_the_server_share_a_sessions_positions(store: Store) -> None:
    """L9: a thread a program ran goes on where it ended."""
    await begin(store, "r1", thread="t", agent="mine")
    await finish(store, "r1", 1)
    [agent] = await store.put_code_agents("default", [agent_fields("mine")])
    assert agent.name == "mine"
    who = Person(store)
    sent = await who.send("t", claim=WORKER, code_agents=["mine"])
    assert sent.claimed is not None
    assert sent.claimed.info.first_pos == 1
    [first, second] = await store.read_session("t", 0, 10_000)
    assert (first.run_id, second.run_id, second.first_pos) == ("r1", sent.run_id, 2)


async def _three_runs(store: Store) -> tuple[str, bytes]:
    """A session with two ended runs and one that is running, and all their bytes."""
    who = await person(store)
    session = await who.session()
    written: list[bytes] = []
    for number in range(3):
        sent = await who.send(session, f"message {number}", claim=WORKER)
        assert sent.claimed is not None
        written.append(sent.claimed.started)
        for first, count in ((2, 1), (3, 4), (7, 2)):
            frame = events(sent.run_id, 1, first, count)
            await store.append(Append(frame))
            written.append(frame.payload)
        if number < 2:
            await end(store, sent.claimed, after=8)
            written.append(events(sent.run_id, 1, 9, 1).payload)
    return session.id, b"".join(written)


async def _read_all(store: Store, session_id: str, after: int, limit_bytes: int) -> list[EventSlice]:
    read: list[EventSlice] = []
    while chunks := await store.read_session(session_id, after, limit_bytes):
        read += chunks
        after = chunks[-1].last_pos
    return read


def _check_positions(chunks: list[EventSlice], after: int) -> None:
    for chunk in chunks:
        assert chunk.first_pos == after + 1
        assert chunk.count == chunk.payload.count(b"\n")
        after = chunk.last_pos
