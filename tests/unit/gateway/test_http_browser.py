"""The plain page in a real browser: sign in, talk, watch, approve, stop, come back."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

import httpx
import pytest
from playwright.async_api import Dialog, Page, async_playwright, expect

from agio.core.identity import Account
from tests.unit.gateway.engine import soon
from tests.unit.gateway.people import PASSWORD
from tests.unit.gateway.served import Served, served

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
PATIENCE_MS = 15_000
UNAUTHENTICATED = ("status of 401", "HTTP Authentication failed")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
expect.set_options(timeout=PATIENCE_MS)


@asynccontextmanager
async def browsing(
    server: Served, *, width: int = 1100, dark: bool = False, refused: Sequence[str] = ()
) -> AsyncGenerator[Page]:
    """Open a page in a new browser; what goes wrong on it fails the test, but for the answers named."""
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await browser.new_context(
            viewport={"width": width, "height": 760}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(server.url) else complaints.append(asked.url),
        )
        try:
            yield page
        finally:
            await browser.close()
    assert [said for said in complaints if not any(words in said for words in refused)] == []


async def _signed_in(page: Page, server: Served) -> None:
    await page.goto(server.link)
    await page.click("#skip")
    await expect(page.locator("#agents option")).to_have_count(1)
    assert page.url == f"{server.url}/"


async def _begun(page: Page, server: Served) -> None:
    await _signed_in(page, server)
    await page.click("#new-session")


async def _say(page: Page, text: str) -> None:
    await expect(page.locator("#text")).to_be_enabled()
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def test_a_person_signs_in_talks_and_finds_it_all_again(tmp_path: Path) -> None:
    """C8, L15: the answer streams in, tool calls and reasoning unfold, a reload shows the same."""
    async with served(tmp_path) as server, browsing(server) as page:
        await page.goto(server.url)
        await expect(page.locator("body")).to_contain_text("You are not signed in")
        await _begun(page, server)
        await _say(page, "What is 6 * 7?")
        await expect(page.locator(".message.user")).to_have_text("What is 6 * 7?")
        await expect(page.locator(".message.assistant")).to_contain_text("The tool says: **42**")
        await expect(page.locator("#step")).to_have_text("step 2")
        card = page.locator("details.tool")
        await expect(card.locator(".name")).to_have_text("calculator")
        await expect(card.locator("summary")).to_contain_text("done")
        await expect(card.locator("pre").first).to_be_hidden()
        await card.locator("summary").click()
        await expect(card.locator("pre").first).to_have_text('{\n  "expression": "6 * 7"\n}')
        await expect(card.locator("pre").last).to_have_text("42")
        await expect(page.locator("details.reasoning")).to_have_count(1)
        await expect(page.locator("#sessions button")).to_have_text("What is 6 * 7?")
        await expect(page.locator("#state")).to_have_text("")
        before = await page.locator("#thread").inner_text()
        await page.reload()
        await expect(page.locator(".message.assistant")).to_contain_text("only repeats what the tool said")
        await page.locator("details.tool summary").click()
        assert await page.locator("#thread").inner_text() == before


async def test_markup_from_a_model_stays_text(tmp_path: Path) -> None:
    """C8: what is said is never run."""
    text = "think about <img src=x onerror=alert(1)> <script>alert(2)</script>"
    async with served(tmp_path) as server, browsing(server) as page:
        await _begun(page, server)
        await _say(page, text)
        await expect(page.locator(".message.user")).to_have_text(text)
        await expect(page.locator("#cancel")).to_be_hidden()
        assert await page.locator("#thread img, #thread script").count() == 0


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
async def test_a_person_is_asked_before_a_call_with_exactly_its_arguments(
    tmp_path: Path, decision: str
) -> None:
    """C8, B7: approve, change the arguments, or reject with a reason; also after a reload."""
    async with served(tmp_path) as server, browsing(server) as page:
        await _begun(page, server)
        await _say(page, "Send a postcard to Ada")
        card = page.locator(".approval")
        await expect(card).to_contain_text("send_postcard")
        await expect(card.locator("pre")).to_contain_text('"to": "Ada"')
        await expect(page.locator("#state")).to_have_text("waiting for you")
        await page.reload()
        await expect(card.locator("pre")).to_contain_text('"to": "Ada"')
        if decision == "edit":
            await card.get_by_role("button", name="Edit").click()
            await card.get_by_label("Arguments").fill("not JSON")
            await card.get_by_role("button", name="Approve").click()
            await expect(card).to_contain_text("must be a JSON object")
            await card.get_by_label("Arguments").fill('{"to": "Eve", "text": "Hi"}')
        if decision == "reject":
            await card.get_by_role("button", name="Reject").click()
            await card.get_by_label("Reason").fill("too expensive")
            await card.get_by_role("button", name="Reject with this reason").click()
        else:
            await card.get_by_role("button", name="Approve").click()
        said = {"approve": "Ada", "edit": "Eve", "reject": "too expensive"}[decision]
        await expect(page.locator(".message.assistant")).to_contain_text(said)
        await expect(page.locator("#state")).to_have_text("")


async def test_what_is_going_on_can_be_stopped_with_escape(tmp_path: Path) -> None:
    """C8, L14: the stop button is there while something runs; Esc is the same."""
    async with served(tmp_path) as server, browsing(server) as page:
        await _begun(page, server)
        await _say(page, "Hello")
        await expect(page.locator("#cancel")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#thread .note")).to_have_text("Stopped.")
        await expect(page.locator("#cancel")).to_be_hidden()


async def test_errors_and_second_tries_are_shown(tmp_path: Path) -> None:
    """C8, L13: a failed run says so; a turn that broke off is taken back and said again."""
    async with served(tmp_path) as server, browsing(server) as page:
        await _begun(page, server)
        await _say(page, "fail")
        await expect(page.locator(".note.bad")).to_contain_text("demo_failure")
        await page.click("#new-session")
        await expect(page.locator("#thread > :not(.welcome)")).to_have_count(0)
        await _say(page, "be flaky")
        await expect(page.locator(".message.assistant")).to_contain_text(
            "this is the second, and it is whole"
        )
        await expect(page.locator(".message.assistant")).to_have_count(1)


async def test_a_lost_connection_comes_back_and_loses_nothing(tmp_path: Path) -> None:
    """C8, C7: what is said meanwhile is there when the socket is open again, once."""
    async with (
        served(tmp_path) as server,
        browsing(server) as page,
        httpx.AsyncClient(base_url=server.url, headers=server.headers) as program,
    ):
        await page.add_init_script(
            "window.sockets = [];"
            "const Real = WebSocket;"
            "window.WebSocket = class extends Real { constructor(url) { super(url); sockets.push(this); } };"
        )
        await _begun(page, server)
        await _say(page, "What is 1 + 1?")
        await expect(page.locator(".message.assistant")).to_contain_text("2")
        session_id = page.url.partition("#")[2]
        await page.evaluate("window.sockets.forEach(socket => socket.close())")
        await expect(page.locator("#offline")).to_be_visible()
        sent = await program.post(
            f"/api/agent-sessions/{session_id}/message", json={"content": "What is 2 + 3?"}
        )
        assert sent.status_code == 202
        await expect(page.locator(".message.assistant")).to_have_count(2)
        await expect(page.locator(".message.assistant").last).to_contain_text("5")
        await expect(page.locator(".message.user")).to_have_count(2)
        await expect(page.locator("#offline")).to_be_hidden()


async def test_two_pages_see_the_same_and_a_deletion(tmp_path: Path) -> None:
    """C8: one talks, the other watches; deleting it empties both."""
    async with served(tmp_path) as server, browsing(server) as page:
        await _begun(page, server)
        await _say(page, "think about it")
        await expect(page.locator("#cancel")).to_be_hidden()
        other = await page.context.new_page()
        await other.goto(page.url)
        await expect(other.locator(".message.user")).to_have_text("think about it")
        await _say(page, "What is 2 * 2?")
        await expect(other.locator(".message.assistant").last).to_contain_text("4")
        page.on("dialog", lambda dialog: dialog.accept())
        await page.click("#delete")
        for each in (page, other):
            await expect(each.locator("#sessions button")).to_have_count(0)
            await expect(each.locator(".message")).to_have_count(0)
            await expect(each.locator(".welcome")).to_be_visible()


async def test_a_phone_in_the_dark_can_use_it(tmp_path: Path) -> None:
    """C8: nothing is cut off, the list opens and closes, dark is dark."""
    async with served(tmp_path) as server, browsing(server, width=380, dark=True) as page:
        await _signed_in(page, server)
        await expect(page.locator(".welcome .quiet")).to_contain_text("Try:")
        assert await page.evaluate("document.getElementById('thread').scrollWidth") <= 380
        await expect(page.locator("#side")).to_be_hidden()
        await page.click("#side-open")
        await page.click("#new-session")
        await expect(page.locator("#side")).to_be_hidden()
        await _say(page, "What is 6 * 7? " + "long " * 40)
        await expect(page.locator(".message.assistant")).to_contain_text("42")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 380
        colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in colour[4:-1].split(",")) < 150


async def test_a_person_makes_an_account_and_comes_back_with_it(tmp_path: Path) -> None:
    """R2, C8: after the link an account is offered; later e-mail and password open the page."""
    async with served(tmp_path) as server, browsing(server) as page:
        await page.goto(server.link)
        await page.fill("#name", "Olga")
        await page.fill("#email", "olga@example.com")
        await page.fill("#password", PASSWORD)
        await page.fill("#again", "something else")
        await page.click("button.primary")
        await expect(page.locator("#problem")).to_contain_text("not the same")
        await page.fill("#again", PASSWORD)
        await page.click("button.primary")
        await expect(page.locator("#me")).to_have_text("Olga")
        await page.click("#sign-out")
        await page.fill("#email", "Olga@Example.com")
        await page.fill("#password", PASSWORD)
        await page.click("button.primary")
        await expect(page.locator("#me")).to_have_text("Olga")


async def test_an_invitation_makes_an_account(tmp_path: Path) -> None:
    """R2, C8: the page says who invites to what; the address is the invitation's."""
    async with served(tmp_path) as server, browsing(server) as page:
        async with httpx.AsyncClient(base_url=server.url, headers=server.headers) as program:
            made = await program.post("/api/invitations", json={"email": "zoe@example.com"})
        await page.goto(f"{server.url}{made.json()['path']}")
        await expect(page.locator("#words")).to_contain_text("invites you to be a member of Default")
        await expect(page.locator("#email")).to_have_value("zoe@example.com")
        await page.fill("#name", "Zoe")
        await page.fill("#password", PASSWORD)
        await page.fill("#again", "something else")
        await page.click("#create button.primary")
        await expect(page.locator("#problem")).to_contain_text("not the same")
        await page.fill("#again", PASSWORD)
        await page.click("#create button.primary")
        await expect(page.locator("#me")).to_have_text("Zoe")


async def test_an_invitation_that_was_used_leads_to_signing_in(tmp_path: Path) -> None:
    """R2, C8: whoever opens the link again finds the way in."""
    async with served(tmp_path) as server, browsing(server, refused=["status of 404"]) as page:
        await page.goto(f"{server.url}/invitation#used")
        await page.click("#over a")
        await expect(page).to_have_url(f"{server.url}/sign-in")


async def test_a_key_after_a_long_time_asks_for_the_password(tmp_path: Path) -> None:
    """R2, C8: whoever has proved anew who they are goes on where they were."""
    async with served(tmp_path) as server, browsing(server, refused=UNAUTHENTICATED) as page:
        store = server.gateway.store
        kept = await server.gateway.passwords.hash(PASSWORD)
        await store.create_account(Account("acc_1", "olga@example.com", "Olga", kept), "default", "local")
        cookie = (await server.gateway.auth.open_session("default", "local", 1)).partition(";")[0]
        name, _, value = cookie.partition("=")
        secure = server.url.replace("http:", "https:")
        await page.context.add_cookies([{"name": name, "value": value, "url": secure, "secure": True}])
        told = asyncio.Event()

        async def answer(dialog: Dialog) -> None:
            if dialog.message.startswith("This is the key"):
                told.set()
            await dialog.accept("robot")

        page.on("dialog", answer)
        await page.goto(server.url)
        await expect(page.locator("#me")).to_have_text("Olga")
        await page.click("#new-key")
        await page.fill("#prove-password", "something else")
        await page.click("#prove .primary")
        await expect(page.locator("#prove-problem")).to_have_text("That is not the password.")
        await page.fill("#prove-password", PASSWORD)
        await page.click("#prove .primary")
        await expect(page.locator("#prove")).to_be_hidden()
        await soon(told.wait())
        assert (await store.list_api_keys("default", "local"))[0].name == "robot"


async def test_signing_out_leaves_nothing_behind(tmp_path: Path) -> None:
    """R2, C8: the page asks to sign in again."""
    async with served(tmp_path) as server, browsing(server) as page:
        await _signed_in(page, server)
        await page.fill("#text", "half a thought")
        await page.click("#sign-out")
        await expect(page.locator("#first")).to_be_visible()
        await expect(page.locator("#notice")).to_be_hidden()
        assert await page.context.cookies() == []
        assert await page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("at_once", [True, False])
async def test_whoever_is_signed_out_elsewhere_is_told_and_loses_no_word(
    tmp_path: Path, at_once: bool
) -> None:
    """R2, C8: the page stops trying, says what happened, and goes on where it was after signing in."""
    async with served(tmp_path) as server, browsing(server, refused=UNAUTHENTICATED) as page:
        await page.add_init_script(
            "window.sockets = [];"
            "const Real = WebSocket;"
            "window.WebSocket = class extends Real { constructor(url) { super(url); sockets.push(this); } };"
        )
        await _begun(page, server)
        await _say(page, "What is 1 + 1?")
        await expect(page.locator(".message.assistant")).to_contain_text("2")
        await page.fill("#text", "half a thought")
        address = page.url
        if at_once:
            cookie = (await page.context.cookies())[0]
            told = {"cookie": f"{cookie.get('name')}={cookie.get('value')}", "origin": server.url}
            async with httpx.AsyncClient(base_url=server.url, headers=told) as elsewhere:
                assert (await elsewhere.post("/sign-out")).status_code == 204
        else:
            await page.context.clear_cookies()
            await page.evaluate("window.sockets.forEach(socket => socket.close())")
        await expect(page.locator("#notice")).to_have_text("You were signed out.")
        await page.goto(await server.new_link())
        await page.goto(address)
        await expect(page.locator("#text")).to_have_value("half a thought")
        await expect(page.locator(".message.user")).to_have_text("What is 1 + 1?")


async def test_a_team_without_an_agent_says_how_to_make_one(tmp_path: Path) -> None:
    """C8: nothing is offered that cannot be done."""
    async with served(tmp_path) as server, browsing(server) as page:
        async with httpx.AsyncClient(base_url=server.url, headers=server.headers) as program:
            for agent in (await program.get("/api/agents")).json()["items"]:
                assert (await program.delete(f"/api/agents/{agent['id']}")).status_code == 204
        await page.goto(server.link)
        await page.click("#skip")
        await expect(page.locator(".welcome")).to_contain_text("This team has no agent yet. Make one")
        for gone in ("#agents", "#new-session", "#send", "#text"):
            await expect(page.locator(gone)).to_be_hidden()


async def test_what_is_shown_of_arguments_is_what_they_are(tmp_path: Path) -> None:
    """B7: nothing is rounded, dropped or hidden from whoever approves."""
    async with served(tmp_path) as server, browsing(server) as page:
        await _signed_in(page, server)
        for text, shown in (
            ('{"a":1,"b":[true]}', '{\n  "a": 1,\n  "b": [\n    true\n  ]\n}'),
            ('{ "a" : "x  y" }', '{\n  "a": "x  y"\n}'),
            ('{"a":12345678901234567890}', '{"a":12345678901234567890}'),
            ('{"a":1,"a":2}', '{"a":1,"a":2}'),
            ("not JSON", "not JSON"),
            ('{"to":"\u202eevil"}', '{\n  "to": "\\u202eevil"\n}'),
        ):
            made = await page.evaluate(
                "text => import('/assets/elements.js').then(it => it.pretty(text))", text
            )
            assert made == shown
