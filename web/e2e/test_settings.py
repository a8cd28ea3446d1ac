"""Settings that tell what is the case: models a service has, addresses that are closed, lists that stay current."""

import re
from pathlib import Path

import httpx
from playwright.async_api import Page, expect

from web.e2e.scene import PHONE, Scene, needs_chromium, process_scene, scene, slow

pytestmark = [needs_chromium, slow]

OPEN = {"AGIO_EGRESS_ALLOW": "127.0.0.1"}
HOSTILE = "<img src=x onerror=alert(1)>"


async def fill_connection(here: Scene, page: Page) -> None:
    """Begin a provider at the scene's model."""
    await page.goto(f"{here.url}/settings/providers")
    await page.get_by_role("button", name="Add a provider").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Kind").select_option("openai-chat")
    await dialog.get_by_label("Name").fill("local")
    await dialog.get_by_label("Base URL").fill(here.models.base_url("openai-chat"))
    await dialog.get_by_label("API key").fill("test-key")


async def test_models_are_chosen_from_what_the_service_offers(tmp_path: Path) -> None:
    """C8, R12: tested without a name, picked, tested with it, saved, and offered to an agent."""
    async with process_scene(tmp_path, environment=OPEN) as here:
        here.models.models = [f"model-{at}" for at in range(30)] + [HOSTILE]
        page = await here.visitor()
        await fill_connection(here, page)
        dialog = page.get_by_role("dialog")
        test = dialog.get_by_role("button", name="Test connection")
        await test.click()
        await expect(dialog.get_by_text("The service offers 31 models.")).to_be_visible()
        await expect(dialog.get_by_role("checkbox", name=HOSTILE)).to_be_visible()
        await dialog.get_by_role("searchbox", name="Filter models").fill("model 12")
        await expect(dialog.get_by_role("checkbox")).to_have_count(1)
        await dialog.get_by_role("checkbox", name="model-12").check()
        await dialog.get_by_role("searchbox", name="Filter models").fill("")
        await dialog.get_by_role("checkbox", name="model-3", exact=True).check()
        await expect(dialog.get_by_label("Models", exact=True)).to_have_value("model-12\nmodel-3")
        await test.click()
        await expect(dialog.get_by_text("It works: model-12 answered")).to_be_visible()
        await dialog.get_by_role("checkbox", name="model-3", exact=True).uncheck()
        await dialog.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_text("Models: model-12")).to_be_visible()
        await page.get_by_role("link", name="Create an agent").click()
        await expect(page.get_by_label("Model", exact=True)).to_have_value("model-12")
        await page.get_by_label("Model", exact=True).fill("typed-by-hand")
        await expect(page.get_by_label("Model", exact=True)).to_have_value("typed-by-hand")
        assert [call.model for call in here.models.calls] == ["model-12"]
        assert here.models.problems == []


async def test_a_closed_address_says_what_opens_it(tmp_path: Path) -> None:
    """C8, R12: below the field, as it is typed, with the very line; an open one says so."""
    async with process_scene(tmp_path, environment=OPEN) as here:
        page = await here.visitor()
        await page.goto(f"{here.url}/settings/providers")
        await page.get_by_role("button", name="Add a provider").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name=re.compile("Ollama")).click()
        await expect(dialog.get_by_label("Base URL")).to_have_value("http://127.0.0.1:11434/v1")
        await expect(dialog.get_by_text("allowed by this server")).to_be_visible()
        await dialog.get_by_label("Base URL").fill("http://10.1.2.3:11434/v1")
        line = "AGIO_EGRESS_ALLOW=10.1.2.3:11434"
        await expect(dialog.get_by_text(line)).to_be_visible()
        await dialog.get_by_role("button", name="Copy setting").click()
        copied = "async line => (await navigator.clipboard.readText()) === line"
        await page.wait_for_function(copied, arg=line)
        await dialog.get_by_label("Base URL").fill("https://models.example.com/v1")
        await expect(dialog.get_by_text("AGIO_EGRESS_ALLOW")).to_have_count(0)


async def test_lists_show_what_others_change(tmp_path: Path) -> None:
    """C8, R2: a role, a key and the audit log, without a reload."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        made = await here.call(page, "POST", "/api/api-keys", {"name": "robot"})
        await page.goto(f"{here.url}/settings/api-keys")
        robots = page.get_by_role("listitem").filter(has_text="robot")
        await expect(robots).to_contain_text("never used")
        headers = {"Authorization": f"Bearer {made['key']}"}
        async with httpx.AsyncClient(base_url=here.url, headers=headers, timeout=60) as robot:
            assert (await robot.get("/api/me")).status_code == 200
            await expect(robots).not_to_contain_text("never used")
            await page.goto(f"{here.url}/settings/audit")
            await expect(page.get_by_role("cell", name=re.compile("key.create")).first).to_be_visible()
            await expect(page.get_by_text("tenant.rename")).to_have_count(0)
            changed = await robot.patch("/api/tenant", json={"name": "Renamed"})
            assert changed.status_code == 200, changed.text
        await expect(page.get_by_text("tenant.rename").first).to_be_visible()


async def test_the_audit_log_is_a_list_on_a_phone(tmp_path: Path) -> None:
    """C8: nothing of it scrolls sideways; it says who did what, when and from where."""
    async with scene(tmp_path) as here:
        page = await here.visitor(size=PHONE)
        await here.make_agent(page, "Echo")
        await page.goto(f"{here.url}/settings/audit")
        entries = page.get_by_role("list", name="Entries")
        await expect(entries.get_by_text("agent.create").first).to_be_visible()
        await expect(entries.get_by_text("127.0.0.1").first).to_be_visible()
        await expect(page.get_by_role("table")).to_be_hidden()
        wide = await page.evaluate(
            "[...document.querySelectorAll('main *')].filter(one => one.scrollWidth > one.clientWidth + 1"
            " && /auto|scroll/.test(getComputedStyle(one).overflowX) && !one.closest('nav')).length"
        )
        assert wide == 0
