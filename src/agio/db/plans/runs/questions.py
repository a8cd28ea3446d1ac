"""Questions that runs ended with. They are answered together, or cancelled by a message, once."""

from collections.abc import Sequence

import msgspec

from agio.core.store.records import Submission
from agio.core.store.repository import InterruptState
from agio.db.plan import Plan, ask, ask_one
from agio.db.records import now_ms
from agio.errors import UserError
from agio.protocol.messages import Message, UserMessage


def settle_questions(given: Submission, messages: Sequence[Message], now: int) -> Plan[str | None]:
    """Close a session's open questions as what came says. Return the run that asked, if they were answered.

    Raises UserError `unknown_interrupt`, `interrupt_closed`, `incomplete_answer`.
    """
    rows = yield from ask("open_interrupts", session_id=given.session_id)
    asked = msgspec.convert(rows, list[tuple[str, int, str]])
    open_until = {asked_id: expires_at for asked_id, expires_at, _ in asked}
    alive = {asked_id for asked_id, expires_at in open_until.items() if expires_at > now}
    answers: dict[str, InterruptState] = {entry.interrupt_id: entry.status for entry in given.resume}
    for asked_id in answers:
        if asked_id not in alive:
            raise (yield from _refusal(given.session_id, asked_id))
    unanswered = alive - answers.keys()
    spoken = any(isinstance(message, UserMessage) for message in messages)
    if unanswered and (answers or not spoken):
        raise UserError(
            "incomplete_answer",
            "The session waits for an answer to each of its questions: send them together, or a message.",
            {"interrupts": sorted(unanswered)},
        )
    for asked_id in open_until:
        state = answers.get(asked_id, "cancelled" if asked_id in alive else "expired")
        closed = yield from ask_one(
            "close_interrupt",
            session_id=given.session_id,
            id=asked_id,
            state=state,
            now=now,
            run_id=given.run_id,
        )
        if closed is None and asked_id in answers:
            raise (yield from _refusal(given.session_id, asked_id))
    return next((asked_by for asked_id, _, asked_by in asked if asked_id in answers), None)


def _refusal(session_id: str, asked_id: str) -> Plan[UserError]:
    row = yield from ask_one("interrupt_state", session_id=session_id, id=asked_id)
    details = {"interrupt": asked_id}
    if row is None:
        return UserError("unknown_interrupt", f"This session has no question {asked_id}.", details)
    return UserError("interrupt_closed", f"The question {asked_id} is not open any more.", details)


def cancel_questions(session_id: str) -> Plan[None]:
    """Cancel a session's open questions."""
    for asked_id, _, _ in (yield from ask("open_interrupts", session_id=session_id)):
        yield from ask(
            "close_interrupt",
            session_id=session_id,
            id=asked_id,
            state="cancelled",
            now=now_ms(),
            run_id=None,
        )
