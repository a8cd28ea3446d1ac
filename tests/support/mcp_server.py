"""An MCP server built with the official package: tools that do what clients must cope with, on a free port."""

import asyncio
import json
import os
import resource
import subprocess
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, TypeAlias, cast

import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.engine import soon
from tests.support.ports import free_port

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63"
    "64f8cf500f0003860180f5c1d1e00000000049454e44ae426082"
)
Context: TypeAlias = ServerRequestContext[Any, Request]
Play: TypeAlias = Callable[
    [Context, dict[str, Any]], Awaitable[types.CallToolResult | types.InputRequiredResult]
]
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def text(words: str, *, error: bool = False) -> types.CallToolResult:
    """A result of text."""
    return types.CallToolResult(content=[types.TextContent(text=words)], is_error=error)


class Fixture:
    """The server's tools, and what became of their calls. Change `tools` to change the server."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.metas: list[dict[str, Any]] = []
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.lists = 0
        self.pay_url = "https://pay.example.com/1?a=b"
        self.request_ids: list[types.RequestId | None] = []
        self.tools: dict[str, tuple[str, dict[str, Any], Play]] = {
            "echo": ("Say it again.", _takes("text"), self._echo),
            "who": ("Say who asks.", OBJECT, self._who),
            "leak": ("Say the caller's token.", OBJECT, self._leak),
            "count": ("Count to three, saying so.", OBJECT, self._count),
            "wait": ("Wait for what never comes.", OBJECT, self._wait),
            "draw": ("Draw.", OBJECT, self._draw),
            "big": ("Say much.", OBJECT, self._big),
            "fail": ("Fail.", OBJECT, self._fail),
            "ask": ("Ask a person.", OBJECT, self._ask),
            "order": ("Order, asking for the colour and the number.", OBJECT, self._order),
            "pay": ("Have a person pay on a page.", OBJECT, self._pay),
        }

    def server(self) -> Server[Any]:
        return Server("fixture", version="1.2.3", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self.lists += 1
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, description=words, input_schema=schema)
                for name, (words, schema, _) in self.tools.items()
            ]
        )

    async def _call(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        self.calls.append(params.name)
        self.metas.append({**(params.meta or {})})
        if (request := cast("Request | None", ctx.request)) is not None:
            self.headers.append(dict(request.headers))
        arguments = {
            **(params.arguments or {}),
            "_answers": params.input_responses,
            "_state": params.request_state,
        }
        return await self.tools[params.name][2](cast(Context, ctx), arguments)

    async def _echo(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        return text(str(arguments["text"]))

    async def _who(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        """A digest of the caller's token, after a moment in which others ask with the same request id."""
        await asyncio.sleep(0)
        self.request_ids.append(ctx.request_id)
        return text(digest(_token(ctx)))

    async def _leak(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        return text(f"your token is {_token(ctx)}")

    async def _count(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        for number in (1, 2, 3):
            await ctx.session.report_progress(number, 3, f"at {number}")
        return text("3")

    async def _wait(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return text("never")

    async def _draw(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        image = types.ImageContent(data=b64encode(PNG).decode(), mime_type="image/png")
        page = types.TextResourceContents(uri="memo://page", text="the page")
        return types.CallToolResult(
            content=[
                types.TextContent(text="look:"),
                image,
                types.EmbeddedResource(resource=page),
                types.ResourceLink(name="more", uri="memo://more"),
            ]
        )

    async def _big(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        return text("x" * 300_000)

    async def _fail(self, ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
        return text("no such order", error=True)

    async def _ask(
        self, ctx: Context, arguments: dict[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        answers = cast("dict[str, Any] | None", arguments["_answers"])
        if answers is not None:
            answer = answers["colour"]
            assert arguments["_state"] == "asked once"
            return text(f"{answer.action} {answer.content}")
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"colour": {"type": "string"}},
            "required": ["colour"],
        }
        params = types.ElicitRequestFormParams(message="Which colour?", requested_schema=schema)
        if ctx.protocol_version < "2026":
            asked = await ctx.session.elicit_form("Which colour?", schema, related_request_id=ctx.request_id)
            return text(asked.action)
        return types.InputRequiredResult(
            input_requests={"colour": types.ElicitRequest(params=params)}, request_state="asked once"
        )

    async def _order(
        self, ctx: Context, arguments: dict[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Ask twice: the state of the second question has the answer to the first."""
        answers = cast("dict[str, Any] | None", arguments["_answers"])
        if answers is None:
            colour = {"type": "string", "title": "Colour", "enum": ["red", "green"]}
            return asking("first", "Which colour?", {"colour": colour}, "secret state")
        if "first" in answers:
            assert arguments["_state"] == "secret state"
            if answers["first"].action != "accept":
                return text(f"{answers['first'].action}: nothing ordered")
            number = {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many of them"}
            chosen = str(answers["first"].content["colour"])
            return asking("second", "How many?", {"number": number}, f"secret {chosen}")
        state = str(arguments["_state"]).removeprefix("secret ")
        return text(f"{answers['second'].content['number']} {state} apples")

    async def _pay(
        self, ctx: Context, arguments: dict[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        answers = cast("dict[str, Any] | None", arguments["_answers"])
        if answers is not None:
            return text(f"{answers['pay'].action} {answers['pay'].content}")
        params = types.ElicitRequestURLParams(message="Pay there.", url=self.pay_url)
        return types.InputRequiredResult(input_requests={"pay": types.ElicitRequest(params=params)})


def asking(key: str, message: str, fields: dict[str, Any], state: str) -> types.InputRequiredResult:
    """A question with a form, all of whose fields are required."""
    form: dict[str, Any] = {"type": "object", "properties": fields, "required": list(fields)}
    params = types.ElicitRequestFormParams(message=message, requested_schema=form)
    return types.InputRequiredResult(
        input_requests={key: types.ElicitRequest(params=params)}, request_state=state
    )


def digest(token: str) -> str:
    """What `who` says of a token."""
    return sha256(token.encode()).hexdigest()[:12]


def _token(ctx: Context) -> str:
    said = "" if ctx.request is None else ctx.request.headers.get("authorization", "")
    return said.removeprefix("Bearer ")


def _takes(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }


def before_2026(app: ASGIApp) -> ASGIApp:
    """Answer as a server of 2025 does: it does not know requests of the later protocol."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"mcp-protocol-version", b"2026-07-28") in scope["headers"]:
            await Response(status_code=400)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve


def over_sse(fixture: Fixture) -> Starlette:
    """The server over the transport of 2024."""
    transport = SseServerTransport("/messages/")

    async def connect(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:  # pyright: ignore[reportPrivateUsage]
            server = fixture.server()
            await server.run(streams[0], streams[1], server.create_initialization_options())
        return Response()

    return Starlette(
        routes=[Route("/mcp", connect, methods=["GET"]), Mount("/messages/", transport.handle_post_message)]
    )


@asynccontextmanager
async def listen(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve an application until the block ends; yields its address."""
    port = free_port()
    config = uvicorn.Config(app, port=port, log_level="critical", timeout_graceful_shutdown=1, ws="none")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=None))
    try:
        async with asyncio.timeout(30):
            while not server.started:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await soon(serving)


async def _on_stdio() -> None:
    fixture = Fixture()
    fixture.tools["environment"] = ("Say it.", OBJECT, _environment)
    fixture.tools["die"] = ("Die.", OBJECT, _die)
    server = fixture.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _environment(ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
    child = subprocess.Popen(["sleep", "600"])  # noqa: ASYNC220
    limits = {
        name: resource.getrlimit(getattr(resource, name))[0] for name in ("RLIMIT_CORE", "RLIMIT_NOFILE")
    }
    found = {
        "env": dict(os.environ),
        "pid": os.getpid(),
        "group": os.getpgid(0),
        "child": child.pid,
        "limits": limits,
    }
    return text(json.dumps(found))


async def _die(ctx: Context, arguments: dict[str, Any]) -> types.CallToolResult:
    os._exit(3)


@asynccontextmanager
async def fixture_server(
    *, old: bool = False, sse: bool = False, guard: Callable[[ASGIApp], ASGIApp] = lambda app: app
) -> AsyncGenerator[Fixture]:
    """Serve the fixture, as of 2026, or `old` as of 2025, or over SSE. `guard` stands before it."""
    fixture = Fixture()
    app: ASGIApp = over_sse(fixture) if sse else fixture.server().streamable_http_app()
    async with listen(guard(before_2026(app) if old else app)) as url:
        fixture.url = f"{url}/mcp"
        yield fixture


if __name__ == "__main__":
    asyncio.run(_on_stdio())
