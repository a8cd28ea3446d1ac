"""Sign-in at oidc-provider, a certified OpenID provider: the whole road of a person's browser, over real sockets."""

import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from agio.core.identity.account import Account
from agio.core.identity.oidc import OidcProvider
from agio.core.identity.principal import Role
from agio.core.identity.team import Invitation
from agio.core.store.store import Store
from agio.gateway.auth.authenticator import COOKIE, hash_secret
from agio.server.oidc import open_oidc
from tests.support.house import code_of
from tests.support.oidc_server import CLIENT_ID, CLIENT_SECRET, Browser, OidcServer
from tests.support.served import served

PASSWORD = "$argon2id$of-nobody"


class Scene(Struct):
    """A server, and the provider people sign in at."""

    url: str
    store: Store
    provider: OidcServer

    def browser(self) -> Browser:
        """A browser nobody has used."""
        return Browser(self.url)

    async def invite(self, email: str | None, role: Role = "admin", tenant: str = "other") -> str:
        """Invite somebody; returns the token of the link."""
        now = time.time_ns() // 1_000_000
        token = f"token-for-{email}-into-{tenant}"
        invitation = Invitation(
            id=f"inv_{now}",
            tenant=tenant,
            email=email,
            role=role,
            invited_by="local",
            created_at=now,
            expires_at=now + 3_600_000,
        )
        await self.store.add_invitation(invitation, hash_secret(token))
        return token


@pytest.fixture
def oidc_server() -> Generator[OidcServer]:
    """The provider."""
    with OidcServer() as server:
        yield server


@asynccontextmanager
async def scene(
    folder: Path,
    provider: OidcServer,
    *,
    tenant: str | None = "default",
    methods: Sequence[str] = ("client_secret_basic",),
    domains: Sequence[str] = (),
) -> AsyncGenerator[Scene]:
    """Serve, with the provider as `test` (and `test-1`... for the other ways a client proves itself)."""
    async with served(folder) as place:
        names = ["test" if number == 0 else f"test-{number}" for number in range(len(methods))]
        provider.register(*(f"{place.url}/sign-in/oidc/{name}/callback" for name in names), methods=methods)
        oidc = await open_oidc(
            place.gateway.store,
            [
                OidcProvider(
                    id=name,
                    name="The provider",
                    issuer=provider.url,
                    client_id=name.replace("test", CLIENT_ID),
                    client_secret=None if method == "none" else CLIENT_SECRET,
                    tenant=tenant,
                    domains=domains,
                )
                for name, method in zip(names, methods, strict=True)
            ],
            place.url,
        )
        object.__setattr__(place.gateway, "oidc", oidc)
        await place.gateway.store.add_tenant("other", "The others")
        await place.gateway.store.add_user("other", "local", "Somebody", "owner")
        yield Scene(place.url, place.gateway.store, provider)
        await oidc.aclose()


async def test_somebody_new_comes_into_the_team_and_is_known_the_next_time(
    tmp_path: Path, oidc_server: OidcServer
) -> None:
    """R2: sign in, sign out, sign in again at once, and in another browser: always the same user."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser, here.browser() as other:
        answered = await browser.sign_in("?return_to=/agents")
        assert (answered.status_code, answered.headers["location"]) == (303, "/agents"), answered.text
        assert browser.prompts == ["login", "consent"]
        me = await browser.me()
        assert me is not None
        assert (me["tenant"], me["name"], me["role"]) == ("default", "Ann", "member")
        assert (await browser.ask("POST", "/sign-out")).status_code == 204
        assert await browser.me() is None
        await browser.sign_in()
        assert browser.prompts == ["login", "consent"]
        again = await browser.me()
        assert again is not None
        assert again["user"] == me["user"]
        await other.sign_in(login="ann")
        elsewhere = await other.me()
        assert elsewhere is not None
        assert elsewhere["user"] == me["user"]
        account = await here.store.find_account("Ann@Example.com")
        assert account is not None
        assert account.password_hash is None


async def test_every_way_a_client_proves_itself_is_spoken(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: a secret in the header, and none at all, with PKCE alone."""
    methods = ("client_secret_basic", "none")
    async with scene(tmp_path, oidc_server, methods=methods) as here:
        for provider in ("test", "test-1"):
            async with here.browser() as browser:
                assert (await browser.sign_in(provider=provider)).status_code == 303
                assert browser.cookies[COOKIE]


async def test_whoever_says_no_is_not_signed_in(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: a person who turns back at the provider is told so on a page; nothing is kept."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser:
        assert code_of(await browser.sign_in(deny=True)) == "sign_in_denied"
        assert COOKIE not in browser.cookies
        assert not await here.store.has_account()


async def test_an_address_nobody_verified_lets_nobody_in(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: not into the team, not to an invitation for that address."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser:
        assert code_of(await browser.sign_in(login="unverified-ann")) == "email_not_verified"
        token = await here.invite("unverified-ann@example.com")
        answered = await browser.sign_in(f"?invitation={token}", login="unverified-ann")
        assert code_of(answered) == "email_not_verified"
        assert not await here.store.has_account()


async def test_without_a_team_only_those_who_were_invited_come_in(
    tmp_path: Path, oidc_server: OidcServer
) -> None:
    """R2: an invitation joins whoever has its address, verified, once; others and strangers are refused."""
    async with scene(tmp_path, oidc_server, tenant=None) as here, here.browser() as browser:
        assert code_of(await browser.sign_in()) == "not_invited"
        token = await here.invite("bob@example.com")
        assert code_of(await browser.sign_in(f"?invitation={token}")) == "invitation_not_yours"
        assert not await here.store.has_account()
        token = await here.invite("ann@example.com")
        assert (await browser.sign_in(f"?invitation={token}")).status_code == 303
        me = await browser.me()
        assert me is not None
        assert (me["tenant"], me["role"]) == ("other", "admin")
        assert (await browser.sign_in()).status_code == 303
        async with here.browser() as late:
            answered = await late.sign_in(f"?invitation={token}", login="cid")
            assert code_of(answered) == "invitation_not_found"
        second = await here.invite("ann@example.com", "member", "default")
        assert (await browser.sign_in(f"?invitation={second}")).status_code == 303
        account = await here.store.find_identity(here.provider.url, "ann")
        assert account is not None
        assert {team.tenant for team in await here.store.memberships(account.id)} == {"default", "other"}
        third = await here.invite(None, "member", "default")
        assert (await browser.sign_in(f"?invitation={third}")).status_code == 303
        assert await here.store.find_invitation(hash_secret(third)) is not None


async def test_whoever_was_removed_does_not_come_back_by_signing_in(
    tmp_path: Path, oidc_server: OidcServer
) -> None:
    """R2: somebody whose identity is known but who is in no team any more."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser:
        await browser.sign_in()
        me = await browser.me()
        assert me is not None
        await here.store.remove_member("default", me["user"])
        del browser.cookies[COOKIE]
        assert code_of(await browser.sign_in()) == "no_membership"
        assert COOKIE not in browser.cookies


async def test_an_account_with_the_same_address_is_not_taken_over_but_linked(
    tmp_path: Path, oidc_server: OidcServer
) -> None:
    """R2: whoever has a password signs in with it first and links; from then on both ways lead to one account."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser, here.browser() as other:
        await here.store.add_user("default", "ann", "Ann", "owner")
        await here.store.create_account(
            Account("acc_1", "ann@example.com", "Ann", PASSWORD), "default", "ann"
        )
        assert code_of(await browser.sign_in()) == "identity_not_linked"
        assert await here.store.find_identity(here.provider.url, "ann") is None

        browser.cookies[COOKIE] = await _session(here.store, "default", "ann")
        began = await browser.ask("POST", "/api/account/identities/test?return_to=/account")
        assert began.status_code == 200, began.text
        answered = await browser.go(began.json()["url"])
        assert (answered.status_code, answered.headers["location"]) == (303, "/account"), answered.text
        await other.sign_in()
        me = await other.me()
        assert me is not None
        assert (me["user"], me["role"]) == ("ann", "owner")

        await here.store.add_user("default", "bob", "Bob", "member")
        await here.store.create_account(
            Account("acc_2", "bob@example.com", "Bob", PASSWORD), "default", "bob"
        )
        other.cookies = {COOKIE: await _session(here.store, "default", "bob")}
        began = await other.ask("POST", "/api/account/identities/test")
        assert code_of(await other.go(began.json()["url"])) == "identity_taken"


async def test_a_link_is_for_whoever_began_it(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: somebody who signs in meanwhile in the same browser gets nobody else's identity."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser:
        for user in ("ann", "bob"):
            await here.store.add_user("default", user, user, "member")
        browser.cookies[COOKIE] = await _session(here.store, "default", "ann")
        began = await browser.ask("POST", "/api/account/identities/test")
        browser.cookies[COOKIE] = await _session(here.store, "default", "bob")
        assert code_of(await browser.go(began.json()["url"])) == "invalid_sign_in_state"
        assert not await here.store.has_account()


async def test_a_user_without_an_account_gets_one_by_linking(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: the first owner, who came by the link the server printed, needs no password."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser, here.browser() as other:
        browser.cookies[COOKIE] = await _session(here.store, "default", "local")
        before = await browser.me()
        began = await browser.ask("POST", "/api/account/identities/test")
        assert (await browser.go(began.json()["url"])).status_code == 303
        await other.sign_in()
        me = await other.me()
        assert before is not None
        assert me is not None
        assert (me["user"], me["role"], me["name"]) == ("local", before["role"], "Ann")
        listed = (await other.ask("GET", "/api/account/identities")).json()["items"]
        assert [(one["provider"], one["name"]) for one in listed] == [("test", "The provider")]
        path = "/api/account/identities/test"
        assert code_of(await other.ask("DELETE", path)) == "last_sign_in"
        account = await here.store.find_account("ann@example.com")
        assert account is not None
        await here.store.set_password(account.id, PASSWORD)
        assert (await other.ask("DELETE", path)).status_code == 204
        assert code_of(await other.ask("DELETE", path)) == "identity_not_found"
        assert code_of(await other.sign_in()) == "identity_not_linked"


async def test_confirming_asks_the_person_anew_and_makes_the_session_fresh(
    tmp_path: Path, oidc_server: OidcServer
) -> None:
    """R2: a sensitive change needs a proof of now: the provider asks again, though the person is signed in there."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser:
        await browser.sign_in()
        old = hash_secret(browser.cookies[COOKIE])
        before = await here.store.find_web_session(old)
        browser.prompts.clear()
        answered = await browser.sign_in("?purpose=confirm&return_to=/team")
        assert (answered.status_code, answered.headers["location"]) == (303, "/team"), answered.text
        assert browser.prompts == ["login"]
        after = await here.store.find_web_session(old)
        assert before is not None
        assert after is not None
        assert (after.authenticated_at or 0) > (before.authenticated_at or 0)
        browser.leave_provider()
        assert code_of(await browser.sign_in("?purpose=confirm", login="bob")) == "not_confirmed"
        assert await here.store.find_web_session(old) == after


async def test_confirming_needs_somebody_who_is_signed_in(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: nobody, or somebody who shows an API key, cannot make a browser's session fresh."""
    async with scene(tmp_path, oidc_server) as here, here.browser() as browser:
        answered = await browser.ask("GET", "/sign-in/oidc/test?purpose=confirm")
        assert (answered.status_code, code_of(answered)) == (401, "unauthenticated")
        answered = await browser.ask("GET", "/sign-in/oidc/test?purpose=link")
        assert (answered.status_code, code_of(answered)) == (422, "invalid_query")


async def test_a_person_gets_a_page_they_understand(tmp_path: Path, oidc_server: OidcServer) -> None:
    """R2: for a browser an error is a page with words and a code."""
    async with scene(tmp_path, oidc_server, domains=["elsewhere.example"]) as here, here.browser() as browser:
        assert code_of(await browser.sign_in()) == "email_not_allowed"
        page = await browser.ask("GET", "/sign-in/oidc/nobody", accept="text/html")
        assert page.status_code == 404
        assert "&quot;sign_in_provider_not_found&quot;" in page.text


async def _session(store: Store, tenant: str, user: str) -> str:
    """Sign somebody in as a password would; returns what the cookie has."""
    from agio.gateway.auth.authenticator import Authenticator

    return (await Authenticator(store).open_session(tenant, user)).partition(";")[0].partition("=")[2]
