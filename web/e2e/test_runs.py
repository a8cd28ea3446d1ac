"""The runs' pages: found by filters, looked into, replayed."""

import re
from asyncio import Event
from pathlib import Path

from playwright.async_api import expect

from agio.testing import Reply
from web.e2e.axe import violations
from web.e2e.scene import needs_chromium, say, scene, slow

pytestmark = [needs_chromium, slow]


async def test_a_run_is_found_looked_into_and_replayed(tmp_path: Path) -> None:
    """C8, L10, L12: filters are in the address; the waterfall, the log, the figures, the replay tell the same run."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await say(page, "What is 6 * 7?")
        await expect(page.get_by_text("The tool says")).to_contain_text("42")
        await say(page, "fail")
        await expect(page.get_by_text("demo_failure").first).to_be_visible()
        await page.goto(f"{here.url}/runs")
        await page.get_by_label("Status").select_option(label="Failed")
        await expect(page.get_by_role("link", name="fail")).to_be_visible()
        await expect(page.get_by_role("link", name=re.compile("What is 6"))).to_be_hidden()
        await expect(page).to_have_url(re.compile("failed"))
        await page.reload()
        await expect(page.get_by_role("link", name="fail")).to_be_visible()
        await page.get_by_label("Status").select_option(label="Completed")
        await page.get_by_role("link", name=re.compile("What is 6")).click()
        await expect(page.get_by_role("button", name=re.compile("calculator"))).to_be_visible()
        await page.get_by_role("tab", name="Events").click()
        await expect(page.get_by_role("button", name=re.compile("RUN_STARTED"))).to_be_visible()
        await page.get_by_role("tab", name="Metrics").click()
        await expect(page.get_by_text("Cost").first).to_be_visible()
        await page.get_by_role("tab", name="Replay").click()
        await page.get_by_role("button", name=re.compile("Play")).click()
        await expect(page.get_by_role("tabpanel").get_by_text("The tool says")).to_contain_text("42")
        await expect(page.get_by_role("button", name="Again")).to_be_visible()  # it plays no more
        scrubber = page.get_by_role("slider").first
        await scrubber.focus()
        await page.keyboard.press("Home")
        await expect(page.get_by_role("tabpanel").get_by_text("The tool says")).to_be_hidden()


async def test_a_run_that_asked_says_so_until_it_is_answered_and_the_next_has_its_title(
    tmp_path: Path,
) -> None:
    """C8, B7: in the list, found by the filter as before, and on its own page."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await say(page, "send a postcard to Ada")
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        chat = page.url
        await page.goto(f"{here.url}/runs")
        rows = page.get_by_role("row").filter(has_text="send a postcard to Ada")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("Waiting for approval")
        await page.goto(chat)
        await page.get_by_role("button", name="Approve", exact=True).click()
        await expect(page.get_by_text("The tool says")).to_be_visible()
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        await page.goto(f"{here.url}/runs")
        await expect(rows).to_have_count(2)
        await expect(rows.first).to_contain_text("Completed")
        await expect(rows.last).to_contain_text("Answered")
        await page.get_by_label("Status").select_option(label="Waiting for approval")
        await expect(rows).to_have_count(1)
        await expect(rows).to_contain_text("Answered")
        await rows.get_by_role("link").click()
        await expect(page.get_by_role("heading", name="send a postcard to Ada")).to_be_visible()
        await expect(page.get_by_text("Answered", exact=True)).to_be_visible()


async def test_tokens_that_no_model_told_are_not_shown_as_none(tmp_path: Path) -> None:
    """C8, L12: of a run that was stopped, in the chat, in the list and on its page."""
    async with scene(tmp_path, lambda call: Reply("words " * 60, gate=Event())) as here:
        page = await here.visitor()
        agent = await here.make_agent(page)
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "Speak")
        await expect(page.get_by_text("words words").first).to_be_visible()
        await page.get_by_role("button", name="Stop").click()
        answer = page.get_by_role("article", name="Answer")
        for _ in range(2):
            await expect(answer).to_contain_text("Stopped.")
            await expect(answer).to_contain_text("token count unavailable")
            await expect(page.get_by_role("link", name="token count unavailable")).to_be_visible()
            await page.reload()
        await page.goto(f"{here.url}/runs")
        await expect(page.get_by_role("row").filter(has_text="Speak")).to_contain_text("unavailable")
        await page.get_by_role("link", name="Speak").click()
        await page.get_by_role("tab", name="Metrics").click()
        await expect(page.get_by_text(re.compile("did not report its usage"))).to_be_visible()


async def test_a_run_shows_its_version_of_the_agent_and_the_run_it_continues(tmp_path: Path) -> None:
    """B3, C8: beside the agent as it is now, also once that was deleted."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        agent = await here.make_agent(page)
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "Hello")
        await page.get_by_role("button", name="Regenerate", exact=True).click()
        await expect(page.get_by_role("group", name="Versions").get_by_role("status")).to_have_text(
            "Version 2/ of 2"
        )
        await say(page, "And then?")
        await expect(page.get_by_role("link", name="Details")).to_have_count(2)
        await page.get_by_role("link", name="Details").last.click()
        version = page.get_by_role("region", name="Agent version")
        await expect(version).to_contain_text("The agent is unchanged since.")
        await expect(
            page.get_by_text(re.compile("^Continues run_.*, on a branch of the chat"))
        ).to_be_visible()
        body = {
            "name": "Echo",
            "system_prompt": "Answer in verse.",
            "model_provider": "openai-chat",
            "model_name": "test-model",
            "tools": [{"name": "clock"}],
        }
        await here.call(page, "PUT", f"/api/agents/{agent}", body)
        await page.reload()
        await version.get_by_role("button", name="2 settings differ from the agent today").click()
        await expect(version.get_by_role("group", name="System prompt, this run")).to_have_text("Answer.")
        await expect(version.get_by_role("group", name="System prompt, now")).to_have_text("Answer in verse.")
        await expect(version.get_by_role("group", name="Tools, now")).to_have_text("clock")
        assert await violations(page) == []
        await here.call(page, "DELETE", f"/api/agents/{agent}")
        await page.reload()
        await expect(version).to_contain_text("The agent was deleted since.")
        await page.get_by_role("link", name=re.compile("^run_")).click()
        await expect(page.get_by_text("Begins a branch of the chat")).to_be_visible()
