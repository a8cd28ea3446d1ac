"""`POST /mcp` with input of every kind: credentials, bodies, messages of neither era, agents that are gone, limits."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

from agio.core.identity.oidc import OidcProvider
from agio.egress import Egress
from agio.errors import StoreError
from agio.gateway.auth.oidc import OidcProviders
from agio.gateway.http.origin import Origins
from agio.testing import ModelServer, Reply
from tests.support.clock import until
from tests.support.engine import QUICK
from tests.support.house import AGENT, code_of, house
from tests.support.inspector import inspect
from tests.support.served import KEY, served

NEW, OLD = "2026-07-28", "2025-11-25"
METADATA = "/.well-known/oauth-protected-resource"
META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def ask(
    client: httpx.AsyncClient,
    method: str,
    *,
    version: str | None = OLD,
    headers: dict[str, str] | None = None,
    **params: Any,
) -> httpx.Response:
    """Send a request as a client of a version does."""
    known = {} if version is None else {"mcp-protocol-version": version}
    if version == NEW:
        params["_meta"] = META
        known |= {"mcp-method": method} | ({"mcp-name": params["name"]} if "name" in params else {})
    message = {"jsonrpc": "2.0", "id": "one", "method": method, "params": params}
    return await client.post("/mcp", json=message, headers={**known, **(headers or {})})


def error_of(response: httpx.Response) -> tuple[int, int]:
    """Return the status and the JSON-RPC code of a refusal."""
    body = response.json()
    assert set(body) == {"jsonrpc", "id", "error"}, body
    assert "Traceback" not in response.text
    assert "pydantic" not in response.text
    return response.status_code, body["error"]["code"]


async def names(client: httpx.AsyncClient) -> list[str]:
    """List the tools by name."""
    return [tool["name"] for tool in (await ask(client, "tools/list")).json()["result"]["tools"]]


async def add(client: httpx.AsyncClient, name: str, **more: object) -> str:
    """Add an agent and return its id."""
    made = await client.post("/api/agents", json={**AGENT, "name": name, **more})
    assert made.status_code == 201, made.text
    return made.json()["id"]


async def call(client: httpx.AsyncClient, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool and return its result."""
    return (await ask(client, "tools/call", name=tool, arguments=arguments)).json()["result"]


async def test_only_a_key_opens_the_door() -> None:
    """B8: without one 401 says where the metadata is; a cookie, a foreign origin or another method does not do."""
    async with house() as place:
        async with place.client(None) as nobody:
            refusal = await ask(nobody, "tools/list")
            assert (refusal.status_code, code_of(refusal)) == (401, "unauthenticated")
            where = f'resource_metadata="http://127.0.0.1:8700{METADATA}/mcp"'
            assert refusal.headers["www-authenticate"] == f'Bearer realm="agio", {where}'
            jar = {"cookie": (await place.auth.open_session("default", "ann")).partition(";")[0]}
            own = {"origin": "http://127.0.0.1:8700"}
            assert (await ask(nobody, "tools/list", headers={**jar, **own})).status_code == 401
            assert (await ask(nobody, "tools/list", headers=jar)).status_code == 403
            for key in ("agio_" + "x" * 43, "short", ""):
                wrong = await ask(nobody, "tools/list", headers={"authorization": f"Bearer {key}"})
                assert (wrong.status_code, code_of(wrong)) == (401, "unauthenticated")
                assert (
                    wrong.headers["www-authenticate"]
                    == f'Bearer realm="agio", error="invalid_token", {where}'
                )
        async with place.client() as ann:
            assert (await ask(ann, "tools/list")).status_code == 200
            foreign = await ask(ann, "tools/list", headers={"origin": "https://evil.example"})
            assert (foreign.status_code, code_of(foreign)) == (403, "forbidden_origin")
            for method in ("GET", "DELETE"):
                other = await ann.request(method, "/mcp")
                assert (other.status_code, other.headers["allow"]) == (405, "POST")


async def test_the_metadata_names_the_providers_people_sign_in_with() -> None:
    """B8: RFC 9728, for /mcp and for the server; without a provider no authorization server is named."""
    async with (
        house(origins=Origins(public_url="https://agio.example")) as place,
        place.client(None) as nobody,
    ):
        nobody.headers["host"] = "agio.example"
        plain = {
            "resource": "https://agio.example/mcp",
            "resource_name": "agio",
            "bearer_methods_supported": ["header"],
        }
        assert (await nobody.get(f"{METADATA}/mcp")).json() == plain
        provider = OidcProvider(id="id", name="Id", issuer="https://id.example", client_id="agio")
        object.__setattr__(
            place.gateway, "oidc", OidcProviders([(provider, Egress())], "https://agio.example")
        )
        named = {**plain, "authorization_servers": ["https://id.example"]}
        for path in (METADATA, f"{METADATA}/mcp"):
            assert (await nobody.get(path)).json() == named


async def test_a_body_that_is_no_message_is_refused() -> None:
    """B8: its type, its size, its JSON; a batch, a response, and what is neither request nor notification."""
    async with house() as place, place.client() as ann:
        typed = await ann.post("/mcp", content=b"<a/>", headers={"content-type": "text/xml"})
        assert (typed.status_code, code_of(typed)) == (415, "unsupported_media_type")
        huge = await ann.post("/mcp", json={"jsonrpc": "2.0", "method": "x" * QUICK.json_body_bytes})
        assert (huge.status_code, code_of(huge)) == (413, "body_too_large")
        for body in (
            b"",
            b"{",
            b"\xff",
            b"nonsense",
            b"[" * 5000,
            b'{"jsonrpc": "2.0", "method": "\\u0000"}',
        ):
            broken = await ann.post("/mcp", content=body)
            assert error_of(broken) == (400, -32700)
            assert broken.json()["error"]["data"]["code"] == "invalid_json"
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        bodies: list[Any] = [
            *([ping], [], [ping, ping], 7, "ping", {}),
            {**ping, "id": None},
            {**ping, "id": [1]},
            {**ping, "id": 1.5},
            {**ping, "method": 7},
            {**ping, "params": [1]},
            {**ping, "jsonrpc": "1.0"},
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0"},
        ]
        for given in bodies:
            refusal = await ann.post("/mcp", json=given)
            assert error_of(refusal) == (400, -32600), given
            assert refusal.json()["id"] is None


@pytest.mark.parametrize(("version", "status"), [(OLD, 200), (None, 200), (NEW, 404)])
async def test_an_unknown_method_is_named_as_its_era_does(version: str | None, status: int) -> None:
    """B8: method not found; what a notification says is taken and ignored; bad parameters have no detail of ours."""
    async with house() as place, place.client() as ann:
        for method in ("agents/list", "resources/list", "prompts/list", ""):
            assert error_of(await ask(ann, method, version=version)) == (status, -32601)
        known = {} if version is None else {"mcp-protocol-version": version}
        for note in ("notifications/initialized", "notifications/cancelled", "notifications/none"):
            taken = await ann.post("/mcp", json={"jsonrpc": "2.0", "method": note}, headers=known)
            assert (taken.status_code, taken.content) == (202, b"")
        wrong = await ask(ann, "tools/call", version=version, arguments=7)
        assert error_of(wrong) == (400 if version == NEW else 200, -32602)
        cursor = await ask(ann, "tools/list", version=version, cursor="nonsense")
        assert error_of(cursor) == (400 if version == NEW else 200, -32602)
        assert cursor.json()["error"]["data"] == {"code": "invalid_cursor"}


async def test_a_client_that_disagrees_with_itself_is_told_so() -> None:
    """B8: 2026-07-28 compares headers and body; an unknown version gets the list of those that are served."""
    async with house() as place, place.client() as ann:
        for headers in ({"mcp-method": "ping"}, {"mcp-protocol-version": OLD}):
            assert error_of(await ask(ann, "tools/list", version=NEW, headers=headers)) == (400, -32020)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
        assert error_of(await ann.post("/mcp", json=message)) == (400, -32020)
        pairs = [("mcp-protocol-version", NEW), ("mcp-method", "tools/list"), ("mcp-method", "tools/list")]
        twice = await ann.post("/mcp", json=message, headers=[*ann.headers.items(), *pairs])
        assert error_of(twice) == (400, -32020)
        for params in ({}, {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}}):
            later = {**message, "params": params}
            shown = {"mcp-protocol-version": "2099-01-01", "mcp-method": "tools/list"}
            refusal = await ann.post("/mcp", json=later, headers=shown)
            assert error_of(refusal) == (400, -32022 if params else -32602)
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        refused = await ann.post("/mcp", json=note, headers={"mcp-protocol-version": "2099-01-01"})
        assert error_of(refused) == (400, -32022)


async def test_the_tools_are_the_active_agents_of_the_team() -> None:
    """B8: names that any client takes, each once; an inactive, deleted or foreign agent is no tool."""
    async with house() as place, place.client() as ann, place.client("bob") as bob:
        await add(ann, "Größe & Maß")
        await add(ann, "Größe + Maß")
        await add(ann, "Asleep", status="inactive")
        gone = await add(ann, "gone")
        await add(bob, "theirs")
        first, second, third = await names(ann)
        plain, longer = sorted((first, second))
        assert (plain, longer[:8], third) == ("Groe_Ma", "Groe_Ma-", "gone")
        assert await names(bob) == ["theirs"]
        assert (await ann.delete(f"/api/agents/{gone}")).status_code == 204
        assert await names(ann) == [first, second]
        for tool in ("gone", "theirs", "Asleep", "Größe & Maß", ""):
            refusal = await ask(ann, "tools/call", name=tool, arguments={"message": "Hi"})
            assert error_of(refusal) == (200, -32602)
            assert refusal.json()["error"]["data"] == {"code": "agent_not_found", "tool": tool}


async def test_a_list_of_many_tools_has_pages() -> None:
    """B8: the cursor of one page leads to the next; together they are all tools, once."""
    async with house() as place, place.client() as ann:
        for number in range(105):
            await add(ann, f"agent-{number:03}")
        first = (await ask(ann, "tools/list")).json()["result"]
        rest = (await ask(ann, "tools/list", cursor=first["nextCursor"])).json()["result"]
        assert "nextCursor" not in rest
        listed = [tool["name"] for tool in (*first["tools"], *rest["tools"])]
        assert listed == [f"agent-{number:03}" for number in range(105)]


async def test_a_session_is_its_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """B8: of another team, another person or another agent: not found; what the store says is a result, too."""
    async with (
        house() as place,
        place.client() as ann,
        place.client("bob") as bob,
        place.client("cid") as cid,
    ):
        session = await place.start_session(ann, name="ada")
        await add(bob, "ada")
        for client in (bob, cid):
            result = await call(client, "ada", message="Hi", session_id=session)
            assert result["isError"]
            assert result["structuredContent"]["error"]["code"] == "session_not_found"

        async def down(*_: object, **__: object) -> None:
            raise StoreError("store_unavailable", "The store is away.")

        monkeypatch.setattr(place.store, "get_session", down)
        result = await call(ann, "ada", message="Hi", session_id=session)
        assert result["structuredContent"]["error"]["code"] == "store_unavailable"
        monkeypatch.setattr(place.store, "name_agents", down)
        away = await ask(ann, "tools/list")
        assert error_of(away) == (200, -32603)
        assert away.json()["error"]["data"] == {"code": "store_unavailable"}


async def test_limits_are_results_and_refusals() -> None:
    """B8: too many sessions of a key is a result with its code; too many requests at the door is 429."""
    async with (
        house(structs.replace(QUICK, running_per_key=1, streams_per_credential=2)) as place,
        place.client() as ann,
    ):
        await add(ann, "ada")
        waiting = asyncio.create_task(call(ann, "ada", message="First"))
        await until(lambda: len(place.gateway.connections) == 1)
        result = await call(ann, "ada", message="Second")
        assert (result["isError"], result["structuredContent"]["status"]) == (True, "refused")
        assert result["structuredContent"]["error"]["code"] == "too_many_sessions"
        [run] = (await ann.get("/api/runs")).json()["items"]
        assert (await ann.delete(f"/api/agent-sessions/{run['session_id']}")).status_code == 204
        assert (await waiting)["structuredContent"]["error"]["code"] == "session_not_found"
        who = await place.auth.identify(list(ann.headers.raw))
        room = place.gateway.connections.room
        with room(who), room(who):
            refusal = await ask(ann, "tools/list")
            assert (refusal.status_code, code_of(refusal)) == (429, "too_many_streams")


async def test_a_call_that_is_not_awaited_to_the_end_says_why() -> None:
    """B8: the key was revoked, or the server stops; its run goes on and is named."""
    async with house() as place, place.client() as ann:
        await add(ann, "ada")
        waiting = asyncio.create_task(call(ann, "ada", message="First"))
        await until(lambda: len(place.gateway.connections) == 1)
        who = await place.auth.identify(list(ann.headers.raw))
        place.gateway.connections.close_credential(who.credential)
        assert (await waiting)["structuredContent"]["error"]["code"] == "unauthenticated"
        place.gateway.hub.close()
        stopped = (await call(ann, "ada", message="Second"))["structuredContent"]
        assert (stopped["status"], stopped["error"]["code"]) == ("refused", "not_ready")
        listed = (await ann.get("/api/runs")).json()["items"]
        assert stopped["error"]["details"]["run_id"] == listed[0]["id"]
        assert {run["status"] for run in listed} == {"queued"}


@pytest.mark.parametrize("accept", ["text/event-stream, application/json", "application/json"])
async def test_a_silent_call_is_kept_open_for_who_takes_events(accept: str, tmp_path: Path) -> None:
    """B8: comments while the run says nothing, then the answer as the last event; else one JSON object."""
    gate = asyncio.Event()
    async with ModelServer() as model:
        model.script(Reply("Here.", gate=gate))
        limits = structs.replace(QUICK, keep_alive_s=0.02)
        async with (
            served(tmp_path, limits, endpoints={"openai": model.endpoint("openai")}) as server,
            httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
        ):
            await add(client, "slow", model_provider="openai", model_name="test")
            params = {"name": "slow", "arguments": {"message": "Hi"}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            if "event" not in accept:
                gate.set()
            async with client.stream("POST", "/mcp", json=message, headers={"accept": accept}) as answer:
                lines: list[str] = []
                async for line in answer.aiter_lines():
                    lines.append(line)
                    if line == ": keep-alive":
                        gate.set()
    if "event" in accept:
        assert answer.headers["content-type"] == "text/event-stream"
        assert lines[0] == ": keep-alive"
        assert lines[-3] == "event: message"
        body = lines[-2].removeprefix("data: ")
    else:
        assert answer.headers["content-type"] == "application/json"
        [body] = lines
    assert json.loads(body)["result"]["structuredContent"]["answer"] == "Here."


async def test_the_inspector_lists_and_calls_agents(tmp_path: Path) -> None:
    """B8: the command line of the official Inspector needs an address and a key."""
    async with served(tmp_path) as server:
        async with httpx.AsyncClient(base_url=server.url, headers=server.headers) as client:
            await add(client, "Tea shop", model_provider="demo", model_name="demo")
        options = {"home": str(tmp_path)}
        listed = await inspect(f"{server.url}/mcp", KEY, "--method", "tools/list", **options)
        assert {tool["name"] for tool in listed["tools"]} >= {"Tea_shop"}
        wanted = ("--method", "tools/call", "--tool-name", "Tea_shop", "--tool-arg", "message=Hello")
        called = await inspect(f"{server.url}/mcp", KEY, *wanted, **options)
        assert called["structuredContent"]["status"] == "completed"
