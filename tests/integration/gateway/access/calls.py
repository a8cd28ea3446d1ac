"""How every route is called: what is in its path, query, headers and body, and where an id or a name stands.

`<kind>` stands for something somebody has: filled in from what a test furnished (world.py), or with another's.
"""

import re
from collections.abc import Iterator, Mapping
from typing import cast

import httpx
import msgspec
from msgspec import Struct, field

from agio.gateway.http.route import Route
from agio.protocol.messages import Json

_MARK = re.compile(r"<(\w+)>")
_FILE = {"type": "document", "source": {"type": "file", "value": "<file>"}}
_SAID: Json = [{"type": "text", "text": "Hi"}, _FILE]
_AGENT: dict[str, Json] = {
    "name": "<agent_name>",
    "system_prompt": "Be brief.",
    "model_provider": "<provider_name>",
    "model_name": "m",
    "tools": [{"name": "<tool_name>"}],
}
_HANDING_OVER: dict[str, Json] = {
    "name": "Desk",
    "system_prompt": "Be brief.",
    "model_provider": "demo",
    "model_name": "demo",
    "handoffs": [{"agent": "<agent>"}],
}
_PROVIDER: dict[str, Json] = {"name": "<provider_name>", "kind": "openai", "api_key": "sk-test"}
_TOOL: dict[str, Json] = {"name": "<tool_name>", "method": "GET", "url": "http://127.0.0.1:9/"}
_SERVER: dict[str, Json] = {"name": "<mcp_name>", "server_url": "https://shop.example/mcp"}
_OF_AGENT = {"provider_name": "unknown_provider", "tool_name": "unknown_tool"}


class Call(Struct, frozen=True, kw_only=True):
    """One way to call a route. `foreign` says what comes of another's thing in query, headers or body, by its kind:

    a status, or a code. What is not named is not found: 404. In a path it always is. What makes something of that
    name comes last, and before what gives that name to something else.
    """

    path: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json = None
    raw: bytes | None = None
    """A body that is no JSON."""
    foreign: Mapping[str, int | str] = field(default_factory=dict[str, int | str])

    def slots(self) -> Iterator[tuple[str, str]]:
        """Where something of somebody's stands: `path`, `query`, `headers` or `body`, and its kind."""
        for place in ("path", "query", "headers", "body"):
            text = msgspec.json.encode(getattr(self, place)).decode()
            yield from ((place, kind) for kind in dict.fromkeys(_MARK.findall(text)))

    def filled(
        self,
        ids: Mapping[str, str],
        other: Mapping[str, str] | None = None,
        slot: tuple[str, str] | None = None,
    ) -> "Call":
        """Put in what somebody has, and into one slot what another has."""

        def fill(place: str, value: Json) -> Json:
            text = msgspec.json.encode(value).decode()

            def named(found: re.Match[str]) -> str:
                source = other if other is not None and slot == (place, found[1]) else ids
                return msgspec.json.encode(source[found[1]]).decode()[1:-1]

            return msgspec.json.decode(_MARK.sub(named, text))

        return Call(
            path=cast("dict[str, str]", fill("path", self.path)),
            query=cast("dict[str, str]", fill("query", self.query)),
            headers=cast("dict[str, str]", fill("headers", self.headers)),
            body=fill("body", self.body),
            raw=self.raw,
        )

    async def send(
        self, client: httpx.AsyncClient, route: Route, query: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Call the route with what is filled in, and more in the query."""
        content = self.raw if self.body is None else msgspec.json.encode(self.body)
        kind = {} if self.body is None else {"content-type": "application/json"}
        return await client.request(
            route.method,
            route.path.format(**self.path),
            params={**self.query, **(query or {})},
            headers={**self.headers, **kind},
            content=content,
        )


def _at(kind: str, body: Json = None, **foreign: int | str) -> Call:
    """A call whose path has one id, of this kind."""
    name = {
        "waiting": "session_id",
        "calling": "session_id",
        "live": "session_id",
        "live_run": "run_id",
        "user": "user",
    }.get(kind, f"{kind}_id")
    return Call(path={name: f"<{kind}>"}, body=body, foreign=foreign)


_SERVER_AT = Call(path={"server_id": "<mcp_server>"})
_MCP_TOOL_AT = {"server_id": "<mcp_server>", "tool_id": "<mcp_tool>"}
CALLS: dict[str, list[Call]] = {
    "send_message": [
        _at("session", {"content": _SAID}),
        _at("session", {"content": "Hi", "client_message_id": "<message_key>"}, message_key=202),
        Call(
            path={"session_id": "<session>"},
            headers={"idempotency-key": "<message_key>"},
            body={"content": "Hi"},
            foreign={"message_key": 202},
        ),
        _at("session", {"content": "Hi", "parent_run_id": "<run>"}),
        _at("session", {"content": "Hi", "copy_of": "<message>"}),
    ],
    "get_session": [
        _at("session"),
        _at("live"),
        Call(path={"session_id": "<session>"}, query={"leaf": "<run>"}),
    ],
    "session_status": [_at("session"), _at("waiting")],
    "cancel_session": [_at("live")],
    "list_interrupts": [_at("waiting")],
    "answer_interrupts": [
        _at(
            "waiting",
            {"answers": [{"interrupt_id": "<interrupt>", "approved": True}]},
            interrupt="unknown_interrupt",
        )
    ],
    "send_tool_results": [_at("calling", {"results": {"<call>": "42"}}, call="unknown_tool_call")],
    "session_events": [_at("session"), _at("live")],
    "change_session": [_at("session", {"title": "New"}), _at("session", {"leaf_run_id": "<run>"})],
    "fork_session": [_at("session", {"before": "<message>"}), _at("live", {"before": "<live_message>"})],
    "delete_session": [_at("session"), _at("live")],
    "list_sessions": [
        Call(query={"agent_id": "<agent>"}, foreign={"agent": 200}),
        Call(query={"search": "<title>"}, foreign={"title": 200}),
    ],
    "list_agent_sessions": [_at("agent")],
    "start_session": [_at("agent", {"title": "Talk"})],
    "list_agents": [Call(query={"search": "<agent_name>"}, foreign={"agent_name": 200})],
    "create_agent": [
        Call(body=_AGENT, foreign={"agent_name": 201, **_OF_AGENT}),
        Call(body=_HANDING_OVER, foreign={"agent": "invalid_handoff"}),
    ],
    "get_agent": [_at("agent")],
    "replace_agent": [
        Call(path={"agent_id": "<agent>"}, body=_HANDING_OVER, foreign={"agent": "invalid_handoff"}),
        Call(path={"agent_id": "<agent>"}, body=_AGENT, foreign={"agent_name": "agent_exists", **_OF_AGENT}),
    ],
    "delete_agent": [_at("agent")],
    "run_agent_once": [
        Call(body={"agent": "<agent>", "input": _SAID, "session_id": "<session>", "timeout_s": 0.01}),
        Call(body={"agent": "<agent_name>", "input": "Hi", "timeout_s": 0.01}),
        Call(
            headers={"idempotency-key": "<run_key>"},
            body={"agent": "<agent>", "input": "Hi", "timeout_s": 0.01},
            foreign={"run_key": 202},
        ),
    ],
    "create_sdk_session": [
        Call(
            body={"agent_name": "<agent_name>", "instructions": "Be brief.", "model": "<provider_name>:m"},
            foreign={"agent_name": 200, "provider_name": 200},
        ),
        Call(body={"agent_name": "<agent_name>"}, foreign={"agent_name": "empty_input"}),
        Call(
            body={"agent_name": "Sam", "instructions": "Be brief.", "session_id": "<sdk>"},
            foreign={"sdk": 200},
        ),
    ],
    "send_sdk_message": [
        Call(body={"session_id": "<sdk>", "user_input": _SAID}),
        Call(
            body={"session_id": "<session>", "user_input": "Hi", "agent": {"name": "<agent_name>"}},
            foreign={"agent_name": "session_not_found"},
        ),
    ],
    "sdk_transcript": [Call(query={"session_id": "<sdk>"}), Call(query={"session_id": "<session>"})],
    "upload_file": [Call(query={"session_id": "<session>"}, raw=b"bytes")],
    "get_file": [_at("file")],
    "download_file": [_at("file")],
    "delete_file": [_at("file")],
    "list_providers": [Call()],
    "create_provider": [Call(body=_PROVIDER, foreign={"provider_name": 201})],
    "try_connection": [Call(body={"kind": "openai", "api_key": "sk-test", "model": "m"})],
    "check_address": [Call(body={"base_url": "http://127.0.0.1:11434/v1"})],
    "get_provider": [_at("provider")],
    "replace_provider": [_at("provider", _PROVIDER, provider_name="provider_exists")],
    "delete_provider": [_at("provider")],
    "try_provider": [_at("provider", {"model": "m"})],
    "list_runs": [
        Call(query={"user": "<user>"}, foreign={"user": 200}),
        Call(query={"session_id": "<session>"}, foreign={"session": 200}),
        Call(query={"agent_id": "<agent>"}, foreign={"agent": 200}),
    ],
    "get_run": [_at("run"), _at("live_run")],
    "run_definition": [_at("run"), _at("live_run")],
    "run_trace": [_at("run"), _at("live_run")],
    "regenerate_run": [
        _at(
            "run",
            {"model_provider": "<provider_name>", "tools": [{"name": "<tool_name>"}]},
            **_OF_AGENT,
        ),
        _at("run"),
    ],
    "run_events": [_at("run"), _at("live_run")],
    "list_run_tools": [_at("run"), _at("live_run")],
    "cancel_run": [_at("live_run")],
    "me": [Call()],
    "get_account": [Call()],
    "create_account": [Call(body={"email": "new@example.com", "name": "N", "password": "a quiet harbour"})],
    "change_account": [Call(body={"name": "Anna"})],
    "set_password": [Call(body={"password": "a quiet harbour at dusk"})],
    "confirm_account": [Call(body={"password": "a quiet harbour"})],
    "sign_out_everywhere": [Call()],
    "list_keys": [Call(), Call(query={"all": "true"})],
    "create_key": [Call(body={"name": "laptop"})],
    "revoke_key": [_at("key")],
    "list_tenants": [Call()],
    "create_tenant": [Call(body={"name": "Team"})],
    "switch_tenant": [Call(body={"tenant": "<tenant>"})],
    "get_tenant": [Call()],
    "change_tenant": [Call(body={"retention_days": 3000})],
    "list_members": [Call()],
    "change_member": [_at("user", {"role": "member"})],
    "remove_member": [_at("user")],
    "create_sign_in_link": [_at("user")],
    "list_invitations": [Call()],
    "create_invitation": [Call(body={"email": "<email>"}, foreign={"email": 201})],
    "open_invitation": [Call(query={"token": "nothing"})],
    "accept_invitation": [Call(body={"token": "nothing"})],
    "revoke_invitation": [_at("invitation")],
    "get_observability": [Call()],
    "change_observability": [Call(body={"traces": "structure"})],
    "try_trace_service": [Call(body={"service": "openai"})],
    "list_audit": [
        Call(query={"user": "<user>"}, foreign={"user": 200}),
        Call(query={"action": "agent.create"}),
    ],
    "list_jobs": [Call(query={"state": "dead"})],
    "retry_job": [_at("job")],
    "list_tools": [Call()],
    "execute_tool": [
        Call(body={"tool": "<tool_name>", "session_id": "<session>", "approved": True}),
        Call(
            headers={"idempotency-key": "<tool_key>"},
            body={"tool": "calculator", "arguments": {"expression": "1+1"}},
            foreign={"tool_key": 200},
        ),
    ],
    "list_agent_tools": [Call()],
    "create_agent_tool": [Call(body=_TOOL, foreign={"tool_name": 201})],
    "get_agent_tool": [_at("tool")],
    "replace_agent_tool": [_at("tool", _TOOL, tool_name="tool_exists")],
    "delete_agent_tool": [_at("tool")],
    "try_agent_tool": [_at("tool", {"arguments": {}})],
    "list_assigned_tools": [_at("agent")],
    "assign_tool": [Call(path={"agent_id": "<agent>", "name": "<tool_name>"}, body={"approval": "ask"})],
    "unassign_tool": [Call(path={"agent_id": "<agent>", "name": "<tool_name>"})],
    "list_mcp_servers": [Call()],
    "create_mcp_server": [Call(body=_SERVER, foreign={"mcp_name": 201})],
    "test_mcp_server": [Call(body={"server_url": "http://127.0.0.1:9/mcp"})],
    "get_mcp_server": [_SERVER_AT],
    "replace_mcp_server": [
        Call(path=_SERVER_AT.path, body=_SERVER, foreign={"mcp_name": "mcp_server_exists"})
    ],
    "delete_mcp_server": [_SERVER_AT],
    "check_mcp_server": [_SERVER_AT],
    "connect_mcp_server": [_SERVER_AT],
    "finish_mcp_connect": [Call(query={"state": "nothing"})],
    "disconnect_mcp_server": [_SERVER_AT],
    "change_mcp_tool": [Call(path=_MCP_TOOL_AT, body={"enabled": False})],
    "accept_mcp_tool": [Call(path=_MCP_TOOL_AT, body={"digest": "0" * 64})],
    "assign_mcp_server": [Call(path={"agent_id": "<agent>", "server_id": "<mcp_server>"})],
    "unassign_mcp_server": [Call(path={"agent_id": "<agent>", "server_id": "<mcp_server>"})],
    "mcp_client_document": [Call()],
    "list_memories": [_at("agent"), Call(path={"agent_id": "<agent>"}, query={"q": "memory"})],
    "add_memory": [
        _at("agent", {"content": "Likes tea."}),
        _at("agent", {"content": "Tea.", "source": {"session_id": "<session>", "message_id": "<message>"}}),
    ],
    "get_memory": [_at("memory")],
    "change_memory": [_at("memory", {"importance": 1})],
    "delete_memory": [_at("memory")],
    "list_agent_suggestions": [
        Call(path={"agent_id": "<agent>"}, query={"session_id": "<session>"}, foreign={"session": 200})
    ],
    "list_suggestions": [
        Call(),
        Call(
            query={"session_id": "<session>", "agent_id": "<agent>"}, foreign={"session": 200, "agent": 200}
        ),
    ],
    "approve_suggestion": [_at("suggestion")],
    "reject_suggestion": [_at("suggestion")],
    "edit_suggestion": [_at("suggestion", {"content": "Likes tea."})],
    "approve_session_suggestions": [_at("session")],
    "close_session": [_at("session")],
    "list_my_memories": [Call(query={"agent_id": "<agent>"}, foreign={"agent": 200})],
    "export_my_memories": [Call()],
    "forget_me": [Call()],
    "list_drafts": [Call(query={"kind": "<draft_kind>"}, foreign={"draft_kind": 200})],
    "get_draft": [_at("draft")],
    "list_draft_versions": [_at("draft")],
    "get_draft_version": [Call(path={"draft_id": "<draft>", "version": "1"})],
    "delete_draft": [_at("draft")],
    "get_profile": [Call()],
    "change_profile": [Call(body={"changes": {"name": "Ann"}})],
    "about": [Call()],
    "health": [Call()],
    "ready": [Call()],
    "openapi": [Call()],
    "protected_resource": [Call()],
    "protected_resource_of_server": [Call()],
    "metrics": [Call()],
    "sign_in_methods": [Call()],
    "sign_in_with_password": [Call(body={"email": "ann@example.com", "password": "a quiet harbour"})],
    "sign_in": [Call()],
    "sign_out": [Call()],
    "begin_sign_in": [Call(path={"provider": "nobody"})],
    "finish_sign_in": [Call(path={"provider": "nobody"})],
    "link_identity": [Call(path={"provider": "nobody"})],
    "list_identities": [Call()],
    "unlink_identity": [Call(path={"provider": "nobody"})],
}
"""By operation. A route that is not here fails the tests: whoever adds one says how it is called."""
