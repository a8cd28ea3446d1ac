"""Connect: the authorization code flow with PKCE, from the press of the button to the stored tokens.

Its state is kept like that of a sign-in: under the hash of `state`, for one use within ten minutes. It is bound to the
user, the team and the server; what must stay secret of it is sealed for the three.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from agio.core.identity.account import AccountStore
from agio.core.mcp import McpServer
from agio.core.mcp_oauth import client_place
from agio.core.provider import ProviderStore, Sealed, SecretPlace
from agio.egress import Egress
from agio.errors import UserError
from agio.protocol.ids import new_id
from agio.tools.mcp.credentials import TeamCredentials
from agio.tools.mcp.oauth.discovery import covers, discover
from agio.tools.mcp.oauth.grants import Grants, GrantStore, expires_at_of
from agio.tools.mcp.oauth.provider import AuthServer, Client, GrantEnded, Tokens, failed, method_of, now_ms
from agio.vault import Vault

FLOW_S = 600
_STATE = b"mcp connect\0"
"""Keeps these states apart from those of sign-ins, which are in the same table."""


class ConnectStore(GrantStore, AccountStore, ProviderStore, Protocol):
    """Where connections, clients and flows are kept."""


class Place(Struct, frozen=True):
    """Where agio is: the address people come back to, and that of its client metadata document if it has one."""

    redirect_uri: str
    document: str | None


class Answer(Struct, frozen=True, kw_only=True):
    """The query with which an authorization server redirects the browser back."""

    state: str = ""
    code: str = ""
    iss: str | None = None
    error: str | None = None


class _Flow(Struct, frozen=True, kw_only=True):
    """A flow as it is stored; `sealed` is a `_Secret`."""

    tenant: str
    user: str
    server_id: str
    sealed: Sealed


class _Secret(Struct, frozen=True, kw_only=True):
    verifier: str
    client: Client
    resource: str
    issuer: str
    needs_iss: bool
    token_endpoint: str
    revocation_endpoint: str | None
    wanted: list[str] = []


class Pending(Struct, frozen=True, kw_only=True):
    """A flow that came back, to the person who began it."""

    server_id: str
    secret: _Secret


class Connecting:
    """Begins and ends flows. `need_vault` raises UserError `no_secret_key`."""

    def __init__(
        self,
        store: ConnectStore,
        egress: Egress,
        team: TeamCredentials,
        grants: Grants,
        need_vault: Callable[[], Vault],
    ) -> None:
        self._store = store
        self._team = team
        self._egress = egress
        self._grants = grants
        self._need_vault = need_vault

    async def begin(self, server: McpServer, user: str, place: Place) -> str:
        """Find the authorization server, and return where the browser goes.

        Raises UpstreamError `mcp_oauth_failed`, UserError
        `mcp_client_required`, `egress_refused`, and what opening secrets raises.
        """
        vault = self._need_vault()
        entered = await self._team.of(server, user).headers()
        wanted = await self._grants.wanted(server, server.owner_of(user))
        found = await discover(self._egress, self._grants.auth, server, entered, wanted)
        client = await self._client(server, found.server, place)
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        secret = _Secret(
            verifier=verifier,
            client=client,
            resource=found.resource,
            issuer=found.server.issuer,
            needs_iss=found.server.authorization_response_iss_parameter_supported is True,
            token_endpoint=found.server.token_endpoint,
            revocation_endpoint=found.server.revocation_endpoint,
            wanted=wanted,
        )
        sealed = vault.seal(_place(server.tenant, user, server.id), msgspec.json.encode(secret).decode())
        flow = _Flow(tenant=server.tenant, user=user, server_id=server.id, sealed=sealed)
        until = now_ms() + FLOW_S * 1000
        await self._store.add_sign_in_flow(_hash(state), msgspec.json.encode(flow), until)
        asked = {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": client.redirect_uri,
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            "resource": found.resource,
        }
        if found.scopes:
            asked["scope"] = " ".join(found.scopes)
        if "offline_access" in found.scopes:
            asked["prompt"] = "consent"
        endpoint = found.server.authorization_endpoint
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    async def take(self, tenant: str, user: str, state: str) -> Pending:
        """Return the flow of a person who came back, and delete it: each works once.

        Raises UserError `invalid_oauth_state`.
        """
        found = await self._store.take_sign_in_flow(_hash(state)) if state else None
        flow = None if found is None else msgspec.json.decode(found, type=_Flow)
        if flow is None or (flow.tenant, flow.user) != (tenant, user):
            raise _refused("It was already completed, has expired, or was not started by you")
        opened = self._need_vault().open(_place(tenant, user, flow.server_id), flow.sealed)
        return Pending(server_id=flow.server_id, secret=msgspec.json.decode(opened, type=_Secret))

    async def finish(self, server: McpServer, user: str, pending: Pending, answer: Answer) -> None:
        """Check the answer, redeem its code and keep the tokens.

        Raises UserError `invalid_oauth_state`, `mcp_oauth_denied`, `mcp_not_oauth`, UpstreamError `mcp_oauth_failed`.
        """
        secret = pending.secret
        if (answer.iss is not None or secret.needs_iss) and answer.iss != secret.issuer:
            raise _refused("Another authorization server answered")
        if server.auth != "oauth" or not covers(secret.resource, server.url or ""):
            raise not_oauth(server)
        if answer.error is not None or not answer.code:
            raise UserError(
                "mcp_oauth_denied", f"The sign-in for {server.name} was not allowed. Press Connect again."
            )
        form = {
            "grant_type": "authorization_code",
            "code": answer.code,
            "redirect_uri": secret.client.redirect_uri,
            "code_verifier": secret.verifier,
            "resource": secret.resource,
        }
        asked_at = now_ms()
        try:
            given = await self._grants.auth.redeem(secret.token_endpoint, secret.client, form)
        except GrantEnded:
            raise failed("it does not take its own code", "token") from None
        tokens = Tokens(
            access=given.access_token,
            refresh=given.refresh_token,
            issuer=secret.issuer,
            token_endpoint=secret.token_endpoint,
            revocation_endpoint=secret.revocation_endpoint,
            resource=secret.resource,
            client=secret.client,
            lifetime_s=given.lifetime_s,
            wanted=secret.wanted,
        )
        connection_id = new_id("mcpc")
        await self._store.connect_mcp_server(
            server.tenant,
            server.id,
            server.owner_of(user),
            connection_id,
            secret.issuer,
            expires_at_of(given, asked_at),
            self._grants.seal(server.tenant, connection_id, tokens),
        )

    async def disconnect(self, server: McpServer, user: str) -> None:
        """Delete a connection, then end its grant at the provider."""
        owner = server.owner_of(user)
        connection = await self._store.find_mcp_connection(server.tenant, server.id, owner)
        if connection is not None and await self._store.disconnect_mcp_server(
            server.tenant, server.id, owner
        ):
            await self._grants.revoke(server, connection)

    async def _client(self, server: McpServer, auth: AuthServer, place: Place) -> Client:
        """Return the client: the team's, that of the metadata document, or one that is registered once."""
        given = server.oauth
        if given is not None and given.client_id is not None:
            secret = await self._opened(SecretPlace(server.tenant, server.id, server.client_secret_field))
            secret = secret if given.has_secret else None
            method = method_of(secret, auth.methods)
            return Client(id=given.client_id, secret=secret, method=method, redirect_uri=place.redirect_uri)
        if auth.client_id_metadata_document_supported and place.document is not None:
            return Client(id=place.document, redirect_uri=place.redirect_uri)
        if auth.registration_endpoint is None:
            raise UserError(
                "mcp_client_required",
                f"{auth.issuer} registers no clients by itself. Register one there, with the redirect address "
                f"{place.redirect_uri}, and enter its client id at the server.",
                {"redirect_uri": place.redirect_uri},
            )
        kept = client_place(server.tenant, server.id, auth.issuer)
        known = await self._opened(kept)
        client = None if known is None else msgspec.json.decode(known, type=Client)
        if client is None or client.redirect_uri != place.redirect_uri:
            client = await self._grants.auth.register(auth, place.redirect_uri)
            sealed = self._need_vault().seal(kept, msgspec.json.encode(client).decode())
            await self._store.put_mcp_client(server.tenant, server.id, auth.issuer, sealed)
        return client

    async def _opened(self, place: SecretPlace) -> str | None:
        sealed = await self._store.get_secret(place)
        return None if sealed is None else self._need_vault().open(place, sealed)


def not_oauth(server: McpServer) -> UserError:
    """Return the error for a server that does not sign people in."""
    return UserError(
        "mcp_not_oauth", f"{server.name} is not set to sign people in.", {"server_id": server.id}
    )


def _refused(why: str) -> UserError:
    return UserError("invalid_oauth_state", f"This sign-in cannot be completed. {why}. Press Connect again.")


def _place(tenant: str, user: str, server_id: str) -> SecretPlace:
    return SecretPlace(tenant, server_id, f"connect of {user}")


def _hash(state: str) -> bytes:
    return hashlib.sha256(_STATE + state.encode()).digest()


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
