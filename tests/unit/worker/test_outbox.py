"""The outbox: what the store cannot take is tried again for a while, what is refused for good is let go."""

import asyncio

import pytest

from agio.core.link.link import Link
from agio.core.model import Usage, VendorTurn
from agio.core.store.repository import Append, Outcome, ToolBegin, ToolEnd, ToolRecord, TurnRecord
from agio.drivers.scripted import ScriptedTurn
from agio.errors import StoreError
from agio.protocol.frames import Frame
from agio.worker.outbox import Outbox
from tests.unit.worker.ledger import CLAIM, Ledger, job, run, worker

FULL = StoreError("store_full", "The disk is full.")
TURN = TurnRecord("run_1", 1, 2, "scripted:one", "end", Usage(), VendorTurn("scripted", []))


def frame(seq: int = 2, payload: bytes = b"{}\n") -> Frame:
    return Frame("run_1", 1, seq, 1, payload)


def outbox(link: Link, patience_s: float = 60.0) -> Outbox:
    return Outbox(link, CLAIM, lambda: None, lambda: None, patience_s=patience_s)


async def test_a_full_store_is_waited_for() -> None:
    """B1: while the disk is full a run waits with its events, and goes on when there is room."""
    ledger = Ledger(FULL, StoreError("store_unavailable", "Away."), FULL)
    service, _ = await worker(ledger, ScriptedTurn("Hello you."))
    await run(service, job())
    assert ledger.refusals == []
    assert ledger.writes[-1].end == "completed"


async def test_patience_has_an_end_and_then_the_run_is_given_back() -> None:
    """B1: a store that does not recover gets the run back, for whoever can go on with it."""
    box = outbox(Ledger(*[FULL] * 9), patience_s=0.1)
    with pytest.raises(StoreError) as raised:
        await box.append(Append(frame()))
    assert raised.value.code == "store_full"
    assert not box.ended

    ledger = Ledger(StoreError("append_conflict", "Something else is there."))
    service, _ = await worker(ledger, ScriptedTurn("Hello you."))
    await run(service, job())
    assert ledger.writes == []
    assert ledger.released == [CLAIM]


@pytest.mark.parametrize("code", ["stale_epoch", "run_not_found", "run_ended"])
async def test_a_claim_that_is_no_longer_good_is_let_go_without_a_word(code: str) -> None:
    """R9: 409 from the fence stops the run silently, because it goes on elsewhere."""
    ledger = Ledger(StoreError(code, "Not yours."))
    service, _ = await worker(ledger, ScriptedTurn("Hello you."))
    await run(service, job())
    assert ledger.writes == []
    assert ledger.released == []


async def test_records_of_tools_wait_for_the_store_too() -> None:
    """B1: the beginning of a call is recorded before it acts, however long the store takes."""

    class Slow(Ledger):
        async def end_tool(self, claim: object, key: str, record: ToolRecord) -> None:
            if self.refusals:
                raise self.refusals.pop(0)
            self.records[key] = record

    ledger = Slow(FULL)
    box = outbox(ledger)
    assert await box.begin_tool("run_1", "call_1") is None
    await box.end_tool("run_1", "call_1", ToolRecord("done"))
    assert ledger.records == {"call_1": ToolRecord("done")}


async def test_a_run_rests_between_turns_and_not_while_a_call_that_must_happen_once_is_under_way() -> None:
    """R5: a worker that must go stops a run where nothing is lost by it."""
    rests: list[str] = []
    box = outbox(Ledger())
    box.on_rest = lambda: rests.append("rest")
    result = b'{"type":"TOOL_CALL_RESULT"}\n'
    await box.append(Append(frame(2)))
    assert rests == []
    await box.append(Append(frame(3), [TURN], begins=[ToolBegin("call_1", "ring")]))
    assert rests == []
    await box.append(Append(frame(4, result), ends=[ToolEnd("call_1")]))
    assert rests == ["rest"]
    await box.append(Append(frame(5), [TURN]))
    assert rests == ["rest", "rest"]
    await box.append(Append(frame(6), [TURN], end="completed", outcome=Outcome()))
    assert rests == ["rest", "rest"]
    assert box.ended


async def test_a_link_that_closes_under_an_append_is_an_error_of_the_store() -> None:
    """L13: nothing waits for ever."""

    class Closing(Ledger):
        async def append(self, claim: object, write: Append) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
            raise asyncio.CancelledError

    box = outbox(Closing())  # pyright: ignore[reportArgumentType]
    with pytest.raises(StoreError) as raised:
        await box.append(Append(frame()))
    assert raised.value.code == "link_lost"
