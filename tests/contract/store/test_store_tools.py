"""HTTP tools of a team, which agents have which tools, and calls outside runs."""

import asyncio

import pytest
from msgspec import structs

from agio.core.http_tool import HttpHeader, HttpTool, ToolDefinition, ToolRequest
from agio.core.provider import Sealed
from agio.core.store.records import AgentTool
from agio.core.store.repository import ToolRecord
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import WORKER, agent_fields, person

WEATHER = HttpTool(
    description="The weather.",
    method="GET",
    url="https://example.com/weather/{city}",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
    headers=[HttpHeader(name="X-Key", secret=True), HttpHeader(name="Accept", value="application/json")],
    result_path="data.0",
    timeout_s=5.0,
    effect="read",
    approval="ask",
)
SEALED = {"header:x-key@https://example.com": Sealed("k1", b"sealed")}


def code_of(error: pytest.ExceptionInfo[UserError]) -> str:
    return error.value.code


async def test_a_tool_is_kept_as_it_was_given(store: Store) -> None:
    """C3: method, URL, headers, schema, result path, time-out, effect and approval come back; the secret apart."""
    made = await store.create_tool_definition("default", "tool_1", "weather", WEATHER, SEALED)
    assert made == await store.get_tool_definition("default", "tool_1")
    assert made == await store.find_tool_definition("default", "weather")
    assert [made] == await store.list_tool_definitions("default")
    assert (made.name, made.http, made.tenant) == ("weather", WEATHER, "default")
    assert await store.secrets_of("default", "tool_1") == SEALED
    assert await store.find_tool_definition("default", "nothing") is None


async def test_a_name_is_one_tools_alone(store: Store) -> None:
    """C3: a second tool of the name is refused, also by renaming; another tenant may have it."""
    await person(store, "other", "bob")
    await store.create_tool_definition("default", "tool_1", "weather", WEATHER, {})
    await store.create_tool_definition("default", "tool_2", "rain", WEATHER, {})
    with pytest.raises(UserError) as taken:
        await store.create_tool_definition("default", "tool_3", "weather", WEATHER, {})
    assert code_of(taken) == "tool_exists"
    with pytest.raises(UserError) as renamed:
        await store.update_tool_definition("default", "tool_2", "weather", WEATHER, {})
    assert code_of(renamed) == "tool_exists"
    assert [tool.name for tool in await store.list_tool_definitions("default")] == ["rain", "weather"]
    await store.create_tool_definition("other", "tool_4", "weather", WEATHER, {})


async def test_a_change_keeps_the_secrets_of_headers_that_stay(store: Store) -> None:
    """C3: what is given is replaced, what stays secret is kept, what is no secret header any more is gone."""
    two = [HttpHeader(name="X-Key", secret=True), HttpHeader(name="X-Other", secret=True)]
    http = HttpTool(description="", method="POST", url="https://a.example/", parameters={}, headers=two)
    key, other = "header:x-key@https://a.example", "header:x-other@https://a.example"
    sealed = {key: Sealed("k1", b"1"), other: Sealed("k1", b"2")}
    made = await store.create_tool_definition("default", "tool_1", "t", http, sealed)
    changed = await store.update_tool_definition(
        "default", "tool_1", "renamed", http, {other: Sealed("k2", b"3")}
    )
    assert (changed.name, changed.created_at) == ("renamed", made.created_at)
    both = await store.secrets_of("default", "tool_1")
    assert both == {key: Sealed("k1", b"1"), other: Sealed("k2", b"3")}
    one = structs.replace(http, url="https://A.example/elsewhere?x=1", headers=two[:1])
    await store.update_tool_definition("default", "tool_1", "renamed", one, {})
    assert await store.secrets_of("default", "tool_1") == {key: Sealed("k1", b"1")}


@pytest.mark.parametrize("url", ["https://b.example/", "http://a.example/", "https://a.example:444/"])
async def test_no_secret_stays_when_a_tool_calls_another_origin(store: Store, url: str) -> None:
    """C3: not even if whoever changed it saw the tool as somebody else had it a moment ago."""
    http = structs.replace(WEATHER, url="https://a.example/")
    sealed = {http.field_of(WEATHER.headers[0]): Sealed("k1", b"1")}
    await store.create_tool_definition("default", "tool_1", "t", http, sealed)
    await store.update_tool_definition("default", "tool_1", "t", structs.replace(http, url=url), {})
    assert await store.secrets_of("default", "tool_1") == {}


async def test_a_deleted_tool_is_gone_with_its_secrets_and_from_its_agents(store: Store) -> None:
    """C3: nothing of it stays."""
    ann = await person(store)
    await store.create_tool_definition("default", "tool_1", "weather", WEATHER, SEALED)
    agent = await ann.agent("helper", tools=[AgentTool("weather"), AgentTool("clock")])
    await store.delete_tool_definition("default", "tool_1")
    assert await store.secrets_of("default", "tool_1") == {}
    assert [tool.name for tool in (await store.get_agent("default", agent.id)).tools] == ["clock"]
    with pytest.raises(UserError) as gone:
        await store.delete_tool_definition("default", "tool_1")
    assert code_of(gone) == "tool_not_found"


async def test_an_agent_knows_its_tools_also_when_it_is_claimed(store: Store) -> None:
    """C3: the definition comes with the agent, in lists and claims, at once and from the queue."""
    ann = await person(store)
    made = await store.create_tool_definition("default", "tool_1", "weather", WEATHER, SEALED)
    expected = AgentTool("weather", "never", "tool_1", WEATHER, made.updated_at)
    agent = await ann.agent("helper", tools=[AgentTool("clock"), AgentTool("weather", "never")])
    assert agent.tools == [AgentTool("clock"), expected]
    assert (await store.list_agents("default")).items[0].tools == agent.tools
    session = await ann.session(agent)
    first = await ann.send(session, claim=WORKER)
    assert first.claimed is not None
    assert first.claimed.agent.tools == agent.tools


async def test_a_name_that_agents_had_before_becomes_the_tool(store: Store) -> None:
    """C3: an agent that was given the name has the tool that takes it, once, also when one is renamed."""
    ann = await person(store)
    agent = await ann.agent("helper", tools=[AgentTool("weather", "ask"), AgentTool("clock")])
    await store.create_tool_definition("default", "tool_1", "weather", WEATHER, {})
    found = (await store.get_agent("default", agent.id)).tools
    assert [(tool.name, tool.approval, tool.id) for tool in found] == [
        ("weather", "ask", "tool_1"),
        ("clock", None, ""),
    ]
    await store.update_tool_definition("default", "tool_1", "clock", WEATHER, {})
    found = (await store.get_agent("default", agent.id)).tools
    assert [(tool.name, tool.id) for tool in found] == [("clock", "tool_1")]


async def test_an_agent_whose_tool_is_renamed_or_deleted_is_another_version(store: Store) -> None:
    """C2, C3: it shows its tools, so whoever read it before read something else; others stay as they are."""
    ann, bob = await person(store), await person(store, "other", "bob")
    await store.create_tool_definition("default", "tool_1", "weather", WEATHER, {})
    await store.create_tool_definition("other", "tool_2", "weather", WEATHER, {})
    agent = await ann.agent("helper", tools=[AgentTool("weather")])
    without = await ann.agent("without", tools=[AgentTool("clock")])
    foreign = await bob.agent("foreign", tools=[AgentTool("weather")])
    await store.update_tool_definition(
        "default", "tool_1", "weather", structs.replace(WEATHER, effect="once"), {}
    )
    assert (await store.get_agent("default", agent.id)).updated_at == agent.updated_at
    with pytest.raises(UserError, match="changed_elsewhere"):
        await store.update_tool_definition("default", "tool_1", "rain", WEATHER, {}, 1)
    assert (await store.get_agent("default", agent.id)).updated_at == agent.updated_at
    await store.update_tool_definition("default", "tool_1", "rain", WEATHER, {})
    renamed = await store.get_agent("default", agent.id)
    assert [tool.name for tool in renamed.tools] == ["rain"]
    assert renamed.updated_at > agent.updated_at
    with pytest.raises(UserError, match="changed_elsewhere"):
        await store.update_agent("default", agent.id, agent_fields(), agent.updated_at)
    await store.delete_tool_definition("default", "tool_1")
    assert (await store.get_agent("default", agent.id)).updated_at > renamed.updated_at
    assert await store.get_agent("default", without.id) == without
    assert await store.get_agent("other", foreign.id) == foreign


async def test_tools_are_given_and_taken_one_by_one(store: Store) -> None:
    """C3: a new one comes last, giving it again changes whether it asks, taking it leaves the others."""
    ann = await person(store)
    agent = await ann.agent("helper", tools=[AgentTool("clock")])
    await store.create_tool_definition("default", "tool_1", "weather", WEATHER, {})
    await store.assign_tool("default", agent.id, "weather", None)
    await store.assign_tool("default", agent.id, "echo", "ask")
    await store.assign_tool("default", agent.id, "clock", "ask")
    found = (await store.get_agent("default", agent.id)).tools
    assert [(tool.name, tool.approval) for tool in found] == [
        ("clock", "ask"),
        ("weather", None),
        ("echo", "ask"),
    ]
    uses = await store.list_tool_uses("default")
    assert {(use.tool, use.agent_id, use.agent_name) for use in uses} == {
        (name, agent.id, "helper") for name in ("clock", "weather", "echo")
    }
    await store.unassign_tool("default", agent.id, "weather")
    assert [tool.name for tool in (await store.get_agent("default", agent.id)).tools] == ["clock", "echo"]
    with pytest.raises(UserError) as missing:
        await store.unassign_tool("default", agent.id, "weather")
    assert code_of(missing) == "tool_not_assigned"


async def test_an_agent_in_code_is_given_nothing(store: Store) -> None:
    """C3: what is defined in Python is changed there."""
    [agent] = await store.put_code_agents("default", [agent_fields("in-code")])
    for change in (
        store.assign_tool("default", agent.id, "clock", None),
        store.unassign_tool("default", agent.id, "clock"),
    ):
        with pytest.raises(UserError) as refused:
            await change
        assert code_of(refused) == "agent_read_only"


async def test_another_tenants_tools_are_not_there(store: Store) -> None:
    """S14: foreign ids are not found, whatever is asked."""
    ann, bob = await person(store), await person(store, "other", "bob")
    await store.create_tool_definition("default", "tool_1", "weather", WEATHER, SEALED)
    agent = await ann.agent("helper", tools=[AgentTool("weather")])
    assert await store.list_tool_definitions("other") == []
    assert await store.find_tool_definition("other", "weather") is None
    assert await store.list_tool_uses("other") == []
    for asked, code in (
        (store.get_tool_definition("other", "tool_1"), "tool_not_found"),
        (store.update_tool_definition("other", "tool_1", "x", WEATHER, {}), "tool_not_found"),
        (store.delete_tool_definition("other", "tool_1"), "tool_not_found"),
        (store.assign_tool("other", agent.id, "weather", None), "agent_not_found"),
        (store.unassign_tool("other", agent.id, "weather"), "agent_not_found"),
    ):
        with pytest.raises(UserError) as refused:
            await asked
        assert code_of(refused) == code
    theirs = await bob.agent("helper", tools=[AgentTool("weather")])
    assert theirs.tools == [AgentTool("weather")]


def _request(number: int, key: bytes | None = None, digest: bytes = b"d") -> ToolRequest:
    return ToolRequest(id=f"tcl_{number}", tool="pay", effect="once", digest=digest, key_hash=key)


async def test_a_call_outside_a_run_is_recorded_once_for_its_key(store: Store) -> None:
    """S4: the first begins, all others are told what is known; the result that is kept first stays."""
    await person(store)
    begun = await asyncio.gather(
        *(store.begin_tool_request("default", "local", _request(number, b"key")) for number in range(20))
    )
    [first] = [record for record, new in begun if new]
    assert {record.id for record, _ in begun} == {first.id}
    assert (first.record, first.ended_at) == (ToolRecord(None), None)
    ended = await store.end_tool_request("default", "local", first.id, ToolRecord("paid"))
    assert ended is not None
    assert ended.ended_at is not None
    again = await store.end_tool_request("default", "local", first.id, ToolRecord("other", "code"))
    assert again == ended
    known, new = await store.begin_tool_request("default", "local", _request(99, b"key"))
    assert (known, new) == (ended, False)
    with pytest.raises(UserError) as refused:
        await store.begin_tool_request("default", "local", _request(98, b"key", b"other"))
    assert code_of(refused) == "idempotency_conflict"


async def test_calls_without_a_key_are_each_their_own(store: Store) -> None:
    """S4: nothing tells them apart from new ones, so they are."""
    await person(store)
    assert (await store.begin_tool_request("default", "local", _request(1)))[1]
    assert (await store.begin_tool_request("default", "local", _request(2)))[1]


async def test_a_key_is_its_users_own(store: Store) -> None:
    """S14: somebody else's call with the same key is another call, and nobody ends another's."""
    await person(store)
    await person(store, "default", "ben")
    await store.begin_tool_request("default", "local", _request(1, b"key"))
    record, new = await store.begin_tool_request("default", "ben", _request(2, b"key"))
    assert (record.id, new) == ("tcl_2", True)
    assert await store.end_tool_request("default", "ben", "tcl_1", ToolRecord("mine")) is None
    known, _ = await store.begin_tool_request("default", "local", _request(3, b"key"))
    assert known.record == ToolRecord(None)


async def test_a_call_in_a_session_needs_ones_own_and_goes_with_it(store: Store) -> None:
    """S4: a foreign session is not there; what was called in a session is deleted with it."""
    ann, ben = await person(store), await person(store, "default", "ben")
    session = await ann.session()
    asked = ToolRequest(
        id="tcl_1", tool="pay", effect="read", digest=b"", key_hash=b"k", session_id=session.id
    )
    with pytest.raises(UserError) as refused:
        await store.begin_tool_request("default", ben.user, asked)
    assert code_of(refused) == "session_not_found"
    await store.begin_tool_request("default", ann.user, asked)
    await store.delete_session("default", ann.user, session.id)
    assert await store.end_tool_request("default", ann.user, "tcl_1", ToolRecord("late")) is None


async def test_calls_are_forgotten_after_seven_days(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """S4: a key is remembered for a week, and what was called with it no longer."""
    await person(store)
    await store.begin_tool_request("default", "local", _request(1, b"key"))
    await store.sweep()
    assert not (await store.begin_tool_request("default", "local", _request(2, b"key")))[1]
    monkeypatch.setattr("agio.db.plans.people.identity.KEPT_MS", -1)
    await store.sweep()
    assert (await store.begin_tool_request("default", "local", _request(3, b"key")))[1]


async def test_of_many_who_save_one_version_of_a_tool_one_wins(store: Store) -> None:
    """C3: the others are refused, and no secret of theirs is kept."""
    made = await store.create_tool_definition("default", "tool_1", "weather", WEATHER, SEALED)
    saves = [
        store.update_tool_definition(
            "default",
            "tool_1",
            f"weather{who}",
            WEATHER,
            {field: Sealed("k1", b"%d" % who) for field in SEALED},
            made.updated_at,
        )
        for who in range(20)
    ]
    told = await asyncio.gather(*saves, return_exceptions=True)
    [won] = [each for each in told if isinstance(each, ToolDefinition)]
    assert {each.code for each in told if isinstance(each, UserError)} == {"changed_elsewhere"}
    assert await store.get_tool_definition("default", "tool_1") == won
    [kept] = (await store.secrets_of("default", "tool_1")).values()
    assert kept.data == won.name.removeprefix("weather").encode()
    await store.update_tool_definition("default", "tool_1", "weather", WEATHER, {}, won.updated_at)
