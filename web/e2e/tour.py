"""Every page and state of the app: how to get there, and how to know that it is there.

`tour(folder)` seeds two servers, a new one and one of a team, and walks from stop to stop.
"""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from web.e2e.scene import DELETED, DESKTOP, PHONE, Scene, process_scene, scene
from web.e2e.story import EMAIL, ENVIRONMENT, Story, answer, write_app

EXPECTED = (
    "got 401 for /api/(sign-in|me)",
    r"got 403 for /sign-in\?token=old",
    DELETED,
    "got 404 for /api/agents/agt_none.*",
    r"got 404 for /api/invitations/open\?token=nothing",
    "got 404 for /api/runs/run_none.*",
    "got 404 for /nowhere",
    r"got 409 for /api/agents/agt_\w+",
)
"""Some stops are refusals."""

Act = Callable[[Page], Awaitable[object]]
Find = Callable[[Page], Locator]


@dataclass(frozen=True)
class Stop:
    """A state of the app. In `path`, `{name}` is an id of the story."""

    name: str
    path: str
    ready: Find
    act: Act | None = None
    phone: bool = False
    """Only there on a phone."""
    signed_in: bool = True

    async def reach(self, page: Page, url: str, ids: dict[str, str]) -> None:
        """Go there from anywhere."""
        path = re.sub(r"{([^}]+)}", lambda found: ids[found[1]], self.path)
        if f"{url}{path}" == page.url or "#" in path:
            await page.goto("about:blank")
        await page.goto(f"{url}{path}")
        if self.act is not None:
            await self.act(page)
        await expect(self.ready(page).first).to_be_visible()
        await settled(page)


async def settled(page: Page) -> None:
    """Wait until nothing is loading, and end every animation that has an end."""
    await expect(page.locator(".animate-shimmer:not([aria-hidden] *):is([role=status] *)")).to_have_count(0)
    await page.evaluate(
        """async () => {
  // One animation may start another.
  for (let round = 0; round < 20; round += 1) {
    const ending = document.getAnimations().filter(({ playState, effect }) =>
      playState === 'running' && effect?.getComputedTiming().iterations !== Infinity);
    if (ending.length === 0) return;
    await Promise.all(ending.map(one => { one.finish(); return one.finished.catch(() => null); }));
    await new Promise(drawn => requestAnimationFrame(drawn));
  }
}"""
    )


def heading(words: str) -> Find:
    """Find a heading."""
    return lambda page: page.get_by_role("heading", name=words, exact=True)


def text(words: str) -> Find:
    """Find words that can be seen."""
    return lambda page: page.get_by_text(words).locator("visible=true")


def button(name: str) -> Find:
    """Find a button by the whole of its name."""
    return lambda page: page.get_by_role("button", name=name, exact=True)


def dialog(title: str) -> Find:
    """Find a dialog by its title."""
    return lambda page: page.get_by_role("dialog", name=title)


def press(*names: str) -> Act:
    """Press buttons, links, tabs and items of menus, one after the other."""

    async def act(page: Page) -> None:
        for name in names:
            found = page.get_by_role("button", name=name, exact=True)
            for role in ("link", "tab", "menuitem"):
                found = found.or_(page.get_by_role(role, name=name, exact=True))
            await found.locator("visible=true").first.click()

    return act


def enter(label: str, words: str, *then: str) -> Act:
    """Fill in a field, then press buttons."""

    async def act(page: Page) -> None:
        await page.get_by_label(label).locator("visible=true").first.fill(words)
        await press(*then)(page)

    return act


def after(*acts: Act) -> Act:
    """Do one thing after the other."""

    async def act(page: Page) -> None:
        for each in acts:
            await each(page)

    return act


async def unfold(page: Page) -> None:
    """Open every card of the conversation."""
    await expect(page.get_by_role("article", name="Answer").first).to_be_visible()
    closed = page.locator('main article [aria-expanded="false"]:not([aria-haspopup])')
    while await closed.count() > 0:
        await closed.first.click()


async def top(page: Page) -> None:
    """Go to the beginning of a conversation."""
    await expect(page.get_by_role("article", name="Answer").first).to_be_visible()
    await page.get_by_role("log").evaluate("box => box.scrollTo(0, 0)")


async def sign_in_wrongly(page: Page) -> None:
    """Try a password that is not it."""
    await page.get_by_label("Email").fill(EMAIL)
    await page.get_by_label("Password").fill("not the password")
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def ask(page: Page, question: str = "") -> None:
    """Write a message to the agent, and send it."""
    await page.get_by_role("textbox", name="Message").fill(question or "And then?")
    await page.get_by_role("textbox", name="Message").press("Enter")


async def connect_to(page: Page, url: str) -> None:
    """Fill in a provider, and test it."""
    await press("Add")(page)
    box = page.get_by_role("dialog")
    await box.get_by_label("Kind").select_option("openai-chat")
    await box.get_by_label("Name").fill("office-two")
    await box.get_by_label("Base URL").fill(url)
    await box.get_by_label("API key").fill("test-key")
    await box.get_by_label("Models").fill("test-model")
    await box.get_by_role("button", name="Test connection").click()


async def try_tool(page: Page) -> None:
    """Call a tool from its page."""
    form = page.locator("form").filter(has=page.get_by_role("button", name="Run", exact=True))
    await form.get_by_label("why").fill("To see it work")
    await form.get_by_role("button", name="Run", exact=True).click()


NEW: list[Stop] = [
    Stop("sign-in-nobody", "/sign-in", text("There are no accounts yet"), signed_in=False),
    Stop(
        "sign-in-old-link",
        "/sign-in?token=old",
        text("This sign-in link was already used"),
        signed_in=False,
    ),
    Stop("welcome", "/set-up", heading("You are signed in")),
    Stop(
        "welcome-problems",
        "/set-up",
        text("Enter your name."),
        after(enter("Password", "short"), press("Create account")),
    ),
    Stop("welcome-what-now", "/set-up", heading("Welcome to agio"), press("Not now")),
    Stop("chat-no-agents", "/chat", heading("No agents yet")),
    Stop("runs-none", "/runs", heading("No runs yet")),
    Stop("agents-none", "/agents", heading("No agents yet")),
    Stop("memories-none", "/memories", heading("No memories yet")),
    Stop("suggestions-none", "/memories?view=suggestions", heading("Nothing to decide")),
    Stop("tools-none", "/tools", text("None yet.")),
    Stop("providers-none", "/settings/providers", heading("Connect your first model")),
    Stop("mcp-servers-none", "/settings/mcp-servers", text("Servers that are a command")),
    Stop("keys-none", "/settings/api-keys", text("API keys")),
    Stop("profile-no-account", "/settings/profile", text("without an account")),
]

TEAM: list[Stop] = [
    Stop("chat-streaming", "/chat/{streaming}", button("Stop (Esc)")),
    Stop("chat-queued", "/chat/{streaming}", text("Queued: sends when this answer finishes"), ask),
    Stop("sign-in", "/sign-in", button("Sign in"), signed_in=False),
    Stop(
        "sign-in-problem",
        "/sign-in",
        lambda page: page.get_by_role("alert"),
        sign_in_wrongly,
        signed_in=False,
    ),
    Stop("invitation", "{invitation}", heading("Join Lumen Lamps"), signed_in=False),
    Stop("invitation-over", "/invitation#nothing", heading("Invitation no longer valid"), signed_in=False),
    Stop("welcome-back", "/set-up", heading("Welcome, Mara Lindqvist")),
    Stop("chat-new", "/chat?agent={demo}", text("calls a tool")),
    Stop("chat-choose-agent", "/chat?agent={support}", text("openai:gpt-5"), press("Agent: Support")),
    Stop("chat-markdown", "/chat/{markdown}", text("Three things to remember")),
    Stop("chat-markdown-top", "/chat/{markdown}", heading("Binary search"), after(top, unfold)),
    Stop("chat-tools", "/chat/{tools}", text("three orders")),
    Stop("chat-tools-unfolded", "/chat/{tools}", text("customer"), unfold),
    Stop("chat-tool-failed", "/chat/{shades}", text("The library knows nothing"), unfold),
    Stop("chat-failed", "/chat/{failed}", button("Try again")),
    Stop("chat-approval", "/chat/{approval}", button("Approve")),
    Stop("chat-approval-edited", "/chat/{approval}", button("Approve with changes"), press("Edit")),
    Stop("chat-approval-rejected", "/chat/{approval}", text("Reason"), press("Reject")),
    Stop("chat-stopped", "/chat/{stopped}", text("Stopped.")),
    Stop("chat-long-message", "/chat/{long}", button("Show more"), top),
    Stop("chat-demo", "/chat/{sum}", text("84")),
    Stop("chat-menu", "/chat/{sum}", lambda page: page.get_by_role("menu"), press("Chat options")),
    Stop("chat-deleted", "/chat/{gone}", heading("Chat not found")),
    Stop(
        "chat-delete",
        "/chat/{sum}",
        lambda page: page.get_by_role("alertdialog"),
        press("Chat options", "Delete"),
    ),
    Stop("chat-toast", "/chat/{sum}", text("Link copied"), press("Chat options", "Copy link")),
    Stop(
        "chats-found",
        "/chat",
        lambda page: page.get_by_role("link", name="A broken oak lamp"),
        enter("Search chats", "oak"),
    ),
    Stop("chats-not-found", "/chat", text("No matching chats"), enter("Search chats", "zebra")),
    Stop(
        "drawer",
        "/chat",
        lambda page: page.get_by_role("dialog", name="Menu"),
        press("Open menu"),
        phone=True,
    ),
    Stop("runs", "/runs", text("shown.")),
    Stop("runs-none-fit", "/runs?status=expired", heading("No matching runs")),
    Stop("run", "/runs/{tools run}", text("find_orders")),
    Stop("run-events", "/runs/{tools run}#events", text("RUN_STARTED")),
    Stop("run-metrics", "/runs/{tools run}#metrics", lambda page: page.get_by_role("tabpanel")),
    Stop("run-replay", "/runs/{tools run}#replay", lambda page: page.get_by_role("slider")),
    Stop("run-failed", "/runs/{failed run}", text("invalid_api_key")),
    Stop("run-waiting", "/runs/{approval run}", text("refund")),
    Stop("run-missing", "/runs/run_none", heading("Run not found")),
    Stop("agents", "/agents", text("Research")),
    Stop("agents-none-found", "/agents", heading("No results"), enter("Search agents", "zebra")),
    Stop("agent-new", "/agents/new", button("Create agent")),
    Stop("agent-new-problems", "/agents/new", text("need attention"), press("Create agent")),
    Stop("agent-edit", "/agents/{support}", text("All changes saved")),
    Stop(
        "agent-edit-problem",
        "/agents/{support}",
        text("One field needs attention"),
        enter("Name", "Research", "Save"),
    ),
    Stop("agent-from-code", "/agents/{support}", dialog("Use Support from code"), press("Use from code")),
    Stop("agent-in-code", "/agents/{Night report}", heading("Night report")),
    Stop("agent-missing", "/agents/agt_none", heading("Agent not found")),
    Stop("memories", "/memories?agent={support}", text("Used by the whole shop")),
    Stop("memories-found", "/memories?q=trains", text("Score")),
    Stop("memories-none-found", "/memories?q=zebra", heading("No matching memories")),
    Stop("memory-new", "/memories", dialog("Add a memory"), press("Add a memory")),
    Stop("memory-edit", "/memories?q=trains", dialog("Edit memory"), press("Edit memory")),
    Stop("tools", "/tools", text("track_parcel")),
    Stop("tools-none-found", "/tools", text("No tool matches"), enter("Search tools", "zebra")),
    Stop("tool-new", "/tools/new", button("Use an example")),
    Stop("tool-new-example", "/tools/new", button("Discard"), press("Use an example")),
    Stop("tool-edit", "/tools/{weather}", heading("weather")),
    Stop("tool-tried", "/tools/{health}", text("What the model reads"), try_tool),
    Stop("tool-built-in", "/tools/{calculator}", heading("calculator")),
    Stop("tool-missing", "/tools/tool_none", heading("Tool not found")),
    Stop("settings-providers", "/settings/providers", text("anthropic")),
    Stop("settings-provider-new", "/settings/providers", dialog("Connect a model"), press("Add")),
    Stop(
        "settings-provider-bad",
        "/settings/providers",
        text("connection_failed"),
        lambda page: connect_to(page, "http://127.0.0.1:9/v1"),
    ),
    Stop("settings-mcp-servers", "/settings/mcp-servers", text("upstream_unreachable")),
    Stop(
        "settings-mcp-server-new",
        "/settings/mcp-servers",
        dialog("Add an MCP server"),
        press("Add"),
    ),
    Stop("settings-mcp-server", "/settings/mcp-servers/{mcp}", text("No tools are known yet")),
    Stop(
        "settings-mcp-server-agents",
        "/settings/mcp-servers/{mcp}",
        text("Has none"),
        lambda page: page.get_by_role("tab", name="Agents").click(),
    ),
    Stop("settings-keys", "/settings/api-keys", text("Nightly export")),
    Stop("settings-key-new", "/settings/api-keys", dialog("New API key"), press("New key")),
    Stop(
        "settings-key-made",
        "/settings/api-keys",
        text("Done"),
        after(press("New key"), enter("Name", "Warehouse robot", "Create key")),
    ),
    Stop("settings-members", "/settings/members", text("jonas@lumen.example")),
    Stop("settings-invite", "/settings/members", dialog("Invite a member"), press("Invite")),
    Stop(
        "settings-invited",
        "/settings/members",
        dialog("Send this link"),
        press("Invite", "Create link"),
    ),
    Stop("settings-profile", "/settings/profile", heading("Profile")),
    Stop("settings-audit", "/settings/audit", heading("Audit log")),
    Stop("settings-appearance", "/settings/appearance", text("Follow this device")),
    Stop("settings-observability", "/settings/observability", heading("Observability")),
    Stop("settings-about", "/settings/about", heading("About")),
    Stop("settings-missing", "/settings/nothing", heading("Page not found")),
    Stop("help", "/chat?agent={demo}", dialog("Keyboard shortcuts"), lambda page: _help(page)),
    Stop("not-found", "/nowhere", heading("Page not found")),
]


async def _help(page: Page) -> None:
    await expect(page.get_by_role("textbox", name="Message")).to_be_focused()  # and takes it no more
    await page.locator("main").first.focus()
    await page.keyboard.press("?")


@dataclass
class Tour:
    """What there is to see, with the pages to see it on: one that is signed in, and one that is not."""

    here: Scene
    stops: list[Stop]
    page: Page
    stranger: Page
    ids: dict[str, str]

    async def walk(self) -> AsyncGenerator[tuple[Stop, Page]]:
        """Go from stop to stop."""
        for stop in self.stops:
            page = self.page if stop.signed_in else self.stranger
            width, height = PHONE if stop.phone else DESKTOP
            if page.viewport_size != {"width": width, "height": height}:
                await page.set_viewport_size({"width": width, "height": height})
            try:
                await stop.reach(page, self.here.url, self.ids)
            except Exception as lost:
                lost.add_note(f"on the way to {stop.name}")
                raise
            yield stop, page


@asynccontextmanager
async def tour_of_new(folder: Path) -> AsyncGenerator[Tour]:
    """A server nobody has used, without the agent it comes with."""
    async with scene(folder) as here:
        page = await here.visitor(expected=EXPECTED)
        listed = await here.call(page, "GET", "/api/agents")
        for agent in listed["items"]:
            await here.call(page, "DELETE", f"/api/agents/{agent['id']}")
        stranger = await (await here.context(expected=EXPECTED)).new_page()
        yield Tour(here, NEW, page, stranger, {})


async def _tool_that_works(story: Story) -> str:
    """Make a tool that can be called without leaving the machine."""
    parameters = {"type": "object", "properties": {"why": {"type": "string"}}}
    tool = {
        "name": "health",
        "method": "GET",
        "url": f"{story.here.url}/api/health",
        "parameters": parameters,
    }
    return str((await story.call("POST", "/api/agent-tools", tool))["id"])


@asynccontextmanager
async def tour_of_team(folder: Path) -> AsyncGenerator[Tour]:
    """A server with the story's team on it."""
    async with process_scene(folder, answer, ENVIRONMENT, write_app(folder)) as here:
        page = await here.visitor(expected=EXPECTED)
        story = Story(here, page)
        await story.seed()
        await story.begin_streaming()
        story.ids["health"] = await _tool_that_works(story)
        stranger = await (await here.context(expected=EXPECTED)).new_page()
        good = here.models.base_url("openai-chat")
        connected = Stop(
            "settings-provider-good",
            "/settings/providers",
            text("It works"),
            lambda page: connect_to(page, good),
        )
        yield Tour(here, [*TEAM, connected], page, stranger, story.ids)
