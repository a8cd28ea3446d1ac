"""Teams, their members and invitations are kept alike on every store."""

import asyncio
from itertools import count

import pytest
from msgspec import structs

from agio.core.identity.principal import ApiKey, Role
from agio.core.identity.team import Invitation, Member, Membership
from agio.core.store.store import Store
from agio.errors import UserError
from tests.contract.store.test_store_accounts import NOW, SOON, account, browser, owner
from tests.support.scenes import person

_numbers = count()


async def invite(
    store: Store,
    token: bytes,
    *,
    email: str | None = None,
    role: Role = "member",
    by: str = "ann",
    expires_at: int = SOON,
) -> Invitation:
    """Invite somebody into `acme`."""
    number = next(_numbers)
    made = Invitation(
        id=f"inv_{number:04}",
        tenant="acme",
        email=email,
        role=role,
        invited_by=by,
        created_at=number,
        expires_at=expires_at,
    )
    await store.add_invitation(made, token)
    return made


async def test_a_team_is_made_with_its_owner_and_renamed(store: Store) -> None:
    """R2: its ids are made by the store; the account is its owner, or somebody who has none."""
    await owner(store)
    made = await store.create_tenant("Second", "acc_ann", "Ann")
    alone = await store.create_tenant("Third", None, "Program")
    assert made.tenant.startswith("ten_")
    assert made.user.startswith("usr_")
    assert await store.get_user(made.tenant, made.user) == ("Ann", "owner")
    assert await store.get_user(alone.tenant, alone.user) == ("Program", "owner")
    assert await store.memberships("acc_ann") == [Membership("acme", "Acme", "ann", "owner"), made]
    renamed = await store.rename_tenant(made.tenant, "Renamed")
    assert (renamed.name, (await store.get_tenant(made.tenant)).name) == ("Renamed", "Renamed")
    with pytest.raises(UserError, match="tenant_not_found"):
        await store.rename_tenant("nothing", "x")


async def test_members_are_listed_with_their_addresses(store: Store) -> None:
    """R2: those of the team, by name; a user without an account has no address."""
    await owner(store)
    await store.add_user("acme", "zoe", "Zoe", "member")
    await owner(store, "bob", "other")
    listed = await store.list_members("acme")
    assert [structs.replace(member, created_at=0) for member in listed] == [
        Member("ann", "Ann", "owner", "ann@example.com", 0),
        Member("zoe", "Zoe", "member", None, 0),
    ]


async def test_a_role_is_changed(store: Store) -> None:
    """R2: of a member of the team, and of nobody else."""
    await owner(store)
    await person(store, "acme", "ben")
    changed = await store.set_role("acme", "ben", "admin")
    assert (changed.user, changed.role) == ("ben", "admin")
    assert (await store.get_user("acme", "ben"))[1] == "admin"
    for tenant, user in (("acme", "nobody"), ("default", "ben")):
        with pytest.raises(UserError, match="user_not_found"):
            await store.set_role(tenant, user, "member")


async def test_a_team_keeps_an_owner(store: Store) -> None:
    """R2: the last one is neither removed nor made something else, whoever asks, however many at once."""
    await owner(store)
    for change in (store.set_role("acme", "ann", "admin"), store.remove_member("acme", "ann")):
        with pytest.raises(UserError, match="last_owner"):
            await change
    assert (await store.set_role("acme", "ann", "owner")).role == "owner"
    await store.add_user("acme", "olga", "Olga", "owner")
    done = await asyncio.gather(
        store.set_role("acme", "ann", "member"), store.remove_member("acme", "olga"), return_exceptions=True
    )
    assert sum(isinstance(result, UserError) and result.code == "last_owner" for result in done) == 1
    assert [member.role for member in await store.list_members("acme")].count("owner") == 1


async def test_owners_are_made_changed_and_removed_by_owners(store: Store) -> None:
    """R2: an admin touches none, also not themselves into one."""
    await owner(store)
    await store.add_user("acme", "olga", "Olga", "owner")
    await store.add_user("acme", "ben", "Ben", "admin")
    for change in (
        store.set_role("acme", "ben", "owner", by_owner=False),
        store.set_role("acme", "olga", "member", by_owner=False),
        store.remove_member("acme", "olga", by_owner=False),
    ):
        with pytest.raises(UserError, match="forbidden"):
            await change
    await store.set_role("acme", "ben", "member", by_owner=False)
    await store.remove_member("acme", "ben", by_owner=False)
    assert [member.user for member in await store.list_members("acme")] == ["ann", "olga"]


async def test_whoever_is_removed_has_nothing_left_to_come_in_with(store: Store) -> None:
    """R2: keys, browsers, links and invitations end, in this team alone."""
    await owner(store)
    await owner(store, "ben", "other")
    await invite(store, b"in")
    ben = await store.accept_invitation(b"in", account("ben"))
    await store.set_role("acme", ben.user, "admin")
    await store.add_api_key(ApiKey("key_b", "acme", ben.user, "k", "p", 1), b"key")
    cookie = await browser(store, "web_b", "acme", ben.user)
    elsewhere = await browser(store, "web_o", "other", "ben")
    await store.add_sign_in_link("acme", ben.user, b"link", SOON)
    await invite(store, b"by ben", by=ben.user)
    await store.remove_member("acme", ben.user)
    assert await store.find_api_key(b"key") is None
    assert await store.find_web_session(cookie) is None
    assert await store.take_sign_in_link(b"link") is None
    assert await store.find_invitation(b"by ben") is None
    assert await store.find_web_session(elsewhere) is not None
    assert [team.tenant for team in await store.memberships("acc_ben")] == ["other"]
    with pytest.raises(UserError, match="tenant_not_found"):
        await store.switch_tenant(elsewhere, "acme", "web_n", b"new")
    for change in (store.remove_member("acme", ben.user), store.set_role("acme", ben.user, "owner")):
        with pytest.raises(UserError, match="user_not_found"):
            await change
    with pytest.raises(UserError, match="user_not_found"):
        await store.get_user("acme", ben.user)


async def test_whoever_comes_back_is_the_same_user_with_the_new_role(store: Store) -> None:
    """R2: what they did is theirs again; what they came in with before stays over."""
    await owner(store)
    await invite(store, b"1", role="admin")
    first = await store.accept_invitation(b"1", account("ben"))
    await store.add_api_key(ApiKey("key_b", "acme", first.user, "k", "p", 1), b"key")
    await store.remove_member("acme", first.user)
    await invite(store, b"2")
    again = await store.accept_invitation(b"2", account("ben"))
    assert again == structs.replace(first, role="member")
    assert await store.find_api_key(b"key") is None


async def test_whoever_may_do_less_has_no_invitations_open(store: Store) -> None:
    """R2: what an admin offered goes with the role; a promotion leaves it."""
    await owner(store)
    await store.add_user("acme", "ben", "Ben", "admin")
    await invite(store, b"in", by="ben")
    await store.set_role("acme", "ben", "owner")
    assert await store.find_invitation(b"in") is not None
    await store.set_role("acme", "ben", "member")
    assert await store.find_invitation(b"in") is None


async def test_an_invitation_makes_a_member(store: Store) -> None:
    """R2: of a new account or one there is, with the role that was offered, once."""
    await owner(store)
    made = await invite(store, b"in", role="admin", email="Ben@Example.com")
    found = await store.find_invitation(b"in")
    assert found == structs.replace(made, email="ben@example.com")
    joined = await store.accept_invitation(b"in", account("ben"))
    assert (joined.tenant, joined.name, joined.role) == ("acme", "Acme", "admin")
    assert joined.user.startswith("usr_")
    assert await store.find_invitation(b"in") is None
    [listed] = await store.list_invitations("acme")
    assert (listed.accepted_by, listed.closed_at is None) == (joined.user, False)
    assert await store.list_invitations("default") == []
    with pytest.raises(UserError, match="invitation_not_found"):
        await store.accept_invitation(b"in", account("ben"))
    await owner(store, "zoe", "other")
    await invite(store, b"zoe")
    assert (await store.accept_invitation(b"zoe", account("zoe"))).tenant == "acme"
    assert [team.tenant for team in await store.memberships("acc_zoe")] == ["acme", "other"]


async def test_an_invitation_is_accepted_by_one_of_many(store: Store) -> None:
    """R2: one update decides; of the others nothing is left, not even an account."""
    await owner(store)
    await invite(store, b"in")
    done = await asyncio.gather(
        *(store.accept_invitation(b"in", account(f"u{number}")) for number in range(12)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Membership) for result in done) == 1
    assert {result.code for result in done if isinstance(result, UserError)} == {"invitation_not_found"}
    assert len(await store.list_members("acme")) == 2
    found = [await store.find_account(f"u{number}@example.com") for number in range(12)]
    assert found.count(None) == 11


async def test_one_account_accepts_two_invitations_into_a_team_once(store: Store) -> None:
    """R2: the second is left as it was."""
    await owner(store)
    await owner(store, "ben", "other")
    await invite(store, b"1")
    await invite(store, b"2", role="admin")
    done = await asyncio.gather(
        store.accept_invitation(b"1", account("ben")),
        store.accept_invitation(b"2", account("ben")),
        return_exceptions=True,
    )
    assert [result.code for result in done if isinstance(result, UserError)] == ["already_member"]
    left = [await store.find_invitation(token) for token in (b"1", b"2")]
    assert left.count(None) == 1


async def test_an_invitation_that_is_not_for_somebody_stays_open(store: Store) -> None:
    """R2: another address, an address that is taken, a member: each is told why, and nothing has changed."""
    await owner(store)
    await owner(store, "ben", "other")
    await invite(store, b"for zoe", email="zoe@example.com")
    await invite(store, b"open")
    for token, given, code in (
        (b"for zoe", account("ben"), "invitation_not_yours"),
        (b"for zoe", account("new"), "invitation_not_yours"),
        (b"open", account("new", "ben@example.com"), "email_taken"),
        (b"open", account("ann"), "already_member"),
        (b"nothing", account("new"), "invitation_not_found"),
    ):
        with pytest.raises(UserError, match=code):
            await store.accept_invitation(token, given)
    assert await store.find_account("new@example.com") is None
    assert await store.find_invitation(b"for zoe") is not None
    assert await store.find_invitation(b"open") is not None


async def test_the_address_of_an_account_counts_not_the_one_that_is_said(store: Store) -> None:
    """R2: whoever is known cannot pass for the invited."""
    await owner(store)
    await owner(store, "ben", "other")
    await invite(store, b"in", email="zoe@example.com")
    with pytest.raises(UserError, match="invitation_not_yours"):
        await store.accept_invitation(b"in", structs.replace(account("ben"), email="zoe@example.com"))


async def test_an_invitation_that_is_over_is_not_there(store: Store) -> None:
    """R2: too old, or taken back, by the team it is of."""
    await owner(store)
    await invite(store, b"old", expires_at=NOW - 1)
    made = await invite(store, b"in")
    for tenant, invitation_id in (("default", made.id), ("acme", "inv_x")):
        with pytest.raises(UserError, match="invitation_not_found"):
            await store.revoke_invitation(tenant, invitation_id)
    await store.revoke_invitation("acme", made.id)
    with pytest.raises(UserError, match="invitation_not_found"):
        await store.revoke_invitation("acme", made.id)
    for token in (b"old", b"in"):
        assert await store.find_invitation(token) is None
        with pytest.raises(UserError, match="invitation_not_found"):
            await store.accept_invitation(token, account("new"))
    assert (await store.list_invitations("acme"))[0].id == made.id


async def test_all_keys_of_a_team_are_listed_for_whoever_manages_it(store: Store) -> None:
    """R2: everybody's, newest first; of no other team."""
    await owner(store)
    await person(store, "acme", "ben")
    await store.add_api_key(ApiKey("key_1", "acme", "ann", "k", "p", 1), b"1")
    await store.add_api_key(ApiKey("key_2", "acme", "ben", "k", "p", 2), b"2")
    await store.add_api_key(ApiKey("key_3", "default", "local", "k", "p", 3), b"3")
    assert [key.id for key in await store.list_api_keys("acme", None)] == ["key_2", "key_1"]


async def test_what_somebody_may_is_settled_when_the_team_is_changed(store: Store) -> None:
    """R2: whoever was an owner, or an admin, a moment ago makes nobody anything any more."""
    await owner(store)
    await store.add_user("acme", "ben", "Ben", "owner")
    await store.add_user("acme", "cat", "Cat", "member")
    await store.set_role("acme", "ben", "admin")
    for change in (
        store.set_role("acme", "ben", "owner", by="ben"),
        store.set_role("acme", "ann", "member", by="ben"),
        store.remove_member("acme", "ann", by="ben"),
    ):
        with pytest.raises(UserError, match="forbidden"):
            await change
    await store.set_role("acme", "ben", "member")
    for change in (
        store.set_role("acme", "cat", "admin", by="ben"),
        store.remove_member("acme", "cat", by="ben"),
        invite(store, b"by ben", by="ben"),
    ):
        with pytest.raises(UserError, match="forbidden"):
            await change
    assert {member.user: member.role for member in await store.list_members("acme")} == {
        "ann": "owner",
        "ben": "member",
        "cat": "member",
    }
    await store.set_role("acme", "cat", "admin", by="ann")
