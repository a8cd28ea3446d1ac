"""Runs that end while a call is open: with a question about it, or for the client to make it."""

from agio.protocol.events import (
    Interrupt,
    InterruptOutcome,
    RunFinished,
    StepFinished,
    StepStarted,
    SuccessOutcome,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)
from agio.protocol.ids import id_body
from tests.support.engine import Hand, soon


async def end_with_question(
    hand: Hand, tool: str = "send_mail", arguments: str = '{"to":"bob"}', message: str = "May Ada?"
) -> str:
    """End a run with the question whether a call may be made; returns the question's id."""
    key = _ask(hand, tool, arguments)
    question = Interrupt(f"int_{id_body(key)}", "tool_call", message=message, tool_call_id=key)
    thread = hand.journal.fold.session_id
    hand.journal.end(RunFinished(thread, hand.run_id, outcome=InterruptOutcome([question])), "interrupted")
    await soon(hand.journal.commit())
    return question.id


async def end_with_call(hand: Hand, tool: str = "pick_color", arguments: str = "{}") -> str:
    """End a run with a call the client is to make; returns its id."""
    key = _ask(hand, tool, arguments)
    outcome = SuccessOutcome(pending_tool_call_ids=[key])
    hand.journal.end(RunFinished(hand.journal.fold.session_id, hand.run_id, outcome=outcome), "completed")
    await soon(hand.journal.commit())
    return key


def _ask(hand: Hand, tool: str, arguments: str) -> str:
    """Let the model ask for a call that nobody makes yet; returns its id."""
    key = f"call_{id_body(hand.run_id)}_1_0"
    hand.journal.emit(StepStarted("step-1"))
    hand.journal.emit(ToolCallStart(key, tool, parent_message_id=f"msg_{id_body(hand.run_id)}_1"))
    hand.journal.emit(ToolCallArgs(key, arguments))
    hand.journal.emit(ToolCallEnd(key))
    hand.turn()
    hand.journal.emit(StepFinished("step-1"))
    return key
