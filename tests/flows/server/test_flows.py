"""Every flow of a run, over every transport, on every store, over both links."""

import asyncio
import json
from collections.abc import Sequence
from typing import cast

from agio.protocol.codec import decode_event, decode_lines
from agio.protocol.events import (
    AgentEvent,
    CancelledOutcome,
    InterruptOutcome,
    RunError,
    RunFinished,
    SuccessOutcome,
    TextMessageChunk,
    ToolCallResult,
    seq_of,
)
from agio.testing import Call, HttpStatus, Reply
from tests.flows.server.home import Home, every_home
from tests.flows.server.talk import Talk, open_talk
from tests.flows.server.tools import paid
from tests.support.official import OfficialVerifier, check_flow
from tests.support.streams import types


def text_of(events: Sequence[AgentEvent]) -> str:
    return "".join(str(event.delta) for event in events if isinstance(event, TextMessageChunk))


async def checked(
    home: Home, talk: Talk, lines: list[bytes], official: OfficialVerifier, known: Sequence[str] = ()
) -> list[AgentEvent]:
    """Check the lines of a run against the grammar, the official client and the stored log; decode them."""
    events = decode_lines(b"".join(lines))
    check_flow(events, official, known_calls=known)
    assert [seq_of(event) for event in events] == list(range(1, len(events) + 1))
    run_id = cast("dict[str, str]", events[0].metadata)["run"]
    async with home.http.get(f"{home.url}/api/runs/{run_id}/events") as answer:
        stored = (await answer.read()).splitlines(keepends=True)
    # A stock client's first and last event carry its own ids; all else is the log, to the byte.
    assert (lines[1:-1], len(lines)) == (stored[1:-1], len(stored))
    if not talk.agui:
        assert lines == stored
    return events


def outcome(events: Sequence[AgentEvent]) -> object:
    last = events[-1]
    return last.outcome if isinstance(last, RunFinished) else last


async def test_a_message_is_answered_and_the_next_one_knows_of_it(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """R1: a message becomes a run that streams; R6: what was streamed is what is stored."""
    home.model.script(Reply("Hello there.", reasoning="A greeting."), Reply("You said hi."))
    talk = await open_talk(transport, home, await home.create_agent())
    events = await checked(home, talk, await talk.say("Hi"), official)
    assert types(events)[:4] == [
        "RUN_STARTED",
        "STEP_STARTED",
        "REASONING_MESSAGE_CHUNK",
        "TEXT_MESSAGE_CHUNK",
    ]
    assert text_of(events) == "Hello there."
    events = await checked(home, talk, await talk.say("What did I say?"), official)
    assert text_of(events) == "You said hi."
    assert home.model.calls[-1].messages == [
        ("user", "Hi"),
        ("assistant", "Hello there."),
        ("user", "What did I say?"),
    ]
    session = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}")
    roles = [message["role"] for message in cast("list[dict[str, str]]", session["messages"])]
    assert roles == ["user", "reasoning", "assistant", "user", "assistant"]
    assert home.model.problems == []
    await talk.close()


async def test_tools_of_the_gateway_and_of_the_module_run_in_one_turn(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """R7: a built-in tool runs at the gateway, one of the module in the worker, both recorded."""
    home.model.script(
        Reply(
            tool_calls=[
                Call("calculator", {"expression": "6 * 7"}),
                Call("add", {"a": 2, "b": 3}),
                Call("buy", {"what": "milk"}),
                Call("echo_context", {}),
                Call("fail", {"why": "no reason"}),
                Call("calculator", {"wrong": 1}),
            ]
        ),
        Reply("Done."),
    )
    agent = await home.create_agent(tools=["calculator", "add", "buy", "echo_context", "fail"])
    talk = await open_talk(transport, home, agent)
    before = len(paid)
    events = await checked(home, talk, await talk.say("Go"), official)
    results = {event.tool_call_id[-1]: event for event in events if isinstance(event, ToolCallResult)}
    assert str(results["0"].content) == "42"
    assert str(results["1"].content) == "5"
    assert str(results["2"].content) == "bought milk"
    assert talk.session_id in str(results["3"].content)
    assert "no reason" in str(results["4"].content)
    assert cast("dict[str, str]", results["5"].metadata)["error"] == "bad_arguments"
    assert len(paid) == before + 1
    run_id = cast("dict[str, str]", events[0].metadata)["run"]
    executions = await home.ask("GET", f"/api/runs/{run_id}/tools")
    states = {(row["tool"], row["state"]) for row in cast("list[dict[str, str]]", executions["items"])}
    assert states >= {("calculator", "finished"), ("add", "finished"), ("buy", "finished")}
    assert home.model.problems == []
    await talk.close()


async def test_an_approved_call_runs_with_the_arguments_a_person_changed(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """B7: the run ends with a question; the answer starts the next run, which acts once."""
    home.model.script(
        Reply(tool_calls=[Call("pay", {"amount": 5, "to": "Ann"}), Call("pay", {"amount": 9})]),
        Reply("Paid."),
    )
    talk = await open_talk(transport, home, await home.create_agent(tools=["pay"]))
    before = len(paid)
    events = await checked(home, talk, await talk.say("Pay them"), official)
    ended = outcome(events)
    assert isinstance(ended, InterruptOutcome)
    session = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/status")
    assert session["state"] == "waiting"
    assert len(paid) == before
    first, second = ended.interrupts
    events = await checked(
        home,
        talk,
        await talk.answer(
            [
                {"interrupt_id": first.id, "approved": True, "edited_args": {"amount": 6, "to": "Bob"}},
                {"interrupt_id": second.id, "approved": False, "reason": "too much"},
            ]
        ),
        official,
        known=[str(first.tool_call_id), str(second.tool_call_id)],
    )
    contents = [str(event.content) for event in events if isinstance(event, ToolCallResult)]
    assert any("paid 6 to Bob" in content for content in contents)
    assert any("too much" in content for content in contents)
    assert len(paid) == before + 1
    assert text_of(events) == "Paid."
    assert home.model.problems == []
    await talk.close()


async def test_a_new_message_dismisses_the_question(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """B7: whoever goes on without answering has not approved: the call never runs."""
    home.model.script(Reply(tool_calls=[Call("pay", {"amount": 5})]), Reply("Fine, I did not."))
    talk = await open_talk(transport, home, await home.create_agent(tools=["pay"]))
    before = len(paid)
    events = await checked(home, talk, await talk.say("Pay"), official)
    ended = outcome(events)
    assert isinstance(ended, InterruptOutcome)
    if talk.agui:  # its client refuses to go on before every question is answered
        entry = {"interrupt_id": ended.interrupts[0].id, "approved": False}
        events = await checked(
            home, talk, await talk.answer([entry]), official, known=[str(ended.interrupts[0].tool_call_id)]
        )
    else:
        events = await checked(
            home, talk, await talk.say("Never mind"), official, known=[str(ended.interrupts[0].tool_call_id)]
        )
    assert text_of(events) == "Fine, I did not."
    assert len(paid) == before
    questions = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/interrupts")
    states = [row["state"] for row in cast("list[dict[str, str]]", questions["items"])]
    assert states == ["resolved" if talk.agui else "cancelled"]
    await talk.close()


@every_home
async def test_a_run_is_cancelled_while_the_model_speaks(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """L14: the model's connection is closed, the log ends with the outcome `cancelled`."""
    home.model.script(Reply("word " * 200, chunk_chars=5, gate=asyncio.Event()), Reply("Again."))
    talk = await open_talk(transport, home, await home.create_agent(memory="off"))
    reading = await talk.begin("Speak")
    await home.model.wait_for_calls()
    await talk.cancel()
    async with asyncio.timeout(60):
        events = await checked(home, talk, await reading, official)
    assert isinstance(outcome(events), CancelledOutcome)
    await home.model.wait_closed_by_client()
    stopped = await _newest_run(home, talk)
    assert (stopped["steps"], stopped["usage_partial"]) == (1, True)
    assert (stopped["input_tokens"], stopped["output_tokens"], stopped["cost"]) == (None, None, None)
    events = await checked(home, talk, await talk.say("Once more"), official)
    assert text_of(events) == "Again."
    await talk.close()


async def test_a_failing_model_ends_the_run_with_its_reason(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """R9: a model call that fails for good is RUN_ERROR, and the session goes on."""
    home.model.script(Reply(fault=HttpStatus(401)), Reply("Better."))
    talk = await open_talk(transport, home, await home.create_agent())
    events = await checked(home, talk, await talk.say("Hi"), official)
    assert isinstance(events[-1], RunError)
    failed = await _newest_run(home, talk)
    assert (failed["error_code"], failed["error_message"]) == (events[-1].code, events[-1].message)
    events = await checked(home, talk, await talk.say("Again"), official)
    assert text_of(events) == "Better."
    better = await _newest_run(home, talk)
    assert (better["error_code"], better["error_message"], better["usage_partial"]) == (None, None, False)
    await talk.close()


async def test_a_message_waits_for_the_run_before_it(
    home: Home, transport: str, official: OfficialVerifier
) -> None:
    """R3: a second message is accepted while a run is going on, and runs after it."""
    go = asyncio.Event()
    home.model.script(Reply("First. " * 20, gate=go), Reply("Second."))
    talk = await open_talk(transport, home, await home.create_agent())
    first = await talk.begin("One")
    await home.model.wait_for_calls()
    second = await talk.begin("Two")
    go.set()
    async with asyncio.timeout(60):
        one = await checked(home, talk, await first, official)
        two = await checked(home, talk, await second, official)
    assert text_of(one).startswith("First.")
    assert text_of(two) == "Second."
    assert home.model.calls[-1].messages[-1] == ("user", "Two")
    await talk.close()


async def test_a_clients_own_tool_is_left_to_it(home: Home, official: OfficialVerifier) -> None:
    """B8: a tool the AG-UI client declares ends the run with its call pending; its result starts the next."""
    home.model.script(Reply(tool_calls=[Call("pick_colour", {"of": "sky"})]), Reply("Blue it is."))
    declared: dict[str, object] = {
        "name": "pick_colour",
        "description": "Ask the page for a colour.",
        "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
    }
    talk = await open_talk("ag-ui", home, await home.create_agent(), tools=[declared])
    events = await checked(home, talk, await talk.say("Colour?"), official)
    ended = outcome(events)
    assert isinstance(ended, SuccessOutcome)
    pending = cast("list[str]", ended.pending_tool_call_ids)
    events = await checked(home, talk, await talk.give({pending[0]: "blue"}), official, known=pending)
    assert text_of(events) == "Blue it is."
    assert "blue" in home.model.calls[-1].tool_results[-1].text
    assert home.model.problems == []
    await talk.close()


async def test_the_same_message_twice_is_one_run(home: Home) -> None:
    """R3: the same key and body is the same run; another body is refused."""
    agent = await home.create_agent()
    session = await home.start_session(agent)
    url = f"{home.url}/api/agent-sessions/{session}/message"
    headers = {"idempotency-key": "once"}

    async def post(content: str) -> tuple[int, dict[str, object]]:
        async with home.http.post(url, json={"content": content}, headers=headers) as answer:
            return answer.status, cast("dict[str, object]", json.loads(await answer.read()))

    answers = await asyncio.gather(*(post("Hi") for _ in range(20)))
    assert {status for status, _ in answers} == {202}
    assert len({str(body["run_id"]) for _, body in answers}) == 1
    status, body = await post("Something else")
    assert (status, cast("dict[str, str]", body["error"])["code"]) == (422, "idempotency_conflict")


async def test_every_event_of_a_stream_can_be_decoded_from_its_bytes(home: Home) -> None:
    """L9: the session's log is one line an event, with positions from 1."""
    home.model.script(Reply("One."), Reply("Two."))
    talk = await open_talk("sse", home, await home.create_agent())
    lines = [*await talk.say("1"), *await talk.say("2")]
    async with home.http.get(f"{home.url}/api/agent-sessions/{talk.session_id}/events?after=0") as answer:
        stored = (await answer.read()).splitlines(keepends=True)
    assert stored == lines
    assert [decode_event(line).type for line in stored].count("RUN_STARTED") == 2


async def _newest_run(home: Home, talk: Talk) -> dict[str, object]:
    """The run of a talk that came last, as the server shows it."""
    runs = await home.ask("GET", f"/api/runs?session_id={talk.session_id}")
    return cast("list[dict[str, object]]", runs["items"])[0]
