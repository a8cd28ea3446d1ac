"""What the routes of MCP servers take."""

import re
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from agio.core.mcp import (
    SERVER_NAME,
    SERVER_NAME_CHARS,
    SERVER_NAME_RULE,
    McpAuth,
    McpOAuth,
    McpOAuthScope,
    McpServerFields,
    McpTransport,
)
from agio.core.store.repository import Approval, Effect
from agio.egress import parse_target
from agio.gateway.routes.body import Body
from agio.gateway.routes.headers import HeaderBody, headers_of

MAX_TIMEOUT_S = 120


def _not_stdio(given: object) -> object:
    if given == "stdio":
        raise ValueError("a command is only started from the operator's agio.toml; use http or sse here")
    return given


def _server_name(given: str) -> str:
    if len(given) > SERVER_NAME_CHARS or not re.fullmatch(SERVER_NAME, given):
        raise ValueError(SERVER_NAME_RULE)
    return given


ServerName: TypeAlias = Annotated[
    str,
    AfterValidator(_server_name),
    Field(
        json_schema_extra={"maxLength": SERVER_NAME_CHARS, "pattern": SERVER_NAME},
        description="Letters and digits, with single _ or - between; a letter first. "
        "The names of its tools towards models begin with it.",
    ),
]
ServerUrl: TypeAlias = Annotated[str, Field(min_length=1, max_length=2000)]
Remote: TypeAlias = Annotated[
    McpTransport,
    BeforeValidator(_not_stdio, json_schema_input_type=McpTransport),
    Field(json_schema_extra={"enum": ["http", "sse"]}),
]
Token: TypeAlias = Annotated[
    str,
    Field(max_length=8192, pattern=r"^[!-~]+$", description="Write-only. Printable ASCII without spaces."),
]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class McpOAuthBody(Body):
    """How people sign in at a server's authorization server. Without a client id agio finds or registers its own."""

    scope: McpOAuthScope = "user"
    """`user`: each user connects; `team`: one person connects for the whole team."""
    issuer: ServerUrl | None = None
    """The authorization server the client is registered at: no other one gets its secret."""
    client_id: Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^[ -~]+$")] | None = None
    client_secret: Token | None = None

    @model_validator(mode="after")
    def _has_issuer(self) -> Self:
        if self.client_secret is not None and (self.client_id is None or self.issuer is None):
            raise ValueError("a client_secret needs the client_id and the issuer it is for")
        return self


class ConnectBody(Body):
    """A server to connect to."""

    server_url: ServerUrl
    transport: Remote = "http"
    headers: Annotated[list[HeaderBody], Field(max_length=32, default_factory=list[HeaderBody])]
    bearer_token: Token | None = None


class McpServerBody(ConnectBody):
    """An MCP server of the team. In a replacement, an omitted `bearer_token` is kept and null removes it."""

    auth: Literal["none", "header", "bearer", "oauth"] | None = None
    """How calls are authorised. Omitted: by the bearer token if there is one, and the secret headers; a server with
    `oauth` keeps it."""
    oauth: McpOAuthBody | None = None

    name: ServerName
    enabled: bool = True
    timeout_s: Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S)] | None = None
    """How long a call of one of its tools may take."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.auth == "oauth" and self.bearer_token is not None:
            raise ValueError("with oauth there is no bearer_token")
        if self.oauth is not None and self.auth not in ("oauth", None):
            raise ValueError("oauth needs auth to be oauth")
        return self

    def fields(self, before: McpServerFields | None = None) -> McpServerFields:
        """Return the server as the store takes it, without its secrets. `before` is what it replaces."""
        had = McpServerFields(name=self.name) if before is None else before
        keeps = "bearer_token" not in self.model_fields_set
        auth: McpAuth = (
            "bearer" if (had.auth == "bearer" if keeps else self.bearer_token is not None) else "none"
        )
        oauth = None
        if self.auth == "oauth" or (self.auth is None and (self.oauth is not None or had.auth == "oauth")):
            auth, oauth = "oauth", _oauth(self.oauth, had.oauth)
        elif self.auth is not None:
            auth = "bearer" if self.auth == "bearer" or self.bearer_token is not None else "none"
        return McpServerFields(
            name=self.name,
            transport=self.transport,
            url=self.server_url,
            headers=headers_of(self.headers),
            auth=auth,
            oauth=oauth,
            enabled=self.enabled,
            timeout_s=self.timeout_s,
        )


def _oauth(said: McpOAuthBody | None, before: McpOAuth | None) -> McpOAuth:
    if said is None:
        return before or McpOAuth()
    issuer = None if said.issuer is None else parse_target(said.issuer).url.rstrip("/")
    known = (
        before is not None
        and before.has_secret
        and (before.issuer, before.client_id) == (issuer, said.client_id)
    )
    keeps = known and "client_secret" not in said.model_fields_set
    return McpOAuth(
        scope=said.scope,
        issuer=issuer,
        client_id=said.client_id,
        has_secret=keeps or said.client_secret is not None,
    )


class McpToolBody(Body):
    """How agents may use a tool. Omitted fields stay as they are."""

    enabled: bool | None = None
    effect: Effect | None = None
    approval: Approval | None = None
    digest: Digest | None = None
    """For a tool that was never enabled: the digest of what was looked at. Default: what the server offers now."""


class McpAcceptBody(Body):
    """The digest of the tool that was looked at, and is accepted."""

    digest: Digest
