"""Memories in the pages: suggested in a chat, decided there or in the inbox, found, edited, exported, forgotten."""

import json
import re
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from agio.memory.extraction import INSTRUCTIONS
from agio.testing import Reply
from agio.testing.capture import ModelCall
from web.e2e.axe import violations
from web.e2e.scene import PHONE, Scene, needs_chromium, say, scene, slow
from web.e2e.test_accessibility import marked, tab_to
from web.e2e.tour import settled

pytestmark = [needs_chromium, slow]

PROPOSED: list[dict[str, object]] = [
    {"content": "Travels with a folding bicycle.", "type": "fact", "importance": 0.7, "message": 1},
    {"content": "Prefers trains to planes.", "type": "preference", "importance": 0.9, "message": 1},
    {"content": "Wants prices in francs.", "type": "instruction", "importance": 0.4, "message": 1},
]
WAITS = {"memory_update_async": False}
"""Limits of an agent whose chats close when their memories are suggested."""


def proposing(call: ModelCall) -> Reply:
    """Propose memories when asked to, and answer everything else."""
    if call.system == INSTRUCTIONS:
        return Reply(json.dumps({"memories": PROPOSED}))
    return Reply("The train at eight has room for it.")


async def suggested(here: Scene, page: Page, agent: str, text: str) -> dict[str, Any]:
    """Have a chat whose memories are suggested; return its session."""
    run = await here.call(page, "POST", "/api/agent/run", {"agent": agent, "input": text})
    await here.call(page, "POST", f"/api/agent-sessions/{run['session_id']}/close")
    return run


async def looks_well(page: Page) -> None:
    """Nothing is wrong for axe, and nothing sticks out on a phone."""
    await settled(page)
    size = page.viewport_size
    assert size is not None
    assert await violations(page) == []
    await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    await settled(page)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size(size)


async def test_what_a_chat_suggests_is_decided_in_the_chat(tmp_path: Path) -> None:
    """C6, C8: the card comes by itself, stays over a reload, and goes; what was rejected is not remembered."""
    async with scene(tmp_path, proposing) as here:
        page = await here.visitor()
        agent = await here.make_agent(page, "Travel")
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "Remember that I take my folding bicycle along.")
        card = page.get_by_role("region", name="Suggested memories")
        await expect(card.get_by_role("listitem")).to_have_count(3)
        await expect(card.get_by_text("3 memories suggested")).to_be_visible()
        await looks_well(page)
        await page.reload()
        await expect(card.get_by_role("listitem")).to_have_count(3)
        trains = card.get_by_role("listitem").filter(has_text="trains")
        await trains.get_by_role("button", name="Approve", exact=True).click()
        await expect(trains).to_have_count(0)
        bicycle = card.get_by_role("listitem").filter(has_text="bicycle")
        await bicycle.get_by_role("button", name="Edit", exact=True).click()
        box = page.get_by_role("dialog", name="Edit the suggestion")
        await box.get_by_label("Memory", exact=True).fill("Travels with a folding bicycle, called Ida.")
        await box.get_by_role("button", name="Save and approve").click()
        await expect(bicycle).to_have_count(0)
        await card.get_by_role("button", name="Reject", exact=True).click()
        await expect(card).to_have_count(0)
        listed = await here.call(page, "GET", "/api/me/memories")
        kept = sorted(memory["content"] for memory in listed["items"])
        assert kept == ["Prefers trains to planes.", "Travels with a folding bicycle, called Ida."]

        await page.goto(f"{here.url}/memories")
        row = page.get_by_role("listitem").filter(has_text="Ida")
        await row.get_by_role("link", name="From this chat").click()
        await page.wait_for_url(re.compile(r"/chat/ses_\w+#message-"))
        await expect(page.get_by_text("I take my folding bicycle along").first).to_be_visible()


async def test_a_message_is_remembered_from_the_chat(tmp_path: Path) -> None:
    """C8: "Remember this" begins with the message's words; the memory leads back to it and goes with its chat."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        agent = await here.make_agent(page, "Travel", memory="off")
        await page.goto(f"{here.url}/chat?agent={agent}")
        await say(page, "I am allergic to walnuts.")
        await page.wait_for_url(re.compile("/chat/ses_"))
        await expect(page.get_by_text("Details")).to_be_visible()
        await page.get_by_role("button", name="Remember this").click()
        box = page.get_by_role("dialog", name="Remember this")
        await expect(box.get_by_label("Memory", exact=True)).to_have_value("I am allergic to walnuts.")
        await box.get_by_label("Applies to").select_option("user")
        await box.get_by_role("button", name="Remember", exact=True).click()
        await expect(box).to_have_count(0)
        [memory] = (await here.call(page, "GET", "/api/me/memories"))["items"]
        assert (memory["content"], memory["scope"]) == ("I am allergic to walnuts.", "user")
        assert memory["session_id"] == page.url.rsplit("/", 1)[1]
        assert memory["message_id"]


async def test_a_keyboard_is_enough_for_the_inbox(tmp_path: Path) -> None:
    """C8, C9: one key each approves, edits, rejects and approves a whole chat; the focus goes on to the next."""
    async with scene(tmp_path, proposing) as here:
        page = await here.visitor()
        agent = await here.make_agent(page, "Travel", limits=WAITS)
        await suggested(here, page, agent, "I travel with a bicycle.")
        later = [{"content": f"Fact number {number}.", "message": 1} for number in range(3)]
        here.models.answer(
            lambda call: (
                Reply(json.dumps({"memories": later})) if call.system == INSTRUCTIONS else Reply("Noted.")
            )
        )
        await suggested(here, page, agent, "Here are three facts.")
        await page.goto(f"{here.url}/memories?view=suggestions")
        await expect(page.get_by_role("tab", name="Suggestions 6")).to_be_visible()
        await looks_well(page)
        waiting = page.locator("[data-suggestion]")
        await tab_to(page, waiting.first)
        await page.keyboard.press("ArrowDown")
        await marked(page)
        await expect(waiting.nth(1)).to_be_focused()
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Shift+A")
        await expect(waiting).to_have_count(3)
        await expect(waiting.filter(has_text="Fact number")).to_have_count(0)
        await tab_to(page, waiting.first)
        gone = await waiting.first.inner_text()
        await page.keyboard.press("r")
        await expect(waiting).to_have_count(2)
        await expect(waiting.first).to_be_focused()
        await page.keyboard.press("e")
        box = page.get_by_role("dialog", name="Edit the suggestion")
        await expect(box.get_by_label("Memory", exact=True)).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(box).to_have_count(0)
        await expect(waiting.first).to_be_focused()
        await page.keyboard.press("a")
        await page.keyboard.press("a")
        await expect(page.get_by_text("Nothing to decide")).to_be_visible()
        kept = (await here.call(page, "GET", "/api/me/memories"))["items"]
        assert len(kept) == 5
        assert not any(memory["content"] in gone for memory in kept)


async def test_memories_are_added_searched_edited_and_deleted(tmp_path: Path) -> None:
    """C5, C8: filters stand in the address; importance is a slider; deleting asks first."""
    async with scene(tmp_path, proposing) as here:
        page = await here.visitor(expected=["got 409 for /api/agent-memories/.*"])
        agent = await here.make_agent(page, "Travel")
        await page.goto(f"{here.url}/memories")
        await expect(page.get_by_role("heading", name="No memories yet")).to_be_visible()
        await page.get_by_role("button", name="Add a memory").first.click()
        box = page.get_by_role("dialog", name="Add a memory")
        await box.get_by_role("button", name="Add", exact=True).click()
        await expect(box.get_by_text("Enter what to remember.")).to_be_visible()
        await box.get_by_label("Memory", exact=True).fill("Is allergic to walnuts.")
        await box.get_by_label("Agent").select_option("Travel")
        await box.get_by_label("Importance").focus()
        for _ in range(4):
            await page.keyboard.press("ArrowRight")
        await expect(box.get_by_text("High (70 %)")).to_be_visible()
        await looks_well(page)
        await box.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_role("listitem").filter(has_text="walnuts")).to_contain_text("High (70 %)")
        for content, scope in (("Lives in Bern.", "user"), ("The office closes at six.", "agent")):
            body = {"content": content, "scope": scope}
            await here.call(page, "POST", f"/api/agents/{agent}/memories", body)
        await page.reload()
        rows = page.get_by_role("list", name="Memories").get_by_role("listitem")
        await expect(rows).to_have_count(2)
        await page.get_by_label("Agent").select_option("Travel")
        await expect(rows).to_have_count(3)
        await page.get_by_label("Person").select_option("agent")
        await expect(rows).to_have_text([re.compile("The office closes at six")])
        assert "scope=agent" in page.url
        await page.get_by_role("button", name="Clear filters").click()
        await page.get_by_label("Search memories").fill("where do I live? Bern")
        await expect(rows).to_have_text([re.compile(r"Lives in Bern.*Score [01]\.\d\d", re.DOTALL)])
        await looks_well(page)
        await page.reload()
        await expect(rows).to_have_count(1)
        await page.get_by_label("Search memories").fill("zebra")
        await expect(page.get_by_role("heading", name="No matching memories")).to_be_visible()
        await page.get_by_role("button", name="Clear filters").first.click()
        await expect(rows).to_have_count(2)

        walnuts = rows.filter(has_text="walnuts")
        await walnuts.get_by_role("button", name="Edit memory").click()
        box = page.get_by_role("dialog", name="Edit memory")
        await box.get_by_label("Memory", exact=True).fill("Lives in Bern.")
        await box.get_by_label("Applies to").select_option("user")
        await box.get_by_role("button", name="Save", exact=True).click()
        await expect(box.get_by_text("Another memory says exactly this.")).to_be_visible()
        await box.get_by_label("Memory", exact=True).fill("Is allergic to hazelnuts.")
        await box.get_by_label("Type").select_option("preference")
        await box.get_by_role("button", name="Save", exact=True).click()
        nuts = rows.filter(has_text="hazelnuts")
        await expect(nuts).to_contain_text("For every agent")
        await expect(nuts).to_contain_text("Preference")
        await nuts.get_by_role("button", name="Delete memory").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
        await expect(nuts).to_have_count(1)
        await nuts.get_by_role("button", name="Delete memory").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
        await expect(nuts).to_have_count(0)


async def test_the_profile_exports_and_forgets(tmp_path: Path) -> None:
    """B6, C8: the file has every memory; forgetting asks first, and nothing is left."""
    async with scene(tmp_path, proposing) as here:
        page = await here.visitor()
        agent = await here.make_agent(page, "Travel", limits=WAITS)
        await here.call(page, "POST", f"/api/agents/{agent}/memories", {"content": "Lives in Bern."})
        await suggested(here, page, agent, "I travel with a bicycle.")
        await page.goto(f"{here.url}/settings/profile")
        await expect(page.get_by_text("Lives in Bern.")).to_be_visible()
        await expect(page.get_by_role("link", name="3 suggestions to decide")).to_be_visible()
        await looks_well(page)
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Export as JSON").click()
        saved = await (await download.value).path()
        exported = json.loads(saved.read_text())
        assert [memory["content"] for memory in exported["memories"]] == ["Lives in Bern."]
        assert len(exported["suggestions"]) == 3
        await page.get_by_role("button", name="Forget everything").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Forget everything").click()
        await expect(page.get_by_text("1 memory forgotten.").first).to_be_visible()
        await expect(page.get_by_text("Nothing yet.", exact=True)).to_be_visible()
        assert (await here.call(page, "GET", "/api/me/memories"))["items"] == []
        assert (await here.call(page, "GET", "/api/memory-suggestions"))["items"] == []


async def test_an_agents_form_says_what_it_remembers(tmp_path: Path) -> None:
    """C8: policy, memories per run and the search of past conversations are saved; the rest stays as it was."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        agent = await here.make_agent(page, "Travel", limits=WAITS)
        await page.goto(f"{here.url}/agents/{agent}")
        await expect(page.get_by_role("radio", name="Suggest")).to_be_checked()
        await page.get_by_role("radio", name="Automatic").check()
        await page.get_by_label("Memories per run").fill("5")
        await page.get_by_role("switch", name="Search past conversations").click()
        await looks_well(page)
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.get_by_text("All changes saved")).to_be_visible()
        saved = await here.call(page, "GET", f"/api/agents/{agent}")
        assert (saved["memory"], saved["search_conversations"]) == ("automatic", True)
        assert (saved["limits"]["max_memories"], saved["limits"]["memory_update_async"]) == (5, False)
        await page.get_by_role("radio", name="Off").check()
        await expect(page.get_by_label("Memories per run")).to_have_count(0)
