"""Paths: a message may continue any ended run of its session, and every reader agrees on what came before it."""

import pytest

from agio.core.store.records import AgentTool, Claimed, SessionRecord
from agio.core.store.repository import Outcome
from agio.core.store.store import Store
from agio.errors import UserError
from agio.protocol.events import RunStarted
from agio.protocol.messages import ResumeEntry, ToolMessage
from tests.support.backends import Backend
from tests.support.scenes import WORKER, Person, agent_fields, answer, claim, end, interrupt, person


async def test_a_run_continues_the_newest_unless_a_parent_is_named(store: Store) -> None:
    """B3: regenerate and edit branch off; history, messages and alternatives follow the path of a leaf."""
    who = await person(store)
    session = await who.session()
    one, two = await _say(who, session, "one"), await _say(who, session, "two")
    again = await _say(who, session, "two again", parent=one)
    three = await _say(who, session, "three")
    other = await _say(who, session, "three on the first branch", parent=two)
    anew = await _say(who, session, "one anew", parent="")
    parents = {run.run_id: run.parent_run_id for run in (await store.find_runs("default", "local")).items}
    assert parents == {one: None, two: one, again: one, three: again, other: two, anew: None}
    assert {leaf: await _path(store, session, leaf) for leaf in (two, three, other, anew)} == {
        two: [one, two],
        three: [one, again, three],
        other: [one, two, other],
        anew: [anew],
    }
    for leaf in (one, two, again, three, other, anew):
        path = await _path(store, session, leaf)
        run = await store.get_run(leaf)
        for enough in (0, 1, 3, 100):
            logs = await store.history(run, enough)
            assert [log.info.run_id for log in logs] == path[:-1][-(enough + 1) :]
        messages = await store.list_messages("default", "local", session.id, leaf=leaf)
        tail = await store.last_messages("default", "local", session.id, leaf=leaf, limit=3)
        assert [message.run_id for message in messages.items] == [each for each in path for _ in "ab"]
        assert tail.items == messages.items[-3:]
    found = {branch.run_id: branch.alternatives for branch in await store.branches(session.id, three)}
    assert {run_id: [(each.run_id, each.leaf_run_id) for each in each] for run_id, each in found.items()} == {
        one: [(one, other), (anew, anew)],
        again: [(two, other), (again, three)],
    }
    started = (await store.get_events(again))[0]
    assert isinstance(started, RunStarted)
    assert started.metadata == {"run": again, "seq": 1, "parent": {"run": one, "seq": 2}, "branch": True}
    plain = (await store.get_events(three))[0]
    assert plain.metadata == {"run": three, "seq": 1, "parent": {"run": again, "seq": 2}}


async def test_a_summary_leaves_earlier_runs_unread(store: Store) -> None:
    """B13: a run that summarised says how many messages before it are needed; a later run reads no more."""
    who = await person(store)
    session = await who.session()
    runs = [await _say(who, session, f"message {number}") for number in range(4)]
    accepted = await who.send(session, "one too many")
    claimed = await claim(store)
    await end(store, claimed, outcome=Outcome(needed=2))
    later = [accepted.run_id, await _say(who, session, "after it")]
    await who.send(session, "and then")
    claimed = await claim(store)
    run = claimed.info
    assert [log.info.run_id for log in await store.history(run, 100)] == [*runs[2:], *later]
    assert [log.info.run_id for log in await store.history(run, 1)] == later


async def test_the_chosen_branch_is_the_one_that_goes_on(store: Store) -> None:
    """B3: a chosen leaf is remembered, the next message continues it, and the new run is the leaf then."""
    who = await person(store)
    session = await who.session()
    one = await _say(who, session, "one")
    two = await _say(who, session, "two")
    again = await _say(who, session, "again", parent=one)
    assert (await who.session_now(session)).leaf_run_id == again
    chosen = await store.update_session("default", "local", session.id, leaf_run_id=two)
    assert (chosen.leaf_run_id, chosen.last_run_id, chosen.branched) == (two, again, True)
    accepted = await who.send(session, "three")
    with pytest.raises(UserError, match="session_busy"):
        await store.update_session("default", "local", session.id, leaf_run_id=again)
    await answer(store, await claim(store))
    now = await who.session_now(session)
    assert (now.leaf_run_id, (await store.get_run(accepted.run_id)).parent_run_id) == (accepted.run_id, two)
    other = await who.session()
    foreign = await _say(who, other, "elsewhere")
    for wrong in (foreign, "run_unknown"):
        with pytest.raises(UserError, match="run_not_found"):
            await store.update_session("default", "local", session.id, leaf_run_id=wrong)


async def test_a_parent_must_be_an_ended_run_of_the_session_with_nothing_pending(store: Store) -> None:
    """B3: another session's, tenant's, unknown, running, asking and pending parents are refused; nothing changes."""
    who, stranger = await person(store), await person(store, "other", "them")
    session, elsewhere = await who.session(), await who.session()
    theirs = await _say(stranger, await stranger.session(), "theirs")
    foreign = await _say(who, elsewhere, "elsewhere")
    await who.send(session, "ask")
    asking = await claim(store)
    refused = {theirs: "parent_not_found", foreign: "parent_not_found", "run_no": "parent_not_found"}
    for parent, code in {**refused, asking.info.run_id: "parent_not_ended"}.items():
        with pytest.raises(UserError, match=code):
            await who.send(session, "x", parent=parent)
    await interrupt(store, asking, "int_1")
    with pytest.raises(UserError, match="parent_pending"):
        await who.send(session, "x", parent=asking.info.run_id)
    assert await who.questions(session) == [("int_1", "open")]
    answered = await who.send(session, None, resume=[ResumeEntry("int_1", "resolved", {"approved": True})])
    waiting = await claim(store)
    assert waiting.info.parent_run_id == asking.info.run_id
    await end(store, waiting, outcome=Outcome(pending=["call_1"]))
    with pytest.raises(UserError, match="parent_pending") as found:
        await who.send(session, "x", parent=answered.run_id)
    assert found.value.details == {"run_id": answered.run_id, "before": asking.info.run_id}
    assert (await who.session_now(session)).pending == ["call_1"]
    ignored = await _say(who, session, "never mind")
    copied = await who.send(session, "never mind!", copy_of=await _message(store, session, ignored))
    assert (
        (await claim(store)).info.parent_run_id
        == answered.run_id
        == (await store.get_run(ignored)).parent_run_id
    )
    assert copied.run_id != ignored
    with pytest.raises(UserError, match="message_not_found"):
        await who.send(session, "x", copy_of="msg_unknown")


async def test_answers_and_results_continue_the_run_that_asked(store: Store) -> None:
    """B3: a question is answered on its own branch, whichever was chosen meanwhile, by the agent as it is then."""
    who = await person(store)
    session = await who.session()
    one = await _say(who, session, "one")
    await who.send(session, "ask")
    asking = await claim(store)
    await interrupt(store, asking, "int_1")
    await store.update_session("default", "local", session.id, leaf_run_id=one)
    edited = agent_fields(asking.agent.name, system_prompt="Be brief.")
    await store.update_agent("default", asking.agent.id, edited)
    await who.send(session, None, resume=[ResumeEntry("int_1", "resolved", {"approved": True})])
    answering = await claim(store)
    assert answering.info.parent_run_id == asking.info.run_id
    assert (asking.agent.system_prompt, answering.agent.system_prompt) == ("Help.", "Be brief.")
    await end(store, answering, outcome=Outcome(pending=["call_1"]))
    result = ToolMessage(id="msg_r", content="done", tool_call_id="call_1")
    await store.update_session("default", "local", session.id, leaf_run_id=one)
    with pytest.raises(UserError, match="unknown_tool_call"):
        await who.send(session, None, messages=[result])
    await store.update_session("default", "local", session.id, leaf_run_id=answering.info.run_id)
    await who.send(session, None, messages=[result])
    assert (await claim(store)).info.parent_run_id == answering.info.run_id


async def test_a_copy_is_one_line_of_the_path(store: Store) -> None:
    """B3: a fork copies the path to its message, without the other branches, at positions without gaps."""
    who = await person(store)
    session = await who.session()
    one = await _say(who, session, "one")
    await _say(who, session, "two")
    again = await _say(who, session, "again", parent=one)
    last = await _say(who, session, "last")
    copy = await store.fork_session("default", "local", session.id, await _message(store, session, last))
    runs = (await store.find_runs("default", "local", session_id=copy.id)).items[::-1]
    assert [run.copied_from for run in runs] == [one, again]
    assert [(run.first_pos, run.branched) for run in runs] == [(0, False), (2, False)]
    assert [run.parent_run_id for run in runs] == [None, runs[0].run_id]
    assert (copy.last_pos, copy.branched) == (4, False)
    texts = [message.pos for message in (await store.list_messages("default", "local", copy.id)).items]
    assert texts == [1, 2, 3, 4]
    assert (
        len(b"".join(each.payload for each in await store.read_session(copy.id, 0, 1 << 20)).splitlines())
        == 4
    )


async def test_a_run_keeps_the_definition_of_its_first_claim(backend: Backend) -> None:
    """B3: an edit of the agent changes no run under way, also in the next process; the next run has it."""
    store = await backend.open()
    who = await person(store)
    agent = await who.agent("helper", tools=[AgentTool("clock")])
    session = await who.session(agent)
    await who.send(session, "one", claim=WORKER)
    queued = await who.send(session, "two", on_busy="queue")
    fields = agent_fields("helper", system_prompt="Be brief.", tools=[AgentTool("calculator")])
    await store.update_agent("default", agent.id, fields)
    await store.close()
    store = await backend.open()
    [running] = await store.running_runs()
    taken = await store.reclaim(running.run_id, running.epoch, WORKER)
    assert taken is not None
    assert (taken.agent.system_prompt, [tool.name for tool in taken.agent.tools]) == ("Help.", ["clock"])
    assert await store.run_definition(taken.info) == taken.agent
    await answer(store, taken)
    after = await claim(store)
    assert after.info.run_id == queued.run_id
    assert (after.agent.system_prompt, [tool.name for tool in after.agent.tools]) == (
        "Be brief.",
        ["calculator"],
    )
    assert after.info.definition != taken.info.definition
    await answer(store, after)
    other = agent_fields("helper", system_prompt="Rhyme.", model_name="other")
    changed = await Person(store).send(session, "three", definition=other)
    once = await claim(store)
    assert (once.info.run_id, once.agent.system_prompt, once.info.model) == (
        changed.run_id,
        "Rhyme.",
        "demo:other",
    )
    await answer(store, once)
    await Person(store).send(session, "four")
    assert (await claim(store)).agent.system_prompt == "Be brief."
    await store.close()


async def _say(who: Person, session: SessionRecord, text: str, parent: str | None = None) -> str:
    """Send a message and answer it. Return the run."""
    accepted = await who.send(session, text, parent=parent)
    claimed: Claimed = await claim(who.store)
    assert claimed.info.run_id == accepted.run_id
    await answer(who.store, claimed)
    return accepted.run_id


async def _message(store: Store, session: SessionRecord, run_id: str) -> str:
    """The user's message of a run."""
    messages = (await store.list_messages("default", "local", session.id)).items
    return next(message.id for message in messages if (message.run_id, message.role) == (run_id, "user"))


async def _path(store: Store, session: SessionRecord, leaf: str) -> list[str]:
    return [run.run_id for run in await store.path_of(session.id, leaf)]
