"""One authorization server, asked over guarded HTTP: it registers a client, redeems codes, renews and revokes tokens.

Every failure is an UpstreamError `mcp_oauth_failed`, but a grant that has ended is a `GrantEnded`. No message has a
secret, or words that the server chose freely.
"""

import base64
import re
import time
from collections.abc import Mapping
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct, structs

from agio.core.identity.oidc import is_safe_url
from agio.egress import Egress, EgressRequest, EgressResponse, parse_target
from agio.errors import AgioError, UpstreamError
from agio.protocol.messages import Json

TIMEOUT_S = 10.0
_LIMIT_BYTES = 256 * 1024
_TOKEN = re.compile(r"[!-~]{1,16384}")
_CLIENT_CHARS = 2048
_LONGEST_S = 10 * 365 * 86400
_JSON = [("accept", "application/json")]
Method: TypeAlias = Literal["none", "client_secret_basic", "client_secret_post"]
T = TypeVar("T")


class AuthServer(Struct, frozen=True, kw_only=True):
    """The metadata of an authorization server that we use (RFC 8414)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None

    @property
    def methods(self) -> list[str]:
        """How clients may authenticate."""
        methods = self.token_endpoint_auth_methods_supported
        return ["client_secret_basic"] if methods is None else methods


class Client(Struct, frozen=True, kw_only=True):
    """What agio is to an authorization server."""

    id: str
    secret: str | None = None
    method: Method = "none"
    redirect_uri: str


class Tokens(Struct, frozen=True, kw_only=True):
    """What is sealed of a connection. They are renewed where they came from, by the client they were made for."""

    access: str
    refresh: str | None
    issuer: str
    token_endpoint: str
    revocation_endpoint: str | None
    resource: str
    client: Client
    lifetime_s: int | None
    after_refusal: bool = False
    """Whether they were renewed because the MCP server refused those before: refused again, they are not renewed."""
    wanted: list[str] = []
    """Scopes that calls lacked: the next connection asks for them."""


class TokenAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a token endpoint."""

    access_token: str
    token_type: str = "bearer"  # noqa: S105 - not a secret
    expires_in: Json = None
    refresh_token: str | None = None

    @property
    def lifetime_s(self) -> int | None:
        """How long the access token lasts; None: unknown."""
        given = self.expires_in
        if isinstance(given, str) and given.isascii() and given.isdecimal():
            given = int(given[:12])
        return int(given) if isinstance(given, (int, float)) and 0 < given < _LONGEST_S else None


class _Refusal(Struct, frozen=True):
    error: str = ""


class _Registered(Struct, frozen=True, kw_only=True):
    client_id: str
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None


class ClientMetadata(Struct, frozen=True, kw_only=True):
    """What agio says of itself as a client, to be registered or published."""

    client_name: str = "agio"
    redirect_uris: list[str]
    grant_types: list[str]
    response_types: list[str]
    application_type: Literal["web", "native"]


class GrantEnded(Exception):
    """The grant has expired, or was revoked (`invalid_grant`)."""


def failed(why: str, reason: str) -> UpstreamError:
    """Return the error for an authorization server that fails, or cannot be used."""
    return UpstreamError(
        "mcp_oauth_failed", f"The server's sign-in cannot be used: {why}.", {"reason": reason, "sent": False}
    )


def check_endpoint(url: str, what: str) -> str:
    """Return an address that metadata names. Raises UpstreamError unless it is https, or http to loopback."""
    if not is_safe_url(url, query=True):
        raise failed(f"the {what} it names is not an https address", "metadata")
    return url


class AuthClient:
    """Asks authorization servers."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def check_reachable(self, url: str) -> None:
        """Refuse an address that a browser is to be sent to, if agio itself may not go there."""
        target = parse_target(url)
        try:
            await self._egress.addresses(target.host, target.port)
        except AgioError as error:
            raise failed(f"{target.authority} cannot be used ({error.code})", error.code) from error

    async def get(self, url: str, kind: type[T], what: str) -> T | None:
        """Get a metadata document; None: there is none."""
        response = await self._ask("GET", url, max_redirects=3)
        if response.status != 200:
            return None
        check_endpoint(response.url, f"place of its {what}")
        return _decoded(response.body, kind, what)

    async def register(self, server: AuthServer, redirect_uri: str) -> Client:
        """Register a client (RFC 7591)."""
        wanted = next(
            (
                method
                for method in ("none", "client_secret_basic", "client_secret_post")
                if method in server.methods
            ),
            "none",
        )
        said = structs.asdict(client_metadata(redirect_uri))
        body = msgspec.json.encode({**said, "token_endpoint_auth_method": wanted})
        headers = [*_JSON, ("content-type", "application/json")]
        response = await self._ask("POST", str(server.registration_endpoint), headers, body)
        if response.status not in (200, 201):
            raise failed(f"it registers no client ({_said(response)})", "registration")
        made = _decoded(response.body, _Registered, "registration")
        if not made.client_id.isprintable() or not 0 < len(made.client_id) <= _CLIENT_CHARS:
            raise failed("it registers a client without a usable id", "registration")
        method = method_of(made.client_secret, [made.token_endpoint_auth_method or wanted])
        return Client(id=made.client_id, secret=made.client_secret, method=method, redirect_uri=redirect_uri)

    async def redeem(self, endpoint: str, client: Client, form: Mapping[str, str]) -> TokenAnswer:
        """Exchange a code or a refresh token. Raises GrantEnded."""
        response = await self._post(endpoint, client, form)
        refusal = _refusal(response)
        if refusal == "invalid_grant":
            raise GrantEnded
        if response.status != 200 or refusal:
            raise failed(f"it gives no token ({_said(response)})", "token")
        answer = _decoded(response.body, TokenAnswer, "token")
        refresh = answer.refresh_token
        if answer.token_type.lower() != "bearer" or not all(
            map(_TOKEN.fullmatch, (answer.access_token, refresh or "-"))
        ):
            raise failed("its token is not a bearer token", "token")
        return answer

    async def revoke(self, tokens: Tokens) -> None:
        """End a grant (RFC 7009)."""
        if tokens.revocation_endpoint is not None:
            form = {"token": tokens.refresh or tokens.access}
            await self._post(tokens.revocation_endpoint, tokens.client, form)

    async def _post(self, url: str, client: Client, form: Mapping[str, str]) -> EgressResponse:
        headers = [*_JSON, ("content-type", "application/x-www-form-urlencoded")]
        fields = dict(form)
        if client.method == "client_secret_basic":
            pair = f"{quote(client.id, safe='')}:{quote(client.secret or '', safe='')}"
            headers.append(("authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
        else:
            fields["client_id"] = client.id
            if client.method == "client_secret_post":
                fields["client_secret"] = client.secret or ""
        return await self._ask("POST", url, headers, urlencode(fields).encode())

    async def _ask(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]] = _JSON,
        body: bytes | None = None,
        max_redirects: int = 0,
    ) -> EgressResponse:
        request = EgressRequest(method, url, headers, body, TIMEOUT_S, _LIMIT_BYTES, max_redirects)
        try:
            return await self._egress.request(request)
        except AgioError as error:
            raise failed(f"it does not answer as it should ({error})", error.code) from error


def client_metadata(redirect_uri: str) -> ClientMetadata:
    """Return what agio says of itself."""
    return ClientMetadata(
        redirect_uris=[redirect_uri],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        application_type="web" if redirect_uri.startswith("https:") else "native",
    )


def method_of(secret: str | None, methods: list[str]) -> Method:
    """Return how a client authenticates."""
    if not secret:
        return "none"
    posts = "client_secret_post" in methods and "client_secret_basic" not in methods
    return "client_secret_post" if posts else "client_secret_basic"


def now_ms() -> int:
    """Return this machine's time."""
    return time.time_ns() // 1_000_000


def _refusal(response: EgressResponse) -> str:
    try:
        return msgspec.json.decode(response.body, type=_Refusal).error
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""


def _said(response: EgressResponse) -> str:
    code = _refusal(response)
    return code if re.fullmatch(r"[a-z_]{1,60}", code) else f"status {response.status}"


def _decoded(body: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise failed(f"its {what} cannot be read", "answer") from error
