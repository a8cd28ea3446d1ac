"""The tokens of connections, opened for a request and renewed when they are due.

A renewal is one request for all gateways: a lease keeps the others out, which then read what the first one stored. It
is a task of its own, so a cancelled call never loses a refresh token that the provider has just replaced.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import structs

from agio.core.mcp import McpServer, McpStore
from agio.core.mcp_oauth import McpConnection, McpOAuthStore, tokens_place
from agio.core.provider import Sealed
from agio.core.store.jobs import Lease, LeaseStore
from agio.egress import Egress
from agio.errors import AgioError, UpstreamError, UserError
from agio.tools.mcp.challenge import usable_scopes
from agio.tools.mcp.oauth.discovery import covers
from agio.tools.mcp.oauth.provider import AuthClient, GrantEnded, TokenAnswer, Tokens, now_ms
from agio.vault import Vault

_MARGIN_S = 60
"""How long before its end a token is renewed; a short one at four fifths of its life."""
_LEASE_MS = 30_000
_POLL_S = 0.1
_PATIENCE_S = 45.0
ENDED = "The sign-in there has expired or was revoked. Press Connect again."
_log = logging.getLogger("agio.mcp")


class GrantStore(McpStore, McpOAuthStore, LeaseStore, Protocol):
    """Where connections and leases are kept."""


class Grants:
    """The connections of a gateway's teams and users. `need_vault` raises UserError `no_secret_key`."""

    def __init__(self, store: GrantStore, egress: Egress, need_vault: Callable[[], Vault]) -> None:
        self.auth = AuthClient(egress)
        self._store = store
        self._need_vault = need_vault
        self._renewals: dict[str, asyncio.Task[None]] = {}

    async def tokens(self, server: McpServer, owner: str) -> Tokens:
        """Return the tokens for the next request, renewed if they are due.

        Raises UserError `mcp_not_connected`, and what renewing them raises.
        """
        connection, tokens = await self._current(server, owner)
        left_ms = _left_ms(connection)
        if tokens.refresh is None and left_ms is not None and left_ms <= 0:
            await self._end(server, connection)
        elif tokens.refresh is not None and _is_due(tokens, left_ms):
            try:
                await self._renewed(server, connection, tokens)
            except UpstreamError:
                if left_ms is None or left_ms <= 0:
                    raise
                return tokens  # it works for a moment yet
        else:
            return tokens
        return (await self._current(server, owner))[1]

    async def refused(self, server: McpServer, owner: str, access: str) -> bool:
        """Note that the MCP server refused an access token (401). Returns whether there is another one to try.

        Raises as `tokens` does.
        """
        connection, tokens = await self._current(server, owner)
        if tokens.access != access:
            return True
        if tokens.after_refusal:
            return False
        if tokens.refresh is None:
            await self._end(server, connection)
        else:
            await self._renewed(server, connection, tokens, after_refusal=True)
        return (await self._current(server, owner))[1].access != access

    async def needs(self, server: McpServer, owner: str, scopes: list[str]) -> None:
        """Note scopes that a call lacked, for the next Connect; other calls go on with the tokens there are.

        Raises UserError `mcp_not_connected`.
        """
        connection = await self._store.find_mcp_connection(server.tenant, server.id, owner)
        lease = None if connection is None else await self._lease(connection)
        if lease is not None:  # else a renewal is under way, and the next call notes them
            try:
                connection, tokens = await self._current(server, owner)
                wanted = usable_scopes([*tokens.wanted, *scopes])
                if wanted != tokens.wanted:
                    sealed = self.seal(server.tenant, connection.id, structs.replace(tokens, wanted=wanted))
                    await self._store.renew_mcp_connection(
                        server.tenant, connection.id, connection.version, connection.expires_at, sealed
                    )
            finally:
                await self._store.release_lease(lease)
        raise _lacks_rights(server, scopes)

    async def wanted(self, server: McpServer, owner: str) -> list[str]:
        """Return the scopes that calls of the present connection lacked."""
        connection = await self._store.find_mcp_connection(server.tenant, server.id, owner)
        tokens = None if connection is None else self._opened(server, connection)
        return [] if tokens is None else tokens.wanted

    async def revoke(self, server: McpServer, connection: McpConnection) -> None:
        """End a grant at its provider, as far as that can be reached."""
        try:
            tokens = self._opened(server, connection)
            if tokens is not None:
                await self.auth.revoke(tokens)
        except AgioError as error:
            _log.info("a grant for MCP server %s was not revoked: [%s]", server.id, error.code)

    def seal(self, tenant: str, connection_id: str, tokens: Tokens) -> Sealed:
        """Seal tokens for their connection."""
        place = tokens_place(tenant, connection_id, tokens.issuer)
        return self._need_vault().seal(place, msgspec.json.encode(tokens).decode())

    async def close(self) -> None:
        """Wait for renewals under way: each may hold the only copy of a refresh token."""
        await asyncio.gather(*self._renewals.values(), return_exceptions=True)

    async def _current(self, server: McpServer, owner: str) -> tuple[McpConnection, Tokens]:
        connection = await self._store.find_mcp_connection(server.tenant, server.id, owner)
        tokens = None if connection is None else self._opened(server, connection)
        if connection is None or tokens is None or not connection.connected:
            raise _not_connected(server, owner, ended=connection is not None)
        return connection, tokens

    def _opened(self, server: McpServer, connection: McpConnection) -> Tokens | None:
        """Open a connection's tokens; None: there are none for this server."""
        if connection.tokens is None:
            return None
        place = tokens_place(server.tenant, connection.id, connection.issuer)
        tokens = msgspec.json.decode(self._need_vault().open(place, connection.tokens), type=Tokens)
        return tokens if covers(tokens.resource, server.url or "") else None

    async def _renewed(
        self, server: McpServer, connection: McpConnection, tokens: Tokens, *, after_refusal: bool = False
    ) -> None:
        """Renew tokens; concurrent callers share one request."""
        task = self._renewals.get(connection.id)
        if task is None:
            work = self._renew(server, connection, tokens, after_refusal=after_refusal)
            task = self._renewals[connection.id] = asyncio.create_task(work)
            task.add_done_callback(lambda done: self._forget(connection.id, done))
        await asyncio.shield(task)

    def _forget(self, connection_id: str, done: asyncio.Task[None]) -> None:
        del self._renewals[connection_id]
        if not done.cancelled():
            done.exception()  # every caller may have gone

    async def _renew(
        self, server: McpServer, connection: McpConnection, tokens: Tokens, *, after_refusal: bool
    ) -> None:
        until = time.monotonic() + _PATIENCE_S
        while (lease := await self._lease(connection)) is None:
            if await self._changed(server, connection):
                return
            if time.monotonic() > until:
                raise UpstreamError(
                    "upstream_timeout", f"The tokens of {server.name} were not renewed in time."
                )
            await asyncio.sleep(_POLL_S)
        try:
            if not await self._changed(server, connection):
                await self._ask(server, connection, tokens, after_refusal=after_refusal)
        finally:
            await self._store.release_lease(lease)

    async def _lease(self, connection: McpConnection) -> Lease | None:
        """Take the right to change a connection's tokens; None: another has it."""
        name, holder = f"mcp_connection/{connection.id}", secrets.token_hex(8)
        return await self._store.acquire_lease(name, holder, _LEASE_MS)

    async def _changed(self, server: McpServer, connection: McpConnection) -> bool:
        """Whether another gateway has renewed the tokens, or a person has connected anew."""
        found = await self._store.find_mcp_connection(server.tenant, server.id, connection.owner)
        return found is None or (found.id, found.version) != (connection.id, connection.version)

    async def _ask(
        self, server: McpServer, connection: McpConnection, tokens: Tokens, *, after_refusal: bool
    ) -> None:
        form = {
            "grant_type": "refresh_token",
            "refresh_token": tokens.refresh or "",
            "resource": tokens.resource,
        }
        asked_at = now_ms()
        try:
            answer = await self.auth.redeem(tokens.token_endpoint, tokens.client, form)
        except GrantEnded:
            await self._end(server, connection)
            return
        new = structs.replace(
            tokens,
            access=answer.access_token,
            refresh=answer.refresh_token or tokens.refresh,
            lifetime_s=answer.lifetime_s,
            after_refusal=after_refusal,
        )
        sealed = self.seal(server.tenant, connection.id, new)
        expires_at = expires_at_of(answer, asked_at)
        await self._store.renew_mcp_connection(
            server.tenant, connection.id, connection.version, expires_at, sealed
        )

    async def _end(self, server: McpServer, connection: McpConnection) -> None:
        """Mark a connection whose grant has ended."""
        await self._store.renew_mcp_connection(
            server.tenant, connection.id, connection.version, None, None, ENDED
        )


def expires_at_of(answer: TokenAnswer, asked_at: int) -> int | None:
    """Return when an access token expires, counted from when it was asked for."""
    return None if answer.lifetime_s is None else asked_at + answer.lifetime_s * 1000


def _left_ms(connection: McpConnection) -> int | None:
    return None if connection.expires_at is None else connection.expires_at - now_ms()


def _is_due(tokens: Tokens, left_ms: int | None) -> bool:
    margin_s = min(_MARGIN_S, (tokens.lifetime_s or 0) / 5)
    return left_ms is not None and left_ms <= margin_s * 1000


def _lacks_rights(server: McpServer, scopes: list[str]) -> UserError:
    place = f"/settings/mcp-servers/{server.id}"
    named = f" ({' '.join(scopes)[:200]})" if scopes else ""
    return UserError(
        "mcp_not_connected",
        f"{server.name} asks for more rights{named} than the sign-in there gave. A person presses Connect again at "
        f"{place}; then the tool can be called again.",
        {"server_id": server.id, "connect": place, "sent": False},
    )


def _not_connected(server: McpServer, owner: str, *, ended: bool) -> UserError:
    who = "You have" if owner else "The team has"
    what = (
        f"{who} to connect to {server.name} again: the sign-in there has expired or was revoked."
        if ended
        else f"{who} not connected to {server.name}."
    )
    place = f"/settings/mcp-servers/{server.id}"
    return UserError(
        "mcp_not_connected",
        f"{what} A person presses Connect at {place}; then the tool can be called again.",
        {"server_id": server.id, "connect": place, "sent": False},
    )
