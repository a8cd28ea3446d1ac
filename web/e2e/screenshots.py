"""Screenshots of every page, on a desktop and on a phone, in light and in dark: `make images`.

They go to a folder that git ignores. Those that docs/images has, which pages of the docs show, are renewed there.
"""

import asyncio
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Page

from web.e2e.browser import shared
from web.e2e.scene import DESKTOP, PHONE, process_scene
from web.e2e.story import ENVIRONMENT, Story, answer_slowly, write_app
from web.e2e.tour import EXPECTED, TEAM, Stop, settled

SHOWN = Path(__file__).parents[2] / "docs" / "images"
SIZES = {"desktop": DESKTOP, "phone": PHONE}
PAGES = {
    "sign-in": "sign-in",
    "welcome": "welcome-back",
    "chat-new": "chat-new",
    "chat": "chat-tools",
    "chat-markdown": "chat-markdown",
    "chat-approval": "chat-approval",
    "runs": "runs",
    "run": "run",
    "run-events": "run-events",
    "run-metrics": "run-metrics",
    "agents": "agents",
    "agent": "agent-edit",
    "memories": "memories",
    "tools": "tools",
    "tool": "tool-edit",
    "providers": "settings-providers",
    "api-keys": "settings-keys",
    "members": "settings-members",
    "profile": "settings-profile",
    "audit": "settings-audit",
    "appearance": "settings-appearance",
    "about": "settings-about",
}
"""The names of the pictures, with the stops of the tour they are taken at."""
READ = ["sum", "long", "failed", "markdown", "stopped", "tools"]
"""The chats that somebody has read before the first picture."""


async def take(page: Page, place: Path) -> None:
    """Take a picture once it is drawn, without a caret or a pointer in it."""
    await page.mouse.move(0, 0)
    await page.evaluate("document.fonts.ready")
    await settled(page)
    await page.screenshot(path=place, animations="disabled", caret="hide")


async def take_all(folder: Path) -> None:
    """Take every picture, one after the other."""
    try:
        await _take_all(folder)
    finally:
        await shared.close()


async def _take_all(folder: Path) -> None:
    stops: dict[str, Stop] = {stop.name: stop for stop in TEAM}
    with TemporaryDirectory() as data:
        async with process_scene(Path(data), answer_slowly, ENVIRONMENT, write_app(Path(data))) as here:
            page = await here.visitor(expected=EXPECTED)
            story = Story(here, page)
            await story.seed()
            for session in READ:
                path = f"/api/agent-sessions/{story.ids[session]}"
                await story.call("PATCH", path, {"seen_pos": (await story.call("GET", path))["last_pos"]})
            stranger = await (await here.context(expected=EXPECTED)).new_page()
            for name, stop in PAGES.items():
                at = stops[stop]
                shown = page if at.signed_in else stranger
                for size, (width, height) in SIZES.items():
                    await shown.set_viewport_size({"width": width, "height": height})
                    await at.reach(shown, here.url, story.ids)
                    for colours in ("light", "dark"):
                        await shown.emulate_media(color_scheme=colours, reduced_motion="reduce")
                        await take(shown, folder / f"{name}-{size}-{colours}.png")
                    await shown.emulate_media(color_scheme="light", reduced_motion="reduce")


def main() -> None:
    """Write the pictures to the folder named on the command line, and renew those of the docs."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take_all(folder))
    shown = list(SHOWN.glob("*.png"))
    for picture in shown:
        shutil.copyfile(folder / picture.name, picture)
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}, {len(shown)} of them in {SHOWN}")


if __name__ == "__main__":
    main()
