"""Accepting a message: once, in order, within the limits, alike on every store."""

import asyncio

import pytest

from agio.core.store.records import Limits, Submission
from agio.core.store.repository import Append, Outcome
from agio.core.store.store import Store
from agio.errors import AgioError, LimitExceeded, StoreError, UserError
from agio.protocol.codec import decode_lines
from agio.protocol.events import RunStarted
from agio.protocol.messages import ContextEntry, ToolDeclaration, ToolMessage, UserMessage
from tests.support.scenes import (
    LIMITS,
    WORKER,
    agent_fields,
    answer,
    claim,
    end,
    events,
    nothing_to_claim,
    person,
)


async def test_an_accepted_message_is_a_queued_run(store: Store) -> None:
    """R3: message and run are there when it is acknowledged, and nothing has begun."""
    who = await person(store)
    session = await who.session()
    sent = await who.send(session, "hello there")
    info = await store.find_run("default", "local", sent.run_id)
    assert (info.status, info.epoch, info.last_seq, info.title) == ("queued", 0, 0, "hello there")
    assert (info.session_id, info.agent, info.agent_id) == (session.id, session.agent_name, session.agent_id)
    [message] = (await store.list_messages("default", "local", session.id)).items
    assert (message.id, message.run_id, message.role, message.pos) == (
        sent.message_id,
        sent.run_id,
        "user",
        None,
    )
    assert not sent.repeated
    assert (await store.get_log(sent.run_id)).payload == b""


async def test_an_idle_session_may_be_claimed_in_the_same_commit(store: Store) -> None:
    """R3: accepted, claimed and begun at once, with RUN_STARTED in the log."""
    who = await person(store)
    session = await who.session()
    sent = await who.send(session, "hello", claim=WORKER)
    assert sent.claimed is not None
    info = sent.claimed.info
    assert (info.status, info.epoch, info.last_seq, info.first_pos) == ("running", 1, 1, 0)
    assert (info.worker, info.token_hash) == ("worker-1", b"token-1")
    assert sent.claimed.agent.id == session.agent_id
    log = await store.get_log(sent.run_id)
    assert (log.payload, log.info) == (sent.claimed.started, info)
    assert not (await who.send(session, claim=WORKER)).claimed


async def test_run_started_carries_what_was_sent(store: Store) -> None:
    """R8: the first event names thread and run and holds the input, as AG-UI says."""
    who = await person(store)
    session = await who.session()
    given = UserMessage(id="m1", content="hello")
    sent = await who.send(session, None, messages=[given])
    claimed = await claim(store)
    [event] = decode_lines(claimed.started)
    assert isinstance(event, RunStarted)
    assert (event.thread_id, event.run_id, event.metadata) == (
        session.id,
        sent.run_id,
        {"run": sent.run_id, "seq": 1},
    )
    assert event.input
    assert (event.input.messages, event.input.run_id) == ([given], sent.run_id)
    assert (await store.get_events(sent.run_id)) == [event]


async def test_the_same_key_is_the_same_run(store: Store) -> None:
    """R3: a key with the same body answers as the first time, also after the run has ended."""
    who = await person(store)
    session = await who.session()
    first = await who.send(session, key="k", digest=b"d")
    again = await who.send(session, key="k", digest=b"d")
    await answer(store, await claim(store))
    later = await who.send(session, key="k", digest=b"d", claim=WORKER)
    for repeat in (again, later):
        assert (repeat.run_id, repeat.message_id, repeat.repeated) == (first.run_id, first.message_id, True)
        assert repeat.claimed is None
    assert len((await store.find_runs("default", "local")).items) == 1


async def test_a_key_with_another_body_is_refused(store: Store) -> None:
    """R3: one key stands for one message."""
    who = await person(store)
    session = await who.session()
    await who.send(session, key="k", digest=b"d")
    with pytest.raises(UserError, match="idempotency_conflict"):
        await who.send(session, key="k", digest=b"e")


async def test_a_key_counts_in_its_session_alone(store: Store) -> None:
    """R3: the same key in another session or of another user is another message."""
    who, other = await person(store), await person(store, user="ann")
    runs = [
        await who.send(await who.session(), key="k", digest=b"d"),
        await who.send(await who.session(), key="k", digest=b"e"),
        await other.send(await other.session(), key="k", digest=b"f"),
    ]
    assert len({sent.run_id for sent in runs}) == 3


async def test_fifty_at_once_with_one_key_are_one_run(store: Store) -> None:
    """R3: whoever comes first, the others are told the same run."""
    who = await person(store)
    session = await who.session()
    sent = await asyncio.gather(*(who.send(session, key="k", digest=b"d", claim=WORKER) for _ in range(50)))
    assert len({one.run_id for one in sent}) == 1
    assert sum(not one.repeated for one in sent) == 1
    assert sum(one.claimed is not None for one in sent) == 1


async def test_the_same_alias_is_the_same_run(store: Store) -> None:
    """B8: a client's run id begins one run in its session."""
    who = await person(store)
    session, other = await who.session(), await who.session()
    first = await who.send(session, alias="r")
    assert (await who.send(session, alias="r")).run_id == first.run_id
    assert (await who.send(other, alias="r")).run_id != first.run_id
    found = await store.find_alias("default", "local", session.id, "r")
    assert found is not None
    assert (found.run_id, found.alias) == (first.run_id, "r")
    assert await store.find_alias("default", "local", session.id, "s") is None
    assert await store.find_alias("acme", "local", session.id, "r") is None


async def test_a_message_sent_twice_is_taken_once(store: Store) -> None:
    """R3: the same message id is the same message; with other words it is refused."""
    who = await person(store)
    session = await who.session()
    one, two = UserMessage(id="m1", content="a"), UserMessage(id="m2", content="b")
    first = await who.send(session, None, messages=[one])
    again = await who.send(session, None, messages=[one])
    assert (again.run_id, again.message_id, again.repeated) == (first.run_id, "m1", True)
    more = await who.send(session, None, messages=[one, two])
    assert (more.repeated, more.message_id) == (False, "m2")
    with pytest.raises(UserError, match="idempotency_conflict"):
        await who.send(session, None, messages=[UserMessage(id="m1", content="other")])


async def test_a_run_id_is_taken_once(store: Store) -> None:
    """R3: ids are made by the caller, and never stand for two runs."""
    who = await person(store)
    sent = await who.send(await who.session())
    session = await who.session()
    message = UserMessage(id="m", content="x")
    repeat = Submission(session_id=session.id, run_id=sent.run_id, messages=[message])
    with pytest.raises(StoreError, match="run_exists"):
        await store.accept("default", "local", repeat, LIMITS)
    assert (await store.list_messages("default", "local", session.id)).items == []


async def test_a_busy_session_queues_refuses_or_interrupts(store: Store) -> None:
    """C5: as the session says, or the message."""
    who = await person(store)
    session = await who.session(on_busy="refuse")
    running = (await who.send(session, claim=WORKER)).run_id
    with pytest.raises(UserError, match="session_busy"):
        await who.send(session)
    queued = await who.send(session, on_busy="queue")
    assert queued.to_cancel == []
    sent = await who.send(session, on_busy="interrupt")
    assert [(info.run_id, info.cancel_requested) for info in sent.to_cancel] == [(running, True)]
    assert (await store.get_run(queued.run_id)).cancel_requested
    assert not (await store.get_run(sent.run_id)).cancel_requested


async def test_a_refused_message_leaves_nothing(store: Store) -> None:
    """R3: what is refused did not happen, also when it shares its commit with others."""
    who = await person(store)
    session, other = await who.session(on_busy="refuse"), await who.session()
    await who.send(session, claim=WORKER)
    outcomes = await asyncio.gather(
        *(who.send(place) for place in (other, session, other, session)), return_exceptions=True
    )
    assert [isinstance(outcome, AgioError) for outcome in outcomes] == [False, True, False, True]
    assert len((await store.list_messages("default", "local", session.id)).items) == 1
    assert len((await store.list_messages("default", "local", other.id)).items) == 2


async def test_a_user_has_so_many_sessions_at_work(store: Store) -> None:
    """C9: one more session is refused; one that is at work already is not, nor another user's."""
    who, other = await person(store), await person(store, user="ann")
    limits = Limits(running_per_user=2)
    first, second, third = [await who.session() for _ in range(3)]
    await who.send(first, limits=limits, claim=WORKER)
    await who.send(second, limits=limits)
    with pytest.raises(LimitExceeded, match="too_many_sessions"):
        await who.send(third, limits=limits)
    await who.send(first, limits=limits)
    await other.send(await other.session(), limits=limits)


async def test_each_api_key_has_a_limit_of_its_own(store: Store) -> None:
    """C9: queued and running runs count for the key that started them; the refusal names the limit."""
    who = await person(store)
    limits = Limits(running_per_user=1, running_per_key=2)
    sessions = [await who.session() for _ in range(7)]
    busy = await who.send(sessions[0], limits=limits, api_key="key_a", claim=WORKER)
    await who.send(sessions[1], limits=limits, api_key="key_a")
    with pytest.raises(
        LimitExceeded, match=r"2 sessions of this API key.*running_per_key.*too_many_sessions"
    ):
        await who.send(sessions[2], limits=limits, api_key="key_a")
    await who.send(sessions[3], limits=limits, api_key="key_b")
    await who.send(sessions[4], limits=limits)
    with pytest.raises(
        LimitExceeded, match=r"1 of your sessions.*running_per_user.*too_many_sessions"
    ) as refused:
        await who.send(sessions[5], limits=limits)
    assert refused.value.details == {"limit": 1, "name": "running_per_user"}
    assert busy.claimed
    await answer(store, busy.claimed)
    await who.send(sessions[6], limits=limits, api_key="key_a")


async def test_a_tenants_queue_has_an_end(store: Store) -> None:
    """C6: beyond it messages are refused, until something was claimed."""
    who, other = await person(store), await person(store, "zeta")
    limits = Limits(queued_per_tenant=2)
    session = await who.session()
    for _ in range(2):
        await who.send(session, limits=limits)
    with pytest.raises(LimitExceeded, match="queue_full"):
        await who.send(session, limits=limits)
    await other.send(await other.session(), limits=limits)
    await claim(store)
    await who.send(session, limits=limits)


async def test_one_user_does_not_fill_the_queue_of_their_tenant(store: Store) -> None:
    """C6: each user has a share of it; the refusal says whose limit it is."""
    who, other = await person(store), await person(store, user="other")
    limits = Limits(queued_per_tenant=3, queued_per_user=2)
    session, others = await who.session(), await other.session()
    for _ in range(2):
        await who.send(session, limits=limits)
    with pytest.raises(LimitExceeded, match=r"2 of your runs.*queue_full"):
        await who.send(session, limits=limits)
    await other.send(others, limits=limits)
    with pytest.raises(LimitExceeded, match=r"3 of your team's runs.*queue_full"):
        await other.send(others, limits=limits)


async def test_a_full_tenant_queues_instead_of_claiming(store: Store) -> None:
    """C6: a message beyond the running runs of its tenant is accepted and waits."""
    who = await person(store)
    limits = Limits(running_per_tenant=1)
    first = await who.send(await who.session(), limits=limits, claim=WORKER)
    second = await who.send(await who.session(), limits=limits, claim=WORKER)
    assert first.claimed
    assert second.claimed is None
    assert await nothing_to_claim(store, limits)
    await answer(store, first.claimed)
    assert (await claim(store)).info.run_id == second.run_id


async def test_results_are_taken_for_calls_that_wait_for_them(store: Store) -> None:
    """B8: a client's tool result is taken once, for a call the last run ended with."""
    who = await person(store)
    session = await who.session()
    await who.send(session)
    await end(store, await claim(store), outcome=Outcome(pending=["call_1", "call_2"]))
    assert (await who.session_now(session)).pending == ["call_1", "call_2"]
    with pytest.raises(UserError, match="unknown_tool_call"):
        await who.send(session, None, messages=[result("call_3")])
    sent = await who.send(session, None, messages=[result("call_1"), result("call_2")])
    assert sent.message_id is None
    assert (await who.session_now(session)).pending == []
    with pytest.raises(UserError, match="unknown_tool_call"):
        await who.send(session, None, messages=[result("call_1", "again")])


async def test_nobody_waits_for_results_once_the_conversation_went_on(store: Store) -> None:
    """B8: a message that was queued goes on without the results; they come too late."""
    who = await person(store)
    session = await who.session()
    await who.send(session)
    first = await claim(store)
    await who.send(session)
    await end(store, first, outcome=Outcome(pending=["call_1"]))
    await claim(store)
    assert (await who.session_now(session)).pending == []
    with pytest.raises(UserError, match="unknown_tool_call"):
        await who.send(session, None, messages=[result("call_1")])


async def test_an_inactive_agent_takes_no_message(store: Store) -> None:
    """C2: an agent that was switched off is not run any more."""
    who = await person(store)
    agent = await who.agent("helper")
    session = await who.session(agent)
    await store.update_agent("default", agent.id, agent_fields("helper", status="inactive"))
    with pytest.raises(UserError, match="agent_inactive"):
        await who.send(session)
    with pytest.raises(UserError, match="agent_inactive"):
        await who.session(agent)


async def test_what_a_client_declares_is_in_the_input(store: Store) -> None:
    """B8: client-side tools and context travel to the run."""
    who = await person(store)
    session = await who.session()
    given = Submission(
        session_id=session.id,
        run_id="run_1",
        messages=[UserMessage(id="m", content="x")],
        tools=[ToolDeclaration("pick", "Pick one.")],
        context=[ContextEntry("page", "home")],
    )
    await store.accept("default", "local", given, LIMITS)
    [event] = decode_lines((await claim(store)).started)
    assert isinstance(event, RunStarted)
    assert event.input
    assert event.input.tools == given.tools
    assert event.input.context == given.context


async def test_positions_go_on_through_the_runs_of_a_session(store: Store) -> None:
    """L9: a run begins where the one before it ended."""
    who = await person(store)
    session = await who.session()
    for text in ("a", "b", "c"):
        await who.send(session, text)
    ends: list[int] = []
    for _ in range(3):
        claimed = await claim(store)
        ends.append(claimed.info.first_pos)
        await store.append(Append(events(claimed.info.run_id, 1, 2, 4)))
        await end(store, claimed, after=5)
    assert ends == [0, 6, 12]


def result(call_id: str, text: str = "done") -> ToolMessage:
    return ToolMessage(id=f"res of {call_id} {text}", content=text, tool_call_id=call_id)
