"""Tenants, users, keys and browsers are kept alike on every store."""

import asyncio
import time

import pytest
from msgspec import structs

from agio.core.identity.principal import PERMISSIONS, ApiKey, Principal, Role, WebSession
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import person

SOON = time.time_ns() // 1_000_000 + 3_600_000


def key(name: str, *, tenant: str = "default", user: str = "local", created_at: int = 1) -> ApiKey:
    return ApiKey(f"key_{name}", tenant, user, name, f"agio_{name}", created_at)


def _browser(session: str, token_hash: bytes, expires_at: int) -> WebSession:
    return WebSession(
        id=session,
        tenant="default",
        user="local",
        token_hash=token_hash,
        authenticated_at=1,
        expires_at=expires_at,
    )


def principal(tenant: str, user: str, role: Role, credential: str) -> Principal:
    return Principal(tenant, user, role, credential, PERMISSIONS[role])


async def test_a_new_store_has_an_owner(store: Store) -> None:
    """C1: every store begins with the tenant `default` and its user `local`."""
    assert await store.get_user("default", "local") == ("Local", "owner")


async def test_tenants_and_users_are_added_once(store: Store) -> None:
    """C1: adding somebody again changes nothing."""
    await store.add_tenant("acme", "Acme")
    await store.add_tenant("acme", "Other")
    await store.add_user("acme", "ann", "Ann", "admin")
    await store.add_user("acme", "ann", "Other", "member")
    assert await store.get_user("acme", "ann") == ("Ann", "admin")
    with pytest.raises(UserError, match="user_not_found"):
        await store.get_user("default", "ann")


async def test_a_key_stands_for_its_user_until_it_is_revoked(store: Store) -> None:
    """R2: a key is found by its hash, with the tenant, user and role it stands for."""
    await person(store, "acme", "ann")
    assert await store.add_api_key(key("a", tenant="acme", user="ann"), b"hash a")
    assert await store.find_api_key(b"hash a") == principal("acme", "ann", "member", "key_a")
    assert await store.find_api_key(b"hash b") is None
    await store.revoke_api_key("acme", "ann", "key_a")
    await store.revoke_api_key("acme", "ann", "key_a")
    assert await store.find_api_key(b"hash a") is None
    [listed] = await store.list_api_keys("acme", "ann")
    assert (listed.id, listed.prefix, listed.revoked_at is None) == ("key_a", "agio_a", False)


async def _family(store: Store, tenant: str, *lines: str) -> None:
    """Keep keys of a tenant's ann, each line the name of a key and of its maker: their ids are tenant, _ and name."""
    await person(store, tenant, "ann")
    for line in lines:
        name, _, maker = line.partition(" of ")
        made = key(f"{tenant}_{name}", tenant=tenant, user="ann")
        made = structs.replace(made, made_by=f"key_{tenant}_{maker}" if maker else None)
        assert await store.add_api_key(made, f"{tenant} {name}".encode())


async def _good(store: Store, tenant: str) -> set[str]:
    """The keys of a tenant that are still good, by name."""
    keys = await store.list_api_keys(tenant, "ann")
    names = [each.id.removeprefix(f"key_{tenant}_") for each in keys]
    return {name for name in names if await store.find_api_key(f"{tenant} {name}".encode())}


async def test_a_revoked_key_takes_along_all_that_were_made_with_it(store: Store) -> None:
    """R2: three generations end at once; its maker, its siblings and another team's keys stay."""
    lines = ("root", "a of root", "b of root", "a1 of a", "a2 of a", "a11 of a1", "b1 of b", "other")
    await _family(store, "acme", *lines)
    await _family(store, "rival", "root", "a of root")
    foreign = structs.replace(key("rival_x", tenant="rival", user="ann"), made_by="key_acme_a")
    assert not await store.add_api_key(foreign, b"rival x")
    revoked = await store.revoke_api_key("acme", "ann", "key_acme_a")
    assert revoked[0] == "key_acme_a"
    assert sorted(revoked) == ["key_acme_a", "key_acme_a1", "key_acme_a11", "key_acme_a2"]
    assert await _good(store, "acme") == {"root", "b", "b1", "other"}
    assert await _good(store, "rival") == {"root", "a"}
    makers = {each.id: each.made_by for each in await store.list_api_keys("acme", None)}
    assert (makers["key_acme_a11"], makers["key_acme_root"]) == ("key_acme_a1", None)
    with pytest.raises(UserError, match="key_not_found"):
        await store.revoke_api_key("rival", "ann", "key_acme_root")
    assert sorted(await store.revoke_api_key("acme", "ann", "key_acme_root")) == [
        "key_acme_b",
        "key_acme_b1",
        "key_acme_root",
    ]
    assert await _good(store, "acme") == {"other"}
    assert await _good(store, "rival") == {"root", "a"}


async def test_when_a_key_was_revoked_first_is_kept(store: Store) -> None:
    """R2: revoking its maker later changes nothing about a key that was over."""
    await _family(store, "acme", "root", "a of root")
    await store.revoke_api_key("acme", "ann", "key_acme_a")
    before = {each.id: each.revoked_at for each in await store.list_api_keys("acme", "ann")}
    assert await store.revoke_api_key("acme", "ann", "key_acme_root") == ["key_acme_root"]
    after = {each.id: each.revoked_at for each in await store.list_api_keys("acme", "ann")}
    assert after["key_acme_a"] == before["key_acme_a"]


async def test_a_revoked_key_makes_no_keys(store: Store) -> None:
    """R2: neither afterwards nor in the same moment: no key is left of one that was revoked."""
    await _family(store, "acme", "root", "a of root")

    async def make(number: int) -> bool:
        made = key(f"acme_{number}", tenant="acme", user="ann", created_at=2)
        return await store.add_api_key(structs.replace(made, made_by="key_acme_a"), f"acme {number}".encode())

    async with asyncio.timeout(60):
        await asyncio.gather(
            *(make(number) for number in range(10)),
            store.revoke_api_key("acme", "ann", "key_acme_root"),
            *(make(number) for number in range(10, 20)),
        )
    assert await _good(store, "acme") == set()
    assert not await make(20)


async def test_the_use_of_a_key_is_noted(store: Store) -> None:
    """R2: a list of keys tells when each was used last."""
    await store.add_api_key(key("a"), b"hash a")
    [unused] = await store.list_api_keys("default", "local")
    await store.find_api_key(b"hash a")
    [used] = await store.list_api_keys("default", "local")
    await store.find_api_key(b"hash a")
    assert unused.last_used_at is None
    assert used.last_used_at is not None
    assert await store.list_api_keys("default", "local") == [used]


async def test_a_first_key_is_kept_only_if_there_is_none(store: Store) -> None:
    """R2: a key from the environment counts at the first start and never again."""
    assert await store.add_api_key(key("a"), b"hash a", only_first=True)
    assert not await store.add_api_key(key("b"), b"hash b", only_first=True)
    assert await store.add_api_key(key("c", created_at=2), b"hash c")
    assert [kept.name for kept in await store.list_api_keys("default", "local")] == ["c", "a"]


async def test_a_browser_is_signed_in_until_it_leaves_or_its_time_is_over(store: Store) -> None:
    """R2: a web session is found by its hash, and only while it lasts."""
    await store.add_web_session(_browser("web_1", b"hash 1", SOON))
    await store.add_web_session(_browser("web_2", b"hash 2", 1))
    signed_in = structs.replace(principal("default", "local", "owner", "web_1"), authenticated_at=1)
    assert await store.find_web_session(b"hash 1") == signed_in
    assert await store.find_web_session(b"hash 2") is None
    await store.sweep()
    await store.end_web_session(b"hash 1")
    assert await store.find_web_session(b"hash 1") is None


async def test_a_store_says_that_it_can_be_used(store: Store) -> None:
    """R6: a check reads and writes, and changes nothing."""
    await store.check()
    assert await store.count_runs() == {"queued": 0, "running": 0}
