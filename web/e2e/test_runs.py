"""The runs' pages: found by filters, looked into, replayed."""

import re
from pathlib import Path

from playwright.async_api import expect

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
        assert "failed" in page.url
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
        scrubber = page.get_by_role("slider").first
        await scrubber.focus()
        await page.keyboard.press("Home")
        await expect(page.get_by_role("tabpanel").get_by_text("The tool says")).to_be_hidden()
