"""Teams of agents in the pages: made in the form, seen in the chat and in the run's timeline."""

from pathlib import Path

from playwright.async_api import Page, expect

from agio.testing import Call, Reply
from agio.testing.capture import ModelCall
from web.e2e.axe import violations
from web.e2e.scene import Scene, needs_chromium, say, scene, slow
from web.e2e.tour import settled

pytestmark = [needs_chromium, slow]

NARROW = (390, 844)
WIDE = (1280, 900)
SHOTS = Path("/tmp/h15a_shots")


async def test_a_team_is_made_in_the_form_with_the_keyboard(tmp_path: Path) -> None:
    """S7: whom it hands over to or asks; a refusal at the agent it is about; the picture leads to the fields."""
    async with scene(tmp_path) as here:
        page = await here.visitor(expected=[r"got 422 for /api/agents/agt_\w+"])
        clerk = await here.make_agent(page, "Clerk")
        billing = await here.make_agent(
            page, "Billing", handoffs=[{"agent": clerk, "mode": "tool", "description": "Looks up orders."}]
        )
        gone = await here.make_agent(page, "Night desk")
        desk = await here.make_agent(page, "Front desk", tools=[])
        await page.goto(f"{here.url}/agents/{desk}")
        add = page.get_by_role("button", name="Add agent")
        await add.press("Enter")
        chosen = page.get_by_role("group", name="Another agent").get_by_label("Agent", exact=True)
        await expect(chosen).to_be_focused()
        await page.keyboard.type("Billing")
        row = page.get_by_role("group", name="Billing", exact=True)
        await row.get_by_label("When to use it").fill("For refunds and invoices.")
        await row.get_by_label("What it sees").select_option("no_tools")
        await expect(row.get_by_label("Tool name")).to_have_attribute("placeholder", "transfer_to_Billing")
        await row.get_by_label("Tool name").fill("9 lives")
        await add.press("Enter")
        await page.keyboard.type("Night desk")
        other = page.get_by_role("group", name="Night desk", exact=True)
        await other.get_by_label("How").select_option("tool")
        await expect(other.get_by_label("What it sees")).to_have_count(0)

        await here.call(page, "DELETE", f"/api/agents/{gone}")
        save = page.get_by_role("button", name="Save", exact=True)
        await save.press("Enter")
        await expect(row.get_by_role("alert")).to_contain_text("A letter, then letters")
        await row.get_by_label("Tool name").fill("")
        await save.press("Enter")
        await expect(other.get_by_role("alert")).to_contain_text("There is no agent")
        await expect(other.get_by_label("Agent", exact=True)).to_be_focused()
        await looks_well(page, "form-problem")
        await other.get_by_role("button", name="Remove Night desk").press("Enter")
        await expect(add).to_be_focused()
        await save.press("Enter")
        await expect(page.get_by_text("All changes saved")).to_be_visible()

        team = page.get_by_role("group", name="The team of Front desk")
        await expect(team.get_by_role("link", name="Billing asks Clerk")).to_be_visible()
        await team.get_by_role("button", name="Front desk hands over to Billing").press("Enter")
        await expect(row.get_by_label("Agent", exact=True)).to_be_focused()
        await looks_well(page, "form")
        saved = await here.call(page, "GET", f"/api/agents/{desk}")
        assert saved["handoffs"] == [
            {
                "agent": billing,
                "mode": "handoff",
                "description": "For refunds and invoices.",
                "filter": "no_tools",
                "tool": "",
            }
        ]


async def looks_well(page: Page, name: str) -> None:
    """Check a page, on a desktop and on a phone: axe finds nothing, and nothing is wider than the page."""
    for where, (width, height) in (("wide", WIDE), ("narrow", NARROW)):
        await page.set_viewport_size({"width": width, "height": height})
        await settled(page)
        assert await violations(page) == []
        assert await page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        await page.screenshot(path=SHOTS / f"{name}-{where}.png")
        for at, part in enumerate(await page.get_by_text("Other agents", exact=True).all()):
            await part.scroll_into_view_if_needed()
            await part.evaluate("each => each.scrollIntoView()")
            await page.screenshot(path=SHOTS / f"{name}-{where}-part{at}.png")
    await page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
