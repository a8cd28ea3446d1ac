"""Sessions that nobody changes for as long as their tenant keeps them are deleted alike on every store."""

from functools import partial

import pytest

from agio.core.identity.team import TenantRecord
from agio.core.store.store import Store
from agio.db.plans.sessions.retention import delete_old_session, old_sessions
from agio.db.repository import Repository
from agio.errors import UserError
from tests.support.clock import days_ago
from tests.support.scenes import WORKER, answer, claim, end, person


async def test_a_tenant_says_how_long_it_keeps_sessions(store: Store) -> None:
    """C5: for ever at first; each tenant for itself."""
    await person(store, "acme", "ann")
    assert await store.get_tenant("acme") == TenantRecord("acme", "Acme", None)
    assert await store.set_retention("acme", 30) == TenantRecord("acme", "Acme", 30)
    assert (await store.get_tenant("acme")).retention_days == 30
    assert (await store.get_tenant("default")).retention_days is None
    assert (await store.set_retention("acme", None)).retention_days is None
    for attempt in (store.get_tenant("nobody"), store.set_retention("nobody", 1)):
        with pytest.raises(UserError, match="tenant_not_found"):
            await attempt


async def test_an_old_session_goes_with_everything_in_it(store: Store) -> None:
    """C5: what is younger stays, what another tenant has stays, and the alias is not used again."""
    ann, bob = await person(store, "acme", "ann"), await person(store, "other", "bob")
    agent = await ann.agent("helper")
    with days_ago(31):
        old = await ann.session(agent, alias="t")
        foreign = await bob.session()
        sent = await ann.send(old, key="k", claim=WORKER)
        assert sent.claimed is not None
        await answer(store, sent.claimed)
    with days_ago(29):
        young = await ann.session(agent)
    assert await store.delete_old_sessions("acme") == []
    await store.set_retention("acme", 30)
    assert await store.delete_old_sessions("acme") == [old.id]
    assert await store.delete_old_sessions("acme") == []
    for attempt in (ann.session_now(old), store.list_messages("acme", "ann", old.id)):
        with pytest.raises(UserError, match="session_not_found"):
            await attempt
    with pytest.raises(UserError, match="run_not_found"):
        await store.get_log(sent.run_id)
    assert await store.read_session(old.id, 0, 1000) == []
    with pytest.raises(UserError, match="session_deleted"):
        await ann.session(agent, alias="t")
    assert (await ann.session_now(young)).id == young.id
    assert (await bob.session_now(foreign)).id == foreign.id


async def test_a_session_in_which_something_goes_on_is_not_old(store: Store) -> None:
    """C5: neither one with a running run nor one with a queued run. A new title is no activity."""
    who = await person(store, "acme", "ann")
    await store.set_retention("acme", 1)
    with days_ago(2):
        running, queued, renamed = await who.session(), await who.session(), await who.session()
        await who.send(running)
        claimed = await claim(store)
        await who.send(queued)
    await store.update_session("acme", "ann", renamed.id, title="again")
    assert await store.delete_old_sessions("acme") == [renamed.id]
    await end(store, claimed)
    assert await store.delete_old_sessions("acme") == []
    for session in (running, queued):
        assert (await who.session_now(session)).id == session.id


async def test_a_session_that_was_found_old_may_have_changed_since(store: Store) -> None:
    """C5: whether it is old is asked again in the commit that deletes it."""
    assert isinstance(store, Repository)
    who = await person(store, "acme", "ann")
    await store.set_retention("acme", 1)
    with days_ago(2):
        found = await who.session()
    [place] = await store.executor.read(partial(old_sessions, "acme", 50))
    await who.send(found)
    assert not await store.executor.write(partial(delete_old_session, *place))
    assert (await who.session_now(found)).state == "queued"
    assert not await store.executor.write(partial(delete_old_session, "acme", "ann", "ses_gone"))


async def test_old_sessions_go_a_few_at_a_time(store: Store) -> None:
    """C5: of every user of the tenant, until none is left; another tenant's stay."""
    people = [
        await person(store, "acme", "ann"),
        await person(store, "acme", "ben"),
        await person(store, "b", "bob"),
    ]
    for tenant in ("acme", "b"):
        await store.set_retention(tenant, 7)
    with days_ago(8):
        sessions = [(await who.session()).id for who in people]
    first = await store.delete_old_sessions("acme", limit=1)
    second = await store.delete_old_sessions("acme", limit=1)
    assert (len(first), len(second)) == (1, 1)
    assert sorted(first + second) == sorted(sessions[:2])
    assert await store.delete_old_sessions("acme", limit=1) == []
    assert await store.delete_old_sessions("b") == sessions[2:]
