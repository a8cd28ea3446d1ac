"""The one browser of a process: starting one takes longer than most of what is looked at in it."""

from contextlib import AsyncExitStack
from shutil import which

from playwright.async_api import Browser, async_playwright

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class SharedBrowser:
    """Chromium, started when it is first wanted; whoever looks at pages opens a context of their own in it."""

    def __init__(self) -> None:
        self._browser: Browser | None = None
        self._stack = AsyncExitStack()

    async def get(self) -> Browser:
        """Return the browser; one that crashed is replaced."""
        if self._browser is None or not self._browser.is_connected():
            await self.close()
            assert CHROMIUM is not None
            playwright = await self._stack.enter_async_context(async_playwright())
            self._browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            self._stack.push_async_callback(self._browser.close)
        return self._browser

    async def close(self) -> None:
        """End it, if it was started."""
        self._browser = None
        await self._stack.aclose()


shared = SharedBrowser()
