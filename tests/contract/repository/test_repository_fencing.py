"""Who may append what: claims, gaps, repeats and ends."""

import asyncio

import pytest

from agio.core.store.repository import AgentRunRepository, Append, Outcome
from agio.errors import AgioError, StoreError
from agio.protocol.frames import Frame
from agio.protocol.messages import UserMessage
from tests.support.backends import begin, finish, frame, new_run, turn

WRONG = [
    pytest.param(Append(frame("r1", 5, 1, epoch=1)), "stale_epoch", id="an older claim"),
    pytest.param(Append(frame("r1", 5, 1, epoch=3)), "stale_epoch", id="a claim nobody made"),
    pytest.param(Append(frame("r1", 3, 1, epoch=1)), "stale_epoch", id="a repeat by an older claim"),
    pytest.param(Append(frame("r1", 6, 1, epoch=2)), "sequence_gap", id="one event is missing"),
    pytest.param(Append(frame("r1", 3, 2, epoch=2, text="other")), "append_conflict", id="other bytes"),
    pytest.param(Append(frame("r1", 4, 2, epoch=2)), "append_conflict", id="half stored"),
    pytest.param(
        Append(frame("r1", 4, 1, epoch=2), end="failed"), "append_conflict", id="an end after the fact"
    ),
    pytest.param(Append(frame("done", 3, 1)), "run_ended", id="after the end"),
    pytest.param(Append(frame("done", 2, 1, text="other"), end="failed"), "run_ended", id="a second end"),
    pytest.param(
        Append(frame("done", 2, 1, epoch=2), end="failed"), "stale_epoch", id="a claim after the end"
    ),
    pytest.param(Append(frame("nowhere", 1, 1)), "run_not_found", id="no such run"),
    pytest.param(Append(Frame("r1", 2, 5, 2, b"{}\n")), "invalid_frame", id="fewer lines than it says"),
    pytest.param(Append(Frame("r1", 2, 5, 1, b"{}\n{}")), "invalid_frame", id="a line without its end"),
    pytest.param(Append(frame("r1", 0, 1, epoch=2)), "invalid_frame", id="event zero"),
    pytest.param(
        Append(frame("r1", 1, 1, text="x"), create=new_run("r1")), "run_exists", id="an id that is taken"
    ),
    pytest.param(Append(frame("new", 2, 1), create=new_run("new")), "invalid_frame", id="begins at two"),
    pytest.param(Append(frame("new", 1, 1), create=new_run("r3")), "invalid_frame", id="creates another"),
    pytest.param(
        Append(frame("r1", 5, 1, epoch=2), [turn("done", 1, 5)]), "invalid_frame", id="another's turn"
    ),
]


@pytest.mark.parametrize(("write", "code"), WRONG)
async def test_a_wrong_append_is_refused_and_changes_nothing(
    store: AgentRunRepository, write: Append, code: str
) -> None:
    """L9: each refusal has its code; the logs stay as they were and the run can go on."""
    expected = await _prepare(store)
    with pytest.raises(AgioError) as refusal:
        await store.append(write)
    assert refusal.value.code == code
    assert (await store.get_log("r1")).payload == expected
    assert (await store.get_run("done")).status == "completed"
    await store.append(Append(frame("r1", 5, 1, epoch=2)))


@pytest.mark.parametrize(("write", "code"), WRONG)
async def test_a_refusal_does_not_spoil_its_neighbours(
    store: AgentRunRepository, write: Append, code: str
) -> None:
    """L9: appends that share a commit with a refused one are stored."""
    expected = await _prepare(store)
    await begin(store, "r2", thread="t2")
    outcomes = await asyncio.gather(
        store.append(Append(frame("r2", 1, 1))),
        store.append(write),
        store.append(Append(frame("r1", 5, 1, epoch=2))),
        store.append(Append(frame("r2", 2, 1))),
        store.append(Append(frame("r1", 6, 1, epoch=2))),
        return_exceptions=True,
    )
    refusal = outcomes[1]
    assert isinstance(refusal, AgioError)
    assert refusal.code == code
    assert [*outcomes[:1], *outcomes[2:]] == [None] * 4
    assert (await store.get_log("r2")).payload == frame("r2", 1, 2).payload
    assert (await store.get_log("r1")).payload == expected + frame("r1", 5, 2).payload


async def test_repeating_an_append_succeeds_and_adds_nothing(store: AgentRunRepository) -> None:
    """L9: a frame, a part of one and the last one can be sent again."""
    await begin(store, "r1")
    first = Append(frame("r1", 1, 3), [turn("r1", 1, 3)])
    await store.append(first)
    await store.append(first)
    await store.append(Append(frame("r1", 2, 1)))
    last = await finish(store, "r1", 4)
    await store.append(last)
    await store.append(Append(frame("r1", 2, 2)))
    log = await store.get_log("r1")
    assert log.payload == frame("r1", 1, 4).payload
    assert len(log.turns) == 1


async def test_repeats_in_one_commit_are_stored_once(store: AgentRunRepository) -> None:
    """L9: the same append twice at the same time is one append, also if it ends the run."""
    await begin(store, "r1")
    write = Append(frame("r1", 1, 2))
    end = Append(frame("r1", 3, 1), (), "completed")
    await asyncio.gather(*(store.append(each) for each in (write, write, end, end)))
    assert (await store.get_log("r1")).payload == frame("r1", 1, 3).payload


async def test_the_first_end_wins(store: AgentRunRepository) -> None:
    """L9: of two ends at once one is stored and the other refused."""
    await begin(store, "r1")
    outcomes = await asyncio.gather(
        store.append(Append(frame("r1", 1, 1, text="one"), (), "completed")),
        store.append(Append(frame("r1", 1, 1, text="two"), (), "failed")),
        return_exceptions=True,
    )
    assert outcomes[0] is None
    assert isinstance(outcomes[1], StoreError)
    assert outcomes[1].code == "run_ended"
    assert (await store.get_run("r1")).status == "completed"


async def test_a_claim_fences_off_whoever_had_the_run(store: AgentRunRepository) -> None:
    """B1: after a takeover the old claim writes nothing, the new one goes on with the next event."""
    await begin(store, "r1")
    await store.append(Append(frame("r1", 1, 2)))
    claimed = await store.claim_run("r1")
    assert (claimed.epoch, claimed.last_seq, claimed.status) == (2, 2, "running")
    with pytest.raises(StoreError, match="stale_epoch"):
        await store.append(Append(frame("r1", 3, 1, epoch=1)))
    assert (await store.claim_run("r1")).epoch == 3
    await finish(store, "r1", 3, epoch=3)
    with pytest.raises(StoreError, match="run_ended"):
        await store.claim_run("r1")
    assert (await store.get_log("r1")).payload == frame("r1", 1, 3).payload


async def test_a_turn_that_cannot_be_json_is_refused_alone(store: AgentRunRepository) -> None:
    """L9: what cannot be stored is told to the one who sent it."""
    await begin(store, "r1")
    bad = turn("r1", 1, 1)
    bad.vendor.items.append(object())
    with pytest.raises(StoreError, match="not_storable"):
        await store.append(Append(frame("r1", 1, 1), [bad]))
    await store.append(Append(frame("r1", 1, 1)))


async def test_an_end_that_cannot_be_json_is_refused_alone(store: AgentRunRepository) -> None:
    """L9: what is refused half-way leaves nothing, and its neighbours in the batch are committed."""
    for run_id in ("r1", "r2", "r3"):
        await begin(store, run_id, thread=run_id)
    broken = Outcome(messages=[UserMessage(id="m", content="x", metadata={"no": object()})])
    results = await asyncio.gather(
        store.append(Append(frame("r1", 1, 1), [turn("r1", 1, 1)])),
        store.append(Append(frame("r2", 1, 1), end="completed", outcome=broken)),
        store.append(Append(frame("r3", 1, 1), end="completed", outcome=Outcome())),
        return_exceptions=True,
    )
    assert [getattr(result, "code", None) for result in results] == [None, "not_storable", None]
    runs = [await store.get_run(run_id) for run_id in ("r1", "r2", "r3")]
    assert [(run.status, run.last_seq) for run in runs] == [("running", 1), ("running", 0), ("completed", 1)]


async def _prepare(store: AgentRunRepository) -> bytes:
    """`r1` is running under epoch 2 with four events, `done` has ended with two."""
    await begin(store, "r1")
    await store.append(Append(frame("r1", 1, 2)))
    await store.claim_run("r1")
    await store.append(Append(frame("r1", 3, 2, epoch=2)))
    await begin(store, "done", thread="d")
    await store.append(Append(frame("done", 1, 1)))
    await finish(store, "done", 2)
    return frame("r1", 1, 4).payload
