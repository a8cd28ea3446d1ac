"""Tools and their calls as clients see them. Times are milliseconds since 1970."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from agio.core.http_tool import HttpMethod, ToolDefinition, ToolRequestRecord
from agio.core.link.link import Place, ToolKind, ToolOffer
from agio.core.mcp import McpTool
from agio.core.store.repository import Approval, Effect
from agio.gateway.routes.headers import HeaderView, headers_view
from agio.protocol.messages import Content, Json


class ToolView(Struct, frozen=True, kw_only=True):
    """A tool that agents can have."""

    name: str
    description: str
    parameters: dict[str, Json]
    place: Place
    effect: Effect
    approval: Approval


class Tools(Struct, frozen=True):
    """The built-in tools and those of connected workers, by name."""

    items: list[ToolView]


class ToolUser(Struct, frozen=True):
    """An agent that has a tool."""

    id: str
    name: str


class ToolServer(Struct, frozen=True):
    """The MCP server of a tool."""

    id: str
    name: str
    tool: str
    """The server's name of the tool."""
    on: bool
    """Whether agents are offered it: it and its server are switched on, and it is as it was accepted."""


class AgentToolDetails(Struct, frozen=True, kw_only=True):
    """A tool that agents can have. Only the team's own HTTP tools can be changed."""

    id: str
    name: str
    kind: ToolKind
    place: Place
    description: str
    parameters: dict[str, Json]
    effect: Effect
    approval: Approval
    timeout_s: float | None
    read_only: bool
    agents: list[ToolUser]
    """The agents that have it."""
    unchecked_patterns: Sequence[str] = ()
    """In the response to a save: patterns of its parameters that arguments are not checked against."""
    method: HttpMethod | None = None
    url: str | None = None
    headers: list[HeaderView] | None = None
    result_path: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    server: ToolServer | None = None


class AgentTools(Struct, frozen=True):
    """The tools that a team's agents can have, by name."""

    items: list[AgentToolDetails]


class Known(Struct, frozen=True):
    """A tool of a team. `definition`: of an HTTP tool; `mcp`: of an MCP server's."""

    id: str
    offer: ToolOffer
    definition: ToolDefinition | None = None
    mcp: McpTool | None = None
    server: ToolServer | None = None


class ToolFailure(Struct, frozen=True):
    """Why a call failed. `code` is stable; `message` is the text a model would receive."""

    code: str
    message: str


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of a tool call."""

    id: str
    tool: str
    ok: bool
    content: Content
    """What a model would get: text, or AG-UI content parts."""
    error: ToolFailure | None
    started_at: int
    duration_ms: int


class SentRequest(Struct, frozen=True, kw_only=True):
    """The request of an HTTP tool. `status` is null if there was no response."""

    method: str
    url: str
    """Where it went at last, after redirects."""
    status: int | None
    duration_ms: int


class ToolTrial(ToolResult, frozen=True, kw_only=True):
    """The result of a test call. `request` is null if no HTTP request was sent."""

    request: SentRequest | None


def tool_view(
    tool: Known, users: Mapping[str, list[ToolUser]], unchecked: Sequence[str] = ()
) -> AgentToolDetails:
    """Show a tool."""
    offer, made = tool.offer, tool.definition
    http = None if made is None else made.http
    return AgentToolDetails(
        id=tool.id,
        name=offer.name,
        kind=offer.kind,
        place=offer.place,
        description=offer.description,
        parameters=offer.parameters,
        effect=offer.effect,
        approval=offer.approval,
        timeout_s=offer.timeout_s,
        read_only=made is None,
        agents=users.get(offer.name, []),
        unchecked_patterns=unchecked,
        method=None if http is None else http.method,
        url=None if http is None else http.url,
        headers=None if http is None else headers_view(http.headers),
        result_path=None if http is None else http.result_path,
        created_at=None if made is None else made.created_at,
        updated_at=None if made is None else made.updated_at,
        server=tool.server,
    )


def result_view(made: ToolRequestRecord) -> ToolResult:
    """Show the result of a tool call."""
    content, code = made.record.content or "", made.record.error
    failure = None
    if code is not None:
        failure = ToolFailure(code, content if isinstance(content, str) else f"{made.tool} failed: {code}.")
    return ToolResult(
        id=made.id,
        tool=made.tool,
        ok=code is None,
        content=content,
        error=failure,
        started_at=made.started_at,
        duration_ms=(made.ended_at or made.started_at) - made.started_at,
    )


def trial_view(made: ToolRequestRecord, request: SentRequest | None) -> ToolTrial:
    """Show the result of a trial."""
    shown = result_view(made)
    return ToolTrial(**{name: getattr(shown, name) for name in ToolResult.__struct_fields__}, request=request)
