"""Two tabs that change the same thing: whoever saves last is told first."""

from pathlib import Path

from playwright.async_api import Page, expect

from web.e2e.scene import Scene, needs_chromium, scene, slow

pytestmark = [needs_chromium, slow]

TOLD = "Someone else saved this"
TOOL = {
    "name": "weather",
    "description": "The weather.",
    "method": "GET",
    "url": "https://example.com/weather",
    "parameters": {"type": "object"},
}
PROVIDER = {"name": "office", "kind": "openai-chat", "base_url": "https://models.example.com/v1"}


async def _two_tabs(here: Scene) -> tuple[Page, Page]:
    first = await here.visitor(expected=["got 412 for /api/.*"])
    return first, await first.context.new_page()


async def test_of_two_who_save_an_agent_the_second_decides(tmp_path: Path) -> None:
    """C8: is told, keeps what was written, and either replaces the other's version or takes it."""
    async with scene(tmp_path) as here:
        first, second = await _two_tabs(here)
        agent = await here.make_agent(first, "Clerk")
        for tab in (first, second):
            await tab.goto(f"{here.url}/agents/{agent}")
        await first.get_by_label("Description (optional)").fill("of the first")
        await second.get_by_label("Description (optional)").fill("of the second")
        await first.get_by_role("button", name="Save", exact=True).click()
        await expect(first.get_by_text("All changes saved")).to_be_visible()
        await second.get_by_role("button", name="Save", exact=True).click()
        await expect(second.get_by_text(TOLD)).to_be_visible()
        await expect(second.get_by_label("Description (optional)")).to_have_value("of the second")
        kept = await here.call(first, "GET", f"/api/agents/{agent}")
        assert kept["description"] == "of the first"
        await second.get_by_role("button", name="Save", exact=True).click()
        await expect(second.get_by_text("All changes saved")).to_be_visible()
        kept = await here.call(first, "GET", f"/api/agents/{agent}")
        assert kept["description"] == "of the second"


async def test_of_two_who_save_a_tool_the_second_decides(tmp_path: Path) -> None:
    """C8: discarding shows what the first saved."""
    async with scene(tmp_path) as here:
        first, second = await _two_tabs(here)
        tool = (await here.call(first, "POST", "/api/agent-tools", TOOL))["id"]
        for tab in (first, second):
            await tab.goto(f"{here.url}/tools/{tool}")
        said = "Description"
        await first.get_by_label(said, exact=True).first.fill("of the first")
        await second.get_by_label(said, exact=True).first.fill("of the second")
        await first.get_by_role("button", name="Save", exact=True).click()
        await expect(first.get_by_text("All changes saved")).to_be_visible()
        await second.get_by_role("button", name="Save", exact=True).click()
        await expect(second.get_by_text(TOLD)).to_be_visible()
        await second.get_by_role("button", name="Discard").click()
        await expect(second.get_by_label(said, exact=True).first).to_have_value("of the first")
        await second.get_by_label(said, exact=True).first.fill("of both")
        await second.get_by_role("button", name="Save", exact=True).click()
        await expect(second.get_by_text("All changes saved")).to_be_visible()
        kept = await here.call(first, "GET", f"/api/agent-tools/{tool}")
        assert kept["description"] == "of both"


async def test_of_two_who_save_a_provider_the_second_decides(tmp_path: Path) -> None:
    """C8: in the dialog, too."""
    async with scene(tmp_path) as here:
        first, second = await _two_tabs(here)
        await here.call(first, "POST", "/api/providers", PROVIDER)
        for tab in (first, second):
            await tab.goto(f"{here.url}/settings/providers")
            await tab.get_by_role("button", name="Edit").click()
        await first.get_by_label("Models").fill("small")
        await second.get_by_label("Models").fill("large")
        await first.get_by_role("button", name="Save", exact=True).click()
        await expect(first.get_by_role("dialog")).to_have_count(0)
        await second.get_by_role("button", name="Save", exact=True).click()
        await expect(second.get_by_text(TOLD)).to_be_visible()
        await expect(second.get_by_label("Models")).to_have_value("large")
        await second.get_by_role("button", name="Discard my changes").click()
        await expect(second.get_by_label("Models")).to_have_value("small")
        await second.get_by_label("Models").fill("small\nlarge")
        await second.get_by_role("button", name="Save", exact=True).click()
        await expect(second.get_by_role("dialog")).to_have_count(0)
        [kept, *_] = (await here.call(first, "GET", "/api/providers"))["items"]
        assert kept["models"] == ["small", "large"]
