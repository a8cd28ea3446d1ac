"""The log as a stock AG-UI client sees it: its ids, snapshots after rewinds, and coming back at every event."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, cast

import pytest

from agio import (
    Agent,
    AgentRunConfig,
    ResumeEntry,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    client_tool,
    tool,
)
from agio.core.engine.runner import RunResult
from agio.core.store.repository import RunLog
from agio.errors import ModelError
from agio.gateway.doors.projection import (
    ClientIds,
    ThreadView,
    View,
    is_plain,
    rejoin,
    rename,
    snapshot,
    snapshot_after,
)
from agio.protocol.codec import decode_event, encode
from agio.protocol.events import (
    Custom,
    MessagesSnapshot,
    RunFinished,
    RunStarted,
    TextMessageChunk,
    ToolCallStart,
)
from agio.protocol.grammar import Grammar, GrammarError
from agio.protocol.ids import new_id
from agio.protocol.messages import ReasoningMessage, UserMessage
from tests.support.official import OfficialVerifier, check_flow

Conversation: TypeAlias = Callable[[], Awaitable[list[RunLog]]]

IDS = ClientIds("their-thread", "their-run")
BROKEN = ModelError("stream_broken", "It broke.", retryable=True)
CONFIG = AgentRunConfig(backoff_s=0)
LIMIT_BYTES = 1024 * 1024


@tool(effect="idempotent")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(approval="ask")
def send(text: str) -> str:
    """Send a text."""
    return f"sent {text}"


ask = client_tool(
    "ask", "Ask the person.", {"type": "object", "properties": {"question": {"type": "string"}}}
)


def _agent(*turns: ScriptedTurn, output_type: dict[str, object] | None = None) -> Agent:
    model = ScriptedDriver(turns)
    return Agent(
        "tester", "Be brief.", model=model, tools=[add, send, ask], config=CONFIG, output_type=output_type
    )


async def _logs(agent: Agent, *messages: str) -> list[RunLog]:
    """Have a conversation and return its logs."""
    thread_id = new_id("thr")
    async with agent:
        results = [await agent.arun_stream(text, thread_id=thread_id).result() for text in messages]
        return await _stored(agent, results)


async def _stored(agent: Agent, results: Sequence[RunResult]) -> list[RunLog]:
    repository = await agent.repository()
    return [await repository.get_log(result.run_id) for result in results]


async def _tools_and_text() -> list[RunLog]:
    calls = [ScriptedCall("add", {"a": 1, "b": 2}), ScriptedCall("add", {"a": 3, "b": 4})]
    turns = [
        ScriptedTurn(text="Hello there."),
        ScriptedTurn(reasoning="This is a sum.", text="I will add.", calls=calls),
        ScriptedTurn(reasoning="I have it.", text="Three and seven."),
    ]
    return await _logs(_agent(*turns), "Hello", "Add")


async def _rewinds() -> list[RunLog]:
    turns = [
        ScriptedTurn(reasoning="Maybe so.", text="It is", fails=BROKEN),
        ScriptedTurn(text="It may", fails=BROKEN),
        ScriptedTurn(reasoning="No, thus.", text="It was."),
    ]
    return await _logs(_agent(*turns), "What is it?")


async def _fails() -> list[RunLog]:
    failing = ModelError("bad_request", "No.")
    return await _logs(_agent(ScriptedTurn(text="I", fails=failing)), "Fail")


async def _asks() -> list[RunLog]:
    turns = [ScriptedTurn(text="May I?", calls=[ScriptedCall("send", {"text": "x"})])]
    return await _logs(_agent(*turns), "Send x")


async def _answered() -> list[RunLog]:
    turns = [ScriptedTurn(calls=[ScriptedCall("send", {"text": "x"})]), ScriptedTurn(text="Done.")]
    agent = _agent(*turns)
    async with agent:
        asked = await agent.arun_stream("Send x").result()
        answers = [ResumeEntry(question.id, "resolved", {"approved": True}) for question in asked.interrupts]
        done = await agent.arun_stream(thread_id=asked.thread_id, resume=answers).result()
        return await _stored(agent, [asked, done])


async def _client_tool() -> list[RunLog]:
    turns = [
        ScriptedTurn(text="Let me ask.", calls=[ScriptedCall("ask", {"question": "Tea?"})]),
        ScriptedTurn(text="Tea it is."),
    ]
    agent = _agent(*turns)
    async with agent:
        asked = await agent.arun_stream("Tea or coffee?").result()
        answers = dict.fromkeys(asked.pending_tool_call_ids, "tea")
        done = await agent.arun_stream(thread_id=asked.thread_id, tool_results=answers).result()
        return await _stored(agent, [asked, done])


async def _corrected() -> list[RunLog]:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }
    turns = [ScriptedTurn(text="no JSON"), ScriptedTurn(text='{"n": 1}')]
    return await _logs(_agent(*turns, output_type=schema), "A number")


CONVERSATIONS: list[Conversation] = [
    _tools_and_text,
    _rewinds,
    _fails,
    _asks,
    _answered,
    _client_tool,
    _corrected,
]
conversations = pytest.mark.parametrize(
    "conversation", CONVERSATIONS, ids=[made.__name__.strip("_") for made in CONVERSATIONS]
)


def _view(logs: Sequence[RunLog], run_id: str, seq: int) -> View:
    thread = ThreadView(run_id, seq)
    for log in logs:
        for _ in thread.take(log):
            pass
    return thread.view()


def _shown(logs: Sequence[RunLog], lines: Sequence[bytes]) -> list[bytes]:
    """Return lines of the last run as a stock client gets them."""
    shown: list[bytes] = []
    run_id = logs[-1].info.run_id
    for line in lines:
        shown.append(rename(line, IDS))
        if seq := snapshot_after(line, start=False):
            shown.append(snapshot(_view(logs, run_id, seq), LIMIT_BYTES))
    return shown


def _lines(log: RunLog) -> list[bytes]:
    return log.payload.split(b"\n")[:-1]


def _conversation(official: OfficialVerifier, lines: Sequence[bytes]) -> list[dict[str, object]]:
    messages = official.judge(lines, messages=True).messages
    assert messages is not None
    kept = [message for message in messages if message.get("content") or message.get("toolCalls")]
    return cast("list[dict[str, object]]", _without_metadata(kept))


def _without_metadata(value: object) -> object:
    match value:
        case dict():
            fields = cast("dict[str, object]", value)
            return {key: _without_metadata(entry) for key, entry in fields.items() if key != "metadata"}
        case list():
            return [_without_metadata(entry) for entry in cast("list[object]", value)]
        case _:
            return value


@conversations
async def test_a_client_that_comes_back_at_any_event_has_the_same_conversation(
    conversation: Conversation, official: OfficialVerifier
) -> None:
    """B8: RUN_STARTED, a snapshot with what there is so far, then the rest: accepted, and the same in the end."""
    logs = await conversation()
    lines = _lines(logs[-1])
    run_id = logs[-1].info.run_id
    known = [
        event.tool_call_id for log in logs[:-1] for event in log.events() if isinstance(event, ToolCallStart)
    ]
    earlier = [line for log in logs[:-1] for line in _lines(log)]
    whole = _shown(logs, lines)
    check_flow(whole, official, known_calls=known)
    expected = _conversation(official, [*earlier, *whole])
    for seq in range(1, len(lines) + 1):
        view = _view(logs, run_id, seq)
        stream = [*rejoin(view, lines[0], IDS, LIMIT_BYTES), *_shown(logs, lines[view.seq :])]
        check_flow(stream, official)
        assert _conversation(official, [*earlier, *stream]) == expected, seq
        assert _conversation(official, stream) == expected, seq


async def test_a_snapshot_has_the_newest_messages_that_fit() -> None:
    """B8: it replaces the thread, however long that is, in a number of bytes."""
    logs = await _logs(_agent(*[ScriptedTurn(text="word " * 100)] * 3), "One", "Two", "Three")
    view = _view(logs, logs[-1].info.run_id, logs[-1].info.last_seq)
    for limit_bytes, count in ((1, 1), (1500, 4), (LIMIT_BYTES, 6)):
        line = snapshot(view, limit_bytes)
        shown = decode_event(line)
        assert isinstance(shown, MessagesSnapshot)
        assert shown.messages == view.messages[-count:]
        assert count == 1 or len(line) < limit_bytes + 200


async def test_only_starts_ends_and_rewinds_are_not_the_logs_bytes() -> None:
    """B8: all other lines go to a client as they are, whatever they say."""
    (log,) = await _rewinds()
    lines = _lines(log)
    changed = [line for line in lines if not is_plain(line + b"\n")]
    types = [decode_event(line).type for line in changed]
    assert types == ["RUN_STARTED", "CUSTOM", "CUSTOM", "RUN_FINISHED"]
    renamed = [rename(line, IDS) for line in lines]
    assert [line for line in renamed if b"their-run" in line] == [renamed[0], renamed[-1]]
    assert renamed[1:-1] == lines[1:-1]


def test_words_about_rewinds_are_no_rewind() -> None:
    """B8: what a model says about `agio.rewind` takes nothing back."""
    said = encode(TextMessageChunk(message_id="m1", delta="agio.rewind"))
    told = encode(Custom(name="agio.notice", value={"message": '"agio.rewind"'}))
    assert [snapshot_after(line, start=True) for line in (said, told)] == [0, 0]


async def test_reasoning_that_was_taken_back_is_emptied() -> None:
    """B8: a client keeps reasoning that a snapshot does not mention, so the snapshot mentions it."""
    (log,) = await _rewinds()
    lines = _lines(log)
    first = next(seq for line in lines if (seq := snapshot_after(line, start=False)))
    shown = decode_event(snapshot(_view([log], log.info.run_id, first), LIMIT_BYTES))
    assert isinstance(shown, MessagesSnapshot)
    user, reasoning = shown.messages
    assert isinstance(user, UserMessage)
    assert isinstance(reasoning, ReasoningMessage)
    assert (user.content, reasoning.content) == ("What is it?", "")


def test_a_snapshot_may_stand_for_events_but_not_go_back() -> None:
    """R8: the grammar counts on from a snapshot's seq, and refuses one behind what was seen."""
    started = RunStarted(thread_id="t", run_id="r", metadata={"seq": 1})
    ahead = MessagesSnapshot(messages=[], metadata={"seq": 7})
    behind = MessagesSnapshot(messages=[], metadata={"seq": 3})
    finished = RunFinished(thread_id="t", run_id="r", metadata={"seq": 8})
    Grammar().check_stream([started, ahead, finished])
    with pytest.raises(GrammarError, match="3 where 8 comes next"):
        Grammar().check_stream([started, ahead, behind, finished])
