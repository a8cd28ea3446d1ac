"""A server whose people sign in at a real OpenID provider, which is another site to the browser."""

import json
import re
import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

from playwright.async_api import BrowserContext, Page, expect

from tests.support.oidc_server import CLIENT_ID, CLIENT_SECRET, OidcServer
from web.e2e.scene import DESKTOP, NOT_SIGNED_IN, Scene, process_scene

PROVIDER = "Test Directory"
FONTS = "https://fonts.googleapis.com/"
GONE_BACK = r"got 400 for http://localhost:\d+/interaction/.*"
"""The provider's own word on going back."""


@asynccontextmanager
async def openid_scene(
    folder: Path, others: Sequence[Mapping[str, object]] = (), **fields: object
) -> AsyncGenerator[Scene]:
    """Set a scene with the provider; `fields` are more of its settings, `others` more providers at its address."""
    with OidcServer("localhost") as provider:
        named = {
            "id": "test",
            "name": PROVIDER,
            "issuer": provider.url,
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            **fields,
        }
        more = [{**named, **other} for other in others]
        async with process_scene(folder, environment={"AGIO_OIDC": json.dumps([named, *more])}) as here:
            places = [f"{here.url}/sign-in/oidc/{one['id']}/callback" for one in (named, *more)]
            provider.register(*places)
            here.friends = (provider.url, FONTS)
            yield here


def turned_away(status: int, provider: str = "test") -> str:
    """What is heard when the server does not take what a provider says."""
    return rf"got {status} for /sign-in/oidc/{provider}/callback\?.*"


async def newcomer(
    here: Scene, expected: Sequence[str] = (), size: tuple[int, int] = DESKTOP, *, dark: bool = False
) -> Page:
    """Open a browser that nobody knows, here or at the provider."""
    context = await here.context(size=size, dark=dark, expected=(NOT_SIGNED_IN, *expected))
    await without_fonts(context)
    return await context.new_page()


async def without_fonts(context: BrowserContext) -> None:
    """Keep the provider's page from asking for its letters beyond this machine."""
    await context.route(f"{FONTS}**", lambda route: route.fulfill(body="", content_type="text/css"))


async def leave(page: Page, name: str = PROVIDER) -> None:
    """Leave the sign-in page for a provider."""
    await page.get_by_role("link", name=f"Continue with {name}", exact=True).click()


async def log_in(page: Page, login: str = "ann") -> None:
    """Tell the provider who one is."""
    await page.get_by_placeholder("Enter any login").fill(login)
    await page.get_by_placeholder("and password").fill("anything")
    await page.get_by_role("button", name="Sign-in").click()


async def agree(page: Page) -> None:
    """Let the provider tell the server."""
    await page.get_by_role("button", name="Continue").click()


async def turn_back(page: Page) -> None:
    """Let the provider tell the server nothing."""
    await page.get_by_role("link", name=re.compile("Cancel")).click()


async def come_in(here: Scene, page: Page, login: str = "ann", path: str = "/chat") -> None:
    """Go to a page, and sign in at the provider on the way."""
    await page.goto(f"{here.url}{path}")
    await leave(page)
    await log_in(page, login)
    await agree(page)
    await expect(page).to_have_url(f"{here.url}{path}")


def let_hours_pass(folder: Path) -> None:
    """Let everybody have proved long ago who they are."""
    with closing(sqlite3.connect(folder / "data" / "agio.db", timeout=60)) as store, store:
        store.execute("update web_sessions set authenticated_at = 1")
