"""A session that begins with its first message: one commit, once for each alias, alike on every store."""

import asyncio

import pytest

from agio.core.store.records import SessionStart
from agio.core.store.store import Store
from agio.errors import AgioError, UserError
from agio.protocol.codec import decode_lines
from agio.protocol.events import RunStarted
from agio.protocol.ids import new_id
from agio.protocol.messages import ResumeEntry, ToolMessage
from tests.support.scenes import WORKER, agent_fields, answer, claim, person


async def test_a_session_begins_with_its_first_message(store: Store) -> None:
    """R3: session, message and run are there when it is acknowledged, and the run is claimed in the same commit."""
    who = await person(store)
    agent = await who.agent(tools=[])
    sent = await who.send(
        "ses_new", "hello there", claim=WORKER, start=SessionStart(agent_id=agent.id, alias="t")
    )
    assert (sent.session_id, sent.repeated) == ("ses_new", False)
    session = await store.get_session("default", "local", "ses_new")
    assert (session.title, session.agent_id, session.alias, session.state) == (
        "hello there",
        agent.id,
        "t",
        "running",
    )
    assert sent.claimed is not None
    assert (sent.claimed.agent, sent.claimed.session_id) == (agent, "ses_new")
    log = await store.get_log(sent.run_id)
    assert (log.payload, log.info) == (sent.claimed.started, sent.claimed.info)
    [event] = decode_lines(log.payload)
    assert isinstance(event, RunStarted)
    assert event.thread_id == "ses_new"
    [message] = (await store.list_messages("default", "local", "ses_new")).items
    assert (message.id, message.pos) == (sent.message_id, 1)


async def test_a_begun_run_goes_on_as_any_other(store: Store) -> None:
    """R3: it ends, and the next message of its session follows it."""
    who = await person(store)
    agent = await who.agent()
    start = SessionStart(agent_id=agent.id, title="About it", on_busy="refuse")
    sent = await who.send("ses_new", claim=WORKER, start=start)
    assert sent.claimed is not None
    await answer(store, sent.claimed)
    session = await store.get_session("default", "local", "ses_new")
    assert (session.title, session.on_busy, session.state, session.last_pos) == (
        "About it",
        "refuse",
        "idle",
        2,
    )
    again = await who.send("ses_new", claim=WORKER)
    assert again.claimed is not None
    assert (again.claimed.info.first_pos, again.claimed.agent) == (2, agent)
    assert (await store.get_log(again.run_id)).info == again.claimed.info


async def test_without_a_worker_it_is_queued(store: Store) -> None:
    """R3: the session is there, and its run is claimed later."""
    who = await person(store)
    agent = await who.agent()
    sent = await who.send("ses_new", start=SessionStart(agent_id=agent.id))
    assert sent.claimed is None
    assert (await claim(store)).info.run_id == sent.run_id


async def test_an_alias_begins_one_session(store: Store) -> None:
    """R3: whoever comes second with an alias goes to the session of the first, also at the same moment."""
    who = await person(store)
    agent = await who.agent()
    start = SessionStart(agent_id=agent.id, alias="thread")
    sent = await asyncio.gather(*(who.send(new_id("ses"), start=start) for _ in range(4)))
    assert len({accepted.session_id for accepted in sent}) == 1
    assert len({accepted.run_id for accepted in sent}) == 4
    assert len((await store.list_sessions("default", "local")).items) == 1
    found = await who.session(agent, alias="thread")
    assert found.id == sent[0].session_id
    again = await who.send(new_id("ses"), start=start, key="k")
    repeated = await who.send(new_id("ses"), start=start, key="k")
    assert (repeated.repeated, repeated.run_id, repeated.session_id) == (True, again.run_id, found.id)


async def test_sessions_started_both_ways_at_once_are_one(store: Store) -> None:
    """R3: a start and a first message that race for an alias agree."""
    who = await person(store)
    agent = await who.agent()
    sent, session = await asyncio.gather(
        who.send(new_id("ses"), start=SessionStart(agent_id=agent.id, alias="thread")),
        who.session(agent, alias="thread"),
    )
    assert sent.session_id == session.id


async def test_what_is_refused_begins_no_session(store: Store) -> None:
    """R3: an agent that takes no messages, a result or an answer nobody waits for, a deleted thread."""
    who = await person(store)
    agent = await who.agent()
    asleep = await who.agent("asleep", status="inactive")
    unasked = ToolMessage(id="m", content="5", tool_call_id="c")
    here, nowhere = SessionStart(agent_id=agent.id), SessionStart(agent_id="agt_none")
    refused: list[str] = []
    for sending in (
        who.send("ses_1", start=nowhere),
        who.send("ses_2", start=SessionStart(agent_id=asleep.id)),
        who.send("ses_3", start=here, messages=[unasked]),
        who.send("ses_4", start=here, resume=[ResumeEntry("int_1", "resolved")]),
    ):
        with pytest.raises(UserError) as error:
            await sending
        refused.append(error.value.code)
    assert refused == ["agent_not_found", "agent_inactive", "unknown_tool_call", "unknown_interrupt"]
    assert (await store.list_sessions("default", "local")).items == []

    deleted = await who.session(agent, alias="gone")
    await store.delete_session("default", "local", deleted.id)
    with pytest.raises(UserError, match="session_deleted"):
        await who.send(new_id("ses"), start=SessionStart(agent_id=agent.id, alias="gone"))


async def test_nobody_begins_a_session_of_somebody_else(store: Store) -> None:
    """S14: an id that another user's session has, or an agent of another tenant, finds nothing."""
    who, other = await person(store), await person(store, "other", "them")
    agent = await who.agent()
    session = await who.session(agent)
    theirs = await store.create_agent("other", agent_fields())
    for agent_id in (agent.id, theirs.id):
        with pytest.raises(AgioError, match=r"agent_not_found|session_not_found"):
            await other.send(session.id, start=SessionStart(agent_id=agent_id))
    assert (await store.list_sessions("other", "them")).items == []
