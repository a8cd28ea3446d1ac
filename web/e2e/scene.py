"""A server in a process of its own, a model behind it that says what the test wants, and browsers in front."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from agio.testing import ModelServer, Reply
from agio.testing.capture import ModelCall
from tests.acceptance.server.process import Server
from tests.ports import free_port
from web.e2e.browser import CHROMIUM, shared

PATIENCE_MS = 60_000
"""For what comes soon: a machine with more to do than this is given up on."""
DESKTOP = (1280, 800)
PHONE = (360, 740)
NOT_SIGNED_IN = "got 401 for /api/me"
"""What is heard on a page that asks who somebody is whom nobody knows."""
DELETED = r"got 404 for /api/agent-sessions/ses_\w+(/\w+)?(\?.*)?"
"""What may be heard on a page that asks for a chat before it is told that there is none any more."""
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
slow = pytest.mark.timeout(600)
expect.set_options(timeout=PATIENCE_MS)

Answer = Callable[[ModelCall], Reply]


@dataclass
class Complaints:
    """What a page said in the console, threw, or asked of others. `expected` are patterns of all that may be said.

    This server own addresses are told without its name and port.
    """

    origin: str
    expected: Sequence[str] = ()
    friends: tuple[str, ...] = ()
    """Other places that may be asked."""
    heard: list[str] = field(default_factory=list[str])

    def listen(self, page: Page) -> None:
        """Hear what a page says."""
        page.on("pageerror", lambda error: self._hear(f"threw {error}"))
        page.on("console", self._console)
        page.on("request", lambda asked: self._asked(asked.url))
        page.on("response", lambda got: self._got(got.url, got.status))

    def _console(self, said: ConsoleMessage) -> None:
        if said.type not in ("error", "warning"):
            return
        if not said.text.startswith("Failed to load resource"):
            self._hear(f"{said.type} {said.text}")
        elif "the server responded" not in said.text:
            self._hear(f"{said.text} for {said.location['url']}")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin, "blob:", "data:", *self.friends)):
            self._hear(f"asked {url}")

    def _got(self, url: str, status: int) -> None:
        """Say which one it was: the console does not."""
        if status >= 400:
            self._hear(f"got {status} for {url}")

    def _hear(self, said: str) -> None:
        own = self.origin.removeprefix("http")
        self.heard.append(said.replace(f"http{own}", "").replace(f"ws{own}", ""))

    def check(self) -> None:
        """Fail if there was anything but what was expected."""
        unexpected = [
            said for said in self.heard if not any(re.fullmatch(each, said) for each in self.expected)
        ]
        assert unexpected == [], "\n".join(unexpected)


class Scene:
    """The server, its models, and who looks at it."""

    def __init__(
        self,
        folder: Path,
        models: ModelServer,
        browser: Browser,
        environment: Mapping[str, str],
        arguments: Sequence[str] = (),
    ):
        self.models = models
        self._folder = folder
        self._browser = browser
        self._environment = environment
        self._arguments = arguments
        self._stack = AsyncExitStack()
        self._port = free_port()
        self.friends: tuple[str, ...] = ()
        """Where pages may go beside the server, such as an OpenID provider."""

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        try:
            await self._stack.aclose()
        finally:
            self.server.__exit__(None, None, None)

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the server, on the port and the data it had before."""
        place = ("--port", str(self._port), "--data", str(self._folder / "data"))
        self.server = Server(
            self._folder, *place, *self._arguments, environment=self._environment, own_data=False
        )
        self.server.__enter__()

    def kill(self) -> None:
        """End the server without a word."""
        self.server.process.kill()
        self.server.__exit__(None, None, None)

    async def context(
        self, *, size: tuple[int, int] = DESKTOP, dark: bool = False, expected: Sequence[str] = ()
    ) -> BrowserContext:
        """Open a browser of its own: no cookie, no memory. What goes wrong on its pages fails the test."""
        complaints = Complaints(self.url, expected, self.friends)
        context = await self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", complaints.listen)
        self._stack.callback(complaints.check)
        self._stack.push_async_callback(context.close)
        return context

    async def visitor(
        self, *, size: tuple[int, int] = DESKTOP, dark: bool = False, expected: Sequence[str] = ()
    ) -> Page:
        """Open a page that is signed in with the server's link, past the welcome."""
        context = await self.context(size=size, dark=dark, expected=expected)
        page = await context.new_page()
        await page.goto(self.server.sign_in)
        await page.wait_for_url(f"{self.url}/set-up")
        await page.goto(f"{self.url}/chat")
        await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        return page

    async def call(self, page: Page, method: str, path: str, body: object = None) -> Any:
        """Ask the server as whoever is signed in on a page; return what it answers."""
        options: dict[str, Any] = {} if body is None else {"data": body}
        answered = await page.request.fetch(
            f"{self.url}{path}",
            method=method,
            headers={"origin": self.url, "sec-fetch-site": "same-origin"},
            **options,
        )
        assert answered.ok, await answered.text()
        return await answered.json() if answered.status != 204 else None

    async def ended(self, page: Page, run: str) -> None:
        """Wait until a run is over or waits for a person."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while (await self.call(page, "GET", f"/api/runs/{run}"))["status"] in ("queued", "running"):
            assert time.monotonic() < end, f"The run {run} does not end."
            await asyncio.sleep(0.05)

    async def make_agent(self, page: Page, name: str = "Echo", **fields: object) -> str:
        """Create an agent whose model is the scene's; return its id."""
        body = {
            "name": name,
            "system_prompt": "Answer.",
            "model_provider": "openai-chat",
            "model_name": "test-model",
            **fields,
        }
        return str((await self.call(page, "POST", "/api/agents", body))["id"])


@asynccontextmanager
async def scene(
    folder: Path,
    answer: Answer | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> AsyncGenerator[Scene]:
    """Set a scene. `answer` is what the model says to each call; without it, it echoes."""
    async with ModelServer() as models:
        if answer is not None:
            models.answer(answer)
        base = models.base_url("openai-chat")
        known = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "test-key", **(environment or {})}
        async with Scene(folder, models, await shared.get(), known, arguments) as made:
            yield made


def path_of(page: Page) -> str:
    """Return where a page is, without the server's address."""
    return urlsplit(page.url).path


async def say(page: Page, text: str) -> None:
    """Write a message and send it with Enter."""
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await box.press("Enter")
