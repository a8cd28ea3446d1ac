"""MCP servers of a team and the tools they offer: records, and the store port. Run by tools/mcp/.

A tool is offered by its server, then accepted by a person: its name, description and schema are pinned by their digest.
A tool whose offer no longer has the accepted digest is held back until a person accepts the difference.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct, field

from agio.core.http_tool import HttpHeader, origin_of, secret_field
from agio.core.provider import Sealed
from agio.core.store.repository import Approval, Effect
from agio.protocol.messages import Json

McpTransport: TypeAlias = Literal["http", "sse", "stdio"]
McpAuth: TypeAlias = Literal["none", "bearer", "oauth"]
"""How a request is authorised, besides its headers."""
McpOAuthScope: TypeAlias = Literal["user", "team"]
"""Whether each user connects, or one person for the whole team."""
McpToolState: TypeAlias = Literal["new", "on", "off", "changed", "gone"]
"""`new`: never accepted; `changed`: held back, since the server offers something else; `gone`: no longer offered."""

SERVER_NAME = r"^[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$"
SERVER_NAME_CHARS = 40
SERVER_NAME_RULE = (
    f"a name has up to {SERVER_NAME_CHARS} letters, digits, _ and -; it begins with a letter, "
    "and a single _ or - stands between letters or digits"
)
MAX_SERVERS = 50
"""How many servers a team may have."""
MAX_TOOLS = 500
"""How many tools of one server are taken."""

_encode = msgspec.json.Encoder(order="sorted").encode


class McpOAuth(Struct, frozen=True, kw_only=True):
    """How a server's authorization server is used. Without a client id agio finds or registers its own."""

    scope: McpOAuthScope = "user"
    issuer: str | None = None
    """The only authorization server whose tokens are taken; None: the one that the server names."""
    client_id: str | None = None
    has_secret: bool = False
    """Whether the client has a secret, stored as one of the server's secrets."""


class McpServerFields(Struct, frozen=True, kw_only=True):
    """A server as its team defines it. A `stdio` server has no URL: its command is in the operator's file."""

    name: str
    transport: McpTransport = "http"
    url: str | None = None
    headers: list[HttpHeader] = field(default_factory=list[HttpHeader])
    """Sent with every request. The value of a secret header is stored as one of the server's secrets."""
    auth: McpAuth = "none"
    oauth: McpOAuth | None = None
    """Set if `auth` is `oauth`."""
    enabled: bool = True
    timeout_s: float | None = None
    """How long a call may take; None: as the agent says, else the server's default."""

    @property
    def token_field(self) -> str:
        """The field under which the bearer token is stored, with the origin it was entered for."""
        return f"bearer@{origin_of(self.url or '')}"

    @property
    def client_secret_field(self) -> str:
        """The field under which the client's secret is stored, with the issuer it was entered for."""
        issuer = "" if self.oauth is None else self.oauth.issuer
        return f"client_secret@{issuer}"

    def owner_of(self, user: str) -> str:
        """Return whose connection a user's calls use: the user's own, or with "" the team's."""
        return "" if self.oauth is not None and self.oauth.scope == "team" else user

    def field_of(self, header: HttpHeader) -> str:
        """Return the field under which a secret header's value is stored."""
        return secret_field(header, self.url or "")

    @property
    def secret_fields(self) -> list[str]:
        """The fields of all secrets it needs."""
        secret = [self.field_of(header) for header in self.headers if header.secret]
        if self.oauth is not None and self.oauth.has_secret:
            secret.append(self.client_secret_field)
        return [*secret, self.token_field] if self.auth == "bearer" else secret


class McpServer(McpServerFields, frozen=True, kw_only=True):
    """A server in the store. `updated_at` is its version: it grows with every change, also of a secret."""

    id: str
    tenant: str
    created_at: int
    updated_at: int


class McpOffer(Struct, frozen=True, kw_only=True):
    """A tool as its server describes it."""

    name: str
    description: str
    parameters: dict[str, Json]
    read_only: bool = False
    """The server's own hint, which is not trusted: it only suggests the effect."""
    problem: str = ""
    """Why it cannot be accepted; empty: it can."""

    @property
    def digest(self) -> str:
        """The digest of what a person accepts."""
        return hashlib.sha256(_encode([self.name, self.description, self.parameters])).hexdigest()


class McpToolChoice(Struct, frozen=True, kw_only=True):
    """What the team says of a tool."""

    enabled: bool = True
    effect: Effect = "once"
    approval: Approval = "ask"


class McpToolRecord(Struct, frozen=True, kw_only=True):
    """A tool of a server in the store."""

    id: str
    server_id: str
    remote: str
    """The server's name of it."""
    tool: str
    """Its name towards models, unique in the team; empty until it is accepted."""
    offered: McpOffer | None
    """As the server offered it last; None: not any more."""
    accepted: McpOffer | None
    """As a person accepted it; None: never."""
    choice: McpToolChoice
    seen_at: int

    @property
    def state(self) -> McpToolState:
        """Whether agents can have it, and if not, why."""
        if self.accepted is None:
            return "new" if self.offered is not None else "gone"
        if self.offered is None:
            return "gone"
        if self.offered.digest != self.accepted.digest:
            return "changed"
        return "on" if self.choice.enabled else "off"


class McpTool(Struct, frozen=True, kw_only=True):
    """An accepted tool, as agents have it and runs pin it."""

    server_id: str
    remote: str
    """The server's name of it."""
    description: str
    parameters: dict[str, Json]
    digest: str
    effect: Effect = "once"
    approval: Approval = "ask"
    timeout_s: float | None = None
    on: bool = True
    """Whether agents are offered it: it and its server are switched on, and it is as it was accepted."""


def definition_of(tool: McpToolRecord, server: McpServer) -> McpTool:
    """Return what agents have of an accepted tool of a server."""
    accepted = tool.accepted
    if accepted is None:
        raise ValueError(f"{tool.id} was not accepted.")
    return McpTool(
        server_id=server.id,
        remote=tool.remote,
        description=accepted.description,
        parameters=accepted.parameters,
        digest=accepted.digest,
        effect=tool.choice.effect,
        approval=tool.choice.approval,
        timeout_s=server.timeout_s,
        on=server.enabled and tool.state == "on",
    )


class McpStore(Protocol):
    """The store of MCP servers and their tools."""

    async def list_mcp_servers(self, tenant: str) -> list[McpServer]:
        """List a tenant's servers, by name."""
        ...

    async def get_mcp_server(self, tenant: str, server_id: str) -> McpServer:
        """Return a server. Raises UserError `mcp_server_not_found`."""
        ...

    async def create_mcp_server(
        self, tenant: str, server_id: str, fields: McpServerFields, secrets: Mapping[str, Sealed]
    ) -> McpServer:
        """Add a server. Raises UserError `mcp_server_exists`, `too_many_mcp_servers`."""
        ...

    async def update_mcp_server(
        self,
        tenant: str,
        server_id: str,
        fields: McpServerFields,
        secrets: Mapping[str, Sealed],
        expected: int | None = None,
    ) -> McpServer:
        """Replace a server. Secrets that it still needs and that are not in `secrets` are kept.

        Raises UserError `mcp_server_not_found`, `mcp_server_exists`, `changed_elsewhere`.
        """
        ...

    async def delete_mcp_server(self, tenant: str, server_id: str) -> None:
        """Delete a server with its tools and secrets; agents lose them. Raises UserError `mcp_server_not_found`."""
        ...

    async def list_mcp_tools(self, tenant: str, server_id: str | None = None) -> list[McpToolRecord]:
        """List the tools of a server, or of all of a tenant's servers, by the server's names."""
        ...

    async def see_mcp_tools(
        self, tenant: str, server_id: str, offers: Sequence[McpOffer]
    ) -> list[McpToolRecord]:
        """Record what a server offers now; a tool that is not as accepted is held back.

        Raises UserError `mcp_server_not_found`.
        """
        ...

    async def choose_mcp_tool(
        self,
        tenant: str,
        server_id: str,
        tool_id: str,
        choice: McpToolChoice,
        names: Sequence[str],
        digest: str | None = None,
    ) -> McpToolRecord:
        """Set a tool's switch, effect and approval. With a digest, also accept the offer that has it.

        A tool that is accepted for the first time gets the first of `names` that is free.

        Raises UserError `mcp_tool_not_found`; `mcp_tool_changed` if the offer is another, or was never accepted.
        """
        ...

    async def find_mcp_call(self, tenant: str, tool_id: str) -> tuple[McpServer, McpToolRecord] | None:
        """Return the server and the tool of a call, as they are now; None if either was deleted."""
        ...

    async def assign_mcp_server(self, tenant: str, agent_id: str, server_id: str, *, given: bool) -> None:
        """Give an agent every tool of a server that is on, or take all of them from it.

        Raises UserError `agent_not_found`, `agent_read_only`, `mcp_server_not_found`.
        """
        ...
