"""Settings as a team uses them: invitations, roles, keys, the look of the pages."""

import re
from pathlib import Path

import httpx
from playwright.async_api import Page, expect

from web.e2e.scene import Scene, needs_chromium, say, scene, slow
from web.e2e.tour import settled

pytestmark = [needs_chromium, slow]

PASSWORD = "a long enough password"


async def with_account(here: Scene) -> Page:
    """Open a page whose owner has made an account."""
    page = await here.visitor()
    body = {"name": "Ann", "email": "ann@example.com", "password": PASSWORD}
    await here.call(page, "POST", "/api/account", body)
    await page.reload()
    return page


async def test_somebody_is_invited_joins_talks_and_is_removed(tmp_path: Path) -> None:
    """C8, R2: two people, two browsers; who is removed is out at once, and may not build before."""
    async with scene(tmp_path) as here:
        owner = await with_account(here)
        await owner.goto(f"{here.url}/settings/members")
        await owner.get_by_role("button", name=re.compile("Invite")).click()
        await owner.get_by_role("button", name="Create link").click()
        link = await owner.get_by_role("dialog").locator("code").inner_text()
        await owner.get_by_role("button", name="Done").click()

        out = (
            "got 40[13] for /api/.*",
            "error WebSocket connection to '/realtime' failed: .+",
        )
        context = await here.context(expected=out)
        guest = await context.new_page()
        await guest.goto(link)
        await guest.get_by_label("Name").fill("Zoe")
        await guest.get_by_label("Email").fill("zoe@example.com")
        await guest.get_by_label("Password", exact=True).fill(PASSWORD)
        await guest.get_by_label("Confirm password").fill(PASSWORD)
        await guest.get_by_role("button", name=re.compile("^(Join|Create)")).click()
        await expect(guest.get_by_role("textbox", name="Message")).to_be_visible()
        await say(guest, "What is 6 * 7?")
        await expect(guest.get_by_text("The tool says")).to_contain_text("42")
        await guest.goto(f"{here.url}/agents")
        await expect(guest.get_by_role("heading", name="demo")).to_be_visible()
        await expect(guest.get_by_role("link", name="New agent")).to_be_hidden()

        await expect(owner.get_by_text("zoe@example.com")).to_be_visible()
        await owner.get_by_role("button", name="More actions for Zoe").click()
        await owner.get_by_role("menuitem", name="Create sign-in link").click()
        back = await owner.get_by_role("dialog").locator("code").inner_text()
        await owner.keyboard.press("Escape")
        again = await (await here.context(expected=out)).new_page()
        await again.goto(back)
        await expect(again.get_by_role("heading", name="Welcome, Zoe")).to_be_visible()
        assert (await here.call(again, "GET", "/api/me"))["name"] == "Zoe"
        members = await here.call(owner, "GET", "/api/members")
        zoe = next(member["user"] for member in members["items"] if member["name"] == "Zoe")
        await here.call(owner, "DELETE", f"/api/members/{zoe}")
        await expect(guest).to_have_url(re.compile("/sign-in"))


async def test_a_member_sees_only_what_a_member_can_open(tmp_path: Path) -> None:
    """C8, R2: no page that is offered is refused anything; an address of another page says whom to ask."""
    async with scene(tmp_path) as here:
        owner = await with_account(here)
        tool = {"name": "orders", "description": "Find orders.", "method": "GET", "url": "https://a.example/"}
        made = await here.call(owner, "POST", "/api/agent-tools", tool)
        agent = await here.make_agent(owner)
        invited = await here.call(owner, "POST", "/api/invitations", {"role": "member"})
        member = await (await here.context()).new_page()  # where any refusal fails the test
        joining = {"token": invited["token"], "name": "Zoe", "email": "zoe@example.com", "password": PASSWORD}
        await here.call(member, "POST", "/api/invitations/accept", joining)

        shown: set[str] = set()
        for start in ("/set-up", "/chat", "/settings", f"/agents/{agent}", "/runs?user=all"):
            await member.goto(f"{here.url}{start}")
            await expect(member.get_by_role("heading", level=1).first).to_be_visible()
            links = await member.get_by_role("link").evaluate_all("all => all.map(one => one.pathname)")
            shown |= {path for path in links if path != "/api/openapi.json"}
        for path in sorted(shown):
            await member.goto(f"{here.url}{path}")
            await expect(member.get_by_role("heading", level=1).first).to_be_visible()
            await settled(member)
            await expect(member.get_by_role("heading", name="You don't have access")).to_have_count(0)
        kept = {"/tools", "/tools/new", f"/tools/{made['id']}", "/agents/new"}
        kept |= {f"/settings/{section}" for section in ("providers", "members", "audit")}
        assert not kept & shown
        for path in sorted(kept):
            await member.goto(f"{here.url}{path}")
            await expect(
                member.get_by_role("heading", name="You don't have access to this page")
            ).to_be_visible()
            await expect(member.get_by_text("Ask an owner or admin of your team.")).to_be_visible()


async def test_a_key_is_shown_once_and_works_until_it_is_revoked(tmp_path: Path) -> None:
    """C8, R2: a program uses it; the page never shows it again."""
    async with scene(tmp_path) as here:
        page = await with_account(here)
        await page.goto(f"{here.url}/settings/api-keys")
        await page.get_by_role("button", name="New key").first.click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Name").fill("robot")
        await dialog.get_by_role("button", name="Create key").click()
        key = await dialog.locator("code").first.inner_text()
        async with httpx.AsyncClient(
            base_url=here.url, headers={"Authorization": f"Bearer {key}"}, timeout=60
        ) as robot:
            assert (await robot.get("/api/me")).status_code == 200
            await page.reload()
            await expect(page.get_by_text("robot")).to_be_visible()
            assert key not in await page.content()
            await page.get_by_role("button", name="Revoke robot").click()
            await page.get_by_role("alertdialog").get_by_role("button", name=re.compile("Revoke")).click()
            await expect(page.get_by_role("button", name="Revoke robot")).to_be_hidden()
            assert (await robot.get("/api/me")).status_code == 401


async def test_the_look_is_chosen_and_kept(tmp_path: Path) -> None:
    """C8: light, dark or as the system says, also after a reload."""
    async with scene(tmp_path) as here:
        page = await here.visitor()
        await page.goto(f"{here.url}/settings/appearance")
        before = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.get_by_role("radio", name=re.compile("^Light")).focus()
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_role("radio", name=re.compile("^Dark"))).to_be_checked()
        await page.reload()
        await expect(page.get_by_role("radio", name=re.compile("^Dark"))).to_be_checked()
        await expect(page.locator("body")).not_to_have_css("background-color", before)
