"""Runs are created, written, read and listed alike on every store."""

import asyncio

import pytest

from agio.core.store.repository import (
    AgentRunRepository,
    Append,
    Charge,
    Outcome,
    RunInfo,
    ToolBegin,
    ToolRecord,
)
from agio.errors import StoreError, UserError
from tests.support.backends import begin, finish, frame, new_run, turn


async def test_a_new_run_is_running_and_empty(store: AgentRunRepository) -> None:
    """L9: a run begins without events, at position 0 of its thread."""
    info = await begin(store, "r1")
    assert (info.status, info.epoch, info.last_seq, info.first_pos) == ("running", 1, 0, 0)
    assert (info.title, info.mark, info.tenant, info.user) == ("title of r1", "mark", "default", "local")
    assert info.ended_at is None
    assert await store.get_run("r1") == info
    assert (await store.get_log("r1")).payload == b""


async def test_a_run_can_be_created_by_its_first_append(store: AgentRunRepository) -> None:
    """L9: the run and its first events are one commit, with the same outcome as two."""
    await begin(store, "r1", thread="t")
    await finish(store, "r1", 1)
    await store.append(
        Append(frame("r2", 1, 3), create=new_run("r2", thread="t"), begins=[ToolBegin("1.0", "pay")])
    )
    log = await store.get_log("r2")
    assert log.payload == frame("r2", 1, 3).payload
    assert (log.info.title, log.info.first_pos, log.info.status) == ("title of r2", 1, "running")
    assert await store.begin_tool("r2", "1.0") == ToolRecord(None)
    await store.append(Append(frame("r3", 1, 1), (), "failed", "no_key", new_run("r3", thread="u")))
    assert (await store.get_run("r3")).error_code == "no_key"


async def test_a_creating_append_may_be_repeated_but_takes_no_other_run(store: AgentRunRepository) -> None:
    """L9: the same first append again succeeds; another one for a taken id is refused whole."""
    first = Append(frame("r1", 1, 2), create=new_run("r1"))
    await store.append(first)
    await store.append(first)
    await store.append(Append(frame("r1", 3, 1)))
    await store.append(first)
    with pytest.raises(StoreError, match="run_exists"):
        await store.append(Append(frame("r1", 1, 2, text="other"), create=new_run("r1")))
    await finish(store, "r1", 4)
    await store.append(first)
    assert (await store.get_log("r1")).payload == frame("r1", 1, 4).payload
    assert len(await store.list_runs()) == 1


async def test_turns_and_calls_can_be_recorded_without_events(store: AgentRunRepository) -> None:
    """B1: an append without events carries turns, a charge and the calls that begin, once, also when it is repeated."""
    await begin(store, "r1")
    await store.append(Append(frame("r1", 1, 2)))
    calls = [ToolBegin("1.0", "pay"), ToolBegin("1.1", "pay")]
    record = Append(frame("r1", 3, 0), [turn("r1", 1, 2)], begins=calls, charge=Charge(30, 5, 0.5))
    await asyncio.gather(store.append(record), store.append(record))
    await store.append(record)
    log = await store.get_log("r1")
    assert (log.info.input_tokens, log.info.output_tokens, log.info.cost) == (30, 5, 0.5)
    assert (log.info.last_seq, log.turns) == (2, [turn("r1", 1, 2)])
    assert await store.begin_tool("r1", "1.1") == ToolRecord(None)
    await store.append(Append(frame("r1", 3, 1)))
    await store.append(record)


async def test_a_run_id_is_taken_once(store: AgentRunRepository) -> None:
    """L9: a second run of the same id is refused, also after the first has ended."""
    await begin(store, "r1")
    with pytest.raises(StoreError, match="run_exists"):
        await begin(store, "r1")
    await finish(store, "r1", 1)
    with pytest.raises(StoreError, match="run_exists"):
        await begin(store, "r1")


async def test_a_log_is_byte_identical_while_the_run_goes_on_and_after(store: AgentRunRepository) -> None:
    """L10: what is read is what was appended, before and after the end."""
    await begin(store, "r1")
    frames = [frame("r1", 1, 2), frame("r1", 3, 1), frame("r1", 4, 5)]
    for part in frames:
        await store.append(Append(part))
    written = b"".join(part.payload for part in frames)
    running = await store.get_log("r1")
    assert running.payload == written
    assert (running.info.status, running.info.last_seq) == ("running", 8)

    last = await finish(store, "r1", 9)
    ended = await store.get_log("r1")
    assert ended.payload == written + last.frame.payload
    assert (ended.info.status, ended.info.last_seq) == ("completed", 9)
    assert ended.info.ended_at is not None
    assert ended.info.ended_at >= ended.info.created_at


@pytest.mark.parametrize("ended", [False, True])
async def test_a_log_is_read_after_any_event(store: AgentRunRepository, ended: bool) -> None:
    """L9: `after` gives exactly the later events, wherever the frames were cut."""
    await begin(store, "r1")
    parts = [frame("r1", 1, 3), frame("r1", 4, 1), frame("r1", 5, 4)]
    for part in parts:
        await store.append(Append(part))
    if ended:
        parts.append((await finish(store, "r1", 9)).frame)
    lines = b"".join(part.payload for part in parts).splitlines(keepends=True)
    for after in range(len(lines) + 2):
        assert (await store.get_log("r1", after)).payload == b"".join(lines[after:])
    events = await store.get_events("r1", 2)
    assert events == [event for part in parts for event in part.events()][2:]


async def test_turn_records_stand_in_order_and_come_back_whole(store: AgentRunRepository) -> None:
    """L10: turns are read with the log, also only those after an event."""
    await begin(store, "r1")
    first, second = turn("r1", 1, 2), turn("r1", 2, 5)
    await store.append(Append(frame("r1", 1, 2), [first]))
    await store.append(Append(frame("r1", 3, 2)))
    assert (await store.get_log("r1")).turns == [first]
    await finish(store, "r1", 5, turns=[second])
    assert (await store.get_log("r1")).turns == [first, second]
    assert (await store.get_log("r1", 2)).turns == [second]


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "interrupted"])
async def test_a_run_keeps_how_it_ended(store: AgentRunRepository, status: str) -> None:
    """L9: the status and the error code of the terminal commit are kept."""
    await begin(store, "r1")
    code = "model_down" if status == "failed" else None
    match status:
        case "completed" | "failed" | "cancelled" | "interrupted":
            await store.append(Append(frame("r1", 1, 1), (), status, code))
        case _:
            raise AssertionError(status)
    info = await store.get_run("r1")
    assert (info.status, info.error_code) == (status, code)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        pytest.param("The model is down.", "The model is down.", id="as it is"),
        pytest.param("", "", id="empty"),
        pytest.param("x" * 2001, "x" * 1999 + "…", id="cut"),
        pytest.param("a\x00b\x1b[31m\nc", "ab[31m\nc", id="without control characters"),
    ],
)
async def test_a_run_keeps_the_words_it_failed_with(store: AgentRunRepository, said: str, kept: str) -> None:
    """L9: why a run failed is known without its log; one that failed without words has none."""
    await begin(store, "r1")
    write = Append(frame("r1", 1, 1), (), "failed", "model_down", error_message=said)
    await store.append(write)
    await store.append(write)
    assert (await store.get_run("r1")).error_message == kept
    await begin(store, "r2")
    await store.append(Append(frame("r2", 1, 1), (), "failed", "model_down"))
    assert (await store.get_run("r2")).error_message is None


@pytest.mark.parametrize(
    ("charges", "total"),
    [
        ([Charge(partial=True)], Charge(partial=True)),
        (
            [Charge(30, 5, 0.5), Charge(12, 0), Charge(partial=True), Charge()],
            Charge(42, 5, 0.5, partial=True),
        ),
        ([Charge(0, 0)], Charge(0, 0)),
        ([Charge(1, 2, 0.25), Charge(1, 2, 0.25)], Charge(2, 4, 0.5)),
    ],
)
async def test_a_runs_usage_is_the_sum_of_its_charges(
    store: AgentRunRepository, charges: list[Charge], total: Charge
) -> None:
    """L12: a usage that no model call reported is not 0, and a repeated append charges nothing."""
    await begin(store, "r1")
    for number, charge in enumerate(charges, 1):
        end = "cancelled" if number == len(charges) else None
        append = Append(frame("r1", number, 1), (), end, outcome=Outcome() if end else None, charge=charge)
        await store.append(append)
        if end is None:
            await store.append(append)
    info = await store.get_run("r1")
    assert total == Charge(info.input_tokens, info.output_tokens, info.cost, bool(info.usage_partial))
    assert (await begin(store, "r2")).usage_partial is None


async def test_positions_go_on_through_the_runs_of_a_thread(store: AgentRunRepository) -> None:
    """L9: a new run begins where its thread's newest run stands; other threads do not count."""
    await begin(store, "r1", thread="t")
    await store.append(Append(frame("r1", 1, 4)))
    await finish(store, "r1", 5)
    assert (await begin(store, "r2", thread="t")).first_pos == 5
    await finish(store, "r2", 1)
    assert (await begin(store, "r3", thread="t")).first_pos == 6
    assert (await begin(store, "other", thread="u")).first_pos == 0


async def test_a_thread_has_one_running_run(store: AgentRunRepository) -> None:
    """L9: two runs at once in a thread would share positions: the second is refused, whichever way it comes."""
    await begin(store, "r1", thread="t")
    with pytest.raises(StoreError, match="thread_busy"):
        await begin(store, "r2", thread="t")
    with pytest.raises(StoreError, match="thread_busy"):
        await store.append(Append(frame("r3", 1, 1), create=new_run("r3", thread="t")))
    await finish(store, "r1", 1)
    together = [
        store.append(Append(frame(name, 1, 1), create=new_run(name, thread="t"))) for name in ("r4", "r5")
    ]
    outcomes = await asyncio.gather(*together, return_exceptions=True)
    assert [str(outcome)[-14:] for outcome in outcomes if outcome] == [" [thread_busy]"]


async def test_runs_are_listed_newest_first_by_thread_and_agent(store: AgentRunRepository) -> None:
    """L10: lists are filtered by thread, by agent, by both."""
    await begin(store, "z", thread="t1", agent="a")
    await finish(store, "z", 1)
    await begin(store, "y", thread="t2", agent="a")
    await begin(store, "x", thread="t1", agent="b")
    assert _ids(await store.list_runs()) == ["x", "y", "z"]
    assert _ids(await store.list_runs(session_id="t1")) == ["x", "z"]
    assert _ids(await store.list_runs(agent="a")) == ["y", "z"]
    assert _ids(await store.list_runs(session_id="t1", agent="a")) == ["z"]
    assert await store.list_runs(session_id="nowhere") == []


@pytest.mark.parametrize(("session_id", "agent"), [(None, None), ("t", None), (None, "a"), ("t", "a")])
async def test_pages_of_a_list_meet_without_overlap(
    store: AgentRunRepository, session_id: str | None, agent: str | None
) -> None:
    """L10: `before` goes on after the last run of a page."""
    for number in range(7):
        await begin(store, f"r{number}", thread="t")
        await finish(store, f"r{number}", 1)
    seen: list[str] = []
    while page := await store.list_runs(
        session_id=session_id, agent=agent, before=seen[-1] if seen else None, limit=3
    ):
        assert len(page) <= 3
        seen += _ids(page)
    assert seen == [f"r{number}" for number in reversed(range(7))]


async def test_a_listed_running_run_shows_its_last_event(store: AgentRunRepository) -> None:
    """L10: lists tell how far a running run is."""
    await begin(store, "r1")
    await store.append(Append(frame("r1", 1, 6)))
    assert [run.last_seq for run in await store.list_runs()] == [6]


async def test_an_unknown_run_is_named(store: AgentRunRepository) -> None:
    """L10: every read and write of a run that does not exist says so."""
    for attempt in (
        store.get_run("no"),
        store.get_log("no"),
        store.get_events("no"),
        store.claim_run("no"),
        store.append(Append(frame("no", 1, 1))),
        store.begin_tool("no", "k"),
        store.list_runs(before="no"),
    ):
        with pytest.raises(UserError, match="run_not_found"):
            await attempt


async def test_a_long_run_is_kept_in_pieces_and_read_whole(store: AgentRunRepository) -> None:
    """L10: a log beyond the size of a segment reads the same, running and ended, from any event."""
    await begin(store, "r1")
    await begin(store, "small")
    await store.append(Append(frame("small", 1, 1)))
    written: list[bytes] = []
    for first in range(1, 30, 2):
        part = frame("r1", first, 2, text="x" * 30_000)
        await store.append(Append(part))
        written += part.payload.splitlines(keepends=True)
        assert (await store.get_log("r1", first)).payload == written[-1]
    assert (await store.get_log("r1")).payload == b"".join(written)
    repeated = frame("r1", 1, 2, text="x" * 30_000)
    await store.append(Append(repeated))
    last = await finish(store, "r1", 31)
    assert (await store.get_log("r1")).payload == b"".join(written) + last.frame.payload
    assert (await store.get_log("r1", 7)).payload == b"".join(written[7:]) + last.frame.payload
    assert (await store.get_run("r1")).last_seq == 31
    assert (await store.get_log("small")).payload == frame("small", 1, 1).payload


async def test_fifty_runs_at_once_keep_their_logs_apart(store: AgentRunRepository) -> None:
    """L9: concurrent runs share commits and nothing else."""

    async def live(number: int) -> bytes:
        run_id = f"r{number}"
        await begin(store, run_id, thread=run_id)
        written = b""
        for first in range(1, 20, 2):
            part = frame(run_id, first, 2, text=run_id)
            await store.append(Append(part))
            written += part.payload
        return written + (await finish(store, run_id, 21)).frame.payload

    written = await asyncio.gather(*(live(number) for number in range(50)))
    for number, payload in enumerate(written):
        assert (await store.get_log(f"r{number}")).payload == payload


async def test_a_closed_store_says_so(store: AgentRunRepository) -> None:
    """L10: after close every call is refused, and closing again is harmless."""
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="store_closed"):
        await store.list_runs()
    with pytest.raises(StoreError, match="store_closed"):
        await begin(store, "r1")


async def test_closing_writes_what_is_pending(store: AgentRunRepository) -> None:
    """B1: appends that wait when the store is closed are committed, not dropped."""
    for number in range(5):
        await begin(store, f"r{number}")
    waiting = [asyncio.ensure_future(store.append(Append(frame(f"r{n}", 1, 1)))) for n in range(5)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*waiting) == [None] * 5


def _ids(runs: list[RunInfo]) -> list[str]:
    return [run.run_id for run in runs]
