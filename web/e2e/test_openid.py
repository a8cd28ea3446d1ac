"""OpenID Connect as people meet it: a real provider, a real browser, and every way that may go wrong."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from web.e2e.openid import (
    GONE_BACK,
    PROVIDER,
    agree,
    come_in,
    leave,
    let_hours_pass,
    log_in,
    newcomer,
    openid_scene,
    turn_back,
    turned_away,
    without_fonts,
)
from web.e2e.scene import PHONE, needs_chromium, slow

pytestmark = [needs_chromium, slow]

PASSWORD = "a long enough password"


async def test_a_deep_link_leads_through_the_provider_to_the_page_one_wanted(tmp_path: Path) -> None:
    """R2: the button, the provider's own pages, and back; the address keeps its query."""
    async with openid_scene(tmp_path, tenant="default") as here:
        page = await newcomer(here, [GONE_BACK])
        await come_in(here, page, "ann", "/runs?status=failed")
        await expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
        me = await here.call(page, "GET", "/api/me")
        assert (me["name"], me["role"], me["account"]["has_password"]) == ("Ann", "member", False)
        await page.go_back()
        await page.go_forward()
        await expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()


async def test_somebody_nobody_knows_is_told_what_to_do_and_can_come_as_another(tmp_path: Path) -> None:
    """R2: no team, no invitation: words on a page; the next try asks who it is."""
    async with openid_scene(tmp_path) as here:
        page = await newcomer(here, (turned_away(403), GONE_BACK), PHONE)
        await page.goto(here.url)
        await leave(page)
        await log_in(page, "zoe")
        await agree(page)
        await expect(page.get_by_role("alert")).to_contain_text("Ask for an invitation")
        await expect(page).to_have_url(f"{here.url}/sign-in")
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
        await page.reload()
        await expect(page.get_by_role("heading", name="Sign in to agio")).to_be_visible()
        await expect(page.get_by_role("alert")).to_be_hidden()
        await page.go_back()
        await page.goto(f"{here.url}/sign-in/oidc/test")
        await expect(page.get_by_role("alert")).to_contain_text("Ask for an invitation")
        await leave(page)
        await expect(page.get_by_placeholder("Enter any login")).to_be_visible()


async def test_an_invitation_is_accepted_at_the_provider(tmp_path: Path) -> None:
    """R2: for the address it names alone; whoever comes with another finds the way back to it."""
    async with openid_scene(tmp_path) as here:
        owner = await here.visitor()
        body = {"role": "admin", "email": "zoe@example.com"}
        path = (await here.call(owner, "POST", "/api/invitations", body))["path"]
        page = await newcomer(here, [turned_away(403)])
        await page.goto(f"{here.url}{path}")
        await leave(page)
        await log_in(page, "mallory")
        await agree(page)
        await expect(page.get_by_role("alert")).to_contain_text("for another email address")
        await page.get_by_role("link", name="Back to the invitation").click()
        await expect(page.get_by_role("heading", name=re.compile("^Join"))).to_be_visible()
        await page.context.clear_cookies(domain="localhost")
        await leave(page)
        await log_in(page, "zoe")
        await agree(page)
        await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        me = await here.call(page, "GET", "/api/me")
        assert (me["name"], me["role"]) == ("Zoe", "admin")


async def test_a_sign_in_elsewhere_is_linked_used_and_unlinked(tmp_path: Path) -> None:
    """R2: in the profile of an account with a password; who turns back has changed nothing."""
    async with openid_scene(tmp_path) as here:
        page = await here.visitor(expected=[turned_away(403)])
        await without_fonts(page.context)
        account = {"name": "Ann", "email": "ann@example.com", "password": PASSWORD}
        await here.call(page, "POST", "/api/account", account)
        await page.goto(f"{here.url}/settings/profile")
        await page.get_by_role("button", name=f"Link {PROVIDER}").click()
        await turn_back(page)
        await expect(page.get_by_role("heading", name="Nothing was linked")).to_be_visible()
        await page.get_by_role("link", name="Go back").click()
        await page.get_by_role("button", name=f"Link {PROVIDER}").click()
        await log_in(page, "somebody-else")
        await agree(page)
        await expect(page.get_by_text("Linked since")).to_be_visible()
        await expect(page).to_have_url(f"{here.url}/settings/profile")

        other = await newcomer(here, [turned_away(403)])
        await come_in(here, other, "somebody-else")
        assert (await here.call(other, "GET", "/api/me"))["account"]["email"] == "ann@example.com"

        await page.get_by_role("button", name=f"Unlink {PROVIDER}").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Unlink").click()
        await expect(page.get_by_text("Not linked")).to_be_visible()
        await sign_out(other)
        await leave(other)
        await log_in(other, "somebody-else")
        await expect(other.get_by_role("alert")).to_be_visible()


async def test_the_only_way_in_cannot_be_unlinked(tmp_path: Path) -> None:
    """R2: the page says what to do first."""
    async with openid_scene(tmp_path, tenant="default") as here:
        page = await newcomer(here, ["got 409 for /api/account/identities/test"])
        await come_in(here, page, "ann", "/settings/profile")
        await page.get_by_role("button", name=f"Unlink {PROVIDER}").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Unlink").click()
        await expect(page.get_by_text("last_sign_in", exact=True)).to_be_visible()
        await expect(page.get_by_text("Linked since")).to_be_visible()


async def test_an_account_without_a_password_proves_at_the_provider_who_it_is(tmp_path: Path) -> None:
    """R2: in a tab of its own, so that what was filled in goes on; somebody else's proof counts for nothing."""
    async with openid_scene(tmp_path, tenant="default", role="owner") as here:
        page = await newcomer(here, ("got 403 for /api/api-keys", turned_away(403)))
        await come_in(here, page)
        let_hours_pass(tmp_path)
        await page.goto(f"{here.url}/settings/api-keys")
        await page.get_by_role("button", name="New key").first.click()
        await page.get_by_role("dialog").get_by_label("Name").fill("robot")
        await page.get_by_role("button", name="Create key").click()
        wrong = await open_proof(page)
        await log_in(wrong, "mallory")
        await agree(wrong)
        await expect(wrong.get_by_role("alert")).to_contain_text("as a different person")
        await wrong.close()
        proof = await open_proof(page)
        await log_in(proof)
        await agree(proof)
        await expect(proof.get_by_role("heading", name="Confirmed")).to_be_visible()
        await expect(page.get_by_role("heading", name='API key "robot" created')).to_be_visible()


async def test_who_turns_back_at_the_provider_can_try_again_and_still_gets_there(tmp_path: Path) -> None:
    """R2: `access_denied` is a page with words, which remembers where one wanted to go."""
    async with openid_scene(tmp_path, tenant="default") as here:
        page = await newcomer(here, [turned_away(403)])
        await page.goto(f"{here.url}/agents")
        await leave(page)
        await turn_back(page)
        await expect(page.get_by_role("alert")).to_contain_text("access_denied")
        await leave(page)
        await log_in(page)
        await agree(page)
        await expect(page).to_have_url(f"{here.url}/agents")


async def test_a_provider_that_does_not_work_leaves_a_page_with_other_ways(tmp_path: Path) -> None:
    """R2: one that is not there, one that does not know this server's secret, one nobody named."""
    gone = {"id": "gone", "name": "Gone", "issuer": "http://127.0.0.1:9"}
    broken = {"id": "broken", "name": "Broken", "client_secret": "wrong"}
    async with openid_scene(tmp_path, (gone, broken), tenant="default") as here:
        wrong = (
            r"got 502 for /sign-in/oidc/gone\?return_to=%2Fagents",
            turned_away(502, "broken"),
            "got 404 for /sign-in/oidc/nobody",
            r"got 422 for /sign-in/oidc/test\?purpose=nonsense",
            turned_away(422),
        )
        page = await newcomer(here, wrong)
        await page.goto(f"{here.url}/agents")
        await leave(page, "Gone")
        await expect(page.get_by_role("alert")).to_contain_text("Gone")
        await leave(page, "Broken")
        await log_in(page)
        await agree(page)
        await expect(page.get_by_role("alert")).to_contain_text("Broken")
        for path in ("nobody", "test?purpose=nonsense", f"test/callback?state={'x' * 5000}"):
            await page.goto(f"{here.url}/sign-in/oidc/{path}")
            await expect(page.get_by_role("alert")).to_be_visible()
            await expect(page.get_by_role("link", name=f"Continue with {PROVIDER}")).to_be_visible()


async def test_a_sign_in_that_is_over_is_a_page_with_a_way_on(tmp_path: Path) -> None:
    """R2: the same answer twice, in this browser and in another, and the browser's way back."""
    async with openid_scene(tmp_path, tenant="default") as here:
        page = await newcomer(here, (turned_away(400), GONE_BACK))
        answers: list[str] = []
        page.on("request", lambda asked: answers.append(asked.url) if "/callback?" in asked.url else None)
        await come_in(here, page)
        await page.goto(answers[0])
        await expect(page.get_by_role("heading", name="You are already signed in")).to_be_visible()
        await page.get_by_role("button", name="Use another account").click()
        await leave(page)
        await expect(page.get_by_placeholder("Enter any login")).to_be_visible()
        await page.goto(answers[0])
        await page.get_by_role("link", name="Go to chat").click()
        await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        stranger = await newcomer(here, [turned_away(400)])
        await stranger.goto(answers[0])
        await expect(stranger.get_by_role("alert")).to_contain_text("Start again")
        await leave(stranger)
        await expect(stranger.get_by_placeholder("Enter any login")).to_be_visible()


async def test_who_signs_out_is_asked_at_the_provider_before_they_are_in_again(tmp_path: Path) -> None:
    """R2: the provider's session lives on, and the page says so."""
    async with openid_scene(tmp_path, tenant="default") as here:
        page = await newcomer(here)
        await come_in(here, page)
        await sign_out(page)
        still = f"At {PROVIDER} you may still be signed in"
        await expect(page.get_by_role("status").filter(has_text=still)).to_be_visible()
        await leave(page)
        await log_in(page, "bob")
        await agree(page)
        await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        assert (await here.call(page, "GET", "/api/me"))["name"] == "Bob"


async def sign_out(page: Page) -> None:
    """Sign out by the menu."""
    await page.get_by_role("button", name=re.compile("member|admin|owner")).click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in to agio")).to_be_visible()


async def open_proof(page: Page) -> Page:
    """Open the provider's tab that a sensitive change asks for."""
    async with page.context.expect_page() as opened:
        await page.get_by_role("link", name=f"Confirm with {PROVIDER}").click()
    return await opened.value
