"""Branches of a session: regenerate, edit, choose a path. Prompt, messages, log and every client agree on it."""

import asyncio
from typing import cast

from agio.protocol.codec import decode_lines
from agio.protocol.events import RunStarted
from agio.protocol.messages import UserMessage
from agio.testing import Call, Reply
from tests.flows.server.home import Home, every_home
from tests.flows.server.talk import SocketTalk, SseTalk, open_talk
from tests.support.official import OfficialVerifier, check_flow

Json = dict[str, object]


async def _talk(home: Home, transport: str, **agent: object) -> SseTalk | SocketTalk:
    talk = await open_talk(transport, home, await home.create_agent(**agent))
    assert isinstance(talk, SseTalk | SocketTalk)
    return talk


async def _regenerate(home: Home, talk: SseTalk | SocketTalk, run_id: str, **changes: object) -> str:
    body = changes or None
    sent = await home.ask("POST", f"/api/runs/{run_id}/regenerate", body, expect=202)
    await talk.read(str(sent["run_id"]))
    return str(sent["run_id"])


async def _run_of(home: Home, talk: SseTalk | SocketTalk, text: str, **more: object) -> str:
    return str(cast("dict[str, str]", decode_lines((await talk.say(text, **more))[0])[0].metadata)["run"])


async def _texts(home: Home, talk: SseTalk | SocketTalk, leaf: str = "") -> list[object]:
    """What a client that loads the session shows."""
    query = f"?leaf={leaf}" if leaf else ""
    session = await home.ask("GET", f"/api/agent-sessions/{talk.session_id}{query}")
    return [cast("Json", each["message"])["content"] for each in cast("list[Json]", session["messages"])]


async def test_regenerate_and_edit_make_branches_in_place(home: Home, official: OfficialVerifier) -> None:
    """B3: the same message again, with another prompt once; an edit; the chosen path goes on, the others stay."""
    for transport in ("sse", "websocket"):
        home.model.script(*map(Reply, ("Seven.", "Eight.", "ACHT!", "Nine?", "It was eight.")))
        talk = await _talk(home, transport)
        path = f"/api/agent-sessions/{talk.session_id}"
        first = await _run_of(home, talk, "Pick a number.")
        second = await _regenerate(home, talk, first)
        assert await _texts(home, talk) == ["Pick a number.", "Eight."]
        shouted = await _regenerate(home, talk, second, system_prompt="Shout in German.", model_name="other")
        assert home.model.calls[-1].system.startswith("Shout in German.\n")
        assert home.model.calls[-1].body["model"] == "other"
        session = await home.ask("GET", path)
        message = cast("list[Json]", session["messages"])[0]
        edited = await _run_of(home, talk, "Pick another.", copy_of=message["id"])
        assert home.model.calls[-1].messages == [("user", "Pick another.")]
        alternatives = [{"run_id": each, "leaf_run_id": each} for each in (first, second, shouted, edited)]
        session = await home.ask("GET", path)
        assert session["branches"] == [{"run_id": edited, "alternatives": alternatives}]
        assert (session["leaf_run_id"], session["shown_leaf"]) == (edited, edited)
        await home.ask("PATCH", path, {"leaf_run_id": second})
        assert await _texts(home, talk) == ["Pick a number.", "Eight."]
        last = await _run_of(home, talk, "Which one was it?")
        assert home.model.calls[-1].messages == [
            ("user", "Pick a number."),
            ("assistant", "Eight."),
            ("user", "Which one was it?"),
        ]
        assert await _texts(home, talk) == ["Pick a number.", "Eight.", "Which one was it?", "It was eight."]
        assert await _texts(home, talk, leaf=shouted) == ["Pick a number.", "ACHT!"]
        async with home.http.get(f"{home.url}{path}/events?after=0") as answer:
            events = decode_lines(await answer.read())
        starts = [event for event in events if isinstance(event, RunStarted)]
        parents = [cast("Json", start.metadata).get("parent") for start in starts]
        seqs = (await home.ask("GET", f"/api/runs/{second}"))["last_seq"]
        assert parents == [None, None, None, None, {"run": second, "seq": seqs}]
        assert [cast("Json", start.metadata).get("branch") for start in starts] == [
            None,
            True,
            True,
            True,
            True,
        ]
        copies = [_copied(start) for start in starts]
        assert (copies[0], copies[1], copies[4]) == (None, _message(starts[0]).id, None)
        assert copies[3] == message["id"]
        for run_id in (first, second, shouted, edited, last):
            async with home.http.get(f"{home.url}/api/runs/{run_id}/events") as answer:
                check_flow(decode_lines(await answer.read()), official)
        await talk.close()


async def test_a_run_shows_its_version_and_what_has_changed_since(home: Home) -> None:
    """B3: the definition a run has pinned, beside the agent as it is now."""
    home.model.script(Reply("One."))
    talk = await _talk(home, "sse", name="clerk", tools=["add"])
    run_id = await _run_of(home, talk, "Go.")
    path = f"/api/runs/{run_id}/definition"
    shown = await home.ask("GET", path)
    assert (shown["changed"], shown["pinned"]) == ([], shown["current"])
    assert shown["version"] == (await home.ask("GET", f"/api/runs/{run_id}"))["definition"]
    agent_id = (await home.ask("GET", f"/api/runs/{run_id}"))["agent_id"]
    body = {"name": "clerk", "system_prompt": "New.", "model_provider": "openai-chat", "model_name": "test"}
    await home.ask("PUT", f"/api/agents/{agent_id}", body)
    after = await home.ask("GET", path)
    assert (after["changed"], after["version"]) == (["system_prompt", "tools"], shown["version"])
    assert cast("Json", after["pinned"])["system_prompt"] == "Be brief."
    await home.ask("DELETE", f"/api/agents/{agent_id}", expect=204)
    assert (await home.ask("GET", path))["current"] is None
    await home.ask("GET", "/api/runs/run_unknown/definition", expect=404)


async def test_what_cannot_be_regenerated_says_what_to_do(home: Home) -> None:
    """B3: twice at once, an answer run, an unknown run, model, tool, wrong bodies: codes, and nothing begins."""
    gate = asyncio.Event()
    home.model.script(
        Reply(tool_calls=[Call("pay", {"amount": 1, "to": "Ann"})]), Reply("Paid."), Reply("Slow.", gate=gate)
    )
    talk = await _talk(home, "sse", tools=["pay"])
    path = f"/api/agent-sessions/{talk.session_id}"
    asking = await _run_of(home, talk, "Pay Ann.")
    [question] = cast("list[Json]", (await home.ask("GET", f"{path}/interrupts"))["items"])
    refused = await home.ask("POST", f"{path}/message", {"content": "x", "parent_run_id": asking}, expect=422)
    assert cast("Json", refused["error"])["code"] == "parent_pending"
    lines = await talk.answer([{"interrupt_id": question["id"], "approved": True}])
    paid = cast("dict[str, str]", decode_lines(lines[0])[0].metadata)["run"]
    refused = await home.ask("POST", f"/api/runs/{paid}/regenerate", expect=422)
    assert cast("Json", refused["error"]) | {"message": ""} == {
        "code": "parent_pending",
        "message": "",
        "details": {"run_id": paid, "before": asking},
    }
    for body, status, code in (
        ({"model_provider": "nowhere"}, 422, "unknown_provider"),
        ({"tools": ["no_such_tool"]}, 422, "unknown_tool"),
        ({"system_prompt": " "}, 422, "invalid_body"),
        ({"system_prompt": 7}, 422, "invalid_body"),
        ({"prompt": "x"}, 422, "invalid_body"),
    ):
        refused = await home.ask("POST", f"/api/runs/{asking}/regenerate", body, expect=status)
        assert cast("Json", refused["error"])["code"] == code
    await home.ask("POST", "/api/runs/run_unknown/regenerate", expect=404)
    runs = cast("list[Json]", (await home.ask("GET", "/api/runs"))["items"])
    assert len(runs) == 2
    sent = [
        asyncio.create_task(home.http.post(f"{home.url}/api/runs/{asking}/regenerate").__aenter__())
        for _ in range(2)
    ]
    answers = [await each for each in sent]
    assert sorted(answer.status for answer in answers) == [202, 409]
    queued = await home.ask("POST", f"{path}/message", {"content": "Later."}, expect=202)
    refused = await home.ask("POST", f"/api/runs/{queued['run_id']}/regenerate", expect=409)
    assert cast("Json", refused["error"])["code"] == "parent_not_ended"
    await home.ask("POST", f"/api/runs/{queued['run_id']}/cancel", expect=202)
    gate.set()
    for answer in answers:
        if answer.status == 202:
            await talk.read(str((await answer.json())["run_id"]))
    assert (await _texts(home, talk))[:2] == ["Pay Ann.", "Slow."]


@every_home
async def test_a_takeover_of_a_branch_goes_on_with_its_path_and_definition(home: Home) -> None:
    """B1, B3: the worker gives the run back in mid-branch after the agent was edited; the prompt is the same."""
    gate = asyncio.Event()
    home.model.script(
        Reply("Seven."), Reply(tool_calls=[Call("add", {"a": 1, "b": 2})]), Reply("Three.", gate=gate)
    )
    talk = await _talk(home, "sse", name="clerk", tools=["add"])
    first = await _run_of(home, talk, "Pick a number.")
    sent = await home.ask("POST", f"/api/runs/{first}/regenerate", expect=202)
    await home.model.wait_for_calls(3)
    agent_id = (await home.ask("GET", f"/api/runs/{first}"))["agent_id"]
    body = {"name": "clerk", "system_prompt": "New.", "model_provider": "openai-chat", "model_name": "test"}
    await home.ask("PUT", f"/api/agents/{agent_id}", body)
    before = home.model.calls[-1]
    home.model.script(Reply("Three it is."))
    [run] = home.holder.pool.runs.values()
    home.holder.pool.hand_on(run)
    await talk.read(str(sent["run_id"]))
    gate.set()
    after = home.model.calls[-1]
    assert (after.system, after.messages) == (before.system, before.messages)
    assert after.system.startswith("Be brief.\n")
    assert [role for role, _ in after.messages] == ["user", "assistant", "tool"]


def _message(start: RunStarted) -> UserMessage:
    assert start.input
    [message] = start.input.messages
    assert isinstance(message, UserMessage)
    return message


def _copied(start: RunStarted) -> object:
    return (_message(start).metadata or {}).get("copyOf")
