"""People who come by an OpenID provider are kept alike on every store."""

import asyncio

import pytest

from agio.core.store.store import Store
from agio.errors import UserError
from tests.contract.store.test_store_accounts import SOON, account, owner
from tests.contract.store.test_store_teams import invite

ISSUER = "https://accounts.example"


async def test_an_invitation_is_accepted_with_an_identity_or_not_at_all(store: Store) -> None:
    """R2: account, membership and identity are one commit; what cannot be all of it is nothing."""
    await owner(store)
    await store.add_identity("acc_ann", ISSUER, "1")
    await invite(store, b"in", role="admin")
    with pytest.raises(UserError, match="identity_taken"):
        await store.join_by_invitation(b"in", account("ben", password=None), ISSUER, "1")
    assert await store.find_account("ben@example.com") is None
    assert await store.find_invitation(b"in") is not None

    joined = await store.join_by_invitation(b"in", account("ben", password=None), ISSUER, "2")
    assert (joined.tenant, joined.role) == ("acme", "admin")
    assert await store.find_identity(ISSUER, "2") == account("ben", password=None)
    with pytest.raises(UserError, match="invitation_not_found"):
        await store.join_by_invitation(b"in", account("cid"), ISSUER, "3")
    assert await store.find_identity(ISSUER, "3") is None
    await invite(store, b"for ann")
    with pytest.raises(UserError, match="email_taken"):
        await store.join_by_invitation(b"for ann", account("dan", "Ann@example.com"), ISSUER, "4")


async def test_a_user_without_an_account_gets_one_with_an_identity_or_not_at_all(store: Store) -> None:
    """R2: the first owner needs no password."""
    await owner(store)
    await store.add_identity("acc_ann", ISSUER, "1")
    with pytest.raises(UserError, match="identity_taken"):
        await store.create_account_by_identity(account("ben"), ISSUER, "1", "default", "local")
    assert await store.find_account("ben@example.com") is None
    await store.create_account_by_identity(account("ben"), ISSUER, "2", "default", "local")
    found = await store.find_identity(ISSUER, "2")
    assert found is not None
    assert [team.user for team in await store.memberships(found.id)] == ["local"]
    with pytest.raises(UserError, match="account_exists"):
        await store.create_account_by_identity(account("cid"), ISSUER, "3", "default", "local")


async def test_an_identity_is_of_one_issuer_and_spelled_one_way(store: Store) -> None:
    """R2: the same subject elsewhere, or in another case, is somebody else."""
    await owner(store)
    await store.add_identity("acc_ann", ISSUER, "aBc")
    assert await store.find_identity(ISSUER, "aBc") is not None
    assert await store.find_identity(ISSUER, "abc") is None
    assert await store.find_identity(f"{ISSUER}/", "aBc") is None


async def test_somebody_who_comes_twice_at_once_is_one_person(store: Store) -> None:
    """R2: ten browsers of one new person: one account, one member; the others are told."""
    await owner(store)
    joining = [
        store.join_by_identity(account(f"b{n}", "b@x.org"), ISSUER, "1", "acme", "member") for n in range(10)
    ]
    outcomes = await asyncio.gather(*joining, return_exceptions=True)
    assert sum(isinstance(outcome, str) for outcome in outcomes) == 1
    codes = {outcome.code for outcome in outcomes if isinstance(outcome, UserError)}
    assert codes <= {"email_taken", "identity_taken"}
    assert len(await store.list_members("acme")) == 2


async def test_a_flow_is_taken_by_the_first_of_twenty_and_not_when_it_is_over(store: Store) -> None:
    """R2: what a browser left for is given back once, within its time."""
    await store.add_sign_in_flow(b"state", b"flow", SOON)
    taken = await asyncio.gather(*(store.take_sign_in_flow(b"state") for _ in range(20)))
    assert (taken.count(b"flow"), taken.count(None)) == (1, 19)
    await store.add_sign_in_flow(b"old", b"flow", 1)
    assert await store.take_sign_in_flow(b"old") is None


async def test_the_only_way_to_sign_in_is_not_taken_away(store: Store) -> None:
    """R2: an identity goes if there is a password or another identity; else nothing changes."""
    await owner(store)
    await store.create_account_by_identity(account("ben", password=None), ISSUER, "2", "default", "local")
    await store.add_identity("acc_ann", ISSUER, "1")
    await store.remove_identity("acc_ann", ISSUER)
    assert await store.list_identities("acc_ann") == []
    with pytest.raises(UserError, match="identity_not_found"):
        await store.remove_identity("acc_ann", ISSUER)
    with pytest.raises(UserError, match="last_sign_in"):
        await store.remove_identity("acc_ben", ISSUER)
    assert [(one.issuer, one.subject) for one in await store.list_identities("acc_ben")] == [(ISSUER, "2")]
    await store.add_identity("acc_ben", "https://other.example", "7")
    both = (store.remove_identity("acc_ben", place) for place in (ISSUER, "https://other.example"))
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    assert [outcome is None for outcome in outcomes].count(True) == 1
    assert len(await store.list_identities("acc_ben")) == 1


async def test_an_unlinked_identity_stays_its_accounts(store: Store) -> None:
    """R2: it signs nobody in, makes nobody new, and can be linked again by the account that had it."""
    await owner(store)
    await store.add_identity("acc_ann", ISSUER, "1")
    await store.remove_identity("acc_ann", ISSUER)
    assert await store.find_identity(ISSUER, "1") is None
    with pytest.raises(UserError, match="identity_taken"):
        await store.join_by_identity(account("new", password=None), ISSUER, "1", "default", "member")
    assert await store.find_account("new@example.com") is None
    await store.add_identity("acc_ann", ISSUER, "1")
    found = await store.find_identity(ISSUER, "1")
    assert found is not None
    assert found.id == "acc_ann"
