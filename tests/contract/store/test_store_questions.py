"""Questions: asked by a run's end, answered once and all together, alike on every store."""

import asyncio

import pytest

from agio.core.store.records import Accepted, SessionRecord
from agio.core.store.store import Store
from agio.errors import UserError
from agio.protocol.codec import decode_lines
from agio.protocol.events import RunStarted
from agio.protocol.messages import ResumeEntry, UserMessage
from tests.support.scenes import WORKER, Person, claim, interrupt, nothing_to_claim, person

PAST = "2020-01-01T00:00:00Z"


async def test_a_question_is_kept_with_exactly_what_would_be_called(store: Store) -> None:
    """B7: tool, arguments and call are rows, open until somebody answers."""
    who, session = await _asked(store, "int_1")
    [asked] = await store.list_interrupts("default", "local", session.id)
    assert (asked.id, asked.tool, asked.arguments, asked.tool_call_id) == (
        "int_1",
        "pay",
        '{"n": 1}',
        "call_int_1",
    )
    assert (asked.state, asked.message, asked.session_id) == ("open", "May I?", session.id)
    assert asked.expires_at - asked.created_at == 7 * 24 * 3600 * 1000
    assert (await who.session_now(session)).state == "waiting"


async def test_an_answer_is_the_next_run(store: Store) -> None:
    """B7: question and run change in one commit, and the run carries the answer."""
    who, session = await _asked(store, "int_1", "int_2")
    answers = [yes("int_1"), ResumeEntry("int_2", "cancelled", {"reason": "no"})]
    sent = await who.send(session, None, resume=answers)
    assert (sent.message_id, sent.repeated) == (None, False)
    assert dict(await who.questions(session)) == {"int_1": "resolved", "int_2": "cancelled"}
    claimed = await claim(store)
    assert claimed.info.run_id == sent.run_id
    [event] = decode_lines(claimed.started)
    assert isinstance(event, RunStarted)
    assert event.input
    assert event.input.resume == answers


async def test_all_questions_are_answered_at_once(store: Store) -> None:
    """B7: a part of the answers, or a result without them, is refused and changes nothing."""
    who, session = await _asked(store, "int_1", "int_2")
    with pytest.raises(UserError, match="incomplete_answer") as refused:
        await who.send(session, None, resume=[yes("int_1")])
    assert refused.value.details == {"interrupts": ["int_2"]}
    with pytest.raises(UserError, match="incomplete_answer"):
        await who.send(session, "and", resume=[yes("int_1")])
    with pytest.raises(UserError, match="incomplete_answer"):
        await who.send(session, None)
    assert [state for _, state in await who.questions(session)] == ["open", "open"]


async def test_a_run_that_asked_says_what_became_of_its_questions(store: Store) -> None:
    """B7: open, then as they were closed; its status stays, and a list of runs is found by that."""
    who, session = await _asked(store, "int_1", "int_2")
    other, elsewhere = await _asked(store, "int_3")
    assert await _said_of_runs(who) == [("interrupted", "open"), ("interrupted", "open")]
    await who.send(session, None, resume=[yes("int_1"), ResumeEntry("int_2", "cancelled")], claim=WORKER)
    await other.send(elsewhere, "never mind", claim=WORKER)
    assert await _said_of_runs(who) == [
        ("running", None),
        ("running", None),
        ("interrupted", "cancelled"),
        ("interrupted", "resolved"),
    ]
    asked = (await store.find_runs("default", "local", status="interrupted")).items
    assert [run.question for run in asked] == ["cancelled", "resolved"]
    assert (await store.show_run("default", "local", asked[1].run_id)).question == "resolved"


async def test_a_run_that_brings_an_answer_has_the_title_of_the_one_that_asked(store: Store) -> None:
    """B7: queued or begun at once, and again if it asks too; words beside the answer are a title of their own."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "Pay the baker")
    await interrupt(store, await claim(store), "int_1")
    await who.send(session, None, resume=[yes("int_1")])
    await interrupt(store, await claim(store), "int_2")
    sent = await who.send(session, None, resume=[yes("int_2")], claim=WORKER)
    assert sent.claimed is not None
    await interrupt(store, sent.claimed, "int_3")
    await who.send(session, "But only once", resume=[yes("int_3")])
    await who.send(session, None, messages=[UserMessage(id="msg_picture", content=[])])
    titles = [run.title for run in (await store.find_runs("default", "local")).items]
    assert titles == ["", "But only once", "Pay the baker", "Pay the baker", "Pay the baker"]


async def test_a_message_cancels_open_questions(store: Store) -> None:
    """B7: a person who goes on talking has not approved."""
    who, session = await _asked(store, "int_1", "int_2")
    sent = await who.send(session, "never mind", claim=WORKER)
    assert [state for _, state in await who.questions(session)] == ["cancelled", "cancelled"]
    assert sent.claimed is not None
    with pytest.raises(UserError, match="interrupt_closed"):
        await who.send(session, None, resume=[yes("int_1"), yes("int_2")])


async def test_answers_may_come_with_a_message(store: Store) -> None:
    """B7: what is said beside the answers belongs to the same run."""
    who, session = await _asked(store, "int_1")
    sent = await who.send(session, "but only once", resume=[yes("int_1")], claim=WORKER)
    assert sent.message_id is not None
    assert await who.questions(session) == [("int_1", "resolved")]


async def test_a_question_that_is_not_there_cannot_be_answered(store: Store) -> None:
    """B7: unknown, answered before, or of another session."""
    who, session = await _asked(store, "int_1")
    _, other = await _asked(store, "int_2")
    with pytest.raises(UserError, match="unknown_interrupt"):
        await who.send(session, None, resume=[yes("int_2")])
    await who.send(session, None, resume=[yes("int_1")])
    with pytest.raises(UserError, match="interrupt_closed"):
        await who.send(session, None, resume=[yes("int_1")])
    assert await who.questions(other) == [("int_2", "open")]


async def test_fifty_answers_at_once_have_one_winner(store: Store) -> None:
    """B7: one answer counts, the others are told that they came too late."""
    who, session = await _asked(store, "int_1")
    outcomes = await asyncio.gather(
        *(who.send(session, None, resume=[yes("int_1")], claim=WORKER) for _ in range(50)),
        return_exceptions=True,
    )
    accepted = [outcome for outcome in outcomes if isinstance(outcome, Accepted)]
    refused = {outcome.code for outcome in outcomes if isinstance(outcome, UserError)}
    assert (len(accepted), refused) == (1, {"interrupt_closed"})
    assert accepted[0].claimed is not None


async def test_an_answer_goes_before_what_was_queued(store: Store) -> None:
    """B7: messages that were waiting come after the answer, in the session and in the tenant."""
    who = await person(store)
    session, other = await who.session(), await who.session()
    await who.send(session)
    first = await claim(store)
    waiting = (await who.send(session)).run_id
    await who.send(other)
    await interrupt(store, first, "int_1")
    answered = (await who.send(session, None, resume=[yes("int_1")])).run_id
    assert (await claim(store)).info.run_id == answered
    assert (await claim(store)).info.session_id == other.id
    assert (await store.get_run(waiting)).status == "queued"


async def test_an_answer_is_claimed_at_once_past_what_was_queued(store: Store) -> None:
    """B7: the commit of the answer may claim it although messages wait behind the question."""
    who = await person(store)
    session = await who.session()
    await who.send(session)
    first = await claim(store)
    await who.send(session)
    await interrupt(store, first, "int_1")
    assert (await who.send(session, None, resume=[yes("int_1")], claim=WORKER)).claimed is not None
    assert await nothing_to_claim(store)


async def test_a_question_is_open_for_its_time(store: Store) -> None:
    """B7: then it expires, cannot be answered, and holds the queue no more."""
    who = await person(store)
    session = await who.session()
    await who.send(session)
    first = await claim(store)
    queued = (await who.send(session)).run_id
    await interrupt(store, first, "int_1", expires_at=PAST)
    with pytest.raises(UserError, match="interrupt_closed"):
        await who.send(session, None, resume=[yes("int_1")])
    assert await store.expire_interrupts() == 1
    assert await store.expire_interrupts() == 0
    assert await who.questions(session) == [("int_1", "expired")]
    assert (await claim(store)).info.run_id == queued


async def test_a_repeated_answer_is_told_its_run(store: Store) -> None:
    """B7: with the same key an answer that was lost on the way back is the same answer."""
    who, session = await _asked(store, "int_1")
    first = await who.send(session, None, resume=[yes("int_1")], key="k", digest=b"d")
    again = await who.send(session, None, resume=[yes("int_1")], key="k", digest=b"d")
    assert (again.run_id, again.repeated) == (first.run_id, True)


async def test_known_messages_beside_a_new_answer_are_left_out(store: Store) -> None:
    """B8: a client that sends its last message along with an answer does not say it twice."""
    who = await person(store)
    session = await who.session()
    message = UserMessage(id="m1", content="pay")
    await who.send(session, None, messages=[message])
    await interrupt(store, await claim(store), "int_1")
    sent = await who.send(session, None, messages=[message], resume=[yes("int_1")])
    assert not sent.repeated
    assert len((await store.list_messages("default", "local", session.id)).items) == 1


def yes(name: str) -> ResumeEntry:
    return ResumeEntry(name, "resolved", {"approved": True})


async def _asked(store: Store, *ids: str) -> tuple[Person, SessionRecord]:
    who = await person(store)
    session = await who.session()
    sent = await who.send(session, "please", claim=WORKER)
    assert sent.claimed is not None
    await interrupt(store, sent.claimed, *ids)
    return who, session


async def test_cancelling_a_session_closes_its_questions(store: Store) -> None:
    """B7, L14: nobody waits for an answer any more, and what was queued behind the question can end."""
    who, session = await _asked(store, "int_1")
    assert await store.request_cancel("default", "local", session_id=session.id) == []
    assert await who.questions(session) == [("int_1", "cancelled")]
    assert (await who.session_now(session)).state == "idle"


async def _said_of_runs(who: Person) -> list[tuple[str, str | None]]:
    """How a person's runs stand, and what became of what they asked, newest first."""
    found = await who.store.find_runs(who.tenant, who.user)
    return [(run.status, run.question) for run in found.items]
