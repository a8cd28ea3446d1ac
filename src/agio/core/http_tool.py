"""A team's HTTP tools: the endpoint, and how a model's arguments become a request. Run by tools/http_tool.py."""

import re
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from agio.core.provider import Sealed
from agio.core.store.repository import Approval, Effect, ToolRecord
from agio.protocol.messages import Json

HttpMethod: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


class HttpHeader(Struct, frozen=True, kw_only=True):
    """A header of a tool's request. The value of a secret header is stored as one of the tool's secrets."""

    name: str
    value: str = ""
    secret: bool = False


class HttpTool(Struct, frozen=True, kw_only=True):
    """The definition of an HTTP tool, without its name.

    `url` has `{parameter}`s in its path and query. Other arguments go into the query of GET, HEAD and DELETE, and into
    a JSON body otherwise.
    """

    description: str
    method: HttpMethod
    url: str
    parameters: dict[str, Json]
    """The JSON schema of the arguments."""
    headers: list[HttpHeader] = field(default_factory=list[HttpHeader])
    result_path: str | None = None
    """The part of a JSON response that the model gets, such as `data.items.0.name`; None: the whole response."""
    timeout_s: float | None = None
    effect: Effect = "once"
    approval: Approval = "never"

    def field_of(self, header: HttpHeader) -> str:
        """Return the field under which a secret header's value is stored."""
        return secret_field(header, self.url)


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a URL."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{re.split('[/?#]', rest, maxsplit=1)[0]}".lower()


def secret_field(header: HttpHeader, url: str) -> str:
    """Return the field under which the value of a secret header of requests to a URL is stored.

    The field includes the origin the secret was entered for, so an older definition cannot find a newer secret.
    """
    return f"header:{header.name.lower()}@{origin_of(url)}"


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tenant's tool in the store."""

    id: str
    tenant: str
    name: str
    http: HttpTool
    created_at: int
    updated_at: int


class ToolUse(Struct, frozen=True):
    """The assignment of a tool to an agent."""

    tool: str
    """The tool's name."""
    agent_id: str
    agent_name: str


class ToolRequest(Struct, frozen=True, kw_only=True):
    """A tool call that a person or a program requested outside a run."""

    id: str
    tool: str
    effect: Effect
    digest: bytes
    """The hash of the request. The same key with another digest is refused."""
    key_hash: bytes | None = None
    session_id: str | None = None


class ToolRequestRecord(Struct, frozen=True, kw_only=True):
    """The record of such a call. `record` has no content while the call is in progress, or if its outcome was lost."""

    id: str
    tool: str
    effect: Effect
    """The tool's effect when the call began."""
    record: ToolRecord
    started_at: int
    ended_at: int | None


class ToolStore(Protocol):
    """The store of HTTP tools, their assignments to agents, and calls outside runs."""

    async def list_tool_definitions(self, tenant: str) -> list[ToolDefinition]:
        """List a tenant's HTTP tools, by name."""
        ...

    async def get_tool_definition(self, tenant: str, tool_id: str) -> ToolDefinition:
        """Return a tool. Raises UserError `tool_not_found`."""
        ...

    async def find_tool_definition(self, tenant: str, name: str) -> ToolDefinition | None:
        """Return the HTTP tool with this name, or None."""
        ...

    async def create_tool_definition(
        self, tenant: str, tool_id: str, name: str, http: HttpTool, secrets: Mapping[str, Sealed]
    ) -> ToolDefinition:
        """Add a tool. Agents that already list its name get this tool.

        Raises UserError `tool_exists`, `too_many_tools`.
        """
        ...

    async def update_tool_definition(
        self,
        tenant: str,
        tool_id: str,
        name: str,
        http: HttpTool,
        secrets: Mapping[str, Sealed],
        expected: int | None = None,
    ) -> ToolDefinition:
        """Replace a tool. Fields of `http` without a new secret in `secrets` keep the stored one.

        With `expected`, only if the stored `updated_at` equals it. Raises UserError `tool_not_found`, `tool_exists`,
        `changed_elsewhere`.
        """
        ...

    async def delete_tool_definition(self, tenant: str, tool_id: str) -> None:
        """Delete a tool and its secrets, and remove it from all agents. Raises UserError `tool_not_found`."""
        ...

    async def assign_tool(self, tenant: str, agent_id: str, name: str, approval: Approval | None) -> None:
        """Assign a tool to an agent, or change its approval. Raises UserError `agent_not_found`, `agent_read_only`."""
        ...

    async def unassign_tool(self, tenant: str, agent_id: str, name: str) -> None:
        """Remove a tool from an agent. Raises UserError `agent_not_found`, `agent_read_only`, `tool_not_assigned`."""
        ...

    async def list_tool_uses(self, tenant: str) -> list[ToolUse]:
        """List the assignments of a tenant's tools, by agent name."""
        ...

    async def begin_tool_request(
        self, tenant: str, user: str, request: ToolRequest
    ) -> tuple[ToolRequestRecord, bool]:
        """Record the start of a call. Returns its record, and whether the call is new; a known key starts nothing.

        Raises UserError `idempotency_conflict`, `session_not_found`.
        """
        ...

    async def end_tool_request(
        self, tenant: str, user: str, request_id: str, record: ToolRecord
    ) -> ToolRequestRecord | None:
        """Record the result of a call; the first result stays. Returns None if the call was deleted."""
        ...
