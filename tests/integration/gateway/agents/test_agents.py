"""Agents over REST: list, get, create, replace, delete, and what is refused."""

import asyncio
from typing import Any

import pytest

from agio.agents.demo import demo_agent
from agio.core.link.link import ToolOffer
from agio.core.store.records import AgentFields
from tests.support.house import AGENT, code_of, house, ids_of

FULL: dict[str, object] = {
    "name": "Ada",
    "system_prompt": "Be brief.",
    "model_provider": "openai",
    "model_name": "gpt-5",
    "description": "Counts.",
    "goal": "Count to ten.",
    "temperature": 0.5,
    "max_steps": 7,
    "status": "inactive",
    "approval": "ask",
    "tools": [{"name": "calculator", "approval": "ask"}, {"name": "clock", "approval": None}],
}


async def test_an_agent_needs_a_name_a_prompt_and_a_model() -> None:
    """C2: four fields are enough; the others have defaults, and the answer shows them all."""
    async with house() as place, place.client() as client:
        made = await client.post("/api/agents", json=AGENT)
        assert made.status_code == 201
        agent = made.json()
        assert agent | AGENT == agent
        assert agent["id"].startswith("agt_")
        assert (agent["source"], agent["read_only"]) == ("stored", False)
        assert (agent["description"], agent["goal"], agent["temperature"]) == ("", None, None)
        assert (agent["status"], agent["approval"], agent["tools"]) == ("active", "tool", [])
        assert agent["created_at"] == agent["updated_at"] > 1_700_000_000_000
        assert (await client.get(f"/api/agents/{agent['id']}")).json() == agent


async def test_an_agent_is_replaced_as_a_whole_and_deleted() -> None:
    """C2: PUT sets what is not given back to its default."""
    async with house() as place, place.client() as client:
        agent_id = (await client.post("/api/agents", json=FULL)).json()["id"]
        assert (await client.get(f"/api/agents/{agent_id}")).json() | FULL == (
            await client.get(f"/api/agents/{agent_id}")
        ).json()
        replaced = await client.put(f"/api/agents/{agent_id}", json={**AGENT, "name": "Bea"})
        assert replaced.status_code == 200
        assert (replaced.json()["name"], replaced.json()["goal"], replaced.json()["tools"]) == (
            "Bea",
            None,
            [],
        )
        assert (await client.delete(f"/api/agents/{agent_id}")).status_code == 204
        assert code_of(await client.get(f"/api/agents/{agent_id}")) == "agent_not_found"
        assert code_of(await client.delete(f"/api/agents/{agent_id}")) == "agent_not_found"
        assert code_of(await client.put(f"/api/agents/{agent_id}", json=AGENT)) == "agent_not_found"


async def test_a_name_is_taken_once_in_a_tenant() -> None:
    """C2: 409, for POST and for PUT; another tenant may use it."""
    async with house() as place, place.client() as client, place.client("bob") as bob:
        await client.post("/api/agents", json=AGENT)
        again = await client.post("/api/agents", json=AGENT)
        assert (again.status_code, code_of(again)) == (409, "agent_exists")
        other = (await client.post("/api/agents", json={**AGENT, "name": "Bea"})).json()["id"]
        assert code_of(await client.put(f"/api/agents/{other}", json=AGENT)) == "agent_exists"
        assert (await bob.post("/api/agents", json=AGENT)).status_code == 201


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": ""}, "name"),
        ({"name": " \t"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": 5}, "name"),
        ({"name": None}, "name"),
        ({"system_prompt": ""}, "system_prompt"),
        ({"system_prompt": "x" * 100_001}, "system_prompt"),
        ({"model_name": ""}, "model_name"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": 1.5}, "max_steps"),
        ({"max_steps": 10**30}, "max_steps"),
        ({"status": "gone"}, "status"),
        ({"approval": "always"}, "approval"),
        ({"goal": ""}, "goal"),
        ({"tools": "clock"}, "tools"),
        ({"tools": [5]}, "tools.0"),
        ({"tools": [{"name": "clock", "approval": "sometimes"}]}, "tools.0.approval"),
        ({"tools": ["clock"] * 101}, "tools"),
        ({"output_schema": "text"}, "output_schema"),
        ({"output_schema": []}, "output_schema"),
        ({"limits": []}, "limits"),
        ({"limits": {"max_steps": 3}}, "limits.max_steps"),
        ({"limits": {"run_timeout_s": 0}}, "limits.run_timeout_s"),
        ({"limits": {"run_timeout_s": 86_401}}, "limits.run_timeout_s"),
        ({"limits": {"turn_timeout_s": "1"}}, "limits.turn_timeout_s"),
        ({"limits": {"tool_timeout_s": -1}}, "limits.tool_timeout_s"),
        ({"limits": {"max_tokens": 0}}, "limits.max_tokens"),
        ({"limits": {"max_tokens": 1.5}}, "limits.max_tokens"),
        ({"limits": {"max_history_messages": -1}}, "limits.max_history_messages"),
        ({"limits": {"max_history_messages": 1001}}, "limits.max_history_messages"),
        ({"id": "agt_mine"}, "id"),
        ({"tenant": "other"}, "tenant"),
    ],
)
async def test_a_wrong_field_is_named(change: dict[str, object], path: str) -> None:
    """C2: the refusal says which field and what is wrong with it, and does not repeat what was sent."""
    async with house() as place, place.client() as client:
        refused = await client.post("/api/agents", json={**AGENT, **change})
        assert (refused.status_code, code_of(refused)) == (422, "invalid_body")
        error = refused.json()["error"]
        assert error["details"]["fields"][0]["path"] == path
        assert error["details"]["fields"][0]["problem"]
        assert error["message"].startswith(path)
        assert "xxxxxxxx" not in refused.text
        assert (await client.get("/api/agents")).json()["items"] == []


async def test_a_body_with_many_problems_counts_those_it_does_not_name() -> None:
    """C2: the message names three and the number of the rest; the details have all of them."""
    async with house() as place, place.client() as client:
        refused = await client.post("/api/agents", json={f"wrong_{number}": 1 for number in range(5)})
        error = refused.json()["error"]
        assert error["message"].endswith(f"; and {len(error['details']['fields']) - 3} more.")
        assert {f"wrong_{number}" for number in range(5)} <= {f["path"] for f in error["details"]["fields"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"description": "x" * 65_536},
        {"maximum": 10**30},
    ],
)
async def test_an_output_schema_must_be_one_and_within_itself(schema: dict[str, object]) -> None:
    """C2: a schema that no answer can be checked against is refused, and so is one that reaches elsewhere."""
    async with house() as place, place.client() as client:
        refused = await client.post("/api/agents", json={**AGENT, "output_schema": schema})
        assert (refused.status_code, code_of(refused)) == (422, "invalid_schema")
        assert "xxxxxxxx" not in refused.text
        agent_id = (await client.post("/api/agents", json=AGENT)).json()["id"]
        assert code_of(
            await client.put(f"/api/agents/{agent_id}", json={**AGENT, "output_schema": schema})
        ) == ("invalid_schema")


async def test_an_agent_says_what_it_answers_and_its_limits() -> None:
    """C2, L12: shown as given, with null for what is not said; nothing said is null, and so is nothing at all."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with house() as place, place.client() as client:
        said = {**AGENT, "output_schema": schema, "limits": {"max_tokens": 500.0, "run_timeout_s": 1.5}}
        made = (await client.post("/api/agents", json=said)).json()
        assert made["output_schema"] == schema
        assert made["limits"] == {
            "run_timeout_s": 1.5,
            "turn_timeout_s": None,
            "tool_timeout_s": None,
            "max_tokens": 500,
            "context_tokens": None,
            "max_history_messages": None,
            "compact_at_tokens": None,
            "max_tool_tokens": None,
            "max_memories": None,
            "memory_update_async": None,
        }
        for limits in ({}, None, {"max_tokens": None}):
            replaced = await client.put(f"/api/agents/{made['id']}", json={**AGENT, "limits": limits})
            assert (replaced.json()["limits"], replaced.json()["output_schema"]) == (None, None)


async def test_agents_are_found_by_status() -> None:
    """C2: with a search or without."""
    async with house() as place, place.client() as client:
        for name, status in (("Ada", "active"), ("Bea", "inactive"), ("Cleo", "inactive")):
            await client.post("/api/agents", json={**AGENT, "name": name, "status": status})
        for query, expected in (
            ("status=active", ["Ada"]),
            ("status=inactive", ["Bea", "Cleo"]),
            ("status=inactive&search=cle", ["Cleo"]),
        ):
            listed = (await client.get(f"/api/agents?{query}")).json()["items"]
            assert [agent["name"] for agent in listed] == expected
        assert code_of(await client.get("/api/agents?status=gone")) == "invalid_query"


async def test_a_missing_field_is_named() -> None:
    """C2: each of the four."""
    async with house() as place, place.client() as client:
        refused = await client.post("/api/agents", json={})
        fields = [field["path"] for field in refused.json()["error"]["details"]["fields"]]
        assert fields == ["name", "system_prompt", "model_provider", "model_name"]


async def test_a_provider_or_tool_that_is_not_there_is_refused_with_those_that_are() -> None:
    """C2: an agent that could not run is not taken."""
    async with house() as place, place.client() as client:
        provider = await client.post("/api/agents", json={**AGENT, "model_provider": "oracle"})
        assert (provider.status_code, code_of(provider)) == (422, "unknown_provider")
        assert provider.json()["error"]["details"]["known"] == ["demo", "openai"]
        tool = await client.post("/api/agents", json={**AGENT, "tools": ["clock", "hammer"]})
        assert (tool.status_code, code_of(tool)) == (422, "unknown_tool")
        assert tool.json()["error"]["details"]["unknown"] == ["hammer"]
        assert "clock" in tool.json()["error"]["details"]["known"]


async def test_tools_of_a_worker_may_be_given_too() -> None:
    """C2: what a connected worker's module offers is known, and listed beside the built-in tools."""
    offer = ToolOffer(name="hammer", description="Hits.", parameters={"type": "object"}, kind="module")
    async with house() as place, place.client() as client:
        await place.room.join(tools=[offer])
        tools = {tool["name"]: tool for tool in (await client.get("/api/tools")).json()["items"]}
        assert (tools["hammer"]["place"], tools["clock"]["place"]) == ("worker", "gateway")
        assert (tools["hammer"]["effect"], tools["clock"]["effect"]) == ("once", "read")
        made = await client.post("/api/agents", json={**AGENT, "tools": ["hammer", "clock", "hammer"]})
        assert [tool["name"] for tool in made.json()["tools"]] == ["hammer", "clock"]


async def test_the_demo_agents_own_tool_stays_with_it() -> None:
    """C2: it is not listed, another agent cannot be given it, and the demo agent can be saved with it."""
    async with house() as place, place.client() as client:
        for path in ("/api/tools", "/api/agent-tools"):
            names = {tool["name"] for tool in (await client.get(path)).json()["items"]}
            assert "clock" in names
            assert "send_postcard" not in names
        other = await client.post("/api/agents", json={**AGENT, "tools": ["send_postcard"]})
        assert code_of(other) == "unknown_tool"
        made = (await client.post("/api/agents", json=AGENT)).json()
        assert code_of(await client.put(f"/api/agents/{made['id']}/tools/send_postcard")) == "tool_not_found"
        demo = await place.store.create_agent("default", demo_agent())
        saved = await client.put(
            f"/api/agents/{demo.id}", json={**AGENT, "name": "demo", "tools": ["send_postcard"]}
        )
        assert saved.status_code == 200, saved.text
        asked = await client.put(f"/api/agents/{demo.id}/tools/send_postcard", json={"approval": "never"})
        assert (asked.json()["kind"], asked.json()["approval"]) == ("builtin", "never")


async def test_agents_are_found_by_name_and_listed_in_pages() -> None:
    """C2: every agent once, in the order of names, whatever the size of a page."""
    async with house() as place, place.client() as client:
        names = [f"agent {number:02}" for number in range(7)]
        for name in reversed(names):
            await client.post("/api/agents", json={**AGENT, "name": name, "description": f"does {name[-1]}"})
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query: dict[str, Any] = {"limit": 3, **({"after": cursor} if cursor else {})}
            page = (await client.get("/api/agents", params=query)).json()
            assert len(page["items"]) <= 3
            seen += [agent["name"] for agent in page["items"]]
            cursor = page["next"]
        assert seen == names
        assert [agent["name"] for agent in (await client.get("/api/agents?search=t 04")).json()["items"]] == [
            "agent 04"
        ]
        assert (await client.get("/api/agents?search=does 5")).json()["items"][0]["name"] == "agent 05"
        assert (await client.get("/api/agents?search=%25")).json()["items"] == []
        wrong = await client.get("/api/agents?after=nonsense")
        assert (wrong.status_code, code_of(wrong)) == (400, "invalid_cursor")
        for limit in ("0", "201", "many"):
            refused = await client.get(f"/api/agents?limit={limit}")
            assert (refused.status_code, code_of(refused)) == (422, "invalid_query")


async def test_an_agent_defined_in_code_is_shown_and_cannot_be_changed() -> None:
    """C2: it is beside the stored ones, marked, read-only."""
    fields = AgentFields(name="Cod", system_prompt="p", model_provider="demo", model_name="demo")
    async with house() as place, place.client() as client:
        await place.room.join(agents=[fields])
        (agent,) = (await client.get("/api/agents")).json()["items"]
        assert (agent["name"], agent["source"], agent["read_only"]) == ("Cod", "code", True)
        for refused in (
            await client.put(f"/api/agents/{agent['id']}", json=AGENT),
            await client.delete(f"/api/agents/{agent['id']}"),
        ):
            assert (refused.status_code, code_of(refused)) == (409, "agent_read_only")


async def test_sessions_of_a_deleted_agent_stay_readable() -> None:
    """C2, C5: what was said is still there; no new session is started."""
    async with house() as place, place.client() as client:
        session_id = await place.start_session(client)
        agent_id = (await client.get(f"/api/agent-sessions/{session_id}")).json()["agent_id"]
        await client.delete(f"/api/agents/{agent_id}")
        assert (await client.get(f"/api/agent-sessions/{session_id}")).json()["agent_name"] == "Ada"
        assert ids_of((await client.get("/api/agent-sessions")).json()["items"]) == [session_id]
        assert code_of(await client.post(f"/api/agents/{agent_id}/sessions")) == "agent_not_found"


async def test_an_agent_that_somebody_else_saved_is_replaced_only_by_who_wants_to() -> None:
    """C2: If-Match names the version that was read; without it, or with *, whatever there is is replaced."""
    async with house() as place, place.client() as client:
        made = await client.post("/api/agents", json=AGENT)
        path, tag = f"/api/agents/{made.json()['id']}", made.headers["etag"]
        assert tag == f'"{made.json()["updated_at"]}"' == (await client.get(path)).headers["etag"]
        first = await client.put(path, json={**AGENT, "goal": "mine"}, headers={"if-match": tag})
        assert first.status_code == 200
        for late in (tag, f"W/{tag}", '"other"', '"99999999999999999999"'):
            refused = await client.put(path, json=AGENT, headers={"if-match": late})
            assert (refused.status_code, code_of(refused)) == (412, "changed_elsewhere")
        for wrong in (b"", b"1", b'"', b'"a" ,"b"', b'"\xe9"', b'"%b"' % (b"1" * 500)):
            refused = await client.put(path, json=AGENT, headers=[(b"if-match", wrong)])
            assert (refused.status_code, code_of(refused)) == (422, "invalid_query")
        now = first.headers["etag"]
        for lines in ((now, tag), (tag, now), (now, now), ("*", tag), (now, "")):
            refused = await client.put(path, json=AGENT, headers=[("if-match", line) for line in lines])
            assert (refused.status_code, code_of(refused)) == (422, "invalid_query")
        assert (await client.get(path)).json() == first.json()
        weak = {"if-match": f"W/{first.headers['etag']}"}
        assert (await client.put(path, json=AGENT, headers=weak)).status_code == 200
        assert (await client.put(path, json=AGENT, headers={"if-match": "*"})).status_code == 200
        last = await client.put(path, json=AGENT)
        assert last.headers["etag"] > first.headers["etag"]


async def test_of_twenty_who_save_at_once_one_wins() -> None:
    """C2: exactly one, and what it saved is there."""
    async with house() as place, place.client() as client:
        made = await client.post("/api/agents", json=AGENT)
        path, tag = f"/api/agents/{made.json()['id']}", {"if-match": made.headers["etag"]}
        answers = await asyncio.gather(
            *(client.put(path, json={**AGENT, "goal": f"of {who}"}, headers=tag) for who in range(20))
        )
        assert sorted(each.status_code for each in answers) == [200] + [412] * 19
        [won] = [each.json() for each in answers if each.status_code == 200]
        assert (await client.get(path)).json() == won
