"""Forks: copies of sessions up to a message, with ids of their own, alike on every store."""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial

import msgspec
import pytest

from agio.core.model import Usage, VendorTurn
from agio.core.store.records import ForkLimits, MessageRecord, SessionRecord
from agio.core.store.repository import Append, Charge, Outcome, RunInfo, ToolBegin, ToolEnd, TurnRecord
from agio.core.store.store import Store
from agio.db.forks import copy_session
from agio.db.plan import ask
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.plans.sessions.fork_source import NOBODY, find_source
from agio.db.repository import Repository
from agio.errors import UserError
from agio.protocol.codec import encode
from agio.protocol.events import (
    AgentEvent,
    RunFinished,
    SuccessOutcome,
    TextMessageContent,
    ToolCallArgs,
    ToolCallResult,
)
from agio.protocol.frames import Frame
from agio.protocol.ids import id_body, new_id
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    ContentPart,
    DocumentPart,
    FileSource,
    FunctionCall,
    Message,
    TextPart,
    ToolCall,
    UserMessage,
)
from tests.support.backends import Backend, begin, finish, turn
from tests.support.scenes import (
    WORKER,
    Person,
    agent_fields,
    answer,
    claim,
    end,
    events,
    interrupt,
    person,
)
from tests.support.uploads import upload

BODY = re.compile(r"(?<=_)[0-9a-hjkmnp-tv-z]{26}")
OF_A_RUN = {"run_id", "session_id", "worker", "token_hash", "alias", "copied_from", "parent_run_id"}
"""What a copy of a run has of its own, or not at all."""


async def test_a_copy_has_everything_before_the_message_under_its_own_ids(store: Store) -> None:
    """C5: runs, logs, turns, calls, questions, messages and files, in their places; no id is shared."""
    who = await person(store)
    session, last = await _rich_talk(who)
    copy = await store.fork_session("default", "local", session.id, last)
    assert copy.id != session.id
    assert (copy.agent_id, copy.title, copy.forked_from) == (session.agent_id, "one", session.id)
    assert (copy.state, copy.on_busy, copy.alias, copy.pending) == ("idle", "refuse", None, [])
    originals, runs = await _runs(who, session), await _runs(who, copy)
    assert len(runs) == len(originals) - 1
    assert copy.last_pos == copy.seen_pos == originals[-1].first_pos
    for original, run in zip(originals, runs, strict=False):
        assert {**_facts(run), "session": 0} == {**_facts(original), "session": 0}
        assert run.parent_run_id == (runs[runs.index(run) - 1].run_id if run is not runs[0] else None)
        old, new = await store.get_log(original.run_id), await store.get_log(run.run_id)
        assert _masked(new.payload) == _masked(old.payload)
        assert [_masked(msgspec.json.encode(each)) for each in new.turns] == [
            _masked(msgspec.json.encode(each)) for each in old.turns
        ]
        assert {each.run_id for each in new.turns} <= {run.run_id}
        old_calls = (await store.list_tool_executions("default", "local", original.run_id)).items
        calls = (await store.list_tool_executions("default", "local", run.run_id)).items
        assert [(call.tool, call.state, call.error, call.started_at) for call in calls] == [
            (call.tool, call.state, call.error, call.started_at) for call in old_calls
        ]
    before, after = await _messages(who, session), await _messages(who, copy)
    assert [_masked(each.message) for each in after] == [
        _masked(each.message) for each in before[: len(after)]
    ]
    assert [(each.pos, each.role, each.created_at) for each in after] == [
        (each.pos, each.role, each.created_at) for each in before[: len(after)]
    ]
    assert before[len(after)].id == last
    assert await who.questions(copy) == [("int_2", "cancelled"), ("int_1", "cancelled")]
    assert not _bodies(await _everything(who, copy)) & _bodies(await _everything(who, session))


async def test_what_was_said_is_copied_word_for_word(store: Store) -> None:
    """C5: an id in a text, a piece of one, arguments, a result or a vendor's items is content, and stays."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "one")
    first = await claim(store)
    run_id, body = first.info.run_id, id_body(first.info.run_id)
    call, said = f"call_{body}_1_0", f"msg_{body}_1"
    arguments = msgspec.json.encode({"run_id": run_id, "ids": [run_id]}).decode()
    spoken: list[AgentEvent] = [
        TextMessageContent(said, f"It is {run_id[:20]}"),
        TextMessageContent(said, f'{run_id[20:]}, "id":"{run_id}", {session.id}.'),
        TextMessageContent(said, run_id),
        ToolCallArgs(call, arguments),
        ToolCallResult(f"res_{body}_1_0", call, arguments),
        RunFinished(session.id, run_id, outcome=SuccessOutcome([call, f"call_{body}_1_1"])),
    ]
    lines = b"".join(encode(event) + b"\n" for event in spoken)
    vendor = VendorTurn("anthropic", [{"type": "tool_use", "input": {"run_id": run_id}}, {"thinking": call}])
    turns = [TurnRecord(run_id, 1, 3, "m", "end", Usage(), vendor)]
    answered = AssistantMessage(
        id=said, content=f"It is {run_id}.", tool_calls=[ToolCall(call, FunctionCall("look", arguments))]
    )
    outcome = Outcome(messages=[answered])
    frame = Frame(run_id, first.info.epoch, 2, len(spoken), lines)
    await store.append(Append(frame, turns, "completed", outcome=outcome))
    asked = await who.send(session, f"What of {run_id} in {session.id}?")
    await interrupt(store, await claim(store), "int_1")
    sent = await who.send(session, "three")
    copy = await store.fork_session("default", "local", session.id, sent.message_id or "")
    run = (await _runs(who, copy))[0]
    new = id_body(run.run_id)
    log = await store.get_log(run.run_id)
    assert log.payload.partition(b"\n")[2] == b"".join(
        encode(event) + b"\n"
        for event in (
            TextMessageContent(f"msg_{new}_1", f"It is {run_id[:20]}"),
            TextMessageContent(f"msg_{new}_1", f'{run_id[20:]}, "id":"{run_id}", {session.id}.'),
            TextMessageContent(f"msg_{new}_1", run_id),
            ToolCallArgs(f"call_{new}_1_0", arguments),
            ToolCallResult(f"res_{new}_1_0", f"call_{new}_1_0", arguments),
            RunFinished(copy.id, run.run_id, outcome=SuccessOutcome([f"call_{new}_1_0", f"call_{new}_1_1"])),
        )
    )
    assert [(each.run_id, each.vendor) for each in log.turns] == [(run.run_id, vendor)]
    [_, told, question, *_] = await _messages(who, copy)
    message = msgspec.json.decode(told.message, type=AssistantMessage)
    assert message == AssistantMessage(
        id=f"msg_{new}_1",
        content=f"It is {run_id}.",
        tool_calls=[ToolCall(f"call_{new}_1_0", FunctionCall("look", arguments))],
    )
    assert (question.id != asked.message_id, _text(question)) == (True, f"What of {run_id} in {session.id}?")


async def test_a_copy_of_a_run_says_why_it_failed_and_that_its_usage_is_not_all_told(store: Store) -> None:
    """C5, L12: a run that is copied ended as the other did."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "one")
    info = (await claim(store)).info
    frame = events(info.run_id, info.epoch, info.last_seq + 1, 1)
    outcome, charge = Outcome(steps=1), Charge(7, 2, partial=True)
    words = "The model is down."
    await store.append(
        Append(frame, (), "failed", "model_down", outcome=outcome, error_message=words, charge=charge)
    )
    sent = await who.send(session, "two")
    copy = await store.fork_session("default", "local", session.id, sent.message_id or "")
    [run] = await _runs(who, copy)
    assert (run.error_code, run.error_message, run.usage_partial) == ("model_down", words, True)


async def test_a_copy_has_what_was_told_and_when_under_its_own_ids(store: Store) -> None:
    """C8: a copy looks as the chat did that it was made of."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "one")
    claimed = await claim(store)
    run_id = claimed.info.run_id
    told = ActivityMessage(
        id=f"{run_id}_n4",
        activity_type="agio.notice",
        content={"code": "c", "message": run_id},
        metadata={"at": 9},
    )
    await end(store, claimed, outcome=Outcome(messages=[told]))
    sent = await who.send(session, "two")
    copy = await store.fork_session("default", "local", session.id, sent.message_id or "")
    [run] = await _runs(who, copy)
    [_, copied] = await _messages(who, copy)
    assert (copied.id, copied.run_id) == (f"{run.run_id}_n4", run.run_id)
    own = msgspec.json.decode(copied.message, type=Message)
    assert own == msgspec.structs.replace(told, id=f"{run.run_id}_n4")
    assert run.ended_at == (await store.get_run(run_id)).ended_at


async def test_events_of_a_copy_are_read_by_position_without_a_gap(store: Store) -> None:
    """C7: the stream of a copy is the original's up to the message, event by event."""
    who = await person(store)
    session, last = await _rich_talk(who)
    copy = await store.fork_session("default", "local", session.id, last)
    chunks = await store.read_session(copy.id, 0, 1 << 20)
    assert [chunk.first_pos for chunk in chunks] == [
        1,
        *(chunk.last_pos + 1 for chunk in chunks[:-1]),
    ]
    assert chunks[-1].last_pos == copy.last_pos
    whole = b"".join(chunk.payload for chunk in await store.read_session(session.id, 0, 1 << 20))
    assert _masked(whole).startswith(_masked(b"".join(chunk.payload for chunk in chunks)))
    sent = await who.send(copy, "and on", claim=WORKER)
    assert sent.claimed is not None
    assert sent.claimed.info.first_pos == copy.last_pos
    assert len(await store.history(sent.claimed.info, 100)) == len(await _runs(who, copy)) - 1


async def test_either_session_is_deleted_without_the_other(store: Store) -> None:
    """C5: a copy is a copy: its files and messages stay when the original goes, and the other way round."""
    who = await person(store)
    session, last = await _rich_talk(who)
    copy = await store.fork_session("default", "local", session.id, last)
    again = await store.fork_session("default", "local", session.id, last, title="Again")
    assert again.title == "Again"
    said = await _everything(who, copy)
    await store.delete_session("default", "local", again.id)
    await store.delete_session("default", "local", session.id)
    assert await _everything(who, copy) == said
    assert (await who.session_now(copy)).forked_from == session.id
    file_id = re.findall(r"file_\w{26}", said)[0]
    piece = await store.read_session_file("default", "local", copy.id, file_id, 0)
    assert (piece.data[:5], piece.size) == (b"hello", 600_000)
    assert (
        len((await store.read_session_file("default", "local", copy.id, file_id, 2)).data)
        == 600_000 - 2 * 2**18
    )
    await store.delete_session("default", "local", copy.id)
    with pytest.raises(UserError, match="file_not_found"):
        await store.get_file("default", "local", file_id)


async def test_a_fork_at_the_first_message_is_empty(store: Store) -> None:
    """C5: nothing was said before it, so nothing names the copy."""
    who = await person(store)
    session = await who.session()
    sent = await who.send(session, "one")
    copy = await store.fork_session("default", "local", session.id, sent.message_id or "")
    assert (copy.title, copy.last_pos, copy.last_run_id) == ("", 0, None)
    await who.send(copy, "uno")
    assert (await who.session_now(copy)).title == "uno"


async def test_a_run_before_the_message_must_have_ended(store: Store) -> None:
    """C5: a later run that is going on is no obstacle, an earlier one is."""
    who = await person(store)
    session = await who.session()
    sent = [(await who.send(session, text)).message_id or "" for text in ("one", "two", "three")]
    place = ("default", "local", session.id)

    async def texts(before: str) -> list[str]:
        return [_text(each) for each in await _messages(who, await store.fork_session(*place, before))]

    assert await texts(sent[0]) == []
    for busy in sent[1:]:
        with pytest.raises(UserError, match="session_busy"):
            await store.fork_session(*place, busy)
    running = await claim(store)
    assert await texts(sent[0]) == []
    for busy in sent[1:]:
        with pytest.raises(UserError, match="session_busy"):
            await store.fork_session(*place, busy)
    await answer(store, running, "eins")
    assert await texts(sent[1]) == ["one", "eins"]
    with pytest.raises(UserError, match="session_busy"):
        await store.fork_session(*place, sent[2])
    await claim(store)
    assert await texts(sent[1]) == ["one", "eins"]


async def test_only_the_users_own_messages_end_a_copy(store: Store) -> None:
    """C5: an answer, a word the run said in the user's place, a stranger's message are not found."""
    who, other = await person(store), await person(store, user="ann")
    session = await who.session()
    sent = await who.send(session, "one")
    claimed = await claim(store)
    spoken = [
        AssistantMessage(id="said", content="eins"),
        UserMessage(id=f"{sent.run_id}_c1", content="Say it again."),
    ]
    await end(store, claimed, outcome=Outcome(messages=spoken))
    elsewhere = (await who.send(await who.session(), "elsewhere")).message_id or ""
    for message_id in ("said", f"{sent.run_id}_c1", elsewhere, "", "x" * 10_000, sent.run_id):
        with pytest.raises(UserError, match="message_not_found"):
            await store.fork_session("default", "local", session.id, message_id)
    for stranger in (other, await person(store, "acme")):
        with pytest.raises(UserError, match="session_not_found"):
            await store.fork_session(stranger.tenant, stranger.user, session.id, sent.message_id or "")
    with pytest.raises(UserError, match="session_not_found"):
        await store.fork_session("default", "local", "ses_none", sent.message_id or "")


async def test_a_session_whose_agent_rests_is_not_copied(store: Store) -> None:
    """C5: nothing could be said in the copy; a program's thread is the program's."""
    who = await person(store)
    agent = await who.agent("helper")
    session = await who.session(agent)
    sent = await who.send(session, "one")
    await answer(store, await claim(store))
    await store.delete_agent("default", agent.id)
    with pytest.raises(UserError, match="agent_inactive"):
        await store.fork_session("default", "local", session.id, sent.message_id or "")
    await begin(store, "r1", thread="t", agent="mine")
    await finish(store, "r1", 1)
    with pytest.raises(UserError, match="message_not_found"):
        await store.fork_session("default", "local", "t", "m")


async def test_a_session_with_its_own_agent_is_copied_with_it(store: Store) -> None:
    """C5: the agent's words are deleted with one session and stay with the other."""
    who = await person(store)
    begun = await store.start_inline_session("default", "local", "talk", agent_fields("clerk"))
    session = begun.session
    await who.send(session, "one")
    await answer(store, await claim(store), "eins")
    sent = await who.send(session, "two")
    copy = await store.fork_session("default", "local", session.id, sent.message_id or "")
    assert (copy.agent_id != session.agent_id, copy.alias, copy.agent_name) == (True, copy.id, "clerk")
    await store.delete_session("default", "local", session.id)
    found = await store.find_inline_session("default", "local", copy.id)
    assert (found.session.id, found.agent.system_prompt) == (copy.id, "Help.")
    [run] = await _runs(who, copy)
    assert run.agent_id == copy.agent_id
    await who.send(copy, "zwei")
    assert (await claim(store)).agent.system_prompt == "Help."


async def test_a_copy_that_a_crash_left_is_seen_by_nobody_and_swept(backend: Backend) -> None:
    """R3: until the last commit nothing of a copy is there, for its user or anybody else."""
    store = await backend.open()
    assert isinstance(store, Repository)
    who = await person(store)
    session, last = await _rich_talk(who)
    place = ("default", "local")
    runs = len((await store.find_runs(*place, limit=200)).items)
    fork = await store.executor.read(partial(find_source, *place, session.id, last, None))
    await copy_session(store.executor, fork)
    later = await backend.open_after_crash()
    with pytest.raises(UserError, match="session_not_found"):
        await later.get_session(*place, fork.id)
    assert [each.id for each in (await later.list_sessions(*place)).items] == [session.id]
    assert len((await later.find_runs(*place, limit=200)).items) == runs
    new_run = fork.names.renamed_id(fork.runs[0].run_id)
    with pytest.raises(UserError, match="run_not_found"):
        await later.find_run(*place, new_run)
    with pytest.raises(UserError, match="file_not_found"):
        await later.get_file(*place, fork.names.renamed_id(fork.files[0][0]))
    await later.sweep()
    assert (await later.get_run(new_run)).status == "completed"  # it may yet be finished
    assert isinstance(later, Repository)
    await later.executor.write(partial(ask, "sweep_forks", until=BEYOND_ALL))
    with pytest.raises(UserError, match="run_not_found"):
        await later.get_run(new_run)
    assert [each.id for each in (await later.list_sessions(*place)).items] == [session.id]
    await store.delete_session(*place, session.id)
    with pytest.raises(UserError, match="session_not_found"):
        await store.fork_session(*place, session.id, last)
    await later.close()
    await store.close()


async def test_a_session_that_is_deleted_meanwhile_is_not_copied(backend: Backend) -> None:
    """C5: deleting deletes: no copy is finished of what is gone."""
    store = await backend.open()
    assert isinstance(store, Repository)
    who = await person(store)
    session, last = await _rich_talk(who)
    place = ("default", "local")
    fork = await store.executor.read(partial(find_source, *place, session.id, last, None))
    await store.delete_session(*place, session.id)
    with pytest.raises(UserError, match="session_not_found"):
        await copy_session(store.executor, fork)
    assert (await store.list_sessions(*place)).items == []
    with pytest.raises(UserError, match="run_not_found"):
        await store.get_run(fork.names.renamed_id(fork.runs[0].run_id))
    await store.close()


async def test_a_fork_that_is_asked_for_again_is_the_same_copy(store: Store) -> None:
    """C5: by its key, whatever became of the original; other words are a conflict, another session another copy."""
    who = await person(store)
    session, last = await _rich_talk(who)
    place = ("default", "local", session.id)
    copy = await store.fork_session(*place, last, title="Again", key="k")
    await who.send(copy, "and on")
    again = await store.fork_session(*place, last, title="Again", key="k")
    assert (again.id, again.state) == (copy.id, "queued")
    first = (await _messages(who, session))[0].id
    for before, title in ((first, "Again"), (last, "Other"), (last, None), ("no message", "Again")):
        with pytest.raises(UserError, match="idempotency_conflict"):
            await store.fork_session(*place, before, title=title, key="k")
    keyless = await store.fork_session(*place, last, title="Again")
    other = await store.fork_session(*place, last, title="Again", key="another")
    [asked, *_] = [each.id for each in await _messages(who, copy) if each.role == "user"]
    of_copy = await store.fork_session("default", "local", copy.id, asked, key="k")
    assert len({copy.id, keyless.id, other.id, of_copy.id}) == 4
    ann = await person(store, user="ann")
    with pytest.raises(UserError, match="session_not_found"):
        await store.fork_session(ann.tenant, ann.user, session.id, last, title="Again", key="k")
    await store.delete_session(*place)
    assert (await store.fork_session(*place, last, title="Again", key="k")).id == copy.id
    await store.delete_session("default", "local", copy.id)
    with pytest.raises(UserError, match="session_deleted"):
        await store.fork_session(*place, last, title="Again", key="k")


async def test_a_fork_that_failed_may_be_asked_for_again_with_its_key(store: Store) -> None:
    """C5: a refusal makes nothing, so it takes no key."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "one")
    sent = await who.send(session, "two")
    place = ("default", "local", session.id, sent.message_id or "")
    with pytest.raises(UserError, match="session_busy"):
        await store.fork_session(*place, key="k")
    await answer(store, await claim(store))
    copy = await store.fork_session(*place, key="k")
    assert (await store.fork_session(*place, key="k")).id == copy.id


async def test_the_same_key_many_times_at_once_is_one_copy(backend: Backend) -> None:
    """C5: whoever is first hands over; what the others copied is gone, and they are answered the same."""
    store = await backend.open()
    assert isinstance(store, Repository)
    who = await person(store)
    session, last = await _rich_talk(who)
    place = ("default", "local", session.id)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.fork_session(*place, last, key="k")) for _ in range(5)]
    assert len({task.result().id for task in tasks}) == 1
    assert len((await store.list_sessions("default", "local")).items) == 2
    assert (await store.list_sessions(NOBODY, NOBODY)).items == []
    await store.close()


async def test_copied_runs_are_in_no_list_of_what_was_done_but_their_sessions(store: Store) -> None:
    """C5: a sum over a list of runs counts each once, also copies of copies; each says what it is a copy of."""
    who = await person(store)
    session, last = await _rich_talk(who)
    place = ("default", "local")
    copy = await store.fork_session(*place, session.id, last)
    originals, runs = await _runs(who, session), await _runs(who, copy)
    assert [run.copied_from for run in runs] == [run.run_id for run in originals[:-1]]
    assert {run.copied_from for run in originals} == {None}
    sent = await who.send(copy, "five")
    ended = await claim(store)
    await answer(store, ended)
    third = await store.fork_session(*place, copy.id, (await who.send(copy, "six")).message_id or "")
    assert [run.copied_from for run in await _runs(who, third)] == [
        *(run.run_id for run in originals[:-1]),
        sent.run_id,
    ]
    done = {run.run_id for run in originals} | {sent.run_id}
    listed = [run async for run in _listed(store)]
    assert {run.run_id for run in listed if run.status != "queued"} == done
    everybody = (await store.find_runs("default", None, limit=200)).items
    assert {run.run_id for run in everybody if run.status != "queued"} == done
    badly = (await store.find_runs(*place, status="interrupted", limit=200)).items
    assert [run.copied_from for run in badly] == [None, None]
    both = (await store.find_runs(*place, copies=True, limit=200)).items
    assert len(both) == len(listed) + len(runs) + len(await _runs(who, third))
    own = (await store.find_runs(*place, session_id=third.id, copies=False, limit=200)).items
    assert own == []


async def test_a_session_that_is_too_large_is_not_copied(store: Store) -> None:
    """C9: how many events, and how many bytes of logs and files, are bounded; what is within the bound is copied."""
    who = await person(store)
    session, last = await _rich_talk(who)
    place = ("default", "local", session.id)
    size = (await store.fork_session(*place, last)).last_pos
    with pytest.raises(UserError, match="session_too_large") as refused:
        await store.fork_session(*place, last, limits=ForkLimits(events=size - 1))
    assert refused.value.details == {"events": size, "limit": size - 1}
    with pytest.raises(UserError, match="session_too_large") as refused:
        await store.fork_session(*place, last, limits=ForkLimits(size_bytes=600_000))
    assert refused.value.details["limit"] == 600_000  # the file alone has as many
    await store.fork_session(*place, last, limits=ForkLimits(events=size))
    first = (await _messages(who, session))[0].id
    assert (await store.fork_session(*place, first, limits=ForkLimits(0, 0))).last_pos == 0


async def test_a_long_run_is_copied_in_pieces_and_short_ones_together(store: Store) -> None:
    """C7: whatever the sizes of the runs, the copy's log is the original's, event by event."""
    who = await person(store)
    session = await who.session()
    for many in (2, 40_000, 0, 3, 9_000, 1):
        await who.send(session, f"{many} events")
        claimed = await claim(store)
        info = claimed.info
        for first in range(0, many, 10_000):
            count = min(10_000, many - first)
            await store.append(Append(events(info.run_id, info.epoch, info.last_seq + 1 + first, count)))
        await end(store, claimed, after=info.last_seq + many)
    for _ in range(70):  # more than are copied at a time
        await who.send(session, "short")
        await answer(store, await claim(store))
    sent = await who.send(session, "last")
    copy = await store.fork_session("default", "local", session.id, sent.message_id or "")
    originals = [run for run in await _runs(who, session) if run.status != "queued"]
    runs = await _runs(who, copy)
    assert len(runs) == 76
    for original, run in zip(originals, runs, strict=True):
        assert (run.first_pos, run.last_seq) == (original.first_pos, original.last_seq)
        old, new = await store.get_log(original.run_id), await store.get_log(run.run_id)
        assert _masked(new.payload) == _masked(old.payload)
    assert len(await _messages(who, copy)) == 6 + 2 * 70


async def _rich_talk(who: Person) -> tuple[SessionRecord, str]:
    """A session with everything in it, and the id of its last message, which waits."""
    store = who.store
    session = await who.session(await who.agent(), on_busy="refuse")
    file = await upload(who, b"hello" * 120_000)
    parts: list[ContentPart] = [TextPart(text="one"), DocumentPart(source=FileSource(file.id))]
    await who.send(session, None, messages=[UserMessage(id=new_id("msg"), content=parts)])
    first = await claim(store)
    run_id = first.info.run_id
    call = f"call_{id_body(run_id)}_1_0"
    turns: list[TurnRecord] = [turn(run_id, 1, 3)]
    await store.append(Append(events(run_id, 1, 2, 3000), turns, begins=[ToolBegin(call, "clock", "read")]))
    said = AssistantMessage(id=f"msg_{id_body(run_id)}_1", content="eins")
    await end(store, first, after=3001, ends=[ToolEnd(call)], outcome=Outcome(messages=[said]))
    await who.send(session, "two")
    await interrupt(store, await claim(store), "int_1")
    await who.send(session, None, messages=[UserMessage(id="of-a-client", content="three")])
    await interrupt(store, await claim(store), "int_2")
    sent = await who.send(session, "four")
    await answer(store, await claim(store))
    return session, sent.message_id or ""


async def _runs(who: Person, session: SessionRecord) -> list[RunInfo]:
    page = await who.store.find_runs(who.tenant, who.user, session_id=session.id, limit=200)
    return sorted(page.items, key=lambda run: run.first_pos)


async def _listed(store: Store) -> AsyncIterator[RunInfo]:
    after: str | None = None
    while True:
        page = await store.find_runs("default", "local", after=after, limit=2)
        for run in page.items:
            yield run
        if (after := page.next) is None:
            return


async def _messages(who: Person, session: SessionRecord) -> list[MessageRecord]:
    return (await who.store.list_messages(who.tenant, who.user, session.id, limit=500)).items


async def _everything(who: Person, session: SessionRecord) -> str:
    """All that is kept of a session, as text."""
    runs = await _runs(who, session)
    kept: list[object] = [
        [each.id for each in (await who.store.list_interrupts(who.tenant, who.user, session.id))],
        await _messages(who, session),
    ]
    for run in runs:
        log = await who.store.get_log(run.run_id)
        log = msgspec.structs.replace(log, info=msgspec.structs.replace(log.info, copied_from=None))
        kept += [log, (await who.store.list_tool_executions(who.tenant, who.user, run.run_id)).items]
        kept.append(str(log.payload))
    found = msgspec.to_builtins(kept, builtin_types=(bytes,))
    return repr(found).replace(session.agent_id, "").replace(session.forked_from or "-", "")


def _facts(run: RunInfo) -> dict[str, object]:
    return {name: getattr(run, name) for name in run.__struct_fields__ if name not in OF_A_RUN}


def _bodies(text: str) -> set[str]:
    return set(BODY.findall(text))


def _masked(data: bytes) -> str:
    return BODY.sub("*", data.decode())


def _text(record: MessageRecord) -> str:
    return msgspec.json.decode(record.message)["content"]
