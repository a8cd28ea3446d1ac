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
        await expect(other.get_by_role("alert")).to_contain_text("Night desk was deleted.")
        await expect(other.get_by_label("Agent", exact=True)).to_be_focused()
        await looks_well(page)
        await other.get_by_role("button", name="Remove Night desk").press("Enter")
        await expect(add).to_be_focused()
        await save.press("Enter")
        await expect(page.get_by_text("All changes saved")).to_be_visible()

        team = page.get_by_role("group", name="The team of Front desk")
        await expect(team.get_by_role("link", name="Billing asks Clerk")).to_be_visible()
        await team.get_by_role("button", name="Front desk hands over to Billing").press("Enter")
        await expect(row.get_by_label("Agent", exact=True)).to_be_focused()
        await looks_well(page)
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


def team(call: ModelCall) -> Reply:
    """Say what each agent of the team says: the desk asks two others at once, then hands over to billing."""
    results = len(call.tool_results)
    match call.system.splitlines()[0]:
        case "You are the clerk.":
            return Reply("Order A-7 cost **2 EUR**.") if results else Reply(tool_calls=[Call("clock", {})])
        case "You are the auditor.":
            return Reply("It was paid twice.")
        case "You are billing." if not results or call.messages[-1][0] == "user":
            if "Thanks" in str(call.messages[-1]):
                return Reply("You are welcome.")
            return Reply("I check the sum.", tool_calls=[Call("calculator", {"expression": "4-2"})])
        case "You are billing.":
            return Reply("You get 2 EUR back.")
        case _ if results:
            return Reply(
                "Billing takes over.",
                tool_calls=[Call("transfer_to_Billing", {"reason": "The order was paid twice."})],
            )
        case _:
            asked = [Call("ask_Clerk", {"input": "What did order A-7 cost?"})]
            asked.append(Call("ask_Auditor", {"input": "Was order A-7 paid?"}))
            return Reply("I look the order up.", tool_calls=asked)


async def make_team(here: Scene, page: Page) -> str:
    """Make a desk that asks a clerk and an auditor, and hands over to billing; return its id."""
    prompts = {"Clerk": "You are the clerk.", "Auditor": "You are the auditor."}
    tools = {"Clerk": ["clock"]}
    handoffs = [
        {
            "agent": await here.make_agent(page, name, system_prompt=prompt, tools=tools.get(name, [])),
            "mode": "tool",
            "description": "Looks orders up.",
        }
        for name, prompt in prompts.items()
    ]
    billing = await here.make_agent(
        page,
        "Billing",
        system_prompt="You are billing.",
        tools=[{"name": "calculator", "approval": "ask"}],
        handoffs=handoffs[:1],
    )
    handoffs.append({"agent": billing, "filter": "no_tools", "description": "For refunds and invoices."})
    return await here.make_agent(page, "Desk", system_prompt="You are the desk.", handoffs=handoffs)


async def test_a_chat_shows_who_has_it_and_whom_was_asked_and_the_run_has_a_lane_for_each(
    tmp_path: Path,
) -> None:
    """S7: cards of sub-agents, the mark of a handoff, the agent's name; the same after a reload."""
    async with scene(tmp_path, team) as here:
        page = await here.visitor()
        desk = await make_team(here, page)
        await page.goto(f"{here.url}/chat?agent={desk}")
        await say(page, "I was charged twice for order A-7.")
        await page.get_by_role("button", name="Approve", exact=True).click()
        await expect(page.get_by_text("You get 2 EUR back.")).to_be_visible()
        await shows_the_team(page)
        await looks_well(page)
        await page.reload()
        await expect(page.get_by_text("You get 2 EUR back.")).to_be_visible()
        await shows_the_team(page)
        await page.get_by_role("button", name="Clerk").click()
        await expect(page.get_by_text("Order A-7 cost 2 EUR.")).to_be_visible()
        await looks_well(page)
        await say(page, "Thanks!")
        await expect(page.get_by_text("You are welcome.")).to_be_visible()

        runs = (await here.call(page, "GET", "/api/runs"))["items"]
        await page.goto(f"{here.url}/runs/{runs[-1]['id']}")
        timeline = page.get_by_role("list", name="Timeline")
        await expect(timeline.get_by_role("button", name="Sub-agent Clerk")).to_be_visible()
        await expect(timeline.get_by_role("button", name="Sub-agent Auditor")).to_be_visible()
        await expect(timeline.get_by_role("button", name="Handoff Desk → Billing")).to_be_visible()
        await expect(timeline.get_by_role("button", name="Step 6 · Billing")).to_be_visible()
        await looks_well(page)


async def shows_the_team(page: Page) -> None:
    """Check who was asked, who handed over to whom and why, and who is written to."""
    answer = page.get_by_role("article", name="Answer").first
    await expect(answer.get_by_role("button", name="Clerk")).to_contain_text("What did order A-7 cost?")
    await expect(answer.get_by_role("button", name="Auditor")).to_be_visible()
    mark = answer.get_by_text("Desk handed over to Billing")
    await expect(mark).to_be_visible()
    await expect(answer.get_by_text("The order was paid twice. · Billing sees no tool calls")).to_be_visible()
    await expect(answer.get_by_text("transfer_to_Billing")).to_have_count(0)
    await expect(page.get_by_role("textbox", name="Message")).to_have_attribute(
        "placeholder", "Message Billing"
    )


async def looks_well(page: Page) -> None:
    """Check a page, on a desktop and on a phone: axe finds nothing, and nothing is wider than the page."""
    for width, height in (WIDE, NARROW):
        await page.set_viewport_size({"width": width, "height": height})
        await settled(page)
        assert await violations(page) == []
        assert await page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    await page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
