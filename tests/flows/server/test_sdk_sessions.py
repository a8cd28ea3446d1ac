"""S9 in every home: sessions as agent SDKs have them, over the same engine."""

from typing import cast

import pytest

from agio.core.identity.principal import Principal
from agio.errors import UserError
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.protocol.codec import decode_lines
from agio.testing import Call, HttpStatus, Reply
from tests.flows.server.home import Home
from tests.flows.server.talk import sse_frames
from tests.support.served import LinkKind

PATH = "/api/sdk/session"


@pytest.fixture
def link() -> LinkKind:
    """How the worker is linked is no matter here."""
    return "direct"


async def create(home: Home, expect: int = 200, **body: object) -> dict[str, object]:
    """Begin a session."""
    given = {"agent_name": "Guide", "instructions": "Be kind.", "model": "openai-chat:m1", **body}
    said = {name: value for name, value in given.items() if value is not None}
    return await home.ask("POST", f"{PATH}/create", said, expect=expect)


async def send(
    home: Home, session_id: object, words: str, expect: int = 200, **body: object
) -> dict[str, object]:
    """Send a message."""
    given = {"session_id": session_id, "user_input": words, **body}
    return await home.ask("POST", f"{PATH}/message", given, expect=expect)


async def transcript(home: Home, session_id: object, expect: int = 200) -> dict[str, object]:
    """Read a session's items."""
    return await home.ask("GET", f"{PATH}/transcript?session_id={session_id}", expect=expect)


def code_of(answer: dict[str, object]) -> object:
    """The code of a refusal."""
    return cast("dict[str, object]", answer["error"])["code"]


async def test_what_a_run_tells_in_between_is_no_item(home: Home) -> None:
    """S9, C8: a retry is told to people who look at the chat, and is counted in no transcript."""
    home.model.script(Reply(fault=HttpStatus(503, retry_after_s=0)), Reply("Hello."))
    await create(home, session_id="talk-1")
    assert (await send(home, "talk-1", "Hi"))["new_items_len"] == 1
    items = await transcript(home, "talk-1")
    listed = cast("list[dict[str, object]]", items["items"])
    assert ([item["role"] for item in listed], items["length"]) == (["user", "assistant"], 2)
    [session] = cast("list[dict[str, str]]", (await home.ask("GET", "/api/agent-sessions"))["items"])
    shown = await home.ask("GET", f"/api/agent-sessions/{session['id']}")
    views = cast("list[dict[str, dict[str, object]]]", shown["messages"])
    assert [view["role"] for view in views] == ["user", "activity", "assistant"]
    told = views[1]["message"]
    assert (told["activityType"], cast("dict[str, object]", told["content"])["code"]) == (
        "agio.error",
        "model_overloaded",
    )


async def test_a_session_of_several_turns(home: Home) -> None:
    """S9: create, message and transcript have their shapes; each turn knows of the ones before."""
    home.model.script(Reply("Hello."), Reply("You said hi."))
    made = await create(home, session_id="talk-1")
    assert made == {"session_id": "talk-1", "agent_name": "Guide", "model": "openai-chat:m1"}
    assert await create(home, session_id="talk-1", instructions="Other words", model="openai:x") == made
    first = await send(home, "talk-1", "Hi")
    assert first == {"final_output": "Hello.", "new_items_len": 1, "tool_calls": [], "tool_call_details": []}
    second = await send(home, "talk-1", "What did I say?")
    assert second["final_output"] == "You said hi."
    seen = home.model.calls[-1]
    assert seen.messages == [("user", "Hi"), ("assistant", "Hello."), ("user", "What did I say?")]
    assert any("Be kind." in value for value in seen.texts())
    items = await transcript(home, "talk-1")
    assert set(items) == {"session_id", "items", "length"}
    assert (items["session_id"], items["length"]) == ("talk-1", 4)
    listed = cast("list[dict[str, str]]", items["items"])
    assert [(item["role"], item["content"]) for item in listed] == [
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("user", "What did I say?"),
        ("assistant", "You said hi."),
    ]


async def test_a_session_without_an_id_gets_one(home: Home) -> None:
    """S9: it is called by its own id, and others like it are other sessions."""
    home.model.script(Reply("Hello."))
    first, second = await create(home), await create(home)
    assert first["session_id"] != second["session_id"]
    await send(home, first["session_id"], "Hi")
    assert (await transcript(home, first["session_id"]))["length"] == 2
    assert (await transcript(home, second["session_id"]))["length"] == 0
    await home.ask("GET", f"/api/agent-sessions/{first['session_id']}")


async def test_a_known_agent_lends_its_model_tools_and_limits(home: Home) -> None:
    """S9: instructions given replace its prompt; without any it keeps its own."""
    home.model.script(Reply(tool_calls=[Call("add", {"a": 1, "b": 2})]), Reply("3."), Reply("Hi."))
    await home.create_agent(name="Adder", tools=["add"], system_prompt="Its own words.")
    made = await create(home, session_id="s", agent_name="Adder", instructions="Be terse.", model=None)
    assert made["model"] == "openai-chat:test"
    answer = await send(home, "s", "1 + 2?")
    assert answer["tool_calls"] == ["add"]
    assert answer["tool_call_details"] == [{"name": "add", "arguments": {"a": 1, "b": 2}, "result": "3"}]
    assert (answer["final_output"], answer["new_items_len"]) == ("3.", 3)
    assert any("Be terse." in value for value in home.model.calls[-1].texts())
    assert not any("Its own words." in value for value in home.model.calls[-1].texts())
    await create(home, session_id="t", agent_name="Adder", instructions=None, model=None)
    await send(home, "t", "Hi")
    assert any("Its own words." in value for value in home.model.calls[-1].texts())


async def test_a_message_may_change_its_sessions_agent(home: Home) -> None:
    """S9: name, instructions and model, from this message on and for this session alone."""
    home.model.script(Reply("One."), Reply("Two."), Reply("Three."))
    await create(home, session_id="a")
    await create(home, session_id="b")
    change = {"name": "Pirate", "instructions": "Talk like one.", "model": "anthropic:m2"}
    await send(home, "a", "Hi", agent=change)
    assert home.model.calls[-1].wire == "anthropic"
    assert any("Talk like one." in value for value in home.model.calls[-1].texts())
    await send(home, "a", "Again")
    assert home.model.calls[-1].wire == "anthropic"
    await send(home, "b", "Hi")
    assert home.model.calls[-1].wire == "openai-chat"
    assert (await create(home, session_id="a"))["agent_name"] == "Pirate"
    assert (await create(home, session_id="b"))["agent_name"] == "Guide"


async def test_a_message_is_streamed_on_request(home: Home) -> None:
    """S9: our events of exactly this run, to its end."""
    home.model.script(Reply("One."), Reply("Two words."))
    await create(home, session_id="s")
    await send(home, "s", "First")
    body = {"session_id": "s", "user_input": "Second", "stream": True}
    async with home.http.post(f"{home.url}{PATH}/message", json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        run_id = answer.headers["agio-run-id"]
        frames = sse_frames(await answer.read())
    events = decode_lines(b"".join(line for _, line in frames))
    assert [events[0].type, events[-1].type] == ["RUN_STARTED", "RUN_FINISHED"]
    async with home.http.get(f"{home.url}/api/runs/{run_id}/events") as stored:
        assert await stored.read() == b"".join(line for _, line in frames)
    assert (await transcript(home, "s"))["length"] == 4


@pytest.mark.parametrize("blank", ["", "  \n"])
async def test_empty_input_is_a_400_with_a_code(home: Home, blank: str) -> None:
    """S9: an empty message, name or instructions."""
    await create(home, session_id="s")
    assert code_of(await send(home, "s", blank, 400)) == "empty_input"
    assert code_of(await create(home, 400, agent_name=blank)) == "empty_input"
    assert code_of(await create(home, 400, instructions=blank)) == "empty_input"
    assert (await transcript(home, "s"))["length"] == 0


async def test_what_does_not_fit_is_refused(home: Home) -> None:
    """S9: unknown sessions, models nobody has, and a model that fails."""
    assert code_of(await send(home, "none", "Hi", 404)) == "session_not_found"
    assert code_of(await transcript(home, "none", 404)) == "session_not_found"
    assert code_of(await create(home, 422, model=" ")) == "invalid_model"
    assert code_of(await create(home, 422, model="m1")) == "invalid_model"
    assert code_of(await create(home, 422, model="openai:")) == "invalid_model"
    home.model.script(Reply(fault=HttpStatus(400)))
    await create(home, session_id="s")
    failed = cast("dict[str, dict[str, dict[str, str]]]", await send(home, "s", "Hi", 502))
    assert failed["error"]["details"]["run_id"].startswith("run_")


async def test_its_agent_is_in_no_list_and_gone_with_it(home: Home) -> None:
    """S9: no list, no id and no name finds the agent of a session; deleting the session deletes it."""
    home.model.script(Reply("Hello."))
    await create(home, session_id="s")
    await send(home, "s", "Hi")
    listed = await home.ask("GET", "/api/agent-sessions")
    [session] = cast("list[dict[str, str]]", listed["items"])
    agents = cast("list[dict[str, str]]", (await home.ask("GET", "/api/agents"))["items"])
    assert "Guide" not in [agent["name"] for agent in agents]
    await home.ask("GET", f"/api/agents/{session['agent_id']}", expect=404)
    await home.ask("POST", f"/api/agents/{session['agent_id']}/sessions", {}, expect=404)
    await home.ask("POST", "/api/agent/run", {"agent": "Guide", "input": "Hi"}, expect=404)
    store, tenant = home.gateway.store, "default"
    agent_id = await home.create_agent(name="Guide")
    assert (await store.find_agent(tenant, "Guide")) == await store.get_agent(tenant, agent_id)
    await home.ask("DELETE", f"/api/agent-sessions/{session['id']}", expect=204)
    assert code_of(await send(home, "s", "Hi", 404)) == "session_not_found"
    assert code_of(await create(home, 410, session_id="s")) == "session_deleted"
    with pytest.raises(UserError):
        await store.find_inline_session(tenant, "local", "s")


async def test_a_session_is_its_users_alone(home: Home) -> None:
    """S14: the same id is another session for another user and another tenant."""
    home.model.script(Reply("Hello."))
    await create(home, session_id="s")
    await send(home, "s", "Hi")
    store = home.gateway.store
    for who in (Principal("default", "eve", "owner", "k"), Principal("other", "eve", "owner", "k")):
        await store.add_tenant(who.tenant, who.tenant)
        await store.add_user(who.tenant, who.user, "Eve", "owner")
        key = new_api_key()
        await store.add_api_key(describe_key(key, who.tenant, who.user, "test"), hash_secret(key))
        headers = {"authorization": f"Bearer {key}"}
        async with home.http.get(f"{home.url}{PATH}/transcript?session_id=s", headers=headers) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (404, "session_not_found")
        body = {"session_id": "s", "user_input": "Hi"}
        async with home.http.post(f"{home.url}{PATH}/message", json=body, headers=headers) as answer:
            assert answer.status == 404
    assert (await transcript(home, "s"))["length"] == 2
