"""Input for a run that goes on: kept when it is accepted, seen by the model's next turn, in the log exactly once."""

import asyncio
from typing import cast

from agio.protocol.codec import decode_lines
from agio.protocol.events import Custom
from agio.testing import Call, Reply
from tests.flows.server.home import Home, every_home, one_gateway
from tests.flows.server.talk import SseTalk, open_talk
from tests.support.official import OfficialVerifier, check_flow

Json = dict[str, object]


async def _talk(home: Home) -> SseTalk:
    talk = await open_talk("sse", home, await home.create_agent(tools=["add"]))
    assert isinstance(talk, SseTalk)
    return talk


async def _steer(home: Home, talk: SseTalk, text: str, **more: object) -> Json:
    body = {"content": text, "on_busy": "steer", **more}
    return await home.ask("POST", f"/api/agent-sessions/{talk.session_id}/message", body, expect=202)


async def _messages(home: Home, talk: SseTalk) -> list[tuple[object, object]]:
    session = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}")
    shown = cast("list[Json]", session["messages"])
    return [(each["role"], cast("Json", each["message"]).get("content")) for each in shown]


def _inputs(lines: list[bytes]) -> list[object]:
    events = decode_lines(b"".join(lines))
    values = [
        cast("Json", event.value)
        for event in events
        if isinstance(event, Custom) and event.name == "agio.input"
    ]
    return [cast("Json", value["message"])["content"] for value in values]


@every_home
async def test_a_message_joins_the_running_run_and_survives_a_takeover(
    home: Home, official: OfficialVerifier
) -> None:
    """B1, C5: given back in mid-turn, the run goes on elsewhere with the message, which its log has once."""
    gate = asyncio.Event()
    home.model.script(Reply(tool_calls=[Call("add", {"a": 1, "b": 2})], gate=gate))
    talk = await _talk(home)
    reading = await talk.begin("Add one and two.")
    await home.model.wait_for_calls(1)
    sent = await _steer(home, talk, "And double it.")
    again = await _steer(home, talk, "In words.")
    assert sent["run_id"] == again["run_id"]
    assert (sent["status"], again["status"]) == ("running", "running")
    home.model.script(Reply(tool_calls=[Call("add", {"a": 1, "b": 2})]), Reply("Three, doubled: six."))
    [run] = home.holder.pool.runs.values()
    home.holder.pool.hand_on(run)
    lines = await reading
    gate.set()
    check_flow(decode_lines(b"".join(lines)), official)
    assert _inputs(lines) == ["And double it.", "In words."]
    asked = [entry for entry in home.model.calls[-1].messages if entry[0] == "user"]
    assert asked == [("user", "Add one and two."), ("user", "And double it."), ("user", "In words.")]
    said = await _messages(home, talk)
    assert [entry for entry in said if entry[0] == "user"] == asked
    assert said[-1] == ("assistant", "Three, doubled: six.")
    runs = cast("list[Json]", (await home.ask("GET", "/api/runs"))["items"])
    assert len(runs) == 1


async def test_what_the_run_did_not_see_becomes_the_next_run(home: Home) -> None:
    """B1: the run is cancelled before its next turn: the message is not lost, and not done twice."""
    gate = asyncio.Event()
    home.model.script(Reply("Slow.", gate=gate), Reply("Here you are."))
    talk = await _talk(home)
    reading = await talk.begin("Tell me a story.")
    await home.model.wait_for_calls(1)
    sent = await _steer(home, talk, "A short one.")
    await talk.cancel()
    lines = await reading
    gate.set()
    assert _inputs(lines) == []
    runs = cast("list[Json]", (await home.ask("GET", "/api/runs"))["items"])
    assert [run["id"] != sent["run_id"] for run in runs] == [True, False]
    await talk.read(str(runs[0]["id"]))
    assert [content for role, content in await _messages(home, talk) if role == "user"] == [
        "Tell me a story.",
        "A short one.",
    ]
    assert home.model.calls[-1].messages[-1] == ("user", "A short one.")


@one_gateway
async def test_a_message_after_the_last_word_is_answered_in_the_same_run(home: Home) -> None:
    """C5: the answer is complete but the run has not ended; an idle session begins a run as ever."""
    gate = asyncio.Event()
    home.model.script(Reply("First answer.", gate=gate), Reply("Second answer."), Reply("Third."))
    talk = await _talk(home)
    reading = await talk.begin("One.")
    await home.model.wait_for_calls(1)
    await _steer(home, talk, "Two.")
    gate.set()
    lines = await reading
    assert _inputs(lines) == ["Two."]
    assert await _messages(home, talk) == [
        ("user", "One."),
        ("assistant", "First answer."),
        ("user", "Two."),
        ("assistant", "Second answer."),
    ]
    idle = await _steer(home, talk, "Three.")
    assert _inputs(await talk.read(str(idle["run_id"]))) == []
