"""Sign-in at OpenID providers: the authorization code flow with PKCE, from the redirect to the returned person.

The state of a flow is in the store, under the hash of `state`, for one use within ten minutes, bound to the browser's
cookie. gateway/auth/oidc_member.py maps the person to a member.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from agio.core.identity.account import AccountStore
from agio.core.identity.email import checked_email
from agio.core.identity.oidc import OidcProvider
from agio.core.identity.principal import Principal
from agio.core.name import seen
from agio.egress import Egress
from agio.errors import UserError
from agio.gateway.auth.authenticator import Headers, hash_secret
from agio.gateway.auth.id_token import Claims, auth_time_ms, check_freshness
from agio.gateway.auth.oidc_client import OidcClient, Tokens

Purpose: TypeAlias = Literal["sign_in", "link", "confirm"]
"""`sign_in`: start a browser session. `link`: add the provider to an account. `confirm`: authenticate the signed-in
person again."""

FLOW_COOKIE = "__Host-agio_flow"
FLOW_S = 600
_COOKIE_START = FLOW_COOKIE.encode() + b"="
_BROWSER_CHARS = 43
_MAX_AGE_S = str(30 * 24 * 3600)
"""The lifetime of a session here. With any `max_age` a provider must send `auth_time`."""


class Begin(Struct, frozen=True, kw_only=True):
    """The start of a flow. `link` and `confirm` need the signed-in `who`."""

    purpose: Purpose = "sign_in"
    return_to: str = "/"
    invitation: str | None = None
    who: Principal | None = None
    anew: bool = False
    """Whether the provider must ask for credentials even if a session exists there."""


class Begun(Struct, frozen=True):
    """Where to redirect the browser, and the cookie to set."""

    url: str
    cookie: str


class Flow(Struct, frozen=True, kw_only=True):
    """A sign-in in progress."""

    provider: str
    purpose: Purpose
    return_to: str
    nonce: str
    verifier: str
    browser: str
    """The hash of the browser's cookie."""
    started_at: int
    invitation: str | None = None
    """The hash of the token in an invitation's link."""
    credential: str | None = None
    """The web session that `link` and `confirm` are for."""
    anew: bool = False
    """Whether the provider had to ask for credentials (`prompt=login`)."""


class Answer(Struct, frozen=True, kw_only=True):
    """The query with which a provider redirects the browser back."""

    state: str = ""
    code: str = ""
    iss: str | None = None
    error: str | None = None


class Person(Struct, frozen=True, kw_only=True):
    """The person who signed in. `email` is lower case, and None unless the provider says that it is verified."""

    provider: OidcProvider
    subject: str
    email: str | None
    name: str
    authenticated_at: int
    """When the person authenticated, in ms; 0 if unknown, as after a silent sign-in."""


class OidcProviders:
    """The configured providers. `base_url` is the public address; it is never taken from a request."""

    def __init__(self, providers: Sequence[tuple[OidcProvider, Egress]] = (), base_url: str = "") -> None:
        self._clients = {
            provider.id: OidcClient(provider, f"{base_url}/sign-in/oidc/{provider.id}/callback", egress)
            for provider, egress in providers
        }

    def listed(self) -> list[tuple[str, str]]:
        """The providers' ids and names, in the operator's order."""
        return [(client.provider.id, client.provider.name) for client in self._clients.values()]

    def issuers(self) -> list[str]:
        """The providers' issuers, in the operator's order."""
        return [client.provider.issuer for client in self._clients.values()]

    def find(self, provider_id: str) -> OidcProvider:
        """Return a provider. Raises UserError `sign_in_provider_not_found`."""
        return self._client(provider_id).provider

    async def begin(self, store: AccountStore, provider_id: str, given: Begin, headers: Headers) -> Begun:
        """Begin a sign-in. Raises UserError `sign_in_provider_not_found`, AgioError `sign_in_provider_failed`."""
        client = self._client(provider_id)
        metadata = await client.metadata()
        state, nonce, verifier = (secrets.token_urlsafe(size) for size in (32, 32, 48))
        browser = _browser(headers) or secrets.token_urlsafe(32)
        anew = given.anew or given.purpose == "confirm"
        now = time.time_ns() // 1_000_000
        flow = Flow(
            provider=provider_id,
            purpose=given.purpose,
            return_to=given.return_to,
            nonce=nonce,
            verifier=verifier,
            browser=hash_secret(browser).hex(),
            started_at=now,
            invitation=None if given.invitation is None else hash_secret(given.invitation).hex(),
            credential=None if given.who is None else given.who.credential,
            anew=anew,
        )
        await store.add_sign_in_flow(hash_secret(state), msgspec.json.encode(flow), now + FLOW_S * 1000)
        asked = {
            "response_type": "code",
            "client_id": client.provider.client_id,
            "redirect_uri": client.redirect_uri,
            "scope": " ".join(client.provider.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            "max_age": _MAX_AGE_S,
        }
        if anew:
            asked["prompt"] = "login"
        if given.purpose == "confirm":
            essential = {"id_token": {"auth_time": {"essential": True}}}
            asked |= {"max_age": "0", "claims": msgspec.json.encode(essential).decode()}
        place = metadata.authorization_endpoint
        url = f"{place}{'&' if '?' in place else '?'}{urlencode(asked)}"
        return Begun(url, flow_cookie(browser, FLOW_S))

    async def take(self, store: AccountStore, provider_id: str, state: str, headers: Headers) -> Flow:
        """Return the flow of a returning browser, and delete it: each flow works once.

        Raises UserError `sign_in_provider_not_found`, `invalid_sign_in_state`.
        """
        self._client(provider_id)
        return await _take(store, provider_id, state, headers)

    async def finish(self, flow: Flow, answer: Answer) -> Person:
        """Check the provider's answer and return the person.

        Raises UserError `invalid_sign_in_state`, `sign_in_denied`, `invalid_id_token`, `not_confirmed`,
        `email_not_allowed`, and AgioError `sign_in_provider_failed`.
        """
        client = self._client(flow.provider)
        metadata = await client.metadata()
        advertised = metadata.authorization_response_iss_parameter_supported
        if (answer.iss is not None or advertised) and answer.iss != client.provider.issuer:
            raise _refuse_state("iss", "A different provider answered.")
        if answer.error is not None or not answer.code:
            raise _denied(client.provider, answer.error)
        tokens = await client.redeem(answer.code, flow.verifier)
        claims = await client.check(tokens.id_token, flow.nonce)
        if flow.purpose == "confirm":
            check_freshness(claims, flow.started_at)
        proved_at = auth_time_ms(claims) or (flow.started_at if flow.anew else 0)
        return await _person(client, tokens, claims, proved_at)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()

    def _client(self, provider_id: str) -> OidcClient:
        client = self._clients.get(provider_id)
        if client is None:
            raise UserError(
                "sign_in_provider_not_found",
                f"There is no sign-in provider {provider_id[:40]!r}. See GET /api/sign-in/methods.",
            )
        return client


def flow_cookie(browser: str, max_age_s: int) -> str:
    """Return the Set-Cookie header that binds a sign-in to a browser; with an age of 0 the one that removes it."""
    return f"{FLOW_COOKIE}={browser}; Path=/; Max-Age={max_age_s}; Secure; HttpOnly; SameSite=Lax"


def is_local_path(path: str) -> bool:
    """Whether a path stays on this server in every browser."""
    plain = path.isascii() and path.isprintable() and " " not in path and "\\" not in path
    return plain and len(path) <= 2000 and path.startswith("/") and not path.startswith("//")


async def _take(store: AccountStore, provider_id: str, state: str, headers: Headers) -> Flow:
    browser = _browser(headers)
    found = await store.take_sign_in_flow(hash_secret(state)) if state else None
    if found is None:
        raise _refuse_state(
            "state", "This sign-in was already completed, has expired, or was not started here."
        )
    flow = msgspec.json.decode(found, type=Flow)
    mine = hash_secret(browser or "").hex()
    if browser is None or not hmac.compare_digest(mine, flow.browser) or flow.provider != provider_id:
        raise _refuse_state(
            "browser", "This sign-in was started in another browser, or for another provider."
        )
    return flow


async def _person(client: OidcClient, tokens: Tokens, claims: Claims, proved_at: int) -> Person:
    """Return the person of the claims. Raises UserError `email_not_allowed`."""
    subject = str(claims["sub"])
    if "email" not in claims:
        claims = {**await client.userinfo(tokens, subject), **claims}
    email = _verified_email(claims)
    domains = {domain.lower() for domain in client.provider.domains}
    if domains and (email is None or email.rpartition("@")[2] not in domains):
        allowed = ", ".join(sorted(domains))
        raise UserError("email_not_allowed", f"Only verified email addresses at {allowed} can sign in.")
    name = claims.get("name")
    shown = seen(name[:100]) if isinstance(name, str) else ""
    return Person(
        provider=client.provider,
        subject=subject,
        email=email,
        name=shown or (email or "").partition("@")[0] or subject[:100],
        authenticated_at=proved_at,
    )


def _verified_email(claims: Mapping[str, object]) -> str | None:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        return None
    try:
        return checked_email(email)
    except UserError:
        return None


def _browser(headers: Headers) -> str | None:
    """Return the secret of the flow cookie, if it is well-formed."""
    for name, value in headers:
        if name != b"cookie":
            continue
        for part in value.split(b";"):
            entry = part.strip()
            if entry.startswith(_COOKIE_START) and len(entry) == len(_COOKIE_START) + _BROWSER_CHARS:
                secret = entry[len(_COOKIE_START) :].decode("latin-1")
                return secret if secret.replace("-", "").replace("_", "").isalnum() else None
    return None


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _refuse_state(reason: str, words: str) -> UserError:
    return UserError("invalid_sign_in_state", f"{words} Start again.", {"reason": reason})


def _denied(provider: OidcProvider, error: str | None) -> UserError:
    code = error or "no code"
    shown = code[:60] if code.isascii() and code.isprintable() else "unknown"
    return UserError(
        "sign_in_denied", f"Sign-in at {provider.name} failed ({shown}). Try again.", {"error": shown}
    )
