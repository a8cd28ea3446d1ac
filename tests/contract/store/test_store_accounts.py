"""Accounts, links and sessions in browsers are kept alike on every store."""

import asyncio
import time

import pytest

from agio.core.identity.account import Account
from agio.core.identity.principal import PERMISSIONS, ApiKey, Principal, WebSession
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import person

NOW = time.time_ns() // 1_000_000
SOON = NOW + 3_600_000


def account(name: str = "ann", email: str | None = None, password: str | None = "hash") -> Account:
    return Account(f"acc_{name}", email or f"{name}@example.com", name.title(), password)


async def owner(store: Store, name: str = "ann", tenant: str = "acme") -> Account:
    """An owner of a tenant with an account, whose user id is the name."""
    await store.add_tenant(tenant, tenant.title())
    await store.add_user(tenant, name, name, "owner")
    await store.create_account(account(name), tenant, name)
    return account(name)


async def browser(store: Store, session: str, tenant: str, user: str, expires_at: int = SOON) -> bytes:
    """A browser that is signed in; returns the hash it is found by."""
    await store.add_web_session(
        WebSession(
            id=session,
            tenant=tenant,
            user=user,
            token_hash=session.encode(),
            authenticated_at=NOW,
            expires_at=expires_at,
        )
    )
    return session.encode()


async def test_a_link_is_taken_by_the_first_of_fifty(store: Store) -> None:
    """R2: one delete decides, whichever process asks."""
    await store.add_sign_in_link("default", "local", b"link", SOON)
    taken = await asyncio.gather(*(store.take_sign_in_link(b"link") for _ in range(50)))
    assert (taken.count(("default", "local")), taken.count(None)) == (1, 49)


async def test_a_link_that_is_over_signs_nobody_in(store: Store) -> None:
    """R2: too old, unknown, or of somebody who is no member any more; nobody can be given one who is not there."""
    await person(store, "acme", "ann")
    await store.add_sign_in_link("acme", "ann", b"old", NOW - 1)
    await store.add_sign_in_link("acme", "ann", b"removed", SOON)
    assert await store.take_sign_in_link(b"old") is None
    assert await store.take_sign_in_link(b"other") is None
    await store.remove_member("acme", "ann")
    assert await store.take_sign_in_link(b"removed") is None
    with pytest.raises(UserError, match="user_not_found"):
        await store.add_sign_in_link("acme", "ann", b"more", SOON)
    with pytest.raises(UserError, match="user_not_found"):
        await store.add_sign_in_link("acme", "bob", b"more", SOON)


async def test_an_owners_link_is_for_members_of_one_team(store: Store) -> None:
    """R2, S14: nobody else makes one, none is for an owner, and none for an account that is in another team."""
    await store.add_user("default", "mia", "Mia", "member")
    await store.add_sign_in_link("default", "mia", b"1", SOON, "local")
    await store.add_sign_in_link("default", "mia", b"2", SOON, "local")
    assert [await store.take_sign_in_link(token) for token in (b"1", b"2")] == [None, ("default", "mia")]
    for user, made_by in (("mia", "mia"), ("local", "local")):
        with pytest.raises(UserError, match="forbidden"):
            await store.add_sign_in_link("default", user, b"3", SOON, made_by)
    await store.create_account(account("mia"), "default", "mia")
    await store.add_sign_in_link("default", "mia", b"4", SOON, "local")
    await store.create_tenant("Other", "acc_mia", "Mia")
    with pytest.raises(UserError, match="member_elsewhere"):
        await store.add_sign_in_link("default", "mia", b"5", SOON, "local")
    assert await store.take_sign_in_link(b"4") is None


async def test_an_account_is_made_once_for_a_user(store: Store) -> None:
    """R2: the first account is the owner's; it takes its name, and its links are void from then on."""
    assert not await store.has_account()
    await store.add_sign_in_link("default", "local", b"link", SOON)
    await store.create_account(account(), "default", "local")
    assert await store.has_account()
    assert await store.get_account("acc_ann") == account()
    assert await store.get_user("default", "local") == ("Ann", "owner")
    assert await store.take_sign_in_link(b"link") is None
    for given, code in (
        ((account("bob"), "default", "local"), "account_exists"),
        ((account("bob"), "default", "nobody"), "user_not_found"),
    ):
        with pytest.raises(UserError, match=code):
            await store.create_account(*given)
    await person(store, "acme", "bob")
    with pytest.raises(UserError, match="email_taken"):
        await store.create_account(account("bob", "ANN@example.com"), "acme", "bob")
    assert await store.find_account("bob@example.com") is None
    with pytest.raises(UserError, match="account_not_found"):
        await store.get_account("acc_bob")


async def test_of_many_accounts_for_one_user_or_one_address_one_is_made(store: Store) -> None:
    """R2: whoever is second is told so."""
    await person(store, "acme", "ann")
    made = await asyncio.gather(
        *(store.create_account(account(f"a{number}"), "acme", "ann") for number in range(8)),
        return_exceptions=True,
    )
    assert made.count(None) == 1
    assert {error.code for error in made if isinstance(error, UserError)} == {"account_exists"}
    for number in range(8):
        await person(store, "acme", f"user{number}")
    made = await asyncio.gather(
        *(
            store.create_account(account(f"b{number}", "same@example.com"), "acme", f"user{number}")
            for number in range(8)
        ),
        return_exceptions=True,
    )
    assert made.count(None) == 1
    assert {error.code for error in made if isinstance(error, UserError)} == {"email_taken"}


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("Ann@Example.COM", "ann@example.com"),
        ("ann@example.com", " ANN@EXAMPLE.com "),
        ("jos\u00e9@example.com", "JOSE\u0301@example.com"),
        ("\u00c5sa@example.com", "a\u030asa@example.com"),
    ],
)
async def test_an_address_is_found_however_it_is_written(store: Store, kept: str, asked: str) -> None:
    """R2: case and the composition of characters make no second account."""
    await person(store, "acme", "ann")
    await person(store, "acme", "bob")
    await store.create_account(account("ann", kept), "acme", "ann")
    found = await store.find_account(asked)
    assert found is not None
    assert found.id == "acc_ann"
    with pytest.raises(UserError, match="email_taken"):
        await store.create_account(account("bob", asked), "acme", "bob")


async def test_a_person_changes_name_address_and_password(store: Store) -> None:
    """R2: the name is the same in every team; an address is one person's."""
    await owner(store, "ann")
    await owner(store, "bob", "other")
    second = await store.create_tenant("Second", "acc_ann", "Ann")
    changed = await store.change_account("acc_ann", "Anna", "Anna@Example.com")
    assert changed == Account("acc_ann", "anna@example.com", "Anna", "hash")
    assert (await store.get_user("acme", "ann"))[0] == "Anna"
    assert (await store.get_user(second.tenant, second.user))[0] == "Anna"
    assert (await store.get_user("other", "bob"))[0] == "Bob"
    with pytest.raises(UserError, match="email_taken"):
        await store.change_account("acc_ann", "Anna", "BOB@example.com")
    with pytest.raises(UserError, match="account_not_found"):
        await store.change_account("acc_x", "X", "x@example.com")
    await store.set_password("acc_ann", "new")
    await store.set_password("acc_ann", "lost", instead_of="hash")
    assert (await store.get_account("acc_ann")).password_hash == "new"
    await store.set_password("acc_ann", "newer", instead_of="new")
    assert (await store.get_account("acc_ann")).password_hash == "newer"
    with pytest.raises(UserError, match="account_not_found"):
        await store.set_password("acc_x", "hash")


async def test_a_credential_stands_for_what_its_user_may_do(store: Store) -> None:
    """R2: role, account and the time of signing in go with it; a key has what both it and its user's role allow."""
    await owner(store)
    key = ApiKey("key_a", "acme", "ann", "k", "agio_", 1, permissions=frozenset({"use", "own"}))
    await store.add_api_key(key, b"key")
    found = await store.find_api_key(b"key")
    assert found == Principal("acme", "ann", "owner", "key_a", frozenset({"use", "own"}), "acc_ann")
    cookie = await browser(store, "web_a", "acme", "ann")
    signed_in = Principal("acme", "ann", "owner", "web_a", PERMISSIONS["owner"], "acc_ann", NOW)
    assert await store.find_web_session(cookie) == signed_in
    await store.add_user("acme", "olga", "Olga", "owner")
    await store.set_role("acme", "ann", "member")
    found = await store.find_api_key(b"key")
    assert found is not None
    assert (found.role, found.permissions) == ("member", {"use"})
    assert [kept.permissions for kept in await store.list_api_keys("acme", "ann")] == [{"use", "own"}]


async def test_a_key_is_good_until_its_time_is_over(store: Store) -> None:
    """R2: an expired key stands for nobody."""
    await store.add_api_key(ApiKey("k1", "default", "local", "k", "p", 1, expires_at=NOW - 1), b"old")
    await store.add_api_key(ApiKey("k2", "default", "local", "k", "p", 1, expires_at=SOON), b"good")
    assert await store.find_api_key(b"old") is None
    assert (await store.find_api_key(b"good")) is not None
    assert [found.credential for found in await store.find_credentials(["k1", "k2", "k3"])] == ["k2"]


async def test_credentials_are_looked_up_as_they_stand_now(store: Store) -> None:
    """R2: keys and browsers together; those that ended, expired or belong to nobody any more are not there."""
    await owner(store)
    await person(store, "acme", "bob")
    await store.add_api_key(ApiKey("key_a", "acme", "ann", "k", "p", 1), b"a")
    await store.add_api_key(ApiKey("key_b", "acme", "bob", "k", "p", 1), b"b")
    await store.add_api_key(ApiKey("key_c", "acme", "ann", "k", "p", 1), b"c")
    await browser(store, "web_a", "acme", "ann")
    await browser(store, "web_b", "acme", "bob")
    await browser(store, "web_old", "acme", "ann", NOW - 1)
    await store.revoke_api_key("acme", "ann", "key_c")
    every = ["key_a", "key_b", "key_c", "web_a", "web_b", "web_old", "nothing"]
    assert {found.credential for found in await store.find_credentials(every)} == {
        "key_a", "key_b", "web_a", "web_b",
    }  # fmt: skip
    await store.remove_member("acme", "bob")
    found = {principal.credential: principal for principal in await store.find_credentials(every)}
    assert set(found) == {"key_a", "web_a"}
    assert (found["web_a"].account, found["web_a"].authenticated_at) == ("acc_ann", NOW)
    assert await store.find_credentials([]) == []


async def test_sessions_end_everywhere_but_where_one_is(store: Store) -> None:
    """R2: an account's in every team, or a user's who has none; nobody else's."""
    await owner(store)
    second = await store.create_tenant("Second", "acc_ann", "Ann")
    await person(store, "acme", "bob")
    for session, tenant, user in (
        ("web_1", "acme", "ann"),
        ("web_2", "acme", "ann"),
        ("web_3", second.tenant, second.user),
        ("web_4", "acme", "bob"),
        ("web_5", "acme", "bob"),
    ):
        await browser(store, session, tenant, user)
    left = ["web_1", "web_2", "web_3", "web_4", "web_5"]
    assert await store.end_web_sessions("acc_ann", but="web_2") == 2
    assert {found.credential for found in await store.find_credentials(left)} == {"web_2", "web_4", "web_5"}
    assert await store.end_web_sessions("acc_ann") == 1
    assert await store.end_user_sessions("acme", "bob") == 2
    assert await store.find_credentials(left) == []


async def test_whoever_proves_anew_who_they_are_has_just_done_so(store: Store) -> None:
    """R2: the time of the session moves, its end does not."""
    await store.add_web_session(
        WebSession(
            id="web", tenant="default", user="local", token_hash=b"t", authenticated_at=5, expires_at=SOON
        )
    )
    await store.refresh_web_session(b"t")
    found = await store.find_web_session(b"t")
    assert found is not None
    assert found.authenticated_at is not None
    assert found.authenticated_at >= NOW


async def test_a_browser_switches_to_a_team_of_its_account(store: Store) -> None:
    """R2: under a new secret and a new id, for as long as before; a foreign team is not there."""
    await owner(store)
    second = await store.create_tenant("Second", "acc_ann", "Ann")
    await owner(store, "bob", "other")
    cookie = await browser(store, "web_1", "acme", "ann")
    for tenant in ("other", "nothing", "default"):
        with pytest.raises(UserError, match="tenant_not_found"):
            await store.switch_tenant(cookie, tenant, "web_2", b"new")
    assert await store.find_web_session(cookie) is not None
    assert await store.switch_tenant(cookie, second.tenant, "web_2", b"new") == second
    assert await store.find_web_session(cookie) is None
    found = await store.find_web_session(b"new")
    assert found is not None
    assert (found.tenant, found.user, found.credential) == (second.tenant, second.user, "web_2")
    assert found.authenticated_at == NOW
    with pytest.raises(UserError, match="tenant_not_found"):
        await store.switch_tenant(cookie, "acme", "web_3", b"again")


async def test_a_user_without_an_account_switches_nowhere(store: Store) -> None:
    """R2: only a person can be in several teams."""
    await store.add_tenant("acme", "Acme")
    cookie = await browser(store, "web_1", "default", "local")
    for tenant in ("acme", "default"):
        with pytest.raises(UserError, match="tenant_not_found"):
            await store.switch_tenant(cookie, tenant, "web_2", b"new")


async def test_somebody_who_signs_in_elsewhere_has_an_account(store: Store) -> None:
    """R2: issuer and subject name one account; a new one is a member of the tenant."""
    await store.add_tenant("acme", "Acme")
    user = await store.join_by_identity(account(password=None), "https://id", "42", "acme", "member")
    assert await store.find_identity("https://id", "42") == account(password=None)
    assert await store.find_identity("https://id", "43") is None
    assert await store.find_identity("https://other", "42") is None
    assert [(team.tenant, team.user, team.role) for team in await store.memberships("acc_ann")] == [
        ("acme", user, "member")
    ]
    await store.add_identity("acc_ann", "https://other", "1")
    await store.add_identity("acc_ann", "https://other", "1")
    for who, subject, tenant, code in (
        (account("bob", "ANN@example.com"), "9", "acme", "email_taken"),
        (account("bob"), "42", "acme", "identity_taken"),
        (account("bob"), "9", "nothing", "tenant_not_found"),
    ):
        with pytest.raises(UserError, match=code):
            await store.join_by_identity(who, "https://id", subject, tenant, "member")
    assert await store.find_account("bob@example.com") is None
    await owner(store, "bob", "other")
    with pytest.raises(UserError, match="identity_taken"):
        await store.add_identity("acc_bob", "https://id", "42")
    with pytest.raises(UserError, match="account_not_found"):
        await store.add_identity("acc_x", "https://id", "x")


async def test_a_sign_in_elsewhere_is_remembered_once(store: Store) -> None:
    """R2: whoever comes back first is expected, nobody after them, and nobody too late."""
    await store.add_sign_in_flow(b"state", b"{}", SOON)
    await store.add_sign_in_flow(b"late", b"{}", NOW - 1)
    taken = await asyncio.gather(*(store.take_sign_in_flow(b"state") for _ in range(10)))
    assert taken.count(b"{}") == 1
    assert await store.take_sign_in_flow(b"late") is None


async def test_what_is_over_is_swept_away(store: Store) -> None:
    """R2: links and sign-ins that are too old are not kept."""
    await store.add_sign_in_link("default", "local", b"old", NOW - 1)
    await store.add_sign_in_link("default", "local", b"good", SOON)
    await store.add_sign_in_flow(b"old", b"{}", NOW - 1)
    await store.add_sign_in_flow(b"good", b"{}", SOON)
    await store.sweep()
    assert await store.take_sign_in_link(b"good") == ("default", "local")
    assert await store.take_sign_in_flow(b"good") == b"{}"
