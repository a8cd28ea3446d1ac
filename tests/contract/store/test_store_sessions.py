"""Sessions: listed, changed, read and deleted alike on every store."""

import pytest

from agio.core.store.repository import Append, Outcome
from agio.core.store.store import Store
from agio.errors import UserError
from agio.protocol.codec import encode
from agio.protocol.messages import ActivityMessage, AssistantMessage, ReasoningMessage, UserMessage
from tests.support.backends import begin, finish
from tests.support.scenes import WORKER, answer, claim, end, events, interrupt, person


async def test_a_new_session_is_idle(store: Store) -> None:
    """C5: a session begins without runs, as its agent's."""
    who = await person(store)
    agent = await who.agent("helper")
    session = await who.session(agent, on_busy="refuse", alias="thread-1")
    assert (session.agent_id, session.agent_name, session.title) == (agent.id, "helper", "")
    assert (session.state, session.on_busy, session.alias) == ("idle", "refuse", "thread-1")
    assert (session.pending, session.last_run_id, session.last_pos) == ([], None, 0)
    assert await who.session_now(session) == session


async def test_the_state_of_a_session_follows_its_runs(store: Store) -> None:
    """C5: idle, queued, running, waiting: with the last run and position."""
    who = await person(store)
    session = await who.session()

    async def now() -> tuple[str, str | None, int]:
        found = await who.session_now(session)
        return found.state, found.last_run_id, found.last_pos

    first = (await who.send(session)).run_id
    assert await now() == ("queued", None, 0)
    claimed = await claim(store)
    assert await now() == ("running", first, 1)
    await store.append(Append(events(first, 1, 2, 3)))
    assert await now() == ("running", first, 4)
    second = (await who.send(session)).run_id
    assert await now() == ("running", first, 4)
    await end(store, claimed, after=4)
    assert await now() == ("queued", first, 5)
    await interrupt(store, await claim(store), "int_1")
    assert await now() == ("waiting", second, 7)


async def test_the_first_message_is_the_title(store: Store) -> None:
    """C5: a session without a title takes its first message's beginning; a name given stays."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "What   is\nthis?")
    await who.send(session, "And that?")
    assert (await who.session_now(session)).title == "What is this?"
    renamed = await store.update_session("default", "local", session.id, title="Mine")
    assert renamed.title == "Mine"
    changed = await store.update_session("default", "local", session.id, on_busy="interrupt")
    assert (changed.title, changed.on_busy) == ("Mine", "interrupt")
    await who.send(session, "More")
    assert (await who.session_now(session)).title == "Mine"


async def test_sessions_are_listed_by_their_last_activity(store: Store) -> None:
    """C5: newest activity first, which a new title is not, in pages; by agent and by a part of the title."""
    who = await person(store)
    agent = await who.agent("helper")
    sessions = [await who.session(agent) for _ in range(3)] + [await who.session()]
    for number in (2, 0, 3, 1):
        renamed = await store.update_session("default", "local", sessions[number].id, title=f"Über {number}")
        assert renamed.updated_at == sessions[number].updated_at

    async def listed(agent_id: str | None = None, search: str | None = None) -> list[str]:
        titles: list[str] = []
        after = None
        while True:
            page = await store.list_sessions(
                "default", "local", agent_id=agent_id, search=search, after=after, limit=2
            )
            titles += [session.title for session in page.items]
            if (after := page.next) is None:
                return titles

    everything = await listed()
    assert sorted(everything) == [f"Über {number}" for number in range(4)]
    found = [await who.session_now(session) for session in sessions]
    assert everything == [
        session.title for session in sorted(found, key=lambda s: (s.updated_at, s.id), reverse=True)
    ]
    assert sorted(await listed(agent.id)) == ["Über 0", "Über 1", "Über 2"]
    assert await listed(search="ÜBER 3") == ["Über 3"]
    assert await listed(agent.id, "über 3") == []


async def test_an_alias_names_one_session_of_a_user_with_an_agent(store: Store) -> None:
    """B8: the same thread id finds the same session; another user, agent or alias does not."""
    who, other = await person(store), await person(store, user="ann")
    agent = await who.agent("helper")
    session = await who.session(agent, alias="t")
    assert (await who.session(agent, alias="t")).id == session.id
    others = [await who.session(agent, alias="u"), await who.session(alias="t")]
    others.append(await other.session(agent, alias="t"))
    assert len({session.id, *(found.id for found in others)}) == 4


async def test_messages_are_read_in_the_order_of_the_conversation(store: Store) -> None:
    """C5: by position, those of queued runs last, in pages."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "one")
    await who.send(session, "two")
    first = await claim(store)
    await who.send(session, "three")
    await answer(store, first, "eins")
    await answer(store, await claim(store), "zwei")
    await who.send(session, "four")
    read: list[tuple[bytes, int | None]] = []
    after = None
    while True:
        page = await store.list_messages("default", "local", session.id, after=after, limit=2)
        read += [(message.message, message.pos) for message in page.items]
        if (after := page.next) is None:
            break
    texts = [content.split(b'"content":"')[1].split(b'"')[0] for content, _ in read]
    assert texts == [b"one", b"eins", b"two", b"zwei", b"three", b"four"]
    assert [pos for _, pos in read] == [1, 2, 3, 4, None, None]


async def test_messages_are_found_by_id(store: Store) -> None:
    """B8: what a client sends again is told apart from what is new."""
    who = await person(store)
    session = await who.session()
    await who.send(session, None, messages=[UserMessage(id="m1", content="a")])
    found = await store.find_messages("default", "local", session.id, ["m1", "m2"])
    assert [(message.id, message.role, message.pos) for message in found] == [("m1", "user", None)]
    assert await store.find_messages("default", "local", session.id, []) == []


async def test_what_a_run_adds_is_kept_once(store: Store) -> None:
    """R6: finished messages are rows; one that is there already stays as it is."""
    who = await person(store)
    session = await who.session()
    given = UserMessage(id="m1", content="a")
    await who.send(session, None, messages=[given])
    claimed = await claim(store)
    await end(store, claimed, outcome=Outcome(messages=[given, UserMessage(id="m2", content="b")]))
    page = await store.list_messages("default", "local", session.id)
    assert [(message.id, message.pos) for message in page.items] == [("m1", 1), ("m2", 2)]


async def test_what_a_run_told_and_when_is_read_with_its_messages(store: Store) -> None:
    """C8: a page that is loaded tomorrow shows it; nobody said it, so that no search finds it."""
    who = await person(store)
    session = await who.session()
    await who.send(session, None, messages=[UserMessage(id="m1", content="a")])
    claimed = await claim(store)
    busy = ActivityMessage(
        id="n1", activity_type="agio.error", content={"code": "busy", "message": "Zebra"}, metadata={"at": 5}
    )
    thought = ReasoningMessage(id="t1", content="Hm.", metadata={"began_at": 7, "ended_at": 2**42})
    said = AssistantMessage(id="m2", content="b")
    await end(store, claimed, outcome=Outcome(messages=[busy, thought, said]))
    for page in (
        await store.list_messages("default", "local", session.id, limit=10),
        await store.last_messages("default", "local", session.id, limit=10),
    ):
        assert [message.role for message in page.items] == ["user", "activity", "reasoning", "assistant"]
        assert [message.message for message in page.items[1:]] == [
            encode(busy),
            encode(thought),
            encode(said),
        ]
    assert (await store.list_sessions("default", "local", search="zebra")).items == []


async def test_deleting_a_session_deletes_everything_in_it(store: Store) -> None:
    """C5: runs, events, messages, questions, tool records are gone; other sessions are not."""
    who = await person(store)
    session, other = await who.session(), await who.session()
    await who.send(session)
    await interrupt(store, await claim(store), "int_1")
    ended = (await who.session_now(session)).last_run_id
    assert ended is not None
    await who.send(session)
    await who.send(other)
    mine, others = await claim(store), await claim(store)
    await store.append(Append(events(mine.info.run_id, 1, 2, 3)))
    await store.append(Append(events(others.info.run_id, 1, 2, 3)))
    await store.begin_tool(mine.info.run_id, "k")
    queued = (await who.send(session)).run_id

    stopped = await store.delete_session("default", "local", session.id)
    assert [info.run_id for info in stopped] == [mine.info.run_id]
    for run_id in (ended, mine.info.run_id, queued):
        with pytest.raises(UserError, match="run_not_found"):
            await store.get_log(run_id)
    for attempt in (
        store.get_session("default", "local", session.id),
        store.list_messages("default", "local", session.id),
        store.list_interrupts("default", "local", session.id),
        store.delete_session("default", "local", session.id),
        who.send(session),
    ):
        with pytest.raises(UserError, match="session_not_found"):
            await attempt
    assert await store.read_session(session.id, 0, 1000) == []
    with pytest.raises(UserError, match="run_not_found"):
        await store.append(Append(events(mine.info.run_id, 1, 5, 1)))
    assert (await store.count_runs()) == {"queued": 0, "running": 1}
    await end(store, others, after=4)
    assert (await store.get_run(others.info.run_id)).last_seq == 5


async def test_the_alias_of_a_deleted_session_is_not_used_again(store: Store) -> None:
    """B8: a client that goes on with a deleted thread is told, and does not begin a new one unseen."""
    who = await person(store)
    agent = await who.agent("helper")
    session = await who.session(agent, alias="t")
    await store.delete_session("default", "local", session.id)
    with pytest.raises(UserError, match="session_deleted"):
        await who.session(agent, alias="t")
    assert (await who.session(agent, alias="u")).alias == "u"


async def test_a_session_of_somebody_else_is_not_there(store: Store) -> None:
    """C5: neither another tenant nor another user finds a session, its messages or runs."""
    who = await person(store)
    session = await who.session()
    sent = await who.send(session, claim=WORKER)
    strangers = [await person(store, "acme"), await person(store, user="ann")]
    for stranger in strangers:
        place = (stranger.tenant, stranger.user)
        for attempt in (
            store.get_session(*place, session.id),
            store.update_session(*place, session.id, title="mine"),
            store.delete_session(*place, session.id),
            store.list_messages(*place, session.id),
            store.list_interrupts(*place, session.id),
            store.request_cancel(*place, session_id=session.id),
            stranger.send(session),
        ):
            with pytest.raises(UserError, match="session_not_found"):
                await attempt
        for attempt in (
            store.find_run(*place, sent.run_id),
            store.request_cancel(*place, run_id=sent.run_id),
            store.list_tool_executions(*place, sent.run_id),
        ):
            with pytest.raises(UserError, match="run_not_found"):
                await attempt
        assert (await store.list_sessions(*place)).items == []
        assert (await store.find_runs(*place)).items == []
        assert (await store.find_runs(*place, session_id=session.id)).items == []
        assert await store.find_messages(*place, session.id, [sent.message_id or ""]) == []
    assert not (await store.get_run(sent.run_id)).cancel_requested
    assert (await who.session_now(session)).title == "hello"


async def test_a_programs_thread_is_a_session(store: Store) -> None:
    """L10: what a program ran without a server is seen by the server as its user's."""
    await begin(store, "r1", thread="t", agent="mine")
    await finish(store, "r1", 1)
    session = await store.get_session("default", "local", "t")
    assert (session.title, session.agent_name, session.last_run_id) == ("title of r1", "mine", "r1")
    assert session.last_pos == 1


async def test_a_session_of_a_deleted_agent_stays_readable(store: Store) -> None:
    """C2: deleting an agent ends what may be said to it, not what was said."""
    who = await person(store)
    agent = await who.agent("helper")
    session = await who.session(agent)
    await who.send(session)
    await answer(store, await claim(store))
    await store.delete_agent("default", agent.id)
    assert (await who.session_now(session)).agent_name == "helper"
    assert len((await store.list_messages("default", "local", session.id)).items) == 2
    with pytest.raises(UserError, match="agent_inactive"):
        await who.send(session)
    with pytest.raises(UserError, match="agent_not_found"):
        await who.session(agent)
