"""Tools of a team by REST: made, shown without their secrets, changed, tried, given to agents."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from agio.core.http_tool import HttpTool
from agio.core.link.link import ToolOffer
from agio.core.provider import SecretPlace
from tests.integration.gateway.workshop import SCHEMA, SECRET, workshop
from tests.support.canary import answer_with
from tests.support.engine import QUICK
from tests.support.house import AGENT, code_of, house


async def test_a_tool_is_shown_without_its_secrets(tmp_path: Path) -> None:
    """C3: what was said comes back, but for the value of a secret header, which is sealed for its place."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        again = await shop.client.get(f"/api/agent-tools/{made['id']}")
        listed = await shop.client.get("/api/agent-tools")
        assert again.json() == made
        assert made["headers"] == [{"name": "X-Key", "secret": True}, {"name": "X-Team", "value": "blue"}]
        assert (made["kind"], made["place"], made["read_only"], made["agents"]) == (
            "http",
            "gateway",
            False,
            [],
        )
        assert (made["effect"], made["approval"], made["parameters"]) == ("read", "never", SCHEMA)
        assert SECRET not in again.text + listed.text
        vault = shop.server.gateway.vault
        assert vault is not None
        [(field, sealed)] = (await shop.store.secrets_of("default", made["id"])).items()
        assert vault.open(SecretPlace("default", made["id"], field), sealed) == SECRET
        assert field == f"header:x-key@{shop.bird.url}"


async def test_all_tools_are_listed_with_where_they_run_and_who_has_them(tmp_path: Path) -> None:
    """C3: built-in ones, the workers' and the team's; those that are not the team's cannot be changed."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        agent = (await shop.client.post("/api/agents", json={**AGENT, "tools": ["clock", "weather"]})).json()
        items = (await shop.client.get("/api/agent-tools")).json()["items"]
        tools = {tool["name"]: tool for tool in items}
        assert list(tools) == sorted(tools)
        assert tools["clock"]["kind"] == "builtin"
        assert tools["clock"]["id"].startswith("tool_")
        assert tools["weather"]["id"] == made["id"]
        for name in ("clock", "weather"):
            assert {"id": agent["id"], "name": agent["name"]} in tools[name]["agents"]
        assert {"read_profile", "update_profile", "store_draft_content", "fetch_project_context"} <= set(
            tools
        )
        clock = tools["clock"]["id"]
        assert (await shop.client.get(f"/api/agent-tools/{clock}")).json() == tools["clock"]
        changed = await shop.client.put(f"/api/agent-tools/{clock}", json=shop.tool())
        assert (changed.status_code, code_of(changed)) == (409, "tool_read_only")
        gone = await shop.client.delete(f"/api/agent-tools/{clock}")
        assert (gone.status_code, code_of(gone)) == (409, "tool_read_only")


async def test_a_secret_stays_when_it_is_left_out_and_goes_nowhere_else(tmp_path: Path) -> None:
    """C3: a change keeps it, another value replaces it; a tool that calls another host needs it entered anew."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        path = f"/api/agent-tools/{made['id']}"
        kept = [{"name": "x-key", "secret": True}]
        changed = await shop.client.put(path, json=shop.tool(headers=kept, name="sky"))
        assert changed.status_code == 200, changed.text
        tried = (await shop.client.post(f"{path}/test", json={"arguments": {"city": "Wien"}})).json()
        assert tried["ok"], tried
        assert shop.bird.last.headers["x-key"] == SECRET
        elsewhere = shop.tool(headers=kept, url="https://example.com/{city}")
        refused = await shop.client.put(path, json=elsewhere)
        assert (refused.status_code, code_of(refused)) == (422, "secret_required")
        missing = await shop.client.post(
            "/api/agent-tools", json=shop.tool(name="b", headers=[{"name": "X-New", "secret": True}])
        )
        assert code_of(missing) == "secret_required"
        new = [{"name": "X-Key", "secret": True, "value": "another-value"}]
        assert (await shop.client.put(path, json=shop.tool(headers=new))).status_code == 200
        await shop.client.post(f"{path}/test", json={"arguments": {"city": "Wien"}})
        assert shop.bird.last.headers["x-key"] == "another-value"


async def test_a_deleted_tool_is_gone_with_its_secrets(tmp_path: Path) -> None:
    """C3: from the list, from its agents, from the store."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        agent = (await shop.client.post("/api/agents", json={**AGENT, "tools": ["weather"]})).json()
        assert (await shop.client.delete(f"/api/agent-tools/{made['id']}")).status_code == 204
        assert code_of(await shop.client.get(f"/api/agent-tools/{made['id']}")) == "tool_not_found"
        assert await shop.store.secrets_of("default", made["id"]) == {}
        assert (await shop.client.get(f"/api/agents/{agent['id']}")).json()["tools"] == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "clock"}, "tool_exists"),
        ({"name": "complete_goal"}, "tool_exists"),
        ({"name": "no name"}, "invalid_tool"),
        ({"url": "ftp://example.com/{city}"}, "invalid_tool"),
        ({"url": "https://{city}.example.com/"}, "invalid_tool"),
        ({"url": "https://example.com/{town}"}, "invalid_tool"),
        ({"parameters": {"type": "string"}}, "invalid_schema"),
        ({"parameters": {"type": "object", "properties": {"city": {"type": "nonsense"}}}}, "invalid_schema"),
        ({"headers": [{"name": "Host", "value": "x"}]}, "invalid_tool"),
        ({"headers": [{"name": "X", "value": "a\r\nb"}]}, "invalid_tool"),
        ({"result_path": "a..b"}, "invalid_tool"),
        ({"method": "TRACE"}, "invalid_body"),
        ({"timeout_s": 0}, "invalid_body"),
        ({"timeout_s": 1000}, "invalid_body"),
        ({"effect": "maybe"}, "invalid_body"),
        ({"headers": [{"name": "X"}]}, "invalid_body"),
        ({"headers": [{"name": "X", "value": "", "secret": True}]}, "invalid_body"),
        ({"extra": 1}, "invalid_body"),
    ],
)
async def test_a_tool_that_could_not_run_is_refused(
    tmp_path: Path, change: dict[str, object], code: str
) -> None:
    """C3: with a code, and nothing is kept."""
    async with workshop(tmp_path) as shop:
        refused = await shop.client.post("/api/agent-tools", json=shop.tool(**change))
        assert 400 <= refused.status_code < 500
        assert code_of(refused) == code
        assert SECRET not in refused.text
        assert await shop.store.list_tool_definitions("default") == []


async def test_whoever_saves_a_tool_is_told_which_patterns_are_not_checked(tmp_path: Path) -> None:
    """C3: the tool is kept, and each save counts as several requests."""
    city = {"type": "string", "pattern": "^(?!x)"}
    parameters = {"type": "object", "properties": {"city": city}, "required": ["city"]}
    limits = structs.replace(QUICK, requests_per_minute=25)
    async with workshop(tmp_path, limits=limits) as shop:
        body = shop.tool(parameters=parameters)
        made = await shop.client.post("/api/agent-tools", json=body)
        assert (made.status_code, made.json()["unchecked_patterns"]) == (201, ["^(?!x)"])
        saved = await shop.client.put(f"/api/agent-tools/{made.json()['id']}", json=body)
        assert (saved.status_code, saved.json()["unchecked_patterns"]) == (200, ["^(?!x)"])
        refused = await shop.client.post("/api/agent-tools", json=shop.tool(name="other"))
        assert (refused.status_code, code_of(refused)) == (429, "rate_limited")


async def test_a_try_shows_what_was_sent_but_for_the_secrets(tmp_path: Path) -> None:
    """C3: the result as a model would get it, the request with its final URL, status and time."""
    async with workshop(tmp_path) as shop:
        made = await shop.make(approval="ask", result_path="sky")
        path = f"/api/agent-tools/{made['id']}/test"
        good = (await shop.client.post(path, json={"arguments": {"city": "Wien"}})).json()
        assert (good["ok"], good["content"], good["error"]) == (True, "blue", None)
        request: dict[str, Any] = good["request"]
        assert (request["method"], request["url"], request["status"]) == (
            "GET",
            f"{shop.bird.url}/weather/Wien",
            200,
        )
        shop.bird.answers["/weather/Graz"] = answer_with(SECRET.encode(), status=500)
        failed = await shop.client.post(path, json={"arguments": {"city": "Graz"}})
        assert failed.status_code == 200
        assert failed.json()["error"]["code"] == "upstream_error"
        assert failed.json()["request"]["status"] == 500
        assert SECRET not in failed.text
        wrong = (await shop.client.post(path, json={"arguments": {"town": "Wien"}})).json()
        assert (wrong["ok"], wrong["error"]["code"], wrong["request"]) == (False, "bad_arguments", None)
        clock = next(
            tool["id"]
            for tool in (await shop.client.get("/api/agent-tools")).json()["items"]
            if tool["name"] == "clock"
        )
        told = (await shop.client.post(f"/api/agent-tools/{clock}/test", json={})).json()
        assert (told["ok"], told["tool"], told["request"]) == (True, "clock", None)


async def test_a_try_that_is_refused_by_the_guard_says_so(tmp_path: Path) -> None:
    """C3: an address that is not public is not called, nor taken in the first place."""
    async with workshop(tmp_path) as shop:
        inside = shop.tool(url="http://127.0.0.1:1/{city}", headers=[])
        refused = await shop.client.post("/api/agent-tools", json=inside)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "egress_refused")
        kept = HttpTool(description="", method="GET", url="http://127.0.0.1:1/{city}", parameters={**SCHEMA})
        await shop.store.create_tool_definition("default", "tool_kept", "weather", kept, {})
        tried = (
            await shop.client.post("/api/agent-tools/tool_kept/test", json={"arguments": {"city": "x"}})
        ).json()
        assert (tried["ok"], tried["error"]["code"]) == (False, "egress_refused")
        assert tried["request"]["status"] is None


async def test_tools_are_given_to_agents_one_by_one(tmp_path: Path) -> None:
    """C3: given, asked about, taken; only what is there, only to agents that are not in code."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        agent = (await shop.client.post("/api/agents", json=AGENT)).json()
        path = f"/api/agents/{agent['id']}/tools"
        given = await shop.client.put(f"{path}/weather", json={"approval": "ask"})
        assert given.json() == {
            "name": "weather",
            "approval": "ask",
            "id": made["id"],
            "kind": "http",
            "description": "The weather.",
            "server": None,
        }
        assert (await shop.client.put(f"{path}/clock")).status_code == 200
        listed = (await shop.client.get(path)).json()["items"]
        assert [(tool["name"], tool["approval"]) for tool in listed] == [("weather", "ask"), ("clock", None)]
        assert (await shop.client.delete(f"{path}/weather")).status_code == 204
        again = await shop.client.delete(f"{path}/weather")
        assert (again.status_code, code_of(again)) == (404, "tool_not_assigned")
        unknown = await shop.client.put(f"{path}/nothing")
        assert (unknown.status_code, code_of(unknown)) == (404, "tool_not_found")
        listed = (await shop.client.get(path)).json()["items"]
        assert [tool["name"] for tool in listed] == ["clock"]


async def test_a_member_uses_tools_and_does_not_build_them(tmp_path: Path) -> None:
    """R2: reading needs `use`, everything else `build`."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        async with await shop.somebody("default", "mia", "member") as mia:
            assert (await mia.get(f"/api/agent-tools/{made['id']}")).status_code == 200
            for method, path, body in (
                ("POST", "/api/agent-tools", shop.tool(name="b")),
                ("PUT", f"/api/agent-tools/{made['id']}", shop.tool()),
                ("DELETE", f"/api/agent-tools/{made['id']}", None),
                ("POST", f"/api/agent-tools/{made['id']}/test", {"arguments": {"city": "Wien"}}),
                ("PUT", "/api/agents/x/tools/clock", {}),
                ("DELETE", "/api/agents/x/tools/clock", None),
            ):
                refused = await mia.request(method, path, json=body)
                assert (refused.status_code, code_of(refused)) == (403, "forbidden"), path
        assert shop.bird.calls == []


async def test_another_team_sees_none_of_it(tmp_path: Path) -> None:
    """S14: not in the list, not by id, not by name; and it may have the name itself."""
    async with workshop(tmp_path) as shop:
        made = await shop.make()
        async with await shop.somebody("other", "bob") as bob:
            listed = (await bob.get("/api/agent-tools")).json()["items"]
            assert "weather" not in {tool["name"] for tool in listed}
            for method, path, body in (
                ("GET", "", None),
                ("PUT", "", shop.tool()),
                ("DELETE", "", None),
                ("POST", "/test", {"arguments": {"city": "Wien"}}),
            ):
                refused = await bob.request(method, f"/api/agent-tools/{made['id']}{path}", json=body)
                assert (refused.status_code, code_of(refused)) == (404, "tool_not_found")
            called = await bob.post(
                "/api/tools/execute", json={"tool": "weather", "arguments": {"city": "Wien"}}
            )
            assert (called.status_code, code_of(called)) == (404, "tool_not_found")
            agent = await bob.post("/api/agents", json={**AGENT, "tools": ["weather"]})
            assert code_of(agent) == "unknown_tool"
            assert (await bob.post("/api/agent-tools", json=shop.tool())).status_code == 201
        assert shop.bird.calls == []


async def test_without_a_master_key_no_secret_is_taken() -> None:
    """C3: a tool without secrets is."""
    async with house() as place, place.client() as client:
        tool = {"name": "t", "method": "GET", "url": "https://example.com/"}
        assert (await client.post("/api/agent-tools", json=tool)).status_code == 201
        object.__setattr__(place.gateway, "vault", None)
        headers = [{"name": "X-Key", "value": "v", "secret": True}]
        refused = await client.post("/api/agent-tools", json={**tool, "name": "u", "headers": headers})
        assert (refused.status_code, code_of(refused)) == (409, "no_secret_key")


async def test_a_workers_tool_is_listed_and_runs_only_in_a_run() -> None:
    """C3, S4: it can be given to agents, and neither tried nor called; no tool takes its name."""
    async with house() as place, place.client() as client:
        offer = ToolOffer(name="lift", description="Lift.", parameters={"type": "object"}, kind="module")
        await place.room.join(tools=[offer])
        [lift] = [
            tool for tool in (await client.get("/api/agent-tools")).json()["items"] if tool["name"] == "lift"
        ]
        assert (lift["kind"], lift["place"], lift["read_only"]) == ("module", "worker", True)
        tried = await client.post(f"/api/agent-tools/{lift['id']}/test", json={})
        assert (tried.status_code, code_of(tried)) == (409, "tool_not_runnable")
        called = await client.post("/api/tools/execute", json={"tool": "lift"})
        assert (called.status_code, code_of(called)) == (409, "tool_not_runnable")
        tool = {"name": "lift", "method": "GET", "url": "https://example.com/"}
        assert code_of(await client.post("/api/agent-tools", json=tool)) == "tool_exists"


async def test_a_team_has_only_so_many_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: a list must end somewhere."""
    monkeypatch.setattr("agio.db.plans.agents.tools.MAX_TOOLS", 1)
    async with house() as place, place.client() as client:
        tool = {"name": "one", "method": "GET", "url": "https://example.com/"}
        assert (await client.post("/api/agent-tools", json=tool)).status_code == 201
        refused = await client.post("/api/agent-tools", json={**tool, "name": "two"})
        assert (refused.status_code, code_of(refused)) == (409, "too_many_tools")


async def test_a_tool_that_somebody_else_saved_is_replaced_only_by_who_wants_to(tmp_path: Path) -> None:
    """C3: If-Match names the version that was read; what no team made has none."""
    async with workshop(tmp_path) as shop:
        path = f"/api/agent-tools/{(await shop.make())['id']}"
        tag = (await shop.client.get(path)).headers["etag"]
        said = {**shop.tool(), "description": "mine"}
        first = await shop.client.put(path, json=said, headers={"if-match": tag})
        assert (first.status_code, first.json()["description"]) == (200, "mine")
        late = await shop.client.put(path, json=shop.tool(), headers={"if-match": tag})
        assert (late.status_code, code_of(late)) == (412, "changed_elsewhere")
        assert (await shop.client.get(path)).json() == first.json()
        twice = [("if-match", first.headers["etag"]), ("if-match", tag)]
        assert code_of(await shop.client.put(path, json=shop.tool(), headers=twice)) == "invalid_query"
        again = await shop.client.put(path, json=shop.tool(), headers={"if-match": first.headers["etag"]})
        assert again.status_code == 200
        tools = (await shop.client.get("/api/agent-tools")).json()["items"]
        [clock] = [tool["id"] for tool in tools if tool["name"] == "clock"]
        assert "etag" not in (await shop.client.get(f"/api/agent-tools/{clock}")).headers
