"""Branches of a chat: answers made again, edited messages, and the way from one version to another."""

import re
from asyncio import Event
from itertools import count
from pathlib import Path

from playwright.async_api import Locator, Page, Route, expect

from agio.testing import HttpStatus, Reply
from agio.testing.capture import ModelCall
from web.e2e.axe import violations
from web.e2e.scene import PHONE, needs_chromium, path_of, process_scene, say, scene, slow

pytestmark = [needs_chromium, slow]


def _said(page: Page) -> Locator:
    return page.get_by_role("article", name="You said")


async def _shows(page: Page, *words: str) -> None:
    """Expect the messages and answers of the path, in order, and nothing else."""
    turns = page.get_by_role("log").locator('article[aria-label="You said"], article[aria-label="Answer"]')
    await expect(turns).to_have_count(len(words))
    await expect(turns).to_contain_text(list(words))
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


async def _edit(page: Page, message: Locator, text: str) -> None:
    await message.hover()
    await message.get_by_role("button", name="Edit message").click()
    await page.get_by_role("textbox", name="Edit your message").fill(text)
    await page.get_by_role("textbox", name="Edit your message").press("Control+Enter")


async def test_a_person_walks_the_branches_of_a_chat(tmp_path: Path) -> None:
    """B3, C8: regenerate, edit, switch by mouse and keyboard, reload, a second tab, and the model is told the path."""
    numbers = count(1)
    async with scene(tmp_path, lambda _: Reply(f"Answer {next(numbers)}.")) as here:
        page = await here.visitor()
        await page.goto(f"{here.url}/chat?agent={await here.make_agent(page)}")
        await say(page, "First")
        await _shows(page, "First", "Answer 1.")
        chat = path_of(page)
        await say(page, "Second")
        await _shows(page, "First", "Answer 1.", "Second", "Answer 2.")
        other = await page.context.new_page()
        await other.goto(f"{here.url}{chat}")
        await _shows(other, "First", "Answer 1.", "Second", "Answer 2.")

        await page.get_by_role("button", name="Regenerate", exact=True).last.click()
        for tab in (page, other):
            await _shows(tab, "First", "Answer 1.", "Second", "Answer 3.")
            await expect(_said(tab).last.get_by_role("status")).to_have_text("Version 2/ of 2")
        await expect(_said(page).first.get_by_role("group", name="Versions")).to_have_count(0)
        await _edit(page, _said(page).first, "Changed")
        for tab in (page, other):
            await _shows(tab, "Changed", "Answer 4.")
            await expect(_said(tab).get_by_role("status")).to_have_text("Version 2/ of 2")
        assert here.models.calls[-1].messages == [("user", "Changed")]

        await _said(page).get_by_role("button", name="Previous version").click()
        await _shows(page, "First", "Answer 1.", "Second", "Answer 3.")
        await expect(_said(page).first.get_by_role("button", name="Previous version")).to_be_focused()
        await other.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")
        await _shows(other, "First", "Answer 1.", "Second", "Answer 3.")
        await _said(page).last.focus()
        await page.keyboard.press("Alt+ArrowLeft")
        await _shows(page, "First", "Answer 1.", "Second", "Answer 2.")
        assert path_of(page) == chat
        # A colour in transition has less contrast than the one it leads to.
        await page.evaluate(
            "Promise.allSettled(document.getAnimations().filter((each) => each.constructor.name === 'CSSTransition')"
            ".map((each) => each.finished))"
        )
        assert await violations(page) == []
        await page.reload()
        await _shows(page, "First", "Answer 1.", "Second", "Answer 2.")

        await say(page, "Third")
        for tab in (page, other):
            await _shows(tab, "First", "Answer 1.", "Second", "Answer 2.", "Third", "Answer 5.")
        told = [text for _, text in here.models.calls[-1].messages]
        assert told == ["First", "Answer 1.", "Second", "Answer 2.", "Third"]
        await page.get_by_role("log").focus()
        await page.keyboard.press("Alt+ArrowRight")
        await _shows(page, "First", "Answer 1.", "Second", "Answer 3.")
        await expect(page.get_by_role("region", name="Chats").get_by_role("listitem")).to_have_count(1)


async def test_a_branch_is_not_made_while_the_agent_answers_and_a_refusal_is_shown(tmp_path: Path) -> None:
    """B3, C8: the buttons say why; a tab that did not know yet shows the server's words."""
    gate = Event()

    def answer(call: ModelCall) -> Reply:
        return Reply("words " * 60, gate=gate) if len(here.models.calls) > 1 else Reply("Noon.")

    async with scene(tmp_path, answer) as here:
        page = await here.visitor(expected=["got 409 for /api/runs/.*"])
        await page.goto(f"{here.url}/chat?agent={await here.make_agent(page)}")
        await say(page, "Hello")
        await _shows(page, "Hello", "Noon.")
        run = (await here.call(page, "GET", "/api/runs"))["items"][0]["id"]

        async def come_second(route: Route) -> None:
            await here.call(page, "POST", f"/api/runs/{run}/regenerate")
            await route.continue_()

        await page.route("**/regenerate", come_second)
        await page.get_by_role("button", name="Regenerate", exact=True).click()
        await expect(page.get_by_text("session_busy", exact=True)).to_be_visible()
        await expect(page.get_by_text("words words").first).to_be_visible()
        edit = _said(page).get_by_role("button", name="Edit message")
        await _said(page).hover()
        await expect(edit).to_have_attribute("aria-disabled", "true")
        await expect(edit).to_have_attribute("aria-description", "Wait for the answer, or stop it.")
        versions = _said(page).get_by_role("group", name="Versions").get_by_role("button")
        await expect(versions.first).to_have_attribute("aria-disabled", "true")
        gate.set()
        await expect(edit).not_to_have_attribute("aria-disabled", "true")


async def test_a_failed_answer_is_tried_again_in_its_place_and_another_model_is_asked(tmp_path: Path) -> None:
    """B3, C8: no message is sent twice; the model is one of those the provider lists."""
    async with process_scene(tmp_path, environment={"AGIO_EGRESS_ALLOW": "127.0.0.1"}) as here:
        page = await here.visitor()
        here.models.script(Reply(fault=HttpStatus(400)), Reply("It works."), Reply("Larger."))
        provider = {
            "name": "office",
            "kind": "openai-chat",
            "base_url": here.models.base_url("openai-chat"),
            "api_key": "test-key",
            "models": ["test-model", "large-model"],
        }
        await here.call(page, "POST", "/api/providers", provider)
        agent = await here.make_agent(page, model_provider="office")
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "Try this")
        await page.get_by_role("button", name="Try again").click()
        await _shows(page, "Try this", "It works.")
        await page.get_by_role("button", name="Regenerate with another model").click()
        await page.get_by_role("menuitem", name="large-model").click()
        await _shows(page, "Try this", "Larger.")
        assert here.models.calls[-1].body["model"] == "large-model"
        await expect(_said(page).get_by_role("status")).to_have_text("Version 3/ of 3")


async def test_a_search_opens_the_branch_on_which_it_was_said(tmp_path: Path) -> None:
    """B3, C8: on a phone, too."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await page.goto(f"{here.url}/chat?agent={await here.make_agent(page)}")
        await say(page, "Tell me about walruses")
        await _shows(page, "Tell me about walruses", "Tell me about walruses")
        chat = path_of(page)
        await say(page, "And their teeth")
        await _shows(page, *["Tell me about walruses"] * 2, *["And their teeth"] * 2)
        await _edit(page, _said(page).first, "Tell me about otters")
        await _shows(page, *["Tell me about otters"] * 2)
        await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        await page.get_by_role("button", name="Open menu").click()
        menu = page.get_by_role("dialog", name="Menu")
        await menu.get_by_role("searchbox").fill("their teeth")
        await menu.get_by_role("link").filter(has=page.locator("mark")).click()
        await _shows(page, *["Tell me about walruses"] * 2, *["And their teeth"] * 2)
        await expect(page).to_have_url(re.compile(f"{chat}#message-"))
