"""The credentials a team entered for a server: headers and a bearer token, opened when a request needs them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from agio.core.mcp import McpServer
from agio.egress.headers import Headers
from agio.errors import UserError
from agio.tools.http_tool import Mask

OpenSecrets: TypeAlias = Callable[[str, str], Awaitable[Mapping[str, str]]]
"""Opens the secrets of an owner in a tenant, by field."""

_KEPT = 1000


class TeamCredentials:
    """A `Credentials` of what the team entered, the same for all its users."""

    def __init__(self, secrets: OpenSecrets) -> None:
        self._secrets = secrets
        self._kept: dict[str, tuple[int, TeamCredential]] = {}

    def of(self, server: McpServer, user: str) -> "TeamCredential":
        """Return the credential for a server, the same for as long as the server is."""
        version, known = self._kept.get(server.id, (0, None))
        if known is None or version != server.updated_at:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            known = TeamCredential(server, self._secrets)
            self._kept[server.id] = server.updated_at, known
        return known


class TeamCredential:
    """A `Credential`. Secrets are opened once a connection: a change of them makes another version of the server."""

    key = "team"

    def __init__(self, server: McpServer, secrets: OpenSecrets) -> None:
        self._server = server
        self._secrets = secrets
        self._headers: Headers | None = None
        self._mask = Mask(())

    async def headers(self) -> Headers:
        """Return the headers. Raises UserError `secret_required`, and what opening secrets raises."""
        if self._headers is None:
            self._headers = await self._open()
        return self._headers

    async def refused(self, headers: Headers) -> bool:
        """Return False: what was entered stays as it is."""
        return False

    async def needs(self, scopes: list[str]) -> None:
        """Do nothing: what was entered has the rights that it has."""

    def hidden(self, text: str) -> str:
        """Return a text without the secrets."""
        return self._mask.text(text)

    async def _open(self) -> Headers:
        server = self._server
        needed = server.secret_fields
        nothing: Mapping[str, str] = {}
        opened = await self._secrets(server.tenant, server.id) if needed else nothing
        if missing := [field for field in needed if field not in opened]:
            raise UserError(
                "secret_required",
                f"Enter the credentials of {server.name} again: they are not known for its address.",
                {"fields": missing},
            )
        self._mask = Mask(opened[field] for field in needed)
        headers = [
            (header.name, opened[server.field_of(header)] if header.secret else header.value)
            for header in server.headers
        ]
        if server.auth == "bearer":
            headers.append(("Authorization", f"Bearer {opened[server.token_field]}"))
        return headers
