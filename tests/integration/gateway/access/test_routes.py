"""Every REST route from outside: without a credential, as somebody else, and with bodies nobody should send."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx
import pytest
from msgspec import Struct, field

from agio.core.draft import DraftWrite
from agio.core.mcp import McpOffer
from agio.core.memory import MemoryFields, MemorySource
from agio.gateway.http.route import Route
from agio.gateway.routes.table import ROUTES
from tests.support.house import AGENT, House, code_of, house
from tests.support.scenes import dead_job


class Example(Struct, frozen=True):
    """How a test calls a route: what is in its path, and a body that is fine."""

    path: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, object] | None = None


_SESSION = {"session_id": "session"}
PROVIDER = {"name": "models", "kind": "openai", "api_key": "sk-test"}
DRAFT = DraftWrite(key="plan", title="Plan", kind="document", content="...")
HTTP_TOOL = {"name": "nowhere", "method": "GET", "url": "http://127.0.0.1:9/"}
_ASSIGNMENT = {"agent_id": "agent", "name": "tool_name"}
MCP_SERVER = {"name": "shop", "server_url": "https://shop.example/mcp"}
_SERVER = {"server_id": "mcp_server"}
_MCP_TOOL = {"server_id": "mcp_server", "tool_id": "mcp_tool"}
SHARED = {
    "agent",
    "provider",
    "tool",
    "tool_name",
    "key",
    "member",
    "invitation",
    "job",
    "mcp_server",
    "mcp_tool",
}
"""What every admin of a team sees, as all are here."""
MANAGERS_READ = {"get_run", "run_definition", "run_events", "list_run_tools", "run_trace"}
"""What an admin may also read of another's."""
EMPTY = ("nothing", "null", "an empty object")
OPTIONAL = {
    **dict.fromkeys(
        ("regenerate_run", "start_session", "try_provider", "assign_tool", "try_agent_tool"), EMPTY
    ),
    "create_invitation": EMPTY[2:],
    "change_mcp_tool": EMPTY[2:],
}
"""What needs no body, or nothing in it."""
EXAMPLES: dict[str, Example] = {
    "send_message": Example(_SESSION, {"content": "Hi"}),
    "get_session": Example(_SESSION),
    "session_status": Example(_SESSION),
    "cancel_session": Example(_SESSION),
    "list_interrupts": Example(_SESSION),
    "answer_interrupts": Example(_SESSION, {"answers": [{"interrupt_id": "int_1", "approved": True}]}),
    "send_tool_results": Example(_SESSION, {"results": {"call_1": "42"}}),
    "session_events": Example(_SESSION),
    "change_session": Example(_SESSION, {"title": "New"}),
    "fork_session": Example(_SESSION, {"before": "message"}),
    "delete_session": Example(_SESSION),
    "list_sessions": Example(),
    "list_agent_sessions": Example({"agent_id": "agent"}),
    "start_session": Example({"agent_id": "agent"}, {"title": "Talk"}),
    "list_agents": Example(),
    "create_agent": Example({}, AGENT),
    "get_agent": Example({"agent_id": "agent"}),
    "replace_agent": Example({"agent_id": "agent"}, AGENT),
    "delete_agent": Example({"agent_id": "agent"}),
    "list_providers": Example(),
    "create_provider": Example({}, PROVIDER),
    "try_connection": Example({}, {"kind": "openai", "api_key": "sk-test", "model": "gpt-5"}),
    "check_address": Example({}, {"base_url": "http://127.0.0.1:11434/v1"}),
    "get_provider": Example({"provider_id": "provider"}),
    "replace_provider": Example({"provider_id": "provider"}, PROVIDER),
    "delete_provider": Example({"provider_id": "provider"}),
    "try_provider": Example({"provider_id": "provider"}, {"model": "gpt-5"}),
    "run_agent_once": Example({}, {"agent": "nobody", "input": "Hi"}),
    "create_sdk_session": Example({}, {"agent_name": "Sam", "instructions": "Be brief."}),
    "send_sdk_message": Example({}, {"session_id": "none", "user_input": "Hi"}),
    "sdk_transcript": Example(),
    "upload_file": Example(),
    "get_file": Example({"file_id": "file"}),
    "download_file": Example({"file_id": "file"}),
    "delete_file": Example({"file_id": "file"}),
    "list_memories": Example({"agent_id": "agent"}),
    "add_memory": Example({"agent_id": "agent"}, {"content": "Likes tea."}),
    "get_memory": Example({"memory_id": "memory"}),
    "change_memory": Example({"memory_id": "memory"}, {"importance": 1}),
    "delete_memory": Example({"memory_id": "memory"}),
    "list_agent_suggestions": Example({"agent_id": "agent"}),
    "list_suggestions": Example(),
    "approve_suggestion": Example({"suggestion_id": "suggestion"}),
    "reject_suggestion": Example({"suggestion_id": "suggestion"}),
    "edit_suggestion": Example({"suggestion_id": "suggestion"}, {"content": "Likes tea."}),
    "approve_session_suggestions": Example({"session_id": "session"}),
    "close_session": Example({"session_id": "session"}),
    "list_my_memories": Example(),
    "export_my_memories": Example(),
    "forget_me": Example(),
    "list_runs": Example(),
    "get_run": Example({"run_id": "run"}),
    "run_definition": Example({"run_id": "run"}),
    "run_trace": Example({"run_id": "run"}),
    "regenerate_run": Example({"run_id": "run"}, {"system_prompt": "Shout."}),
    "run_events": Example({"run_id": "run"}),
    "list_run_tools": Example({"run_id": "run"}),
    "cancel_run": Example({"run_id": "run"}),
    "me": Example(),
    "get_account": Example(),
    "create_account": Example({}, {"email": "ann@example.com", "name": "Ann", "password": "a quiet harbour"}),
    "change_account": Example({}, {"name": "Anna"}),
    "set_password": Example({}, {"password": "a quiet harbour"}),
    "confirm_account": Example({}, {"password": "a quiet harbour"}),
    "sign_out_everywhere": Example(),
    "list_tenants": Example(),
    "create_tenant": Example({}, {"name": "Team"}),
    "switch_tenant": Example({}, {"tenant": "other"}),
    "list_members": Example(),
    "change_member": Example({"user": "member"}, {"role": "member"}),
    "remove_member": Example({"user": "member"}),
    "create_sign_in_link": Example({"user": "member"}),
    "list_invitations": Example(),
    "create_invitation": Example({}, {"role": "member"}),
    "open_invitation": Example(),
    "accept_invitation": Example({}, {"token": "nothing"}),
    "revoke_invitation": Example({"invitation_id": "invitation"}),
    "sign_in_methods": Example(),
    "sign_in_with_password": Example({}, {"email": "ann@example.com", "password": "a quiet harbour"}),
    "get_tenant": Example(),
    "change_tenant": Example({}, {"retention_days": 30}),
    "list_keys": Example(),
    "create_key": Example({}, {"name": "laptop"}),
    "revoke_key": Example({"key_id": "key"}),
    "list_tools": Example(),
    "execute_tool": Example({}, {"tool": "clock"}),
    "list_agent_tools": Example(),
    "create_agent_tool": Example({}, {**HTTP_TOOL, "name": "another"}),
    "get_agent_tool": Example({"tool_id": "tool"}),
    "replace_agent_tool": Example({"tool_id": "tool"}, HTTP_TOOL),
    "delete_agent_tool": Example({"tool_id": "tool"}),
    "try_agent_tool": Example({"tool_id": "tool"}, {"arguments": {}}),
    "list_assigned_tools": Example({"agent_id": "agent"}),
    "assign_tool": Example(_ASSIGNMENT, {"approval": "ask"}),
    "unassign_tool": Example(_ASSIGNMENT),
    "list_mcp_servers": Example(),
    "create_mcp_server": Example({}, {**MCP_SERVER, "name": "another"}),
    "test_mcp_server": Example({}, {"server_url": "http://127.0.0.1:9/mcp"}),
    "get_mcp_server": Example(_SERVER),
    "replace_mcp_server": Example(_SERVER, MCP_SERVER),
    "delete_mcp_server": Example(_SERVER),
    "check_mcp_server": Example(_SERVER),
    "connect_mcp_server": Example(_SERVER),
    "finish_mcp_connect": Example(),
    "disconnect_mcp_server": Example(_SERVER),
    "change_mcp_tool": Example(_MCP_TOOL, {"enabled": False}),
    "accept_mcp_tool": Example(_MCP_TOOL, {"digest": "0" * 64}),
    "assign_mcp_server": Example({"agent_id": "agent", "server_id": "mcp_server"}),
    "unassign_mcp_server": Example({"agent_id": "agent", "server_id": "mcp_server"}),
    "mcp_client_document": Example(),
    "list_drafts": Example(),
    "get_draft": Example({"draft_id": "draft"}),
    "list_draft_versions": Example({"draft_id": "draft"}),
    "get_draft_version": Example({"draft_id": "draft", "version": "number"}),
    "delete_draft": Example({"draft_id": "draft"}),
    "get_profile": Example(),
    "change_profile": Example({}, {"changes": {"name": "Ann"}}),
    "get_observability": Example(),
    "change_observability": Example({}, {"traces": "structure"}),
    "try_trace_service": Example({}, {"service": "openai"}),
    "list_audit": Example(),
    "list_jobs": Example(),
    "retry_job": Example({"job_id": "job"}),
    "about": Example(),
    "health": Example(),
    "ready": Example(),
    "openapi": Example(),
    "protected_resource": Example(),
    "protected_resource_of_server": Example(),
    "metrics": Example(),
    "sign_in": Example(),
    "sign_out": Example(),
    "begin_sign_in": Example({"provider": "run"}),
    "finish_sign_in": Example({"provider": "run"}),
    "link_identity": Example({"provider": "run"}),
    "list_identities": Example(),
    "unlink_identity": Example({"provider": "run"}),
}
"""By operation. A route that is not here fails the tests below: whoever adds one says how it is called."""

HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "a null byte": b"\x00",
    "null": b"null",
    "a list": b"[]",
    "text": b'"hello"',
    "a number": b"12345678901234567890123456789",
    "an empty object": b"{}",
    "unknown fields": b'{"__proto__": {}, "constructor": 1}',
    "two of one name": b'{"name": "a", "name": 1, "content": "a", "content": 2}',
    "deep nesting": b"[" * 100_000,
    "nesting of 33 levels": b'{"content": ' + b"[" * 33 + b"]" * 33 + b"}",
    "half a surrogate": b'{"content": "\\ud800", "title": "\\ud800", "name": "\\ud800"}',
    "not UTF-8": b'{"content": "\xff\xfe", "title": "\xff"}',
    "an escaped null": b'{"content": "a\\u0000b", "title": "\\u0000", "name": "\\u0000"}',
    "NaN": b'{"content": NaN, "temperature": NaN}',
    "a huge number": b'{"max_steps": 1e308, "temperature": 1e400}',
    "more than a megabyte": b'{"content": "' + b"a" * (1024 * 1024) + b'"}',
    "wrong types": b'{"content": 5, "title": [], "name": {}, "answers": {}, "results": [], "system_prompt": 1}',
}


def _each(access: str) -> list[Any]:
    return [pytest.param(route, id=route.name) for route in ROUTES if route.access == access]


def _path(route: Route, ids: Mapping[str, str]) -> str:
    example = EXAMPLES[route.name]
    return route.path.format(**{name: ids[kind] for name, kind in example.path.items()})


async def _call(client: httpx.AsyncClient, route: Route, ids: Mapping[str, str]) -> httpx.Response:
    body = EXAMPLES[route.name].body
    return await client.request(route.method, _path(route, ids), json=body)


async def _belongings(place: House, client: httpx.AsyncClient) -> dict[str, str]:
    """Give somebody an agent, a session with a finished run, and a key."""
    session_id = await place.start_session(client)
    run_id, hand = await place.begin(client, session_id)
    await hand.say("Hello")
    await hand.finish()
    session = (await client.get(f"/api/agent-sessions/{session_id}")).json()
    keys = (await client.get("/api/api-keys")).json()["items"]
    provider = await client.post("/api/providers", json=PROVIDER)
    server = (await client.post("/api/mcp-servers", json=MCP_SERVER)).json()["id"]
    offer = McpOffer(name="buy", description="Buy.", parameters={"type": "object"})
    [tool] = await place.store.see_mcp_tools("default", server, [offer])
    memories = f"/api/agents/{session['agent_id']}/memories"
    suggested = await place.store.suggest_memory(
        "default", "ann", session["agent_id"], MemoryFields(content="Likes rain."), MemorySource()
    )
    assert suggested is not None
    return {
        "agent": session["agent_id"],
        "session": session_id,
        "run": run_id,
        "key": keys[0]["id"],
        "file": (await client.post("/api/files", content=b"bytes")).json()["id"],
        "provider": provider.json()["id"],
        "tool": (await client.post("/api/agent-tools", json=HTTP_TOOL)).json()["id"],
        "tool_name": "clock",
        "draft": (await place.store.write_draft("default", "ann", DRAFT)).id,
        "number": "1",
        "member": "ann",
        "invitation": (await client.post("/api/invitations", json={})).json()["id"],
        "job": await dead_job(place.store, "default", "note"),
        "mcp_server": server,
        "mcp_tool": tool.id,
        "memory": (await client.post(memories, json={"content": "Likes snow."})).json()["id"],
        "suggestion": suggested.id,
    }


def _somewhere() -> dict[str, str]:
    return dict.fromkeys(
        (
            "agent",
            "session",
            "run",
            "key",
            "file",
            "provider",
            "tool",
            "tool_name",
            "draft",
            "number",
            "member",
            "invitation",
            "job",
            "mcp_server",
            "mcp_tool",
            "memory",
            "suggestion",
        ),
        "x_01k9",
    )


def test_every_route_has_an_example() -> None:
    """C2: the tests below cover every route there is."""
    assert {route.name for route in ROUTES} == set(EXAMPLES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize("route", _each("user"))
async def test_nobody_gets_in_without_a_credential(route: Route) -> None:
    """R2: each route that serves somebody asks who it is, before it reads a body."""
    async with house() as place, place.client(None) as client:
        refused = await _call(client, route, _somewhere())
        assert refused.status_code == 401
        assert code_of(refused) == "unauthenticated"
        assert refused.headers["www-authenticate"].startswith("Bearer")
        nonsense = await client.request(route.method, _path(route, _somewhere()), content=b"{" * 5000)
        assert nonsense.status_code == 401
        wrong = {"authorization": "Bearer agio_" + "x" * 43}
        guessed = await client.request(route.method, _path(route, _somewhere()), headers=wrong)
        assert code_of(guessed) == "unauthenticated"


@pytest.mark.parametrize("user", ["bob", "cid"])
async def test_what_belongs_to_somebody_else_is_not_there(user: str) -> None:
    """C2, C5: a foreign id is a 404 on every route, for another tenant and for another user of the same."""
    async with house() as place, place.client() as client, place.client(user) as stranger:
        await place.store.set_role("other", "bob", "owner")
        ids = await _belongings(place, client)
        before = await _seen(client)
        for route in ROUTES:
            example = EXAMPLES[route.name]
            shared = user == "cid" and (set(example.path.values()) <= SHARED or route.name in MANAGERS_READ)
            if not example.path or shared:
                continue
            answered = await _call(stranger, route, ids)
            assert answered.status_code == 404, (route.name, answered.text)
            assert code_of(answered).endswith("_not_found"), route.name
        assert await _seen(client) == before
        for path in ("/api/agent-sessions", "/api/runs", *([] if user == "cid" else ["/api/agents"])):
            assert (await stranger.get(path)).json()["items"] == [], path


async def _seen(client: httpx.AsyncClient) -> list[Any]:
    lists = ("/api/agents", "/api/agent-sessions", "/api/runs", "/api/api-keys", "/api/invitations")
    return [[item["id"] for item in (await client.get(path)).json()["items"]] for path in lists]


@pytest.mark.parametrize(
    "route", [param for param in _each("user") + _each("public") if EXAMPLES[param.values[0].name].body]
)
async def test_a_hostile_body_gets_a_code(route: Route) -> None:
    """C2: whatever comes as a body, the answer is a refusal with a code, never a failure."""
    async with house() as place, place.client() as client:
        await place.store.set_role("default", "ann", "owner")
        ids = await _belongings(place, client)
        for words, body in HOSTILE.items():
            headers = {"content-type": "application/json"}
            answered = await client.request(route.method, _path(route, ids), content=body, headers=headers)
            optional = words in OPTIONAL.get(route.name, ())
            assert answered.status_code < 500, (route.name, words, answered.text)
            assert answered.status_code >= 400 or optional, (route.name, words, answered.text)
            if not optional:
                assert code_of(answered) in ("invalid_json", "invalid_body", "body_too_large"), (
                    words,
                    answered.text,
                )


@pytest.mark.parametrize("route", _each("user") + _each("public") + _each("local"))
async def test_a_hostile_path_or_query_gets_a_code(route: Route) -> None:
    """C2: strange ids and parameters are refused or not found, never a failure."""
    strange = ("%00", "%ff%fe", "..%2f..", "a" * 5000, "%F0%9F%92%A9", "' or 1=1 --", "{}", "-1")
    queries = (
        "limit=0", "limit=201", "limit=x", "limit=99999999999999999999", "after=%00", "after=-1", "after=%F0",
        "after=99999999999999999999", "after=' or 1=1", "search=%25%00", "search=" + "a" * 300, "status=nonsense",
        "agent_id=%00", "after=&after=1", "token=" + "a" * 500,
    )  # fmt: skip
    async with house() as place, place.client() as client:
        await place.joined()
        for text in strange if "{" in route.path else ():
            path = route.path.replace("{", "").replace("}", "")
            for name in EXAMPLES[route.name].path:
                path = path.replace(name, text)
            answered = await client.request(route.method, path, json=EXAMPLES[route.name].body)
            assert 400 <= answered.status_code < 500, (path, answered.text)
            code_of(answered)
        for query in queries:
            answered = await client.request(
                route.method, _path(route, _somewhere()) + "?" + query, json=EXAMPLES[route.name].body
            )
            assert answered.status_code < 500, (query, answered.text)


def _unknown() -> Iterator[tuple[str, str]]:
    yield from (
        ("GET", path) for path in ("/nowhere", "/api", "/api/", "/api/agents/", "/realtime/x", "/assets/x.js")
    )
    yield from (
        ("GET", path) for path in ("/assets/../auth.py", "/assets/%2e%2e/__init__.py", "/api/agents/a/b")
    )


async def test_an_unknown_path_is_not_found() -> None:
    """C2: 404 with a code, with and without a credential."""
    async with house() as place, place.client() as client:
        for method, path in _unknown():
            answered = await client.request(method, path)
            assert answered.status_code == 404, path
            assert code_of(answered) == "not_found"


async def test_a_wrong_method_says_which_ones_there_are() -> None:
    """C2: 405 with a code and an Allow header that names every method of the path."""
    async with house() as place, place.client() as client:
        for method, path, allowed in (
            ("DELETE", "/api/agents", "GET, POST"),
            ("POST", "/api/agents/x", "DELETE, GET, PUT"),
            ("GET", "/api/agent-sessions/x/message", "POST"),
            ("POST", "/api/agent-sessions/x/stream", "GET"),
            ("GET", "/api/agents/x/ag-ui", "POST"),
            ("TRACE", "/api/health", "GET"),
        ):
            answered = await client.request(method, path)
            assert answered.status_code == 405, path
            assert code_of(answered) == "method_not_allowed"
            assert answered.headers["allow"] == allowed
        upgrade = await client.get("/realtime")
        assert (upgrade.status_code, code_of(upgrade)) == (426, "upgrade_required")


async def test_something_else_than_json_is_refused() -> None:
    """C2: a form or a file is not taken for JSON; JSON without a content type is."""
    async with house() as place, place.client() as client:
        form = await client.post("/api/api-keys", data={"name": "x"})
        assert (form.status_code, code_of(form)) == (415, "unsupported_media_type")
        bare = await client.post("/api/api-keys", content=b'{"name": "bare"}')
        assert bare.status_code == 201
        charset = {"content-type": "application/json; charset=utf-8"}
        assert (
            await client.post("/api/api-keys", content=b'{"name": "c"}', headers=charset)
        ).status_code == 201


async def test_a_body_is_not_read_further_than_allowed() -> None:
    """C2: a body without a length is cut off at the limit, not read to its end."""
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield b" " * 65536

    async with house() as place:
        sent: list[Any] = []
        parts = endless()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": await anext(parts), "more_body": True}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/agents",
            "query_string": b"",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 9),
            "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {place.keys['ann']}".encode())],
        }
        await place.app(scope, receive, send)
        assert sent[0]["status"] == 413
        assert taken == 17


async def test_what_nobody_foresaw_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    """C2: the client gets a code and no trace; the log gets the trace."""
    async with house() as place, place.client() as client:
        object.__setattr__(place.gateway, "tools", {"broken": None})
        answered = await client.get("/api/tools")
        assert (answered.status_code, code_of(answered)) == (500, "internal_error")
        assert "NoneType" not in answered.text
        assert "AttributeError" in caplog.text


async def test_a_store_that_fails_is_a_503() -> None:
    """C2: the client is told to try again later."""
    async with house() as place, place.client() as client:
        assert (await client.get("/api/me")).status_code == 200
        await place.store.close()
        answered = await client.get("/api/agents")
        assert (answered.status_code, code_of(answered)) == (503, "store_closed")
        assert int(answered.headers["retry-after"]) > 0
