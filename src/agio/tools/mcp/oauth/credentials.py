"""The credential of a server that is connected by OAuth: the team's headers, and a user's or the team's token."""

from agio.core.mcp import McpServer
from agio.egress.headers import Headers
from agio.tools.http_tool import Mask
from agio.tools.mcp.credentials import TeamCredentials
from agio.tools.mcp.link import Credential
from agio.tools.mcp.oauth.grants import Grants

_AUTHORIZATION = "authorization"
_BEARER = "Bearer "
_KEPT = 1000
_HIDDEN = 4
"""The tokens of how many renewals are hidden in what a server echoes."""


class ServerCredentials:
    """A `Credentials`: what the team entered, or for a server with OAuth a connection's tokens."""

    def __init__(self, team: TeamCredentials, grants: Grants) -> None:
        self._team = team
        self._grants = grants
        self._kept: dict[tuple[str, str], tuple[int, OAuthCredential]] = {}

    def of(self, server: McpServer, user: str) -> Credential:
        """Return the credential with which a user's calls reach a server, the same for as long as the server is."""
        entered = self._team.of(server, user)
        if server.auth != "oauth":
            return entered
        key = server.id, server.owner_of(user)
        version, known = self._kept.get(key, (0, None))
        if known is None or version != server.updated_at:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            known = OAuthCredential(server, user, entered, self._grants)
            self._kept[key] = server.updated_at, known
        return known


class OAuthCredential:
    """A `Credential`. The token goes only to the server it was made for; nothing of the caller's goes along."""

    def __init__(self, server: McpServer, user: str, entered: Credential, grants: Grants) -> None:
        self._server = server
        self._owner = server.owner_of(user)
        self._entered = entered
        self._grants = grants
        self._sent: list[str] = []
        self._mask = Mask(())
        self.key = f"user {self._owner}" if self._owner else "team"

    async def headers(self) -> Headers:
        """Return the headers of the next request. Raises as `Grants.tokens` does."""
        own = [pair for pair in await self._entered.headers() if pair[0].lower() != _AUTHORIZATION]
        tokens = await self._grants.tokens(self._server, self._owner)
        if tokens.access not in self._sent:
            self._sent = [*self._sent, tokens.access][-_HIDDEN:]
            self._mask = Mask(self._sent)
        return [*own, ("Authorization", f"{_BEARER}{tokens.access}")]

    async def refused(self, headers: Headers) -> bool:
        """Note that the server refused a request. Returns whether it is worth another try."""
        access = next((value for name, value in headers if name.lower() == _AUTHORIZATION), "")
        return await self._grants.refused(self._server, self._owner, access.removeprefix(_BEARER))

    async def needs(self, scopes: list[str]) -> None:
        """Note that a request needs more rights. Raises UserError `mcp_not_connected`."""
        await self._grants.needs(self._server, self._owner, scopes)

    def hidden(self, text: str) -> str:
        """Return a text without the tokens and secrets."""
        return self._mask.text(self._entered.hidden(text))
