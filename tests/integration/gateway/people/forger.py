"""An OpenID provider that answers as a test likes: honestly, or with something nobody should believe."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from msgspec import Struct
from msgspec.structs import replace

from agio.core.identity.oidc import OidcProvider
from agio.egress import Egress
from agio.gateway.auth.oidc import FLOW_COOKIE, OidcProviders
from tests.support.house import ADDRESS, House

CLIENT_ID = "agio"
CODE = "a-code"
SUBJECT = "248289761001"


@cache
def rsa_key(number: int) -> RSAPrivateKey:
    """Return a key, always the same for a number."""
    assert number >= 0
    return generate_private_key(65537, 2048)


def public_pem(number: int) -> bytes:
    """Return the public half, as it is printed."""
    return rsa_key(number).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def jwk_of(number: int, **fields: str) -> dict[str, Any]:
    """Return the public half, as providers publish it."""
    jwk = RSAAlgorithm.to_jwk(rsa_key(number).public_key(), as_dict=True)
    jwk.pop("key_ops", None)
    return {**jwk, "kid": f"key-{number}", "use": "sig", **fields}


def sealed_by_hand(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None) -> str:
    """Make a token no library would: HMAC with whatever secret, or no signature at all."""
    parts = [json.dumps(part).encode() for part in (header, claims)]
    start = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    mac = b"" if secret is None else hmac.digest(secret, start, "sha256")
    return (start + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


class Left(Struct, frozen=True):
    """A browser that was sent to the provider: with what, and with which cookie."""

    asked: dict[str, str]
    cookie: str


class Forger:
    """The provider. What it answers with is in its attributes; without a change it is honest."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.metadata: dict[str, Any] = {}
        self.jwks: bytes = json.dumps({"keys": [jwk_of(0)]}).encode()
        self.claims: dict[str, Any] = {}
        """What the ID token says otherwise; None leaves a claim out."""
        self.header: dict[str, Any] = {}
        self.signer = 0
        self.token: str | None = None
        """An ID token made elsewhere."""
        self.answer: tuple[int, dict[str, str], bytes] | None = None
        """What the token endpoint answers with instead of tokens."""
        self.userinfo: dict[str, Any] = {}
        self.asked: dict[str, str] = {}
        """What the browser that is at the provider was sent with."""
        self.forms: list[dict[str, str]] = []
        self.authorization: str | None = None
        self.fetched: list[str] = []

    def described(self) -> dict[str, Any]:
        """The provider's metadata."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            **self.metadata,
        }

    def said(self) -> dict[str, Any]:
        """What the ID token says."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT_ID,
            "sub": SUBJECT,
            "auth_time": now,
            "iat": now,
            "exp": now + 300,
            "nonce": self.asked.get("nonce"),
            "email": "ann@example.com",
            "email_verified": True,
            "name": "Ann",
            **self.claims,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def id_token(self) -> str:
        """Sign what is said."""
        headers = {"kid": f"key-{self.signer}", **self.header}
        payload = json.dumps(self.said()).encode()
        return jwt.api_jws.encode(payload, rsa_key(self.signer), "RS256", headers=headers)

    def redeem(self, form: dict[str, str], authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        """Answer at the token endpoint, as an honest provider only to the browser's own verifier."""
        self.forms.append(form)
        self.authorization = authorization
        if self.answer is not None:
            return self.answer
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if form["code"] != CODE or challenge != self.asked["code_challenge"]:
            return 400, {}, b'{"error": "invalid_grant"}'
        return 200, {}, json.dumps({"access_token": "at", "id_token": self.token or self.id_token()}).encode()

    def providers(self, like: OidcProvider, *also: "Forger") -> OidcProviders:
        """Return the gateway's side: this provider as `forge`, others as `other`, each as the operator says."""
        named = [(self, "forge"), *((one, "other") for one in also)]
        hosts = [urlsplit(one.url).netloc for one, _ in named]
        return OidcProviders(
            [
                (replace(like, id=name, name=name.title(), issuer=one.url), Egress(hosts))
                for one, name in named
            ],
            ADDRESS,
        )

    async def leave(
        self, client: httpx.AsyncClient, path: str = "/sign-in/oidc/forge", cookie: str = ""
    ) -> Left:
        """Let a browser leave for the provider, which remembers what it was sent with."""
        sent = await client.get(path, headers={"cookie": cookie} if cookie else {})
        assert sent.status_code == 303, sent.text
        place = urlsplit(sent.headers["location"])
        asked = {name: values[0] for name, values in parse_qs(place.query).items()}
        assert f"{place.scheme}://{place.netloc}" == self.url
        self.asked = asked
        flow = sent.headers["set-cookie"].partition(";")[0]
        assert flow.startswith(f"{FLOW_COOKIE}=")
        return Left(asked, flow)

    async def come_back(
        self, client: httpx.AsyncClient, left: Left, cookie: str | None = None, **changed: str | None
    ) -> httpx.Response:
        """Let a browser come back with a code."""
        given = {"code": CODE, "state": left.asked["state"], **changed}
        return await client.get(
            "/sign-in/oidc/forge/callback",
            params={name: value for name, value in given.items() if value is not None},
            headers={"cookie": left.cookie if cookie is None else cookie},
        )


def install(place: House, providers: OidcProviders) -> None:
    """Give a gateway its providers."""
    object.__setattr__(place.gateway, "oidc", providers)


@contextmanager
def forger() -> Generator[Forger]:
    """Run a provider on a free port of loopback."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.forger
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()


class _Server(ThreadingHTTPServer):
    """The socket of a forger."""

    daemon_threads = True

    def server_activate(self) -> None:
        """Begin, now that the port is known."""
        self.forger = Forger(f"http://127.0.0.1:{self.server_address[1]}")
        super().server_activate()


class _Handler(BaseHTTPRequestHandler):
    """Serves a forger's answers."""

    def do_GET(self) -> None:
        """Answer with metadata, keys, or what is known of a person."""
        one = self._forger
        one.fetched.append(self.path)
        match self.path:
            case "/.well-known/openid-configuration":
                self._answer(200, {}, json.dumps(one.described()).encode())
            case "/jwks":
                self._answer(200, {}, one.jwks)
            case "/userinfo":
                self._answer(200, {}, json.dumps(one.userinfo).encode())
            case _:
                self._answer(404, {}, b"{}")

    def do_POST(self) -> None:
        """Answer with tokens."""
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._answer(*self._forger.redeem(form, self.headers["authorization"]))

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""

    @property
    def _forger(self) -> Forger:
        return cast("_Server", self.server).forger

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
