"""What a connection is made to, and what a call asks and gets: records that need no `mcp` package."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from msgspec import Struct

from agio.core.mcp import McpServer, McpTransport
from agio.core.tool import GivenInput, InputQuestion
from agio.egress.headers import Headers
from agio.protocol.messages import Json

Report: TypeAlias = Callable[[str, float | None], None]
"""Takes a call's progress: a message, and a fraction if it is known."""


class Command(Struct, frozen=True, kw_only=True):
    """A stdio server's command, from the operator's file."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}
    tenants: list[str] | None = None
    """The teams that have it; None: all."""
    memory_mb: int = 2048


class Credential(Protocol):
    """What authorises the requests of a connection."""

    @property
    def key(self) -> str:
        """What tells it from others: two of them never share a connection."""
        ...

    async def headers(self) -> Headers:
        """Return the headers of the next request: asked for each, since a token may have been renewed."""
        ...

    async def refused(self, headers: Headers) -> bool:
        """Note that the server refused these headers (401). Returns whether `headers` has others now."""
        ...

    async def needs(self, scopes: list[str]) -> None:
        """Note that a request needs more rights (403). Raises AgioError if a person can give them."""
        ...

    def hidden(self, text: str) -> str:
        """Return a text of the server without the secrets that it echoes."""
        ...


class Credentials(Protocol):
    """Finds the credential for a server: the team's own, or one of the user's."""

    def of(self, server: McpServer, user: str) -> Credential:
        """Return the credential with which a user's calls reach a server."""
        ...


class Target(Struct, frozen=True, kw_only=True):
    """A server to connect to. Equal keys share a connection."""

    tenant: str
    server_id: str
    version: int
    name: str
    transport: McpTransport
    url: str = ""
    command: Command | None = None
    credential: Credential
    shared: bool = True
    """Whether every user of the team is offered the same tools; else a call's catalogue says nothing of others'."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a connection is pooled by: never two teams, servers, credentials or versions together."""
        return self.tenant, self.server_id, self.credential.key, self.version


class Ask(Struct, frozen=True, kw_only=True):
    """A call of a tool."""

    tool: str
    arguments: Mapping[str, Json]
    timeout_s: float
    report: Report
    traceparent: str = ""
    """The W3C trace context of the call; empty: it has none."""
    takes_questions: bool = False
    """Whether a person can be asked; else the server's questions are declined."""
    state: str | None = None
    """With what the server goes on after its questions were answered."""
    answers: dict[str, GivenInput] = {}
    """The answers, by the server's keys."""


class Asked(Struct, frozen=True, kw_only=True):
    """What a server of 2026 asks a person, instead of a result."""

    questions: dict[str, InputQuestion]
    """By its keys."""
    state: str | None
    """What it gets back with the answers."""


class Peer(Struct, frozen=True, kw_only=True):
    """What is known of a server that answered."""

    name: str
    version: str
    protocol: str
    modern: bool
    """Whether it speaks the protocol of 2026, without sessions."""
