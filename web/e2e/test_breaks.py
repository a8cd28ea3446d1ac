"""What breaks while an answer comes: the page, the server, the network. Nothing is lost, nothing is told twice."""

import re
from asyncio import Event
from pathlib import Path

from playwright.async_api import Page, expect

from agio.testing import Reply
from agio.testing.capture import ModelCall
from web.e2e.scene import DELETED, Scene, needs_chromium, path_of, process_scene, say, scene, slow

pytestmark = [needs_chromium, slow]

WORDS = [f"w{number:04d}" for number in range(240)]
KILLED = (
    r"Failed to load resource: net::ERR_\w+ for /(api|assets)/.*",
    "error WebSocket connection to '/realtime' failed: .+",
)
"""What a browser says of a server that is gone, wherever in an answer it went."""
OFFLINE = (
    "Failed to load resource: net::ERR_INTERNET_DISCONNECTED for /api/.*",
    "error WebSocket connection to '/realtime' failed: .+",
)


class Counting:
    """A model that says numbered words, the second half of them when `go` is set."""

    def __init__(self) -> None:
        self.go = Event()

    def __call__(self, call: ModelCall) -> Reply:
        """Answer any call."""
        return Reply(" ".join(WORDS), chunk_chars=6, gate=self.go)


async def begun(here: Scene, page: Page) -> str:
    """Ask, and wait until half of the answer is there; return where the chat is."""
    agent = await here.make_agent(page)
    await page.goto(f"{here.url}/chat?agent={agent}")
    await say(page, "Count")
    await expect(page.get_by_text("w0100")).to_be_visible()
    return path_of(page)


async def whole(page: Page) -> None:
    """Wait for the end; every word is there, once and in order."""
    await expect(page.get_by_text(WORDS[-1])).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    shown = await page.get_by_role("main").inner_text()
    assert re.findall(r"w\d{4}", shown) == WORDS
    assert shown.count("Count") <= 2  # the message, and the title it became


async def test_a_page_that_is_loaded_again_in_the_middle_goes_on(tmp_path: Path) -> None:
    """C8, C10, C7: reloading costs nothing."""
    model = Counting()
    async with scene(tmp_path, model) as here:
        page = await here.visitor()
        await begun(here, page)
        await page.reload()
        await expect(page.get_by_text("w0100")).to_be_visible()
        model.go.set()
        await whole(page)
        assert len(here.models.calls) == 1


async def test_a_server_that_is_killed_in_the_middle_and_started_again_goes_on(tmp_path: Path) -> None:
    """C8, C10, B1: the page says so, comes back by itself, and shows the answer once."""
    model = Counting()
    async with process_scene(tmp_path, model) as here:
        page = await here.visitor(expected=KILLED)
        await begun(here, page)
        here.kill()
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        model.go.set()
        here.start()
        await expect(page.get_by_text("Connection lost")).to_be_hidden()
        await whole(page)


async def test_two_tabs_show_the_same(tmp_path: Path) -> None:
    """C8, C10: what is said in one is in the other; deleting the chat is seen in both."""
    model = Counting()
    async with scene(tmp_path, model) as here:
        page = await here.visitor(expected=[DELETED])
        path = await begun(here, page)
        other = await page.context.new_page()
        await other.goto(f"{here.url}{path}")
        await expect(other.get_by_text("w0100")).to_be_visible()
        model.go.set()
        await whole(page)
        await whole(other)
        await here.call(page, "DELETE", f"/api/agent-sessions/{path.rpartition('/')[2]}")
        for tab in (page, other):
            await expect(tab.get_by_text("It was deleted")).to_be_visible()
            await expect(
                tab.get_by_role("region", name="Chats").get_by_role("link", name="Count")
            ).to_be_hidden()


async def test_ten_seconds_without_a_network_lose_nothing(tmp_path: Path) -> None:
    """C8, C10: what is written meanwhile is kept and sent once; the answer goes on where it was."""
    model = Counting()
    async with scene(tmp_path, model) as here:
        page = await here.visitor(expected=OFFLINE)
        await begun(here, page)
        await page.context.set_offline(True)
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        await say(page, "And once more")
        await expect(page.get_by_text("And once more")).to_have_count(1)
        model.go.set()
        await page.wait_for_timeout(10_000)
        await page.context.set_offline(False)
        await expect(page.get_by_text("Connection lost")).to_be_hidden()
        await expect(page.get_by_text(WORDS[-1])).to_have_count(2)
        await expect(page.get_by_text("And once more")).to_have_count(1)
        shown = await page.get_by_role("main").inner_text()
        assert re.findall(r"w\d{4}", shown) == WORDS + WORDS
        assert len(here.models.calls) == 2


async def test_an_approval_is_given_after_the_server_was_started_again(tmp_path: Path) -> None:
    """C8, C10, B7: the question waits for the person, not for the process; with the argument they changed."""
    async with process_scene(tmp_path) as here:
        page = await here.visitor(expected=KILLED)
        await say(page, "send a postcard to Ada")
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        here.kill()
        here.start()
        await page.reload()
        await page.get_by_role("button", name="Edit", exact=True).click()
        editor = page.get_by_role("textbox", name=re.compile("arguments", re.IGNORECASE))
        await editor.fill('{"to": "Grace", "text": "Wish you were here"}')
        await page.get_by_role("button", name=re.compile("Approve")).click()
        await expect(page.get_by_text(re.compile("The tool says"))).to_contain_text("Grace")
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_hidden()


async def test_a_message_of_a_hundred_kilobytes_goes_through(tmp_path: Path) -> None:
    """C8, C10: it is shown folded, sent whole and answered."""
    text = "A long line of words that goes on. " * 2926 + "The end."
    async with scene(tmp_path) as here:
        page = await here.visitor()
        agent = await here.make_agent(page)
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, text)
        await here.models.wait_for_calls(timeout_s=60)
        assert here.models.calls[0].last_user_text == text
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        await page.reload()
        await expect(page.get_by_role("button", name=re.compile("Show (more|all)")).first).to_be_visible()
