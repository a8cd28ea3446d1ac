"""One OpenID provider, asked over HTTP: its metadata, its keys, its tokens. Used by oidc.py."""

import asyncio
import base64
import logging
import time
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct, field

from agio.core.identity.oidc import OidcProvider, is_safe_url
from agio.egress import Egress, EgressRequest
from agio.errors import AgioError
from agio.gateway.auth.id_token import (
    ASYMMETRIC,
    Claims,
    Expected,
    Key,
    check_token,
    find_key,
    read_header,
    refuse_token,
)
from agio.protocol.messages import Json

_LIMIT_BYTES = 1024 * 1024
_TIMEOUT_S = 10.0
_KEPT_S = 3600.0
"""How long metadata and keys are cached."""
_REFETCH_S = 30.0
"""The least time between two fetches of the keys for an unknown key id."""
_JSON = {"accept": "application/json"}
_log = logging.getLogger("agio.gateway")

T = TypeVar("T")


class Metadata(Struct, frozen=True, kw_only=True):
    """The provider metadata that we use."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    id_token_signing_alg_values_supported: list[str] = field(default_factory=lambda: ["RS256"])
    token_endpoint_auth_methods_supported: list[str] = field(default_factory=lambda: ["client_secret_basic"])
    authorization_response_iss_parameter_supported: bool = False

    @property
    def algorithms(self) -> list[str]:
        """The signature algorithms of a token."""
        return [name for name in self.id_token_signing_alg_values_supported if name in ASYMMETRIC]


class Tokens(Struct, frozen=True):
    """The response of the token endpoint."""

    id_token: str | None = None
    access_token: str | None = None


class _Keys(Struct, frozen=True):
    keys: list[Json]


class OidcClient:
    """A client of one provider. Raises AgioError `sign_in_provider_failed` if it fails or responds incorrectly."""

    def __init__(self, provider: OidcProvider, redirect_uri: str, egress: Egress) -> None:
        self.provider = provider
        self.redirect_uri = redirect_uri
        self._egress = egress
        self._lock = asyncio.Lock()
        self._metadata: tuple[Metadata, float] | None = None
        self._keys: tuple[list[Key], float] | None = None

    async def metadata(self) -> Metadata:
        """Return the provider metadata, cached for an hour."""
        async with self._lock:
            if self._metadata is None or self._metadata[1] < time.monotonic():
                self._metadata = (await self._discover(), time.monotonic() + _KEPT_S)
            return self._metadata[0]

    async def redeem(self, code: str, verifier: str) -> Tokens:
        """Exchange a code for tokens."""
        provider, metadata = self.provider, await self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": verifier,
        }
        headers = {**_JSON, "content-type": "application/x-www-form-urlencoded"}
        if provider.client_secret is None:
            form["client_id"] = provider.client_id
        elif "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            pair = f"{quote(provider.client_id, safe='')}:{quote(provider.client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
        body = urlencode(form).encode()
        return self._decoded(await self._ask("POST", metadata.token_endpoint, headers, body), Tokens)

    async def check(self, token: str | None, nonce: str) -> Claims:
        """Return the checked claims of an ID token. Raises UserError `invalid_id_token`."""
        if token is None:
            raise refuse_token("id_token", "it has no ID token")
        metadata = await self.metadata()
        header = read_header(token, metadata.algorithms)
        key = find_key(await self._known_keys(), header) or find_key(await self._newer_keys(), header)
        if key is None:
            raise refuse_token("key", "its token is signed with an unpublished key")
        expected = Expected(
            issuer=self.provider.issuer,
            client_id=self.provider.client_id,
            nonce=nonce,
            algorithms=metadata.algorithms,
            claims=self.provider.claims,
        )
        return check_token(token, header, key, expected)

    async def userinfo(self, tokens: Tokens, subject: str) -> Claims:
        """Return the claims of the userinfo endpoint; none if there is no such endpoint."""
        metadata = await self.metadata()
        if metadata.userinfo_endpoint is None or tokens.access_token is None:
            return {}
        headers = {**_JSON, "authorization": f"Bearer {tokens.access_token}"}
        claims = self._decoded(await self._ask("GET", metadata.userinfo_endpoint, headers), dict[str, Json])
        if claims.get("sub") != subject:
            raise refuse_token("userinfo", "the userinfo and the ID token name different people")
        return claims

    async def aclose(self) -> None:
        """Close the connections."""
        await self._egress.aclose()

    async def _discover(self) -> Metadata:
        url = f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        metadata = self._decoded(await self._ask("GET", url), Metadata)
        if metadata.issuer != self.provider.issuer:
            raise self._failed("its metadata names another issuer", "issuer")
        places = (
            metadata.authorization_endpoint,
            metadata.token_endpoint,
            metadata.jwks_uri,
            metadata.userinfo_endpoint,
        )
        if not all(place is None or is_safe_url(place, query=True) for place in places):
            raise self._failed("its metadata names an address that is not https", "metadata")
        return metadata

    async def _known_keys(self) -> list[Key]:
        async with self._lock:
            known = self._keys
        if known is not None and known[1] + _KEPT_S > time.monotonic():
            return known[0]
        return await self._newer_keys()

    async def _newer_keys(self) -> list[Key]:
        """Fetch the keys, unless they were fetched less than `_REFETCH_S` ago."""
        metadata = await self.metadata()
        async with self._lock:
            if self._keys is None or self._keys[1] + _REFETCH_S < time.monotonic():
                found = self._decoded(await self._ask("GET", metadata.jwks_uri), _Keys).keys
                self._keys = ([key for key in found if isinstance(key, dict)], time.monotonic())
            return self._keys[0]

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str] = _JSON, body: bytes | None = None
    ) -> bytes:
        request = EgressRequest(
            method=method,
            url=url,
            headers=list(headers.items()),
            body=body,
            timeout_s=_TIMEOUT_S,
            limit_bytes=_LIMIT_BYTES,
            max_redirects=0,
        )
        try:
            response = await self._egress.request(request)
        except AgioError as error:
            raise self._failed(f"{urlsplit(url).path} did not respond ({error})", error.code) from error
        if response.status != 200:
            raise self._failed(f"{urlsplit(url).path} responded with status {response.status}", "status")
        return response.body

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise self._failed("its response could not be parsed", "answer") from error

    def _failed(self, words: str, reason: str) -> AgioError:
        _log.warning("sign-in at %s failed: %s", self.provider.id, words)
        return AgioError(
            "sign_in_provider_failed",
            f"Sign-in at {self.provider.name} failed: {words}. Try again later. Details are in the server's log.",
            {"provider": self.provider.id, "reason": reason},
        )
