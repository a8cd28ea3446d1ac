"""Everybody can use it: a keyboard is enough, and where it is can be seen."""

import re
from asyncio import Event
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from agio.testing import Reply
from web.e2e.scene import NOT_SIGNED_IN, needs_chromium, path_of, scene, slow
from web.e2e.story import EMAIL, PASSWORD
from web.e2e.tour import settled

pytestmark = [needs_chromium, slow]


async def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab until it has the focus, which can be seen all the way."""
    await expect(wanted).to_be_visible()
    for _ in range(80):
        if await wanted.evaluate("wanted => wanted === document.activeElement"):
            await settled(page)
            await marked(page)
            return
        await page.keyboard.press(key)
    raise AssertionError(f"Tab does not lead to {wanted}.")


async def marked(page: Page) -> None:
    """Wait until what has the focus is marked, by an outline of its own or of the box it is in."""
    await page.wait_for_function("""() => {
  const box = document.activeElement?.closest('.focus-within\\\\:border-accent, [class*="has-focus-visible"]');
  return [document.activeElement, box].some(one => {
    if (!one) return false;
    const { outlineStyle, outlineWidth, borderColor } = getComputedStyle(one);
    const probe = document.createElement('i');
    probe.style.color = 'var(--accent)';
    document.body.append(probe);
    const accent = getComputedStyle(probe).color;
    probe.remove();
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) || borderColor === accent;
  });
}""")


async def choose_agent(page: Page, name: str) -> None:
    """Choose who the new chat is with, from the field for the message."""
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    await tab_to(page, page.get_by_role("button", name=re.compile("^Agent: ")), "Shift+Tab")
    await page.keyboard.press("Enter")
    choice = page.get_by_role("button", name=re.compile(f"^{name}"))
    await expect(page.get_by_role("dialog").get_by_role("button").first).to_be_focused()
    for _ in range(3):
        if await choice.evaluate("choice => choice === document.activeElement"):
            break
        await page.keyboard.press("ArrowDown")
    await expect(choice).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name=f"Agent: {name}")).to_be_focused()


async def test_a_keyboard_is_enough_to_sign_in_and_chat(tmp_path: Path) -> None:
    """C9, C10: sign in with a password, choose an agent, chat, open a tool's card, approve, stop with Esc."""
    async with scene(tmp_path, lambda call: Reply("words " * 60, gate=Event())) as here:
        owner = await here.visitor()
        account = {"email": EMAIL, "name": "Mara", "password": PASSWORD}
        await here.call(owner, "POST", "/api/account", account)
        await here.make_agent(owner, "Echo")
        page = await (await here.context(expected=[NOT_SIGNED_IN])).new_page()
        await page.goto(f"{here.url}/chat")

        await tab_to(page, page.get_by_label("Email"))
        await page.keyboard.type(EMAIL)
        await tab_to(page, page.get_by_label("Password"))
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press("Enter")

        box = page.get_by_role("textbox", name="Message")
        await choose_agent(page, "demo")
        await tab_to(page, box)
        await page.keyboard.type("What is 12 * (3 + 4)?")
        await page.keyboard.press("Enter")
        card = page.get_by_role("button", name=re.compile("calculator"))
        await tab_to(page, card, "Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(card).to_have_attribute("aria-expanded", "true")
        await expect(page.get_by_role("button", name="Copy arguments")).to_be_visible()

        await page.keyboard.press("/")
        await expect(box).to_be_focused()
        await page.keyboard.type("send a postcard to Ada")
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_role("button", name="Approve", exact=True), "Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("The tool says").nth(1)).to_be_visible()

        await page.keyboard.press("Control+Shift+O")
        await page.wait_for_url(f"{here.url}/chat")
        await choose_agent(page, "Echo")
        await tab_to(page, box)
        await page.keyboard.type("Speak")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("words words")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()


async def choose_last(page: Page, first: str, last: str) -> None:
    """Open menu of the button that has the focus, and choose its last item."""
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name=first)).to_be_focused()
    await page.keyboard.press("End")
    await expect(page.get_by_role("menuitem", name=last)).to_be_focused()
    await page.keyboard.press("Enter")


async def test_a_keyboard_is_enough_to_tidy_up(tmp_path: Path) -> None:
    """C9, C10: rename and delete a chat, make an agent, change the theme; focus comes back from where it was."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        listed = await here.call(page, "GET", "/api/agents")
        agent = listed["items"][0]["id"]
        made = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {"title": "Lamps"})
        await page.goto(f"{here.url}/chat/{made['id']}")

        more = page.get_by_role("button", name="Chat options")
        await tab_to(page, more)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
        await page.keyboard.press("Enter")
        title = page.get_by_role("textbox", name="Chat title")
        await expect(title).to_be_focused()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("Lanterns")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Lanterns")).to_be_visible()

        await tab_to(page, more)
        await choose_last(page, "Rename", "Delete")
        await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("alertdialog")).to_be_hidden()
        await expect(more).to_be_focused()
        await choose_last(page, "Rename", "Delete")
        await tab_to(page, page.get_by_role("alertdialog").get_by_role("button", name="Delete"))
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{here.url}/chat")
        await expect(page.get_by_role("textbox", name="Message")).to_be_focused()

        await tab_to(page, page.get_by_role("navigation").get_by_role("link", name="Agents"), "Shift+Tab")
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_role("link", name="New agent"))
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_label("Name", exact=True))
        await page.keyboard.type("Poet")
        await tab_to(page, page.get_by_label("System prompt"))
        await page.keyboard.type("Answer in verse.")
        await tab_to(page, page.get_by_role("button", name="Create agent"))
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Poet")).to_be_visible()
        assert path_of(page).startswith("/agents/agt_")

        await tab_to(page, page.get_by_role("button", name=re.compile("owner$")), "Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("menuitem", name="Profile")).to_be_focused()
        await page.keyboard.press("ArrowDown")
        await expect(page.get_by_role("menuitem", name="Appearance")).to_be_focused()
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_role("radio", name=re.compile("System")))
        await page.keyboard.press("ArrowLeft")
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await marked(page)


async def test_focus_goes_back_to_what_opened_a_dialog(tmp_path: Path) -> None:
    """C9, C10: it goes in, stays in, and comes back; the way around the side bar comes first on every page."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await page.goto(f"{here.url}/settings/api-keys")
        opens = page.get_by_role("button", name="New key")
        await expect(opens).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        await marked(page)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("main")).to_be_focused()
        await tab_to(page, opens)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
        for _ in range(12):
            await page.keyboard.press("Tab")
            assert await page.evaluate("document.activeElement.closest('[role=dialog]') !== null")
            await marked(page)
        await page.get_by_role("dialog").get_by_label("Name").focus()
        await expect(page.get_by_role("tooltip")).to_have_count(0)  # which Escape would close first
        await page.keyboard.press("Escape")
        await expect(opens).to_be_focused()
