"""The tools that the official conformance suite calls, behind agio's own `/mcp`: the agents stay beside them."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
)

from agio.gateway.doors.mcp_server.agents import AgentTools, agents_server
from agio.gateway.doors.mcp_server.door import McpServer
from agio.gateway.doors.mcp_server.endpoint import Endpoint
from agio.gateway.doors.mcp_server.exchange import Exchange
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send

_DOT = b64encode(b"\x89PNG\r\n\x1a\n").decode()
_SOUND = b64encode(b"RIFF\x00\x00\x00\x00WAVE").decode()


def _resource(uri: str, media_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=media_type, text=text))


CONTENT: dict[str, list[ContentBlock]] = {
    "test_simple_text": [TextContent(text="This is a simple text response for testing.")],
    "test_image_content": [ImageContent(data=_DOT, mime_type="image/png")],
    "test_audio_content": [AudioContent(data=_SOUND, mime_type="audio/wav")],
    "test_embedded_resource": [
        _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        TextContent(text="Multiple content types test:"),
        ImageContent(data=_DOT, mime_type="image/png"),
        _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "test_error_handling": [TextContent(text="This tool intentionally returns an error for testing")],
    "test_tool_with_progress": [TextContent(text="Progress was reported.")],
    "test_tool_with_logging": [TextContent(text="It was logged.")],
    "test_streaming_elicitation": [TextContent(text="Nothing was asked.")],
    "test_logging_tool": [TextContent(text="Nothing was logged.")],
    "test_missing_capability": [],
}


class Fixtures(AgentTools):
    """The handlers: a fixture by its name, else an agent."""

    async def list(
        self, ctx: "ServerRequestContext[dict[str, Any]]", params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """List the fixtures before the agents."""
        listed = await super().list(ctx, params)
        own = [Tool(name=name, description="A fixture.", input_schema={"type": "object"}) for name in CONTENT]
        return listed.model_copy(update={"tools": [*own, *listed.tools]})

    async def call(
        self, ctx: "ServerRequestContext[dict[str, Any]]", params: CallToolRequestParams
    ) -> CallToolResult:
        """Return a fixture's content."""
        content = CONTENT.get(params.name)
        if content is None:
            return await super().call(ctx, params)
        if params.name == "test_missing_capability":
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", needed)
        if params.name == "test_tool_with_progress":
            for done in (0, 50, 100):
                await ctx.session.report_progress(done, 100)
        if params.name == "test_tool_with_logging" and isinstance(ctx.request, Exchange):
            for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                await ctx.request.notify("notifications/message", {"level": "info", "data": words})
        return CallToolResult(content=content, is_error=params.name == "test_error_handling")


async def _set_level(
    ctx: "ServerRequestContext[dict[str, Any]]", params: SetLevelRequestParams
) -> EmptyResult:
    return EmptyResult()


def fixture_server(key: str) -> Callable[[Gateway], Application]:
    """Return what makes `/mcp` with the fixtures. The suite sends no credential, so its requests get a key here."""

    def endpoint(gateway: Gateway) -> Endpoint:
        tools, server = Fixtures(gateway), agents_server(gateway)
        server.add_request_handler("tools/list", PaginatedRequestParams, tools.list)
        server.add_request_handler("tools/call", CallToolRequestParams, tools.call)
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
        return Endpoint(gateway, server)

    def make(gateway: Gateway) -> Application:
        door = McpServer(gateway, endpoint)

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {key}".encode())]
            await door(scope, receive, send)

        return serve

    return make
