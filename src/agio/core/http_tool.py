"""HTTP tools of a team: what is called, and how a model's arguments become a request. Run by tools/http_tool.py."""

import re
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from agio.core.provider import Sealed
from agio.core.store.repository import Approval, Effect, ToolRecord
from agio.protocol.messages import Json

HttpMethod: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


class HttpHeader(Struct, frozen=True, kw_only=True):
    """A header of a tool's request. A secret one has no value here: it is a secret of the tool's."""

    name: str
    value: str = ""
    secret: bool = False


class HttpTool(Struct, frozen=True, kw_only=True):
    """What a team says of an HTTP tool, beside its name.

    `url` has `{parameter}`s in its path and query; other arguments go into the query of GET, HEAD and DELETE
    and into a JSON body otherwise.
    """

    description: str
    method: HttpMethod
    url: str
    parameters: dict[str, Json]
    """The JSON schema of the arguments."""
    headers: list[HttpHeader] = field(default_factory=list[HttpHeader])
    result_path: str | None = None
    """What of a JSON answer the model is given, such as `data.items.0.name`; None: all of it."""
    timeout_s: float | None = None
    effect: Effect = "once"
    approval: Approval = "never"

    @property
    def origin(self) -> str:
        """Scheme, host and port of its URL."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{re.split('[/?#]', rest, maxsplit=1)[0]}".lower()

    def field_of(self, header: HttpHeader) -> str:
        """The field a secret header's value is kept under.

        It names the origin it was entered for: whoever still has an older definition does not find a newer secret.
        """
        return f"header:{header.name.lower()}@{self.origin}"


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool of a tenant as it is kept."""

    id: str
    tenant: str
    name: str
    http: HttpTool
    created_at: int
    updated_at: int


class ToolUse(Struct, frozen=True):
    """That an agent has a tool."""

    tool: str
    """The tool's name."""
    agent_id: str
    agent_name: str


class ToolRequest(Struct, frozen=True, kw_only=True):
    """A tool call that a person or program made by itself, outside a run."""

    id: str
    tool: str
    effect: Effect
    digest: bytes
    """Of what was asked: the same key with another digest is refused."""
    key_hash: bytes | None = None
    session_id: str | None = None


class ToolRequestRecord(Struct, frozen=True, kw_only=True):
    """What is known of such a call: `record` has no content while it is under way, or was lost half-way."""

    id: str
    tool: str
    effect: Effect
    """The tool's, when the call began."""
    record: ToolRecord
    started_at: int
    ended_at: int | None


class ToolStore(Protocol):
    """HTTP tools, which agents have which, and calls outside runs."""

    async def list_tool_definitions(self, tenant: str) -> list[ToolDefinition]:
        """A tenant's HTTP tools, by name."""
        ...

    async def get_tool_definition(self, tenant: str, tool_id: str) -> ToolDefinition:
        """Raises UserError `tool_not_found`."""
        ...

    async def find_tool_definition(self, tenant: str, name: str) -> ToolDefinition | None:
        """The HTTP tool with this name."""
        ...

    async def create_tool_definition(
        self, tenant: str, tool_id: str, name: str, http: HttpTool, secrets: Mapping[str, Sealed]
    ) -> ToolDefinition:
        """Raises UserError `tool_exists`, `too_many_tools`. An agent that had the name before has this tool now."""
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
        """Replace a tool; its secrets are these and those kept fields of `http` that are not among them.

        `expected`: only if it is the version of that `updated_at`. Raises UserError `tool_not_found`,
        `tool_exists`, `changed_elsewhere`.
        """
        ...

    async def delete_tool_definition(self, tenant: str, tool_id: str) -> None:
        """Remove a tool, its secrets, and take it from all agents. Raises UserError `tool_not_found`."""
        ...

    async def assign_tool(self, tenant: str, agent_id: str, name: str, approval: Approval | None) -> None:
        """Give an agent a tool, or change whether it asks. Raises UserError `agent_not_found`, `agent_read_only`."""
        ...

    async def unassign_tool(self, tenant: str, agent_id: str, name: str) -> None:
        """Take a tool from an agent. Raises UserError `agent_not_found`, `agent_read_only`, `tool_not_assigned`."""
        ...

    async def list_tool_uses(self, tenant: str) -> list[ToolUse]:
        """Which agents of a tenant have which tools, by the agent's name."""
        ...

    async def begin_tool_request(
        self, tenant: str, user: str, request: ToolRequest
    ) -> tuple[ToolRequestRecord, bool]:
        """Record that a call begins; true: it is new. If its key is known, what is known, and nothing begins.

        Raises UserError `idempotency_conflict`, `session_not_found`.
        """
        ...

    async def end_tool_request(
        self, tenant: str, user: str, request_id: str, record: ToolRecord
    ) -> ToolRequestRecord | None:
        """Record the result of a call, the first one stays; None if the call is not there any more."""
        ...
