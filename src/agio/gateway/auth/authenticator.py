"""Authentication: API keys for programs, a cookie for browsers, and one-time sign-in links.

Only hashes of secrets are stored. The tenant comes from the credential, never from the request.
"""

import hashlib
import secrets
import time
from collections.abc import Mapping
from typing import Any

from agio.core.config import ServerLimits
from agio.core.identity.account import AccountStore
from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER, ApiKey, Principal, WebSession
from agio.core.identity.team import Membership
from agio.core.store.store import Store
from agio.errors import UserError
from agio.gateway.auth.attempts import Attempts
from agio.gateway.http.access import note_actor
from agio.gateway.http.address import Addresses
from agio.gateway.http.in_flight import held_of
from agio.gateway.http.origin import WEBSOCKET, Headers, Origins
from agio.gateway.http.rate_limits import Rates
from agio.protocol.ids import new_id

COOKIE = "__Host-agio_session"
KEY_PREFIX = "agio_"

_SESSION_S = 30 * 24 * 3600
_LINK_S = 24 * 3600
_CACHE_S = 3.0
"""How long a look-up is cached: another gateway accepts a revoked key for at most so long."""
_CACHE_ENTRIES = 4096
_SECRET_CHARS = range(20, 257)
_COOKIE_START = COOKIE.encode() + b"="


def new_api_key() -> str:
    """Return a new key: `agio_` and 43 characters of 256 random bits."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def hash_secret(secret: str) -> bytes:
    """Return the hash of a secret. Secrets are long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def describe_key(secret: str, tenant: str, user: str, name: str) -> ApiKey:
    """Return the row of a new key."""
    return ApiKey(new_id("key"), tenant, user, name, secret[:9], time.time_ns() // 1_000_000)


class SignInLink:
    """A token that signs a browser in once, within a day. The store has its hash and decides which use is the first."""

    def __init__(self, tenant: str = DEFAULT_TENANT, user: str = LOCAL_USER) -> None:
        self.tenant = tenant
        self.user = user
        self.token = secrets.token_urlsafe(32)
        self.expires_at = time.time_ns() // 1_000_000 + _LINK_S * 1000

    def url(self, base: str) -> str:
        """The link to print, for a server at `base`."""
        return f"{base}/sign-in?token={self.token}"

    async def keep(self, store: AccountStore, made_by: str | None = None) -> "SignInLink":
        """Store the link, which makes it valid. Raises what `AccountStore.add_sign_in_link` raises."""
        await store.add_sign_in_link(
            self.tenant, self.user, hash_secret(self.token), self.expires_at, made_by
        )
        return self


class Authenticator:
    """Identifies the caller of a request from its headers."""

    def __init__(
        self,
        store: Store,
        *,
        rates: Rates | None = None,
        addresses: Addresses | None = None,
        origins: Origins | None = None,
        attempts: Attempts | None = None,
    ) -> None:
        self._store = store
        self._rates = rates or Rates(ServerLimits())
        self._attempts = attempts or Attempts(self._rates)
        self._addresses = addresses or Addresses()
        self.origins = origins or Origins()
        self._known: dict[bytes, tuple[Principal, float]] = {}

    async def admit(self, scope: Mapping[str, Any]) -> Principal:
        """Identify the caller, count the request, check its origin, and record the actor.

        Raises UserError `unauthenticated`, `forbidden_origin`, and LimitExceeded `rate_limited`, `too_many_bytes`.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        principal = await self.identify(headers, self._addresses.client_of(scope))
        self._rates.take("request", principal.credential)
        held_of(scope).belong_to(principal.credential)
        self.check_origin(WEBSOCKET if scope["type"] == "websocket" else scope["method"], headers)
        note_actor(principal)
        return principal

    async def identify(self, headers: Headers, address: str = "", *, anew: bool = False) -> Principal:
        """Return the caller; `anew` bypasses the cache. Raises UserError `unauthenticated`.

        After many unknown credentials from one address, further unknown ones are not looked up: LimitExceeded
        `rate_limited`.
        """
        key, cookie = _credentials(headers)
        secret = cookie if key is None else key
        if secret is None:
            raise UserError(
                "unauthenticated",
                "Send an API key (Authorization: Bearer agio_...), or sign in.",
            )
        if len(secret) in _SECRET_CHARS:
            digest = hash_secret(secret)
            known = self._known.get(digest)
            if known is not None and (known[0].authenticated_at is None) is (key is None):
                known = None  # a key sent as a cookie, or a cookie as a key, does not count
            if known is not None and known[1] > time.monotonic() and not anew:
                return known[0]
            if known is None:
                await self._attempts.check("bad_key", address)
            find = self._store.find_web_session if key is None else self._store.find_api_key
            if (principal := await find(digest)) is not None:
                self._remember(digest, principal)
                return principal
            self._known.pop(digest, None)
        await self._attempts.take("bad_key", address)
        what = "sign-in has expired. Sign in again" if key is None else "API key is unknown or was revoked"
        raise UserError("unauthenticated", f"This {what}.")

    def check_origin(self, method: str, headers: Headers) -> None:
        """Raise UserError `forbidden_origin` for a request that another site's page made."""
        self.origins.check_origin(method, headers)

    async def check_host(self, scope: Mapping[str, Any]) -> None:
        """Refuse a foreign Host, unless the request has a valid API key: programs may use any name.

        A page that rebinds DNS to our address has no key. Raises UserError `forbidden_host`, LimitExceeded
        `rate_limited`, StoreError.
        """
        headers: Headers = scope["headers"]
        try:
            self.origins.check_host(headers)
        except UserError as foreign:
            if _credentials(headers)[0] is None:
                raise
            try:
                await self.identify(headers, self._addresses.client_of(scope))
            except UserError:
                raise foreign from None

    async def sign_in(self, token: str) -> str | None:
        """Use a sign-in link. Returns the Set-Cookie header of the new session, None if the link is invalid."""
        if len(token) not in _SECRET_CHARS:
            return None
        taken = await self._store.take_sign_in_link(hash_secret(token))
        return None if taken is None else await self.open_session(*taken)

    async def open_session(self, tenant: str, user: str, authenticated_at: int | None = None) -> str:
        """Sign a browser in; returns the Set-Cookie header of its new session.

        `authenticated_at` (ms) is when the person authenticated, if not now; 0 if unknown.
        """
        secret = secrets.token_urlsafe(32)
        now = time.time_ns() // 1_000_000
        session = WebSession(
            id=new_id("web"),
            tenant=tenant,
            user=user,
            token_hash=hash_secret(secret),
            authenticated_at=now if authenticated_at is None else min(now, authenticated_at),
            expires_at=now + _SESSION_S * 1000,
        )
        await self._store.add_web_session(session)
        return _cookie(secret, _SESSION_S)

    async def refresh(self, headers: Headers) -> None:
        """Record that the person of a browser session has authenticated again."""
        _, cookie = _credentials(headers)
        if cookie is not None and len(cookie) in _SECRET_CHARS:
            digest = hash_secret(cookie)
            await self._store.refresh_web_session(digest)
            self._known.pop(digest, None)

    async def browser(self, headers: Headers) -> Principal | None:
        """Return the user of the browser's cookie, ignoring other credentials; None without a valid one."""
        _, cookie = _credentials(headers)
        if cookie is None or len(cookie) not in _SECRET_CHARS:
            return None
        return await self._store.find_web_session(hash_secret(cookie))

    async def switch(self, headers: Headers, tenant: str) -> tuple[str, Membership]:
        """Switch a browser to its account's user in another tenant. Returns the cookie with the new secret.

        Raises UserError `tenant_not_found`.
        """
        _, cookie = _credentials(headers)
        digest, secret = hash_secret(cookie or ""), secrets.token_urlsafe(32)
        joined = await self._store.switch_tenant(digest, tenant, new_id("web"), hash_secret(secret))
        self._known.pop(digest, None)
        return _cookie(secret, _SESSION_S), joined

    async def sign_out(self, headers: Headers) -> str:
        """End the browser's session; returns the Set-Cookie header that removes its cookie."""
        _, cookie = _credentials(headers)
        if cookie is not None and len(cookie) in _SECRET_CHARS:
            digest = hash_secret(cookie)
            await self._store.end_web_session(digest)
            self._known.pop(digest, None)
        return _cookie("", 0)

    def forget(self, credential: str) -> None:
        """Drop a revoked credential from the cache."""
        for digest, (principal, _) in list(self._known.items()):
            if principal.credential == credential:
                del self._known[digest]

    def forget_user(self, tenant: str, user: str) -> None:
        """Drop all credentials of a changed user from the cache."""
        for digest, (principal, _) in list(self._known.items()):
            if (principal.tenant, principal.user) == (tenant, user):
                del self._known[digest]

    def forget_account(self, account: str) -> None:
        """Drop all credentials of a changed account from the cache."""
        for digest, (principal, _) in list(self._known.items()):
            if principal.account == account:
                del self._known[digest]

    def _remember(self, digest: bytes, principal: Principal) -> None:
        self._known.pop(digest, None)
        while len(self._known) >= _CACHE_ENTRIES:
            del self._known[next(iter(self._known))]
        self._known[digest] = (principal, time.monotonic() + _CACHE_S)


def _credentials(headers: Headers) -> tuple[str | None, str | None]:
    """Return the bearer key and the session cookie. If there is a key, only the key counts."""
    key: str | None = None
    cookie: str | None = None
    for name, value in headers:
        if name == b"authorization":
            scheme, _, rest = value.partition(b" ")
            key = rest.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""
        elif name == b"cookie":
            for part in value.split(b";"):
                entry = part.strip()
                if entry.startswith(_COOKIE_START):
                    cookie = entry[len(_COOKIE_START) :].decode("latin-1")
    return key, cookie


def _cookie(secret: str, max_age_s: int) -> str:
    return f"{COOKIE}={secret}; Path=/; Max-Age={max_age_s}; Secure; HttpOnly; SameSite=Lax"
