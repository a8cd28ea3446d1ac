"""oidc-provider, a certified OpenID provider nobody here wrote, and a browser that signs in there."""

import select
from collections.abc import Sequence
from typing import Self
from urllib.parse import urljoin

import httpx
import msgspec
import pytest

from agio.gateway.auth.authenticator import COOKIE
from agio.gateway.auth.oidc import FLOW_COOKIE
from tests.support.node import start_node

WAIT_S = 90
MOST_PAGES = 20
CLIENT_ID = "agio"
CLIENT_SECRET = "a secret: of the client, with % + and &"


class OidcServer:
    """The provider, under Node, for as long as a test needs it. Whoever signs in as `ann` is ann@example.com.

    Under the name `localhost` it is another site than a server at 127.0.0.1, as a browser sees it.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._process = start_node("oidc_server.mjs", "oidc-provider", host)
        self.url = f"http://{host}:{self._line()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=WAIT_S)

    def register(self, *redirect_uris: str, methods: Sequence[str] = ("client_secret_basic",)) -> None:
        """Let the provider know its clients: one for each way to prove who it is, named `agio`, `agio-1`..."""
        clients: list[dict[str, object]] = [
            {
                "client_id": CLIENT_ID if number == 0 else f"{CLIENT_ID}-{number}",
                "redirect_uris": redirect_uris,
                "token_endpoint_auth_method": method,
                **({} if method == "none" else {"client_secret": CLIENT_SECRET}),
            }
            for number, method in enumerate(methods)
        ]
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(clients) + b"\n")
        self._process.stdin.flush()
        assert self._line() == "ready"

    def _line(self) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        line = stdout.readline().strip().decode() if select.select([stdout], [], [], WAIT_S)[0] else ""
        if not line:
            self._process.kill()
            pytest.fail(f"oidc-provider did not answer within {WAIT_S} s.")
        return line


class Browser:
    """A person's browser: its cookies here and there, and what the person does at the provider."""

    def __init__(self, agio: str) -> None:
        self.agio = agio
        self.cookies: dict[str, str] = {}
        self.prompts: list[str] = []
        """What the provider asked the person, in order."""
        self._http = httpx.AsyncClient(timeout=WAIT_S, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(self, method: str, path: str, accept: str = "application/json") -> httpx.Response:
        """Ask agio as a page of its own would."""
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value)
        headers = {"cookie": kept, "sec-fetch-site": "same-origin", "accept": accept}
        response = await self._http.request(method, f"{self.agio}{path}", headers=headers)
        for cookie in response.headers.get_list("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            assert name in (COOKIE, FLOW_COOKIE)
            self.cookies[name] = value
        return response

    def leave_provider(self) -> None:
        """Forget who it is at the provider."""
        self._http.cookies.clear()

    async def me(self) -> dict[str, str] | None:
        """Who it is signed in as here."""
        answered = await self.ask("GET", "/api/me")
        return answered.json() if answered.is_success else None

    async def sign_in(
        self, query: str = "", login: str = "ann", *, provider: str = "test", deny: bool = False
    ) -> httpx.Response:
        """Leave for the provider, do there what is asked, and come back; returns agio's answer."""
        left = await self.ask("GET", f"/sign-in/oidc/{provider}{query}")
        assert left.status_code == 303, left.text
        return await self.go(left.headers["location"], login, deny=deny)

    async def go(self, url: str, login: str = "ann", *, deny: bool = False) -> httpx.Response:
        """Go to the provider and come back."""
        response = await self._http.get(url)
        for _ in range(MOST_PAGES):
            place = urljoin(str(response.url), response.headers.get("location", ""))
            if place.startswith(self.agio):
                return await self.ask("GET", place.removeprefix(self.agio))
            if response.is_redirect:
                response = await self._http.get(place)
                continue
            assert response.status_code == 200, response.text
            prompt = "login" if 'value="login"' in response.text else "consent"
            self.prompts.append(prompt)
            if deny:
                response = await self._http.get(f"{response.url}/abort")
            else:
                form = {"prompt": prompt, "login": login, "password": "anything"}
                response = await self._http.post(str(response.url), data=form)
        raise AssertionError(f"the provider never let the browser go: {response.url}")
