"""A run that stopped anywhere is finished by another process, on every engine, with nothing done twice."""

from collections import Counter

import pytest

from agio import ResumeEntry, ScriptedCall, ScriptedTurn
from agio.core.store.repository import Append, NewRun, TurnRecord
from agio.db.repository import open_store
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent, ToolCallResult, seq_of
from agio.protocol.frames import Frame
from tests.contract.engine.conftest import Bench
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import untimed

TURNS = [
    ScriptedTurn(
        "Adding twice.",
        calls=[ScriptedCall("add", {"a": 1, "b": 2}), ScriptedCall("add", {"a": 3, "b": 4})],
    ),
    ScriptedTurn(calls=[ScriptedCall("add", {"a": 3, "b": 7})]),
    ScriptedTurn("It is 10."),
]


class Adder:
    """A tool that counts what it did."""

    def __init__(self, bench: Bench) -> None:
        self.done: Counter[tuple[int, int]] = Counter()

        async def add(a: int, b: int) -> int:
            """Add."""
            self.done[a, b] += 1
            return a + b

        bench.functions = [add]


async def kept(bench: Bench, run_id: str, events: list[AgentEvent], turns: list[TurnRecord]) -> None:
    """Write what a process that stopped has written of a run."""
    await bench.store.create_run(NewRun(run_id, "thr_1", "tester", "m:m", "m" * 16, title="Add"))
    payload = b"".join(encode(event) + b"\n" for event in events)
    await bench.store.append(Append(Frame(run_id, 1, 1, len(events), payload), turns))


@pytest.mark.parametrize("answered", [False, True])
async def test_a_run_stopped_after_every_event_ends_the_same(
    bench: Bench, official: OfficialVerifier, answered: bool
) -> None:
    """R13: also a run that answers a question of an earlier one, which is replayed too."""
    bench.turns = TURNS
    adder = Adder(bench)
    bench.asking = ["add"] if answered else []
    asked = await bench.begin("Add", run_id="run_q")
    before = [event async for event in asked] if answered else []
    earlier = (await bench.store.get_log("run_q")).turns if answered else []
    if answered:
        bench.asking = []  # the answers are given once; the later call asks nobody
        questions = (await asked.result()).interrupts
        entries = [ResumeEntry(each.id, "resolved", {"approved": True}) for each in questions]
        whole = await bench.begin(resume=entries, run_id="run_x")
    else:
        whole = await bench.begin("Add", run_id="run_x")
    events = [event async for event in whole]
    messages = untimed((await whole.result()).messages)
    turns = (await bench.store.get_log("run_x")).turns
    calls = ["call_q_1_0", "call_q_1_1"] if answered else []
    assert (await whole.result()).text == "It is 10."
    for stop in range(1, len(events)):
        for with_record in (False, True):
            known = [turn for turn in turns if turn.seq < stop or (with_record and turn.seq == stop)]
            bench.store = await open_store(":memory:")
            if answered:
                await kept(bench, "run_q", before[:-1], earlier)
                last = before[-1]
                await bench.store.append(
                    Append(Frame("run_q", 1, len(before), 1, encode(last) + b"\n"), [], "interrupted")
                )
            await kept(bench, "run_x", events[:stop], known)
            adder.done.clear()
            stream = await bench.again("run_x")
            more = [event async for event in stream]
            assert [seq_of(event) for event in more] == list(range(stop + 1, stop + 1 + len(more)))
            check_flow([*events[:stop], *more], official, known_calls=calls)
            assert untimed((await stream.result()).messages) == messages, f"stopped after event {stop}"
            results = sum(isinstance(event, ToolCallResult) for event in events[:stop])
            assert adder.done.total() == 3 - results, f"a finished tool ran again after event {stop}"
            await bench.store.close()
