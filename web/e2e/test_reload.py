"""A chat that is opened again tomorrow: everything that was to be seen while it was streamed is there."""

import re
from asyncio import Event
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from agio.testing import Call, HttpStatus, Reply
from agio.testing.capture import ModelCall
from web.e2e.scene import PHONE, Scene, needs_chromium, path_of, say, scene, slow

pytestmark = [needs_chromium, slow]

BUSY = HttpStatus(503, retry_after_s=0)
TOOLS = [Call("calculator", {"expression": "6 * 7"}), Call("calculator", {"expression": "six"})]


async def begun(here: Scene, page: Page, **fields: object) -> None:
    """Open a new chat with an agent of its own."""
    agent = await here.make_agent(page, **fields)  # type: ignore[arg-type]
    await page.goto(f"{here.url}/chat?agent={agent}")


async def unfolded(answer: Locator) -> str:
    """Unfold all there is in an answer; return what is to be read in it."""
    folds = answer.locator("button[aria-expanded=false]")
    while await folds.count():
        await folds.first.click()
    return await answer.inner_text()


async def test_a_turn_looks_after_a_reload_and_in_a_copy_as_it_did_when_it_was_streamed(
    tmp_path: Path,
) -> None:
    """C8: thoughts and tools with how long they took, failures, retries, steps, tokens and time."""
    think = Event()

    def answer(call: ModelCall) -> Reply:
        if len(here.models.calls) == 1:
            return Reply(fault=BUSY)
        if call.messages[-1][0] == "tool":
            return Reply("It is 42, and six is no number.")
        if len(here.models.calls) == 2:
            return Reply(
                "Let me see.", reasoning="I have to work it out. " * 20, tool_calls=TOOLS, gate=think
            )
        return Reply("Gladly.")

    async with scene(tmp_path, answer) as here:
        page = await here.visitor()
        await begun(here, page, tools=["calculator"])
        await say(page, "What is 6 * 7?")
        await expect(page.get_by_text("Thinking…")).to_be_visible()
        think.set()
        first = page.get_by_role("article", name="Answer").first
        await expect(first.get_by_text(re.compile("2 steps · .*tokens · "))).to_be_visible()
        streamed = await unfolded(first)
        for words in (
            r"Thought for \d",
            "status 503",
            "I have to work",
            '"six"',
            "42",
            "no number",
            r"\d m?s\b",
        ):
            assert re.search(words, streamed), (words, streamed)

        await page.reload()
        await expect(first.get_by_text(re.compile("2 steps"))).to_be_visible()
        assert await unfolded(first) == streamed

        await say(page, "Once more, pleese")
        await expect(page.get_by_text("Gladly.")).to_be_visible()
        said, before = page.get_by_role("article", name="You said").last, path_of(page)
        await said.hover()
        await said.get_by_role("button", name="Edit message").click()
        await page.get_by_role("textbox", name="Edit your message").fill("Once more, please")
        await page.get_by_role("button", name="Continue in a new chat").click()
        await page.wait_for_url(lambda url: not url.endswith(before))
        await expect(page.get_by_role("article", name="You said").last).to_contain_text("please")
        await expect(page.get_by_role("heading", name=re.compile(r"\(copy\)$"))).to_be_visible()
        assert await unfolded(first) == streamed
        await page.reload()
        await expect(first.get_by_text(re.compile("2 steps"))).to_be_visible()
        assert await unfolded(first) == streamed


async def test_a_page_loaded_while_a_run_goes_on_has_what_was_told_before(tmp_path: Path) -> None:
    """C8: a retry is told once, and the run's end finds the page as it would have been."""
    done = Event()

    def answer(_: ModelCall) -> Reply:
        if len(here.models.calls) == 1:
            return Reply(fault=BUSY)
        return Reply("words " * 40 + "the end.", gate=done)

    async with scene(tmp_path, answer) as here:
        page = await here.visitor()
        await begun(here, page)
        await say(page, "Hello")
        shown = page.get_by_role("article", name="Answer")
        await expect(shown.get_by_text("words words")).to_be_visible()
        await page.reload()
        await expect(shown.get_by_text("words words")).to_be_visible()
        await expect(shown.get_by_text("status 503")).to_have_count(1)
        done.set()
        await expect(shown.get_by_text(re.compile("1 step · "))).to_be_visible()
        streamed = await shown.inner_text()
        await page.reload()
        await expect(shown.get_by_text(re.compile("1 step · "))).to_be_visible()
        assert await shown.inner_text() == streamed


async def test_a_run_that_failed_after_its_retries_still_tells_of_them(tmp_path: Path) -> None:
    """C8, L13: though no message came of it."""
    async with scene(tmp_path, lambda _: Reply(fault=BUSY)) as here:
        page = await here.visitor()
        await begun(here, page)
        await say(page, "Hello")
        shown = page.get_by_role("article", name="Answer")
        await expect(shown.get_by_role("alert")).to_be_visible()
        streamed = await shown.inner_text()
        assert streamed.count("status 503") > 1, streamed
        await page.reload()
        await expect(shown.get_by_role("alert")).to_be_visible()
        assert await shown.inner_text() == streamed


async def test_a_new_chat_asked_for_where_one_is_goes_to_the_message_box(tmp_path: Path) -> None:
    """C8: with the mouse and with the keys; what was written stays. On a phone it closes the menu."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        box = page.get_by_role("textbox", name="Message")
        await box.fill("Half a sentence")
        await page.get_by_role("link", name="New chat").click()
        await expect(box).to_be_focused()
        await page.get_by_role("searchbox", name="Search chats").focus()
        await page.keyboard.press("Control+Shift+o")
        await expect(box).to_be_focused()
        await expect(box).to_have_value("Half a sentence")
        await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        await page.get_by_role("button", name="Open menu").click()
        menu = page.get_by_role("dialog", name="Menu")
        await menu.get_by_role("link", name="New chat").click()
        await expect(menu).to_be_hidden()


async def test_the_foot_of_the_last_answer_is_always_there(tmp_path: Path) -> None:
    """C8, C9: those of the others when they are pointed at."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await begun(here, page)
        for text in ("First", "Second"):
            await say(page, text)
            await expect(page.get_by_role("article", name="Answer").last).to_contain_text("tokens")
        await expect(page.get_by_role("link", name="Details")).to_have_count(2)
        await page.get_by_role("textbox", name="Message").hover()
        feet = page.get_by_role("link", name="Details").locator("..")
        await expect(feet.first).to_have_css("opacity", "0")
        await expect(feet.last).to_have_css("opacity", "1")
        await feet.first.hover()
        await expect(feet.first).to_have_css("opacity", "1")
