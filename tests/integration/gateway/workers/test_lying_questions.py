"""What a person is asked is what the log shows, and what is run is what they approved, whatever the worker says."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from agio import tool
from agio.core.link.link import ToolReply
from agio.core.store.records import AgentTool, SessionRecord
from agio.core.store.repository import Append, Outcome, Question
from agio.core.tool import AnyTool
from agio.errors import StoreError, ToolError
from agio.protocol.events import (
    REWIND,
    AgentEvent,
    Custom,
    Interrupt,
    InterruptOutcome,
    RunFinished,
    StepFinished,
    StepStarted,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from agio.protocol.ids import id_body
from agio.protocol.messages import AssistantMessage, FunctionCall, Json, ResumeEntry, ToolCall
from tests.support.engine import Engine, Hand, HandWorker, engine, soon

SHOWN, MEANT = '{"amount":1}', '{"amount":1000}'


class Liar(Hand):
    """A worker that says something else at the end of a run than its log does."""

    lie: Callable[[Outcome], Outcome] | None = None

    async def _append(self, write: Append) -> None:
        if self.lie is not None and write.outcome is not None:
            write = structs.replace(write, outcome=self.lie(write.outcome))
        await self.link.append(self.claim, write)


def _call(key: str, arguments: str = SHOWN, name: str = "pay") -> list[AgentEvent]:
    return [
        ToolCallStart(key, name, parent_message_id=f"msg_{id_body(key)}"),
        ToolCallArgs(key, arguments),
        ToolCallEnd(key),
    ]


def _question(key: str) -> Interrupt:
    return Interrupt(f"int_{id_body(key)}", "tool_call", message="May I?", tool_call_id=key)


async def _ask(hand: Hand, calls: list[AgentEvent], asked: list[Interrupt]) -> None:
    """End a run with questions."""
    journal = hand.journal
    journal.emit(StepStarted("step-1"))
    for event in calls:
        journal.emit(event)
    hand.turn()
    journal.emit(StepFinished("step-1"))
    thread = journal.fold.session_id
    journal.end(RunFinished(thread, hand.run_id, outcome=InterruptOutcome(asked)), "interrupted")
    await soon(journal.commit())


def _asking(
    change: Callable[[Question], list[Question]],
) -> Callable[[Liar, str], tuple[list[AgentEvent], list[Interrupt]]]:
    """A good log, and other questions beside it."""

    def told(hand: Liar, key: str) -> tuple[list[AgentEvent], list[Interrupt]]:
        hand.lie = lambda outcome: structs.replace(outcome, questions=change(outcome.questions[0]))
        return _call(key), [_question(key)]

    return told


LIES: dict[str, Callable[[Liar, str], tuple[list[AgentEvent], list[Interrupt]]]] = {
    "other arguments": _asking(lambda asked: [structs.replace(asked, arguments=MEANT)]),
    "another tool": _asking(lambda asked: [structs.replace(asked, tool="erase")]),
    "a question too few": _asking(lambda _: []),
    "a question too many": _asking(lambda asked: [asked, asked]),
    "the call begins again with others": lambda _, key: (
        [*_call(key), *_call(key, MEANT)],
        [_question(key)],
    ),
    "its arguments go on after its end": lambda _, key: (
        [*_call(key, "{"), ToolCallArgs(key, MEANT[1:])],
        [_question(key)],
    ),
    "a rewind takes back less than it seems": lambda _, key: (
        [*_call(key), Custom(REWIND, {"to_seq": 5}), *_call(key, MEANT)],
        [_question(key)],
    ),
    "a rewind leads nowhere": lambda _, key: (
        [*_call(key), Custom(REWIND, {}), *_call(key, MEANT)],
        [_question(key)],
    ),
    "a call of a subagent that is not there": lambda _, key: (
        [ToolCallStart(key, "pay", f"msg_{id_body(key)}", subagent_run_id="x"), *_call(key)[1:]],
        [_question(key)],
    ),
    "a call of no run": lambda _, key: (_call("call_other_1_0"), [_question("call_other_1_0")]),
    "no call at all": lambda _, key: (_call(key), [_question(key), Interrupt("int_x", "tool_call")]),
    "another's id": lambda _, key: (_call(key), [structs.replace(_question(key), id="int_elsewhere")]),
    "a call that has its result": lambda _, key: (
        [*_call(key), ToolCallResult(f"res_{id_body(key)}", key, "paid")],
        [_question(key)],
    ),
}


@asynccontextmanager
async def _asked(*tools: AnyTool) -> AsyncGenerator[tuple[Engine, SessionRecord, HandWorker, Liar, str]]:
    """A run of an agent that asks before it pays, and the key of its first call."""
    async with engine(tools={made.name: made for made in tools}) as room:
        session = await room.session(tools=[AgentTool("pay", "ask")])
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Liar(link, await worker.next_job())
        yield room, session, worker, hand, f"call_{id_body(hand.run_id)}_1_0"


@pytest.mark.parametrize("lie", LIES)
async def test_a_question_that_is_not_what_the_log_shows_is_refused(lie: str) -> None:
    """B7, R7: nobody is asked, and the run has not ended: what is bound is what every client shows."""
    async with _asked() as (room, session, _, hand, key):
        with pytest.raises(StoreError, match="invalid_append"):
            await _ask(hand, *LIES[lie](hand, key))
        assert await room.store.list_interrupts("default", "ann", session.id) == []
        assert (await room.store.get_run(hand.run_id)).status == "running"


async def test_the_conversation_shows_the_call_that_is_asked_about() -> None:
    """B7, R7: also where it is read without the log."""

    def lie(outcome: Outcome) -> Outcome:
        call = ToolCall(outcome.questions[0].interrupt.tool_call_id or "", FunctionCall("pay", MEANT))
        return structs.replace(outcome, messages=[AssistantMessage(id="msg_lie", tool_calls=[call])])

    async with _asked() as (room, session, _, hand, key):
        hand.lie = lie
        await _ask(hand, _call(key), [_question(key)])
        [question] = await room.store.list_interrupts("default", "ann", session.id)
        assert (question.tool_call_id, question.arguments) == (key, SHOWN)
        said = (await room.store.list_messages("default", "ann", session.id)).items
        assert not any(b"1000" in bytes(record.message) for record in said)


@pytest.mark.parametrize("edited", [None, {"amount": 2}])
async def test_an_approved_call_runs_with_what_was_approved(edited: dict[str, Json] | None) -> None:
    """B7, R7: other arguments are refused; those that only compare as equal are not what is run."""
    paid: list[object] = []

    @tool
    def pay(amount: bool | int | float) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    async with _asked(pay) as (room, session, worker, hand, key):
        await _ask(hand, _call(key), [_question(key)])
        said: dict[str, Json] = {"approved": True, **({} if edited is None else {"editedArgs": edited})}
        await room.say(session, "", resume=[ResumeEntry(f"int_{id_body(key)}", "resolved", said)])
        heir = (await worker.next_job()).claim
        amount, sly = (1, True) if edited is None else (2, 2.0)
        for other in (1000, 3 - amount):
            with pytest.raises(ToolError, match="tool_not_allowed"):
                await soon(hand.link.call_tool(heir, key, "pay", {"amount": other}))
        assert await soon(hand.link.call_tool(heir, key, "pay", {"amount": sly})) == ToolReply("paid")
        assert repr(paid) == f"[{amount}]"
