"""An authorization server, and an MCP server that takes its tokens alone: both count what they are asked."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.mcp_server import Fixture, fixture_server, listen


@dataclass
class Grant:
    """What a person allowed a client."""

    client_id: str
    resource: str
    challenge: str
    redirect_uri: str
    ended: bool = False


@dataclass
class AuthorizationServer:
    """It allows everything, as the person `ann` would. Change `metadata` and the fields to change what it does."""

    url: str = ""
    mcp_url: str = ""
    lifetime_s: object = 3600
    refreshes: bool = True
    away: bool = False
    allows: bool = True
    says_issuer: str | None = None
    """The `iss` of its answers; None: its own."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    resource: dict[str, Any] = field(default_factory=dict[str, Any])
    """What differs in the MCP server's metadata."""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    grants: dict[str, Grant] = field(default_factory=dict[str, Grant])
    """By code and refresh token."""
    access: dict[str, Grant] = field(default_factory=dict[str, Grant])
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The forms at the token endpoint."""
    asks: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first of them."""
    revoked: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])

    @property
    def renewals(self) -> int:
        """How often a refresh token was used."""
        return sum(form["grant_type"] == "refresh_token" for form in self.asked)

    def expire_access(self) -> None:
        """Take no access token any more."""
        self.access.clear()

    def end_grants(self) -> None:
        """Take nothing any more, as if the person had revoked it."""
        self.access.clear()
        self.grants.clear()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self._metadata),
                Route("/register", self._register, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
                Route("/elsewhere", self._elsewhere, methods=["GET", "POST"]),
            ]
        )

    async def _metadata(self, request: Request) -> Response:
        self.paths.append(request.url.path)
        said = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }
        return JSONResponse({name: value for name, value in said.items() if value is not None})

    async def _register(self, request: Request) -> Response:
        said = await request.json()
        client_id = f"client-{len(self.clients)}"
        self.clients[client_id] = said
        return JSONResponse({**said, "client_id": client_id}, 201)

    async def _authorize(self, request: Request) -> Response:
        asked = request.query_params
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        issuer = self.url if self.says_issuer is None else self.says_issuer
        answer = {"state": asked["state"], "iss": issuer}
        if self.allows:
            answer["code"] = code = secrets.token_urlsafe(16)
            self.grants[code] = Grant(
                asked["client_id"], asked["resource"], asked["code_challenge"], asked["redirect_uri"]
            )
        else:
            answer["error"] = "access_denied"
        if not issuer:
            del answer["iss"]
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}")

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        basic = request.headers.get("authorization", "").removeprefix("Basic ")
        if basic:
            form["client_id"], form["client_secret"] = base64.b64decode(basic).decode().split(":")
        self.asked.append(form)
        self.asks.set()
        if self.away:
            return Response(status_code=503)
        code = form.get("code") or form.get("refresh_token", "")
        grant = self.grants.pop(code, None)
        if grant is None or grant.ended or form["client_id"] != grant.client_id:
            return JSONResponse({"error": "invalid_grant", "error_description": "no: <b>secret</b>"}, 400)
        assert form["resource"] == grant.resource
        if form["grant_type"] == "authorization_code":
            assert form["redirect_uri"] == grant.redirect_uri
            hashed = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() == grant.challenge
        access, refresh = f"at-{secrets.token_urlsafe(24)}", f"rt-{secrets.token_urlsafe(24)}"
        self.access[access] = grant
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer"}
        if self.lifetime_s is not None:
            answer["expires_in"] = self.lifetime_s
        if self.refreshes:
            self.grants[refresh] = grant
            answer["refresh_token"] = refresh
        return JSONResponse(answer)

    async def _revoke(self, request: Request) -> Response:
        token = str((await request.form())["token"])
        self.revoked.append(token)
        self.grants.pop(token, None)
        return Response()

    async def _elsewhere(self, request: Request) -> Response:
        return RedirectResponse("http://127.0.0.1:9/token", 307)

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Stand before an MCP server: only tokens that were made for it pass."""
        known = "/.well-known/oauth-protected-resource"

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            request = Request(scope)
            if request.url.path.startswith(known):
                said = {"resource": self.mcp_url, "authorization_servers": [self.url], **self.resource}
                await JSONResponse(said)(scope, receive, send)
                return
            grant = self.access.get(request.headers.get("authorization", "").removeprefix("Bearer "))
            if grant is not None and grant.resource == self.mcp_url:
                await app(scope, receive, send)
                return
            place = f"{request.url.scheme}://{request.url.netloc}{known}/mcp"
            asks = {"www-authenticate": f'Bearer resource_metadata="{place}", scope="tools"'}
            await Response(status_code=401, headers=asks)(scope, receive, send)

        return serve


@asynccontextmanager
async def authorized_server() -> AsyncGenerator[tuple[AuthorizationServer, Fixture]]:
    """Serve both, each at a port of its own."""
    server = AuthorizationServer()
    async with listen(server.app()) as url, fixture_server(guard=server.guard) as fixture:
        server.url, server.mcp_url = url, fixture.url
        yield server, fixture
