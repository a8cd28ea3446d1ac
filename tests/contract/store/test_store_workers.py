"""Keys of workers, and claims for workers that may serve some tenants only."""

import pytest

from agio.core.identity.worker_key import WorkerKey
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import LIMITS, WORKER, agent_fields, person


def _key(name: str = "far", tenants: list[str] | None = None) -> WorkerKey:
    return WorkerKey(f"wkey_{name}", name, "agiow_abc", tenants, created_at=len(name))


async def test_a_worker_key_is_found_by_its_hash_until_it_is_revoked(store: Store) -> None:
    """R7: only a hash is kept; a revoked key is nobody's, and stays in the list."""
    for tenant in ("a", "b"):
        await store.add_tenant(tenant, tenant)
    await store.add_worker_key(_key(tenants=["b", "a", "b"]), b"hash")
    await store.add_worker_key(_key("near-by"), b"other")
    found = await store.find_worker_key(b"hash")
    assert found is not None
    assert (found.id, found.tenants, found.revoked_at) == ("wkey_far", ["a", "b"], None)
    everywhere = await store.find_worker_key(b"other")
    assert everywhere is not None
    assert everywhere.tenants is None
    assert await store.find_worker_key(b"no key") is None
    await store.revoke_worker_key("wkey_far")
    await store.revoke_worker_key("wkey_far")
    assert await store.find_worker_key(b"hash") is None
    listed = await store.list_worker_keys()
    assert [(key.id, key.revoked_at is None) for key in listed] == [
        ("wkey_near-by", True),
        ("wkey_far", False),
    ]
    assert listed[0].last_used_at is not None


async def test_what_is_wrong_with_a_worker_key_is_said(store: Store) -> None:
    """R7: a tenant nobody has, a key nobody has."""
    with pytest.raises(UserError, match="tenant_not_found"):
        await store.add_worker_key(_key(tenants=["default", "nowhere"]), b"hash")
    assert await store.list_worker_keys() == []
    with pytest.raises(UserError, match="key_not_found"):
        await store.revoke_worker_key("wkey_far")


async def test_a_claim_for_some_tenants_takes_no_run_of_another(store: Store) -> None:
    """R7: theirs in turn, and none of the others', whoever waits longer."""
    people = {tenant: await person(store, tenant) for tenant in ("c", "a", "b", "d")}
    for who in people.values():
        for _ in range(2):
            await who.send(await who.session())
    order: list[str] = []
    after = ""
    while claimed := await store.claim_next(WORKER, LIMITS, tenants={"d", "b", "e"}, after_tenant=after):
        after = claimed.info.tenant
        order.append(after)
    assert order == ["b", "d", "b", "d"]
    assert await store.claim_next(WORKER, LIMITS, tenants=set()) is None
    rest = [await store.claim_next(WORKER, LIMITS, after_tenant=after) for after in ("", "a", "b", "c")]
    assert [one and one.info.tenant for one in rest] == ["a", "c", "c", "a"]


async def test_an_agent_in_code_is_run_for_the_tenants_its_worker_put_it_in(store: Store) -> None:
    """R7: an agent of the same name in another tenant is another worker's."""
    for tenant in ("a", "b"):
        who = await person(store, tenant)
        [agent] = await store.put_code_agents(tenant, [agent_fields("mine")])
        await who.send(await who.session(agent))
    first = await store.claim_next(WORKER, LIMITS, code_agents=["mine"], code_tenants=["b"])
    assert first is not None
    assert first.info.tenant == "b"
    assert await store.claim_next(WORKER, LIMITS, code_agents=["mine"], code_tenants=["b"]) is None
    assert await store.claim_next(WORKER, LIMITS, code_agents=["mine"]) is not None
