"""Messages that are sent while an answer is written: queued, or added to it."""

from asyncio import Event
from itertools import count
from pathlib import Path

from playwright.async_api import Page, expect

from agio.testing import Reply
from agio.testing.capture import ModelCall
from web.e2e.axe import violations
from web.e2e.scene import PHONE, needs_chromium, path_of, say, scene, slow

pytestmark = [needs_chromium, slow]

JOINS = "Joins the answer at its next step"


async def _reads(page: Page, *words: str) -> None:
    """Expect these messages and answers in the conversation, in order, each once."""
    await expect(page.get_by_text(JOINS)).to_have_count(0)
    log = page.get_by_role("log")
    for text in words:
        await expect(log.get_by_text(text, exact=True)).to_have_count(1)
    shown = await log.inner_text()
    places = [shown.index(text) for text in words]
    assert places == sorted(places), shown


async def test_a_message_joins_the_answer_that_is_being_written(tmp_path: Path) -> None:
    """C5, C8: by key and by button, beside a queued one, in two tabs, and as before after a reload."""
    gates, numbers = {1: Event(), 2: Event()}, count(1)

    def answer(_: ModelCall) -> Reply:
        number = next(numbers)
        return Reply(f"Answer {number}.", gate=gates.get(number))

    async with scene(tmp_path, answer) as here:
        page = await here.visitor()
        await page.goto(f"{here.url}/chat?agent={await here.make_agent(page)}")
        await say(page, "Add one and two.")
        await here.models.wait_for_calls(1)
        box = page.get_by_role("textbox", name="Message")
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        await box.fill("Thank you.")
        await expect(page.get_by_text("Sends when this answer finishes.")).to_be_visible()
        assert await violations(page) == []
        await box.press("Enter")
        await expect(page.get_by_text("Queued: sends when this answer finishes")).to_be_visible()
        await box.fill("And double it.")
        await box.press("Control+Enter")
        await expect(page.get_by_text(JOINS)).to_have_count(1)
        await box.fill("In words.")
        await page.get_by_role("button", name="Add to this answer").click()
        await expect(page.get_by_text(JOINS)).to_have_count(2)
        other = await page.context.new_page()
        await other.goto(f"{here.url}{path_of(page)}")
        await expect(other.get_by_text(JOINS)).to_have_count(2)
        gates[1].set()
        words = ("Add one and two.", "Answer 1.", "And double it.", "In words.", "Answer 2.", "Thank you.")
        await other.get_by_text("Answer 2.").wait_for()
        await other.reload()
        for tab in (page, other):
            await _reads(tab, *words)
        gates[2].set()
        for tab in (page, other):
            await expect(tab.get_by_role("button", name="Stop")).to_be_hidden()
            await _reads(tab, *words, "Answer 3.")
        assert [text for _, text in here.models.calls[-1].messages] == list(words)
        await page.reload()
        await _reads(page, *words, "Answer 3.")
        assert await violations(page) == []


async def test_a_message_that_comes_too_late_to_join_is_answered_next(tmp_path: Path) -> None:
    """C5, C8: on a phone: the answer is stopped before its next step, and the message is there once."""
    gate = Event()

    def answer(call: ModelCall) -> Reply:
        return Reply("Here you are.") if len(call.messages) > 1 else Reply("Once upon", gate=gate)

    async with scene(tmp_path, answer) as here:
        page = await here.visitor(size=PHONE, dark=True)
        await page.goto(f"{here.url}/chat?agent={await here.make_agent(page)}")
        await say(page, "Tell me a story.")
        await expect(page.get_by_text("Once upon")).to_be_visible()
        await page.get_by_role("textbox", name="Message").fill("A short one.")
        assert await violations(page) == []
        await page.get_by_role("button", name="Add to this answer").click()
        await expect(page.get_by_text(JOINS)).to_be_visible()
        await page.get_by_role("button", name="Stop").click()
        words = ("Tell me a story.", "Stopped.", "A short one.", "Here you are.")
        await _reads(page, *words)
        gate.set()
        await page.reload()
        await _reads(page, *words)
