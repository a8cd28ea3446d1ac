"""Ten things a newcomer does with nothing but the link, without having read a line."""

import re
from asyncio import Event
from pathlib import Path

from playwright.async_api import Page, expect

from agio.testing import Call, Reply
from agio.testing.capture import ModelCall
from web.e2e.scene import Scene, needs_chromium, process_scene, say, slow

pytestmark = [needs_chromium, slow]

PRICES = '{"local:test-model": {"input": 1000, "output": 2000}}'


def helpful(call: ModelCall) -> Reply:
    """Use the calculator for numbers, count without an end on request, otherwise answer."""
    asked = call.last_user_text
    if "count" in asked.lower():
        return Reply(" ".join(str(number) for number in range(2000)), gate=Event())
    if "calculator" in call.tool_names and not call.tool_results:
        return Reply(tool_calls=[Call("calculator", {"expression": "6 * 7"})])
    if call.tool_results:
        return Reply("It is 42." if "42" in call.tool_results[0].text else "It went wrong.")
    return Reply("Hello from the test model.")


async def go(page: Page, name: str) -> None:
    """Go to a page by the side bar."""
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()


async def test_a_newcomer_does_ten_things(tmp_path: Path) -> None:
    """C8, C9, C10: the whole way, as somebody who has never seen it would go it."""
    environment = {
        "OPENAI_API_KEY": "",
        "OPENAI_BASE_URL": "",
        "AGIO_EGRESS_ALLOW": "127.0.0.1",
        "AGIO_PRICES": PRICES,
    }
    async with process_scene(tmp_path, helpful, environment) as here:
        context = await here.context()
        page = await context.new_page()
        await signs_in(here, page)
        await chats_with_the_demo(page)
        await sees_why_a_tool_was_used(page)
        await approves_a_call_with_another_argument(page)
        await connects_a_model(here, page)
        await makes_an_agent_with_a_tool(page)
        await cancels_a_run(page)
        await finds_an_earlier_chat(page)
        await sees_what_a_run_cost(page)


async def signs_in(here: Scene, page: Page) -> None:
    await page.goto(here.sign_in)
    await page.get_by_label("Name").fill("Ann")
    await page.get_by_label("Email").fill("ann@example.com")
    await page.get_by_label("Password", exact=True).fill("a long enough password")
    await page.get_by_label("Confirm password").fill("a long enough password")
    await page.get_by_role("button", name="Create account").click()
    await page.get_by_role("link", name="Chat with the demo agent").click()
    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()


async def chats_with_the_demo(page: Page) -> None:
    await page.get_by_role("button", name=re.compile(r"What is 12 \* \(3 \+ 4\)")).click()
    await expect(page.get_by_text("The tool says")).to_contain_text("84")


async def sees_why_a_tool_was_used(page: Page) -> None:
    await page.get_by_role("button", name=re.compile("Thought for")).click()
    await expect(page.get_by_text("I should use the calculator")).to_be_visible()
    await page.get_by_role("button", name=re.compile("calculator")).click()
    await expect(page.get_by_text('"12 * (3 + 4)"')).to_be_visible()


async def approves_a_call_with_another_argument(page: Page) -> None:
    await say(page, "Send a postcard to Ada")
    await page.get_by_role("button", name="Edit", exact=True).click()
    await page.get_by_role("textbox", name="Edit arguments").fill('{"to": "Grace", "text": "Hello"}')
    await page.get_by_role("button", name=re.compile("Approve")).click()
    await expect(page.get_by_text("The tool says").last).to_contain_text("Grace")


async def connects_a_model(here: Scene, page: Page) -> None:
    await go(page, "Settings")
    await page.get_by_role("button", name="Add a provider").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Kind").select_option("openai-chat")
    await dialog.get_by_label("Name").fill("local")
    await dialog.get_by_label("Base URL").fill(here.models.base_url("openai-chat"))
    await dialog.get_by_label("API key").fill("test-key")
    await dialog.get_by_label("Models").fill("test-model")
    await dialog.get_by_role("button", name=re.compile("Test connection")).click()
    await expect(dialog.get_by_text("It works: test-model answered")).to_be_visible()
    await dialog.get_by_role("button", name=re.compile("^(Add|Save|Connect)")).click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_text("local").first).to_be_visible()


async def makes_an_agent_with_a_tool(page: Page) -> None:
    await go(page, "Agents")
    await page.get_by_role("link", name="New agent").first.click()
    await page.get_by_label("Name").fill("Reckoner")
    await page.get_by_label("System prompt").fill("You reckon. Use the calculator.")
    await page.get_by_label("Provider", exact=True).select_option("local")
    await page.get_by_label("Model", exact=True).fill("test-model")
    await page.get_by_role("checkbox", name=re.compile("calculator")).check()
    await page.get_by_role("button", name="Create agent").click()
    await expect(page.get_by_role("heading", name="Reckoner")).to_be_visible()
    await page.get_by_role("main").get_by_role("link", name="Chat", exact=True).click()
    await expect(page.get_by_role("button", name="Agent: Reckoner")).to_be_visible()
    await say(page, "What is 6 * 7?")
    await expect(page.get_by_text("It is 42.")).to_be_visible()


async def cancels_a_run(page: Page) -> None:
    await say(page, "Now count for me")
    await expect(page.get_by_text(re.compile(r"0 1 2 3"))).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text(re.compile("^Stopped"))).to_be_visible()


async def finds_an_earlier_chat(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("searchbox", name="Search chats")).to_be_focused()
    await page.keyboard.type("postcard")
    await page.get_by_role("link", name=re.compile(r"12 \* \(3 \+ 4\)")).click()
    await expect(page.get_by_text("The tool says").last).to_contain_text("Grace")


async def sees_what_a_run_cost(page: Page) -> None:
    await go(page, "Runs")
    await page.get_by_role("link", name=re.compile(r"What is 6 \* 7")).click()
    await page.get_by_role("tab", name="Metrics").click()
    await expect(page.get_by_role("tabpanel")).to_contain_text(re.compile(r"Cost\s*\$0\.\d*[1-9]"))
