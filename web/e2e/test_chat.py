"""The chat as people use it from day to day: lists, edits, pictures, links, second tries."""

import base64
import re
from asyncio import Event
from collections.abc import Mapping
from pathlib import Path

from playwright.async_api import Page, expect

from agio.core.store.repository import Outcome
from agio.db.repository import open_store
from agio.protocol.messages import AssistantMessage
from agio.testing import Call, HttpStatus, Reply
from agio.testing.capture import ModelCall
from tests.support.scenes import Person, claim, end
from web.e2e.scene import PHONE, Scene, needs_chromium, path_of, process_scene, say, scene, slow

pytestmark = [needs_chromium, slow]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PASTE = """async ([kind, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], 'dot.png', { type: 'image/png' }));
  const target = kind === 'paste' ? document.querySelector('main textarea') : document.querySelector('main');
  const event = kind === 'paste'
    ? new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true, cancelable: true })
    : new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
}"""


async def opened(here: Scene, page: Page, **fields: object) -> str:
    """Begin a chat with an agent of its own; return the agent's id."""
    agent = await here.make_agent(page, **fields)  # type: ignore[arg-type]
    await page.goto(f"{here.url}/chat?agent={agent}")
    return agent


async def answered(page: Page, times: int = 1) -> None:
    """Wait until so many answers are there and nothing goes on."""
    await expect(page.get_by_role("article", name="Answer")).to_have_count(times)
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


async def test_a_chat_is_renamed_found_and_deleted(tmp_path: Path) -> None:
    """C8: from the list, with the keyboard where one would; deleting asks first."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await opened(here, page)
        await say(page, "Tell me about otters")
        await answered(page)
        chats = page.get_by_role("region", name="Chats")
        await chats.get_by_role("button", name=re.compile("Options for")).click()
        await page.get_by_role("menuitem", name="Rename").click()
        await expect(page.get_by_role("textbox", name="Chat title")).to_be_focused()
        await page.keyboard.type("River animals")
        await page.keyboard.press("Enter")
        await expect(chats.get_by_role("link", name="River animals")).to_be_visible()
        await page.keyboard.press("Control+Shift+o")
        await expect(page).to_have_url(re.compile("/chat$"))
        await page.keyboard.press("Control+k")
        await expect(chats.get_by_role("searchbox")).to_be_focused()
        await page.keyboard.type("otters")
        await expect(chats.get_by_role("link", name="River animals").locator("mark")).to_have_text("otters")
        await expect(chats.get_by_role("status").filter(has_text="1 chat found")).to_be_visible()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("/chat/ses_[a-z0-9]+#message-"))
        await chats.get_by_role("searchbox").fill("walrus")
        await expect(chats.get_by_role("link", name="River animals")).to_be_hidden()
        await expect(chats.get_by_role("status").filter(has_text="No matching chats")).to_be_visible()
        await chats.get_by_role("searchbox").fill("")
        await chats.get_by_role("link", name="River animals").click()
        await expect(page.get_by_role("article", name="You said")).to_have_count(1)
        await chats.get_by_role("button", name=re.compile("Options for")).click()
        await page.get_by_role("menuitem", name="Delete").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
        await expect(chats.get_by_role("link", name="River animals")).to_be_hidden()


async def test_a_message_is_edited_and_sent_in_a_copy(tmp_path: Path) -> None:
    """C8: the chat it was in stays as it is; the model is told the edited words only."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await opened(here, page)
        await say(page, "First things first")
        await answered(page)
        await say(page, "What is a narwal?")
        await answered(page, 2)
        before = path_of(page)
        said = page.get_by_role("article", name="You said").last
        await said.hover()
        await said.get_by_role("button", name="Edit message").click()
        editor = page.get_by_role("textbox", name="Edit your message")
        await editor.fill("What is a narwhal?")
        await page.get_by_role("button", name="Continue in a new chat").click()
        await page.wait_for_url(lambda url: not url.endswith(before))
        await expect(page.get_by_role("article", name="You said").last).to_contain_text("What is a narwhal?")
        await answered(page, 2)
        await expect(page.get_by_text(re.compile("Forked from"))).to_be_visible()
        told = [text for role, text in here.models.calls[-1].messages if role == "user"]
        assert told == ["First things first", "What is a narwhal?"]
        await page.goto(f"{here.url}{before}")
        await expect(page.get_by_role("article", name="You said").last).to_contain_text("What is a narwal?")


async def test_a_failed_run_says_why_and_can_be_tried_again(tmp_path: Path) -> None:
    """C8, L13: in words with a code, also after the page was loaded again."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        here.models.script(Reply(fault=HttpStatus(400)), Reply("Now it works."))
        await opened(here, page)
        await say(page, "Try this")
        failure = page.get_by_role("article", name="Answer").get_by_role("alert")
        for _ in range(2):
            await expect(failure).to_contain_text("does not accept the request (status 400)")
            await expect(failure).to_contain_text("bad_request")
            await page.reload()
        await page.get_by_role("button", name=re.compile("Try again|Regenerate")).first.click()
        await expect(page.get_by_text("Now it works.")).to_be_visible()


async def test_pictures_come_by_paste_and_drop_and_reach_the_model(tmp_path: Path) -> None:
    """C8: they are shown before they are sent, in the message, and after a reload."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await opened(here, page)
        data = base64.b64encode(PNG).decode()
        box = page.get_by_role("textbox", name="Message")
        await box.focus()
        for kind in ("paste", "drop"):
            await page.evaluate(PASTE, [kind, data])
        await expect(page.get_by_role("button", name=re.compile("Remove dot"))).to_have_count(2)
        await say(page, "What is this?")
        await answered(page)
        assert len(re.findall(r"data:image/png;base64", str(here.models.calls[0].body))) == 2
        await page.reload()
        picture = page.get_by_role("article", name="You said").get_by_role("img").first
        await expect(picture).to_be_visible()
        await expect(picture).to_have_js_property("naturalWidth", 1)


async def test_a_link_to_a_message_leads_to_it(tmp_path: Path) -> None:
    """C8: also to one that lies pages back in a long chat."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        agent = await here.make_agent(page)
        session = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {})
        path = f"/api/agent-sessions/{session['id']}"
        for number in range(80):
            await here.call(page, "POST", f"{path}/message", {"content": f"This is number {number}"})
        await here.models.wait_for_calls(80, timeout_s=300)
        first = (await here.call(page, "GET", f"{path}?limit=1"))["messages"][0]["id"]
        await page.goto(f"{here.url}/chat/{session['id']}")
        await expect(page.get_by_text("This is number 79").first).to_be_visible()
        said = page.get_by_role("article", name="You said").get_by_text("This is number 0", exact=True)
        await expect(said).to_be_hidden()
        other = await page.context.new_page()
        await other.goto(f"{here.url}/chat/{session['id']}#message-{first}")
        said = other.get_by_role("article", name="You said").get_by_text("This is number 0", exact=True)
        await expect(said).to_be_in_viewport()


async def test_a_search_opens_a_chat_of_2000_messages_where_it_was_said(tmp_path: Path) -> None:
    """C8: the message is marked far up in it, by keyboard, again after scrolling away, and on a phone."""
    async with process_scene(tmp_path) as here:
        page = await here.visitor()
        me = await here.call(page, "GET", "/api/me")
        agent = await here.make_agent(page)
        session = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {"title": "Long"})
        await page.goto("about:blank")
        here.kill()
        await _fill(tmp_path / "data" / "agio.db", me, session["id"])
        here.start()
        await page.goto(f"{here.url}/chat")
        chats = page.get_by_role("region", name="Chats")
        hit = chats.get_by_role("link", name="Long")
        await expect(hit).to_be_visible()
        await page.keyboard.press("Control+k")
        await page.keyboard.type("<b>WALRUS</b>")
        await page.keyboard.press("Enter")
        said = page.get_by_role("article", name="You said").filter(has_text="A <b>Walrus</b> swims")
        await expect(said.locator(".ring-2")).to_be_visible()  # for a few seconds, so this is looked at first
        await expect(said).to_be_in_viewport()
        await expect(hit.locator("mark")).to_have_text("<b>Walrus</b>")
        await page.get_by_role("button", name="Jump to latest").click()
        await expect(said).not_to_be_in_viewport()
        await hit.click()
        await expect(said).to_be_in_viewport()
        await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        await page.get_by_role("button", name="Open menu").click()
        menu = page.get_by_role("dialog", name="Menu")
        await menu.get_by_role("searchbox").fill("number 399")
        hit = menu.get_by_role("link", name="Long")
        await expect(hit.locator("mark")).to_have_text("number 399")
        await hit.click()
        await expect(menu).to_be_hidden()
        await expect(page.get_by_text("This is number 399", exact=True)).to_be_in_viewport()


async def test_what_the_server_told_the_model_is_a_system_message(tmp_path: Path) -> None:
    """C8: in a style of its own while it happens and after a reload, and nothing the person said."""

    def answer(call: ModelCall) -> Reply:
        return Reply('{"n": 1}' if any("does not fit" in text for text in call.texts()) else "One.")

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with scene(tmp_path, answer) as here:
        page = await here.visitor()
        await opened(here, page, output_schema=schema)
        await say(page, "A number, please")
        for _ in range(2):
            await answered(page)
            note = page.get_by_role("note", name="System message")
            await expect(note).to_have_count(1)
            await expect(note).to_contain_text("Your answer does not fit the required JSON schema")
            await expect(page.get_by_role("article", name="You said")).to_have_count(1)
            await page.reload()


async def test_what_came_while_one_was_elsewhere_is_marked_unread(tmp_path: Path) -> None:
    """C8: until it is opened."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await page.clock.install()
        agent = await opened(here, page)
        await say(page, "Hello")
        await answered(page)
        other = await here.call(page, "POST", f"/api/agents/{agent}/sessions", {"title": "From elsewhere"})
        path = f"/api/agent-sessions/{other['id']}/message"
        sent = await here.call(page, "POST", path, {"content": "Hi"})
        await here.ended(page, sent["run_id"])
        await page.clock.fast_forward(30_000)  # the list is read again now and then
        entry = page.get_by_role("region", name="Chats").get_by_role(
            "link", name=re.compile("From elsewhere")
        )
        await expect(entry.get_by_role("img", name="new")).to_be_visible()
        await entry.click()
        await expect(entry.get_by_role("img", name="new")).to_be_hidden()


async def test_a_chat_from_trying_an_agent_is_not_unread(tmp_path: Path) -> None:
    """C8: it was read where the agent was tried."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        agent = await opened(here, page)
        await page.goto(f"{here.url}/agents/{agent}")
        await page.get_by_role("textbox", name="Test message").fill("Hello")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("log").get_by_text("Hello")).to_have_count(2)
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        other = await page.context.new_page()
        await other.goto(f"{here.url}/chat")
        entry = other.get_by_role("region", name="Chats").get_by_role("link", name=re.compile("Try: "))
        await expect(entry).to_be_visible()
        await expect(entry.get_by_role("img")).to_have_count(0)


async def test_a_message_waits_for_the_run_before_it(tmp_path: Path) -> None:
    """C8: it is shown as waiting, and answered in its turn."""

    done = Event()

    def answer(call: ModelCall) -> Reply:
        return Reply("words " * 60, gate=done) if len(here.models.calls) < 2 else Reply("Second.")

    async with scene(tmp_path, answer) as here:
        page = await here.visitor()
        await opened(here, page)
        await say(page, "First")
        await expect(page.get_by_text("words words").first).to_be_visible()
        await say(page, "Next")
        await expect(
            page.get_by_text(re.compile("Queued: sends when this answer finishes|Queued"))
        ).to_be_visible()
        done.set()
        await expect(page.get_by_text("Second.")).to_be_visible()
        await answered(page, 2)


async def test_a_rejected_call_is_not_made_and_the_model_is_told_why(tmp_path: Path) -> None:
    """C8, B7: with the person's own words."""

    def asks(call: ModelCall) -> Reply:
        if call.tool_results:
            return Reply("I see.")
        return Reply(tool_calls=[Call("clock", {})])

    async with scene(tmp_path, asks) as here:
        page = await here.visitor()
        await opened(here, page, tools=[{"name": "clock", "approval": "ask"}])
        await say(page, "Send it")
        await page.get_by_role("button", name="Reject").click()
        await page.get_by_label(re.compile("Reason")).fill("She has moved")
        await page.get_by_role("button", name=re.compile("Reject")).last.click()
        await expect(page.get_by_text("I see.")).to_be_visible()
        assert "She has moved" in str(here.models.calls[-1].body)


async def test_the_chat_works_on_a_phone(tmp_path: Path) -> None:
    """C8, C9: the list is behind the menu; nothing scrolls sideways."""
    async with scene(tmp_path) as here:
        page = await here.visitor(size=PHONE, dark=True)
        await say(page, "What is 6 * 7?")
        await expect(page.get_by_text("The tool says")).to_contain_text("42")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("button", name="Open menu").click()
        menu = page.get_by_role("dialog")
        await expect(menu.get_by_role("link", name=re.compile("What is 6"))).to_be_visible()
        await menu.get_by_role("link", name="Runs").click()
        await expect(menu).to_be_hidden()
        await expect(page.get_by_role("heading", name="Runs")).to_be_visible()


async def test_a_call_approved_with_changes_still_says_so_tomorrow(tmp_path: Path) -> None:
    """C8, B7: what was wanted and what was called are both there after a reload."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await say(page, "send a postcard to Ada")
        await page.get_by_role("button", name="Edit", exact=True).click()
        await page.get_by_role("textbox", name="Edit arguments").fill('{"to": "Grace", "text": "Hi"}')
        await page.get_by_role("button", name=re.compile("Approve")).click()
        await expect(page.get_by_text("The tool says")).to_contain_text("Grace")
        await page.reload()
        card = page.get_by_role("button", name=re.compile("send_postcard.*Approved with changes"))
        await card.click()
        await expect(page.get_by_text('"Ada"')).to_be_visible()
        await expect(page.get_by_text('"Grace"').first).to_be_visible()


async def test_stopping_a_run_leaves_the_message_behind_it(tmp_path: Path) -> None:
    """C8: what waits is answered next."""

    def answer(call: ModelCall) -> Reply:
        return Reply("words " * 60, gate=Event()) if len(here.models.calls) < 2 else Reply("Second.")

    async with scene(tmp_path, answer) as here:
        page = await here.visitor()
        await opened(here, page)
        await say(page, "First")
        await expect(page.get_by_text("words words").first).to_be_visible()
        await say(page, "Next")
        await expect(page.get_by_text("Queued: sends when this answer finishes")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_text("Second.")).to_be_visible()
        await expect(page.get_by_text(re.compile("^Stopped"))).to_have_count(1)


async def _fill(path: Path, me: Mapping[str, str], session_id: str) -> None:
    """Put 2,000 messages into a session."""
    store = await open_store(path)
    try:
        who = Person(store, me["tenant"], me["user"])
        for number in range(400):
            text = "A <b>Walrus</b> swims" if number == 3 else f"This is number {number}"
            await who.send(session_id, text)
            claimed = await claim(store)
            run_id = claimed.info.run_id
            told = [AssistantMessage(id=f"{run_id}_m{at}", content=f"Part {at}.\n\nMore.") for at in range(4)]
            await end(store, claimed, outcome=Outcome(messages=told))
    finally:
        await store.close()
