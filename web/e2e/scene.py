"""A server, a model behind it that says what the test wants, and browsers in front."""

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

from agio.core.config import ServerLimits
from agio.drivers.endpoint import Endpoint
from agio.testing import ModelServer, Reply
from agio.testing.capture import ModelCall
from tests.support.ports import free_port
from tests.support.process import Server
from tests.support.served import served
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
    """The server, its models, and its browsers."""

    def __init__(self, url: str, sign_in: str, models: ModelServer, browser: Browser) -> None:
        self.url = url
        """Where the pages are."""
        self.sign_in = sign_in
        """The link that signs the first owner in."""
        self.models = models
        self.friends: tuple[str, ...] = ()
        """Where pages may go beside the server, such as an OpenID provider."""
        self._browser = browser
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._stack.aclose()

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
        await page.goto(self.sign_in)
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


class ProcessScene(Scene):
    """A scene whose server is a process, which can be killed and started again."""

    def __init__(self, make: Callable[[], Server], models: ModelServer, browser: Browser) -> None:
        self._make = make
        self.start()
        super().__init__(self.server.url, self.server.sign_in, models, browser)

    async def __aexit__(self, *raised: object) -> None:
        try:
            await super().__aexit__(*raised)
        finally:
            self.server.__exit__(None, None, None)

    def start(self) -> None:
        """Start the server, on the port and the data it had before."""
        self.server = self._make().__enter__()

    def kill(self) -> None:
        """End the server without a word."""
        self.server.process.kill()
        self.server.__exit__(None, None, None)


@asynccontextmanager
async def scene(folder: Path, answer: Answer | None = None) -> AsyncGenerator[Scene]:
    """Set a scene with a server in this process, which takes no time to start.

    `answer` is what the model says to each call; without it, it echoes.
    """
    async with _models(answer) as models:
        own = {"demo": Endpoint(), **{name: models.endpoint(name) for name in ("openai", "openai-chat")}}
        data = folder / "data"
        data.mkdir()
        async with (
            served(data, ServerLimits(), endpoints=own) as server,
            Scene(server.url, server.link, models, await shared.get()) as made,
        ):
            yield made


@asynccontextmanager
async def process_scene(
    folder: Path,
    answer: Answer | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> AsyncGenerator[ProcessScene]:
    """Set a scene with `agio serve` in a process of its own, with its environment and arguments."""
    async with _models(answer) as models:
        base = models.base_url("openai-chat")
        known = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": "test-key", **(environment or {})}
        given = ("--port", str(free_port()), "--data", str(folder / "data"), *arguments)

        def make() -> Server:
            return Server(folder, *given, environment=known, own_data=False)

        async with ProcessScene(make, models, await shared.get()) as made:
            yield made


@asynccontextmanager
async def _models(answer: Answer | None) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as models:
        if answer is not None:
            models.answer(answer)
        yield models


def path_of(page: Page) -> str:
    """Return where a page is, without the server's address."""
    return urlsplit(page.url).path


async def say(page: Page, text: str) -> None:
    """Write a message and send it with Enter."""
    box = page.get_by_role("textbox", name="Message")
    await box.fill(text)
    await box.press("Enter")
