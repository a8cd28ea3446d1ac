"""A conversation that is forked goes on from where it was: the model is given what it was given before."""

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest

from agio.protocol.codec import decode_lines
from agio.protocol.messages import json_object
from agio.testing import Call, Reply
from tests.flows.server.home import Home, open_home
from tests.flows.server.talk import SseTalk, open_talk
from tests.flows.server.test_files import PNG, WIRES, digest, part, sent_images, text, upload

BODY = re.compile(r"(?<=_)[0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])")


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncGenerator[Home]:
    """A server on SQLite."""
    async with open_home(tmp_path, "direct") as home:
        yield home


async def test_a_fork_goes_on_from_where_the_conversation_was(home: Home) -> None:
    """C5: in every home, with an image, calls and a question that was answered, and without the original."""
    await _compare(home, "openai-chat")


@pytest.mark.parametrize("wire", WIRES)
async def test_every_vendor_is_given_what_it_was_given(sqlite: Home, wire: str) -> None:
    """C5, L3: with what the vendor wants back of its own turns."""
    await _compare(sqlite, wire)


async def test_a_question_that_a_message_dismissed_is_dismissed_in_the_fork(sqlite: Home) -> None:
    """C5: a call that nobody approved is not made, and the model is told so again."""
    home = sqlite
    pay = Reply(tool_calls=[Call("pay", {"amount": 1})])
    home.model.script(pay, Reply("Well then."), Reply("Well then."))
    agent_id = await home.create_agent(tools=["pay"])
    talk = await open_talk("sse", home, agent_id)
    await talk.say("Pay 1")
    await talk.say("Never mind.")
    given = _given(home)
    [*_, asked] = await _users(home, talk.session_id)
    fork = await _fork(home, talk.session_id, asked)
    assert (await home.ask("GET", f"/api/agent-sessions/{fork}/status"))["interrupts"] == []
    await SseTalkAt(home, fork).say("Never mind.")
    assert _given(home) == given
    assert home.model.problems == []


async def test_a_fork_and_a_branch_see_the_summary_of_older_messages(home: Home) -> None:
    """B13: in every home, a summary is written once; a fork and another branch are given what the original was."""
    long = "word " * 400
    home.model.script(*[Reply(long)] * 3, Reply("They said words."), *[Reply("Fine.")] * 4)
    agent_id = await home.create_agent(limits={"context_tokens": 2000})
    talk = await open_talk("sse", home, agent_id)
    for said in ("One", "Two", "Three", "Four", "Five"):
        lines = await talk.say(said)
    assert "They said words." in _given(home)
    assert _given(home).count(long) == 1
    given = _given(home)
    run_id = str(cast("dict[str, str]", decode_lines(lines[0])[0].metadata)["run"])
    sent = await home.ask("POST", f"/api/runs/{run_id}/regenerate", expect=202)
    assert isinstance(talk, SseTalk)
    await talk.read(str(sent["run_id"]))
    assert _given(home) == given
    fork = await _fork(home, talk.session_id, (await _users(home, talk.session_id))[-1])
    await SseTalkAt(home, fork).say("Five")
    assert _given(home) == given
    shown = await home.ask("GET", f"/api/agent-sessions/{fork}")
    messages = [json_object(each["message"]) for each in cast("list[dict[str, object]]", shown["messages"])]  # type: ignore[arg-type]
    [note] = [message for message in messages if message["role"] == "activity"]
    assert json_object(note["content"])["through_id"] in [message["id"] for message in messages]


async def _compare(home: Home, wire: str) -> None:
    """Say something, fork before it, say it in the copy: the model sees the same."""
    add = Reply(
        "Adding.", reasoning="Hm.", tool_calls=[Call("add", {"a": 1, "b": 2}), Call("add", {"a": 3, "b": 4})]
    )
    pay = Reply(tool_calls=[Call("pay", {"amount": 5})])
    home.model.script(
        add, Reply("3 and 7."), pay, Reply("Paid."), Reply("Bye."), Reply("Bye."), Reply("Ciao.")
    )
    talk = await open_talk("sse", home, await home.create_agent(model_provider=wire, tools=["add", "pay"]))
    picture = await upload(home, PNG)
    await talk.say([text("What is it?"), part("image", picture)])
    await talk.say("Pay 5")
    status = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}/status")
    [question] = cast("list[dict[str, object]]", status["interrupts"])
    await talk.answer([{"interrupt_id": question["id"], "approved": True}])
    await talk.say("Goodbye")
    given, images = _given(home), sent_images(home)
    assert images == [digest(PNG)]
    [first, _, last] = await _users(home, talk.session_id)
    fork = await _fork(home, talk.session_id, last)
    await SseTalkAt(home, fork).say("Goodbye")
    assert (_given(home), sent_images(home)) == (given, images)
    again = await _fork(home, fork, (await _users(home, fork))[-1])
    for session_id in (talk.session_id, fork):
        await home.ask("DELETE", f"/api/agent-sessions/{session_id}", expect=204)
    lines = await SseTalkAt(home, again).say("Goodbye")
    assert (_given(home), sent_images(home)) == (given, images)
    assert again.encode() in lines[0]
    shown = await home.ask("GET", f"/api/agent-sessions/{again}")
    assert (shown["forked_from"], shown["title"]) == (fork, "What is it?")
    assert first not in json.dumps(shown)
    assert picture not in json.dumps(shown)
    runs = cast("list[dict[str, object]]", (await home.ask("GET", f"/api/runs?session_id={again}"))["items"])
    tools = [
        entry["tool"]
        for run in sorted(runs, key=lambda run: cast("int", run["first_pos"]))
        for entry in cast(
            "list[dict[str, object]]", (await home.ask("GET", f"/api/runs/{run['id']}/tools"))["items"]
        )
    ]
    assert tools == ["add", "add", "pay"]
    assert home.model.problems == []


class SseTalkAt(SseTalk):
    """A conversation that is joined at its end."""

    async def say(self, content: object, **more: object) -> list[bytes]:
        shown = await self._home.ask("GET", f"/api/agent-sessions/{self.session_id}?tail=true&limit=1")
        self.last_pos = cast("int", shown["stream_after"])
        return await super().say(content, **more)


def _given(home: Home) -> str:
    """What the newest model call was given, whatever our ids are."""
    return BODY.sub("*", json.dumps(home.model.calls[-1].body))


async def _users(home: Home, session_id: str) -> list[str]:
    """The ids of the user's messages."""
    shown = await home.ask("GET", f"/api/agent-sessions/{session_id}")
    entries = cast("list[dict[str, object]]", shown["messages"])
    return [str(json_object(entry)["id"]) for entry in entries if entry["role"] == "user"]


async def _fork(home: Home, session_id: str, before: str) -> str:
    path = f"/api/agent-sessions/{session_id}/fork"
    return str((await home.ask("POST", path, {"before": before}, expect=201))["id"])
