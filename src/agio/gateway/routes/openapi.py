"""The OpenAPI document at `/api/openapi.json`: request bodies from FastAPI, everything else from the route table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from agio.core.config import AgentLimits
from agio.errors import UserError
from agio.gateway.http.errors import Error, status_of
from agio.gateway.http.route import Route
from agio.gateway.routes.agents.views import AgentView
from agio.protocol.messages import ContentPart, Message, RunAgentInput

Schema: TypeAlias = dict[str, Any]

VERSION = "1"
_REF = "#/components/schemas/{name}"
_DESCRIPTION = """
Agents whose every run is a durable log of events that any client can stream, leave, resume and replay.

Errors are `{"error": {"code", "message", "details"}}`; `code` is stable. Lists are paged: give the `next` of a
page as `after` of the following one. Times are milliseconds since 1970.
""".strip()
_SECURITY = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, for programs: `Authorization: Bearer agio_...`.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-agio_session",
        "description": "A browser's session, begun by signing in.",
    },
}
_PHRASES = {200: "Success.", 201: "Created.", 202: "Accepted.", 204: "Done.", 303: "Redirect to `/`."}
_NOT_OURS = ("HTTPValidationError", "ValidationError")
_JSON_CODES = "invalid_json invalid_body body_too_large too_many_bytes request_timeout unsupported_media_type"
_FAILED_RUN = (422, 502, 504)
_STREAM_CODES = (
    "too_many_streams too_many_bytes unauthenticated forbidden forbidden_host rate_limited internal_error "
    "store_failed store_full store_unavailable"
)
_AG_UI_CODES = (
    "agent_not_found agent_inactive session_busy session_deleted invalid_input body_too_large unknown_interrupt "
    "interrupt_closed incomplete_answer unknown_tool_call too_many_sessions queue_full message_too_large "
    "empty_message invalid_json invalid_schema invalid_cursor request_timeout unsupported_media_type file_not_found "
    "forbidden_origin idempotency_conflict invalid_answer"
)

_MCP_CODES = "forbidden_origin body_too_large request_timeout unsupported_media_type"
_JSON_RPC: Schema = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
}


def describe(routes: Sequence[Route], made: Sequence[APIRoute]) -> bytes:
    """Return the OpenAPI document."""
    described = get_openapi(
        title="agio",
        version=VERSION,
        description=_DESCRIPTION,
        routes=list(made),
        separate_input_output_schemas=False,
    )
    answers = [route.answer for route in routes if not isinstance(route.answer, str | None)]
    refs, schemas = _schemas([*answers, Error, RunAgentInput, ContentPart, Message])
    of_answer = dict(zip(map(id, answers), refs, strict=False))
    components: Schema = described.setdefault("components", {})
    bodies: Schema = {
        name: schema for name, schema in components.get("schemas", {}).items() if name not in _NOT_OURS
    }
    for view in (AgentView, AgentLimits):  # their fields have defaults, and are in every answer
        shown = schemas[view.__name__]
        shown["required"] = list(shown["properties"])
        for field in shown["properties"].values():
            field.pop("default", None)
    schemas["MessageView"]["properties"]["message"] = {"$ref": _REF.format(name="Message")}
    components["schemas"] = {**bodies, **schemas, "ContentPart": refs[-2], "Message": refs[-1]}
    components["securitySchemes"] = _SECURITY
    for route in routes:
        operation: Schema = described["paths"][route.path][route.method.lower()]
        operation["tags"] = [_tag(route.path)]
        operation["summary"] = (route.endpoint.__doc__ or "").strip().splitlines()[0]
        operation.pop("description", None)
        content = route.answer if isinstance(route.answer, str | None) else of_answer[id(route.answer)]
        operation["responses"] = {
            str(route.status): _response(route.status, content),
            **_errors(_codes(route, operation)),
        }
        if route.waits:
            for status in _FAILED_RUN:
                operation["responses"].setdefault(
                    str(status), _refusal("The run failed: `code` is the run's.")
                )
        if route.streams:
            operation["responses"][str(route.status)]["content"]["text/event-stream"] = {}
        for status in route.pages:
            shown: Schema = operation["responses"].setdefault(str(status), {"description": "A page."})
            shown.setdefault("content", {})["text/html"] = {"schema": {"type": "string"}}
        if route.access == "user":
            operation["security"] = [{"apiKey": []}, {"cookie": []}]
        elif route.access == "local":
            operation["security"] = [{}, {"apiKey": []}, {"cookie": []}]
    described["paths"] |= _streams()
    return msgspec.json.encode(described)


def _schemas(types: Iterable[object]) -> tuple[tuple[Schema, ...], Schema]:
    refs, components = msgspec.json.schema_components(types, schema_hook=_any, ref_template=_REF)
    return refs, components


def _any(kind: type) -> Schema:
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError(f"{kind} has no JSON schema")


def _tag(path: str) -> str:
    return path.removeprefix("/api/").strip("/").partition("/")[0] or "pages"


def _response(status: int, content: object) -> Schema:
    words = {"description": _PHRASES[status]}
    if content is None:
        return words
    if isinstance(content, str):
        return {**words, "content": {content: {"schema": {"type": "string"}}}}
    return {**words, "content": {"application/json": {"schema": content}}}


def _codes(route: Route, operation: Schema) -> list[str]:
    """Return all error codes of a route: its own, and those every such route has."""
    codes = route.codes.split()
    codes += ["forbidden_host", "internal_error"]
    if route.access != "public":
        codes += [
            "unauthenticated",
            "rate_limited",
            "too_many_bytes",
            "store_failed",
            "store_full",
            "store_unavailable",
        ]
    if route.access == "user":
        codes.append("forbidden")
    if route.access == "user" and route.method != "GET":
        codes.append("forbidden_origin")
    if route.fresh:
        codes.append("reauthentication_required")
    if "requestBody" in operation and route.takes is None:
        codes += _JSON_CODES.split()
    if "parameters" in operation or route.method == "GET":
        codes.append("invalid_query")
    return codes


def _errors(codes: Iterable[str]) -> Schema:
    by_status: dict[int, list[str]] = {}
    for code in codes:
        status = 500 if code == "internal_error" else status_of(UserError(code, ""))
        by_status.setdefault(status, []).append(code)
    return {
        str(status): _refusal(", ".join(f"`{code}`" for code in sorted(set(given))))
        for status, given in sorted(by_status.items())
    }


def _refusal(words: str) -> Schema:
    schema = {"$ref": _REF.format(name="Error")}
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _streams() -> Schema:
    """Describe the endpoints that are not REST."""
    security: list[Schema] = [{"apiKey": []}, {"cookie": []}]
    events: Schema = {
        "description": "AG-UI 1.0 events as server-sent events: `id` is the session's position, `data` the event.",
        "content": {"text/event-stream": {}},
    }
    return {
        "/api/agent-sessions/{session_id}/stream": {
            "get": {
                "operationId": "stream_session",
                "summary": "Stream a session's events until the client disconnects.",
                "tags": ["agent-sessions"],
                "security": security,
                "parameters": [
                    _parameter("session_id", "path", {"type": "string"}),
                    _parameter(
                        "Last-Event-ID",
                        "header",
                        {"type": "integer", "minimum": 0},
                        "The last position received. Default: the start of the newest run.",
                    ),
                    _parameter("after", "query", {"type": "integer", "minimum": 0}, "As Last-Event-ID."),
                ],
                "responses": {
                    "200": events,
                    **_errors([*_STREAM_CODES.split(), "session_not_found", "invalid_cursor"]),
                },
            }
        },
        "/api/agents/{agent_id}/ag-ui": {
            "post": {
                "operationId": "run_agent",
                "summary": "Run an agent with an AG-UI 1.0 client.",
                "tags": ["agents"],
                "security": security,
                "parameters": [_parameter("agent_id", "path", {"type": "string"})],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": _REF.format(name="RunAgentInput")}}},
                },
                "responses": {
                    "200": events,
                    **_errors([*_STREAM_CODES.split(), *_AG_UI_CODES.split()]),
                },
            }
        },
        "/mcp": {
            "post": {
                "operationId": "mcp_server",
                "summary": "Send a message of MCP, whose tools are the team's agents.",
                "tags": ["mcp"],
                "security": [{"apiKey": []}],
                "requestBody": {"required": True, "content": {"application/json": {"schema": _JSON_RPC}}},
                "responses": {
                    "200": {
                        "description": "The JSON-RPC response, or events of which it is the last.",
                        "content": {"application/json": {}, "text/event-stream": {}},
                    },
                    "202": {"description": "A notification was taken."},
                    "400": {"description": "A JSON-RPC error.", "content": {"application/json": {}}},
                    "404": {"description": "The JSON-RPC error -32601.", "content": {"application/json": {}}},
                    **_errors([*_STREAM_CODES.split(), *_MCP_CODES.split()]),
                },
            }
        },
        "/realtime": {
            "get": {
                "operationId": "realtime",
                "summary": "Open a WebSocket to send messages, subscribe, cancel and answer.",
                "tags": ["realtime"],
                "security": security,
                "responses": {
                    "101": {"description": "The WebSocket is open."},
                    **_errors([*_STREAM_CODES.split(), "forbidden_origin", "upgrade_required"]),
                },
            }
        },
    }


def _parameter(name: str, place: str, schema: Mapping[str, object], words: str = "") -> Schema:
    parameter: Schema = {"name": name, "in": place, "required": place == "path", "schema": schema}
    return {**parameter, "description": words} if words else parameter
