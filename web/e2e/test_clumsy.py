"""What clumsy people and odd browsers do to the pages."""

import re
import struct
import zlib
from pathlib import Path

from playwright.async_api import expect

from web.e2e.scene import DELETED, PHONE, needs_chromium, say, scene, slow

pytestmark = [needs_chromium, slow]

BLOCKED = """for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("It is blocked.", "SecurityError"); } });"""


async def test_a_browser_that_blocks_its_storage_shows_every_page(tmp_path: Path) -> None:
    """C8: nothing is remembered there, and nothing is broken by that."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await page.context.add_init_script(BLOCKED)
        agent = await here.make_agent(page)
        for path in (f"/agents/{agent}", "/runs", "/settings/appearance", "/settings/profile"):
            await page.goto(f"{here.url}{path}")
            await expect(page.get_by_role("heading", level=1).first).to_be_visible()
        await page.goto(f"{here.url}/settings/appearance")
        await page.get_by_role("radio", name=re.compile("^Dark")).check(force=True)
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await page.goto(f"{here.url}/chat")
        await say(page, "Ahoy")
        await expect(page).to_have_url(re.compile("/chat/.+"))
        await expect(page.get_by_role("main").get_by_text("Ahoy", exact=True).nth(1)).to_be_visible()


async def test_thirty_pictures_leave_room_to_write(tmp_path: Path) -> None:
    """C8: on a phone; the files are scrolled, not the box out of sight."""
    pictures = [tmp_path / f"picture-{number}-of-a-long-walk.png" for number in range(30)]
    for picture in pictures:
        picture.write_bytes(_png())
    async with scene(tmp_path) as here:
        page = await here.visitor(size=PHONE)
        agent = await here.make_agent(page)
        await page.goto(f"{here.url}/chat?agent={agent}")
        await page.locator("input[type=file]").first.set_input_files(pictures)
        files = page.get_by_role("list", name="Files").get_by_role("listitem")
        await expect(files).to_have_count(30)
        box = page.get_by_role("textbox", name="Message")
        await expect(box).to_be_in_viewport()
        await box.fill("Look")
        await page.get_by_role("button", name="Send").click()
        await expect(page).to_have_url(re.compile("/chat/.+"))
        await expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport()
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE[0]


async def test_what_is_written_in_a_chat_that_is_deleted_goes_into_a_new_one(tmp_path: Path) -> None:
    """C8: another tab deletes it while somebody types."""
    async with scene(tmp_path) as here:
        page = await here.visitor(expected=[DELETED])
        agent = await here.make_agent(page)
        session = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {})
        await page.goto(f"{here.url}/chat/{session['id']}")
        await page.get_by_role("textbox", name="Message").fill("half a sentence")
        await here.call(page, "DELETE", f"/api/agent-sessions/{session['id']}")
        await page.get_by_role("link", name="Continue in a new chat").click()
        await expect(page.get_by_role("textbox", name="Message")).to_have_value("half a sentence")


def _png() -> bytes:
    """A picture of one black point."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
