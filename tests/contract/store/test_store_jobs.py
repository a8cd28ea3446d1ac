"""Background jobs and leases are claimed once, fenced and retried alike on every store."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

import pytest

from agio.core.store.jobs import RETENTION, JobRecord, Lease, NewJob
from agio.core.store.store import Store
from agio.db.plan import Plan, ask
from agio.db.plans.jobs.jobs import finish_job
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.repository import Repository
from agio.errors import StoreError, UserError
from tests.support.backends import Backend, PostgresDatabase
from tests.support.scenes import person

T = TypeVar("T")

LONG = 3_600_000
KINDS = ["note"]


@pytest.fixture
async def gateways(backend: Backend) -> AsyncIterator[list[Store]]:
    """The store as several gateways have it: on Postgres each its own connections, on SQLite the one writer."""
    async with AsyncExitStack() as stack:
        opened = [await backend.open() for _ in range(3 if isinstance(backend, PostgresDatabase) else 1)]
        for store in opened:
            stack.push_async_callback(store.close)
        yield opened * (3 // len(opened))


async def eventually(attempt: Callable[[], Awaitable[T | None]]) -> T:
    """Repeat until there is a result: the database's clock goes on by itself."""
    async with asyncio.timeout(60):
        while (result := await attempt()) is None:
            pass
    return result


async def note(store: Store, key: str = "1", **fields: object) -> bool:
    """Add a job."""
    return await store.add_job(NewJob(kind="note", key=key, **fields))  # pyright: ignore[reportArgumentType]


async def claim(store: Store, lease_ms: int = LONG) -> JobRecord:
    """Claim a job, which must be due soon."""
    return await eventually(lambda: store.claim_job(KINDS, lease_ms))


async def jobs_of(store: Store, tenant: str = "default") -> list[JobRecord]:
    return (await store.list_jobs(tenant)).items


async def test_a_lease_has_one_holder_and_goes_to_the_next_when_it_ends(store: Store) -> None:
    """S10: renewed and released by its holder alone; each holder's epoch is greater than those before."""
    first = await store.acquire_lease("sweep", "one", LONG)
    assert first is not None
    assert await store.acquire_lease("sweep", "two", LONG) is None
    assert await store.acquire_lease("sweep", "one", LONG) is None
    assert await store.renew_lease(first, LONG)
    assert not await store.renew_lease(Lease("sweep", "two", first.epoch), LONG)
    assert await store.acquire_lease("other", "two", LONG) is not None
    assert await store.release_lease(first)
    assert not await store.release_lease(first)
    second = await store.acquire_lease("sweep", "two", LONG)
    assert second is not None
    assert second.epoch > first.epoch


async def test_a_holder_that_sleeps_past_its_lease_has_lost_it(store: Store) -> None:
    """S10: whether or not another holds it by now; also when the record was swept meanwhile."""
    assert isinstance(store, Repository)
    sleeper = await store.acquire_lease("sweep", "one", 1)
    assert sleeper is not None
    next_holder = await eventually(lambda: store.acquire_lease("sweep", "one", 1))
    assert not await store.renew_lease(sleeper, LONG)
    await eventually(lambda: _ended(store, next_holder))
    assert not await store.renew_lease(next_holder, LONG)
    await store.executor.write(partial(ask, "sweep_leases", until=BEYOND_ALL))
    last = await store.acquire_lease("sweep", "one", LONG)
    assert last is not None
    assert last.epoch > next_holder.epoch
    assert not await store.release_lease(next_holder)


async def _ended(store: Store, lease: Lease) -> Lease | None:
    """A lease as soon as it has ended: another can be acquired."""
    probe = await store.acquire_lease(lease.name, "probe", 1)
    return probe and lease


async def test_many_who_want_a_lease_never_hold_it_together(gateways: list[Store]) -> None:
    """S10: acquired at once from several gateways, again and again, it has one holder at a time."""
    holders: list[str] = []
    epochs: list[int] = []

    async def work(store: Store, name: str) -> None:
        for _ in range(5):
            lease = await eventually(lambda: store.acquire_lease("sweep", name, LONG))
            holders.append(name)
            assert holders == [name]
            await store.count_jobs()
            epochs.append(lease.epoch)
            holders.remove(name)
            assert await store.release_lease(lease)

    await asyncio.gather(*(work(store, f"{n}") for n, store in enumerate(gateways)))
    assert epochs == sorted(set(epochs))
    assert len(epochs) == 15


async def test_a_job_is_added_once_for_each_key(store: Store) -> None:
    """B1: adding it twice is adding it once, also after it is done; another kind has its own keys."""
    assert await note(store, payload=b'{"a":1}')
    assert not await note(store, payload=b"{}")
    assert await store.add_job(NewJob(kind="other", key="1"))
    claimed = await claim(store)
    assert (claimed.payload, claimed.attempts, claimed.epoch, claimed.state) == (b'{"a":1}', 1, 1, "running")
    assert await store.claim_job(KINDS, LONG) is None
    await store.finish_job(claimed.done())
    assert not await note(store)
    assert await store.claim_job(KINDS, LONG) is None


async def test_gateways_that_claim_at_once_never_claim_the_same_job(gateways: list[Store]) -> None:
    """S10: every job is claimed and completed exactly once."""
    for number in range(30):
        await note(gateways[0], str(number))
    done: list[str] = []

    async def work(store: Store) -> None:
        while (job := await store.claim_job(KINDS, LONG)) is not None:
            await store.finish_job(job.done())
            done.append(job.key)

    while len(done) < 30:  # a locked row is skipped: a claim may find nothing while others are being made
        await asyncio.gather(*(work(store) for store in gateways * 2))
    assert Counter(done) == Counter(str(number) for number in range(30))


async def test_jobs_are_claimed_when_they_are_due_the_oldest_first(store: Store) -> None:
    """S10: `next_job` says how long to wait; a kind that is not asked for stays."""
    assert await store.next_job(KINDS) is None
    await note(store, "later", delay_ms=LONG)
    due_ms = await store.next_job(KINDS)
    assert due_ms is not None
    assert 0 < due_ms <= LONG
    assert await store.next_job(["other"]) is None
    assert await store.claim_job(KINDS, LONG) is None
    await note(store, "first")
    assert (await claim(store)).key == "first"


async def test_what_slept_past_its_claim_can_write_nothing(store: Store) -> None:
    """B1: not complete, not fail, not extend; and the effect in the same commit is undone with the completion."""
    assert isinstance(store, Repository)
    await note(store, tenant="default")
    sleeper = await claim(store, lease_ms=1)
    taken = await claim(store)
    assert (taken.id, taken.epoch, taken.attempts) == (sleeper.id, sleeper.epoch + 1, 2)

    def effect() -> Plan[None]:
        yield from ask("set_retention", tenant="default", days=9)
        yield from finish_job(sleeper.done())

    for late in (
        store.executor.write(effect),
        store.finish_job(sleeper.done()),
        store.sweep(job=sleeper.done()),
        store.expire_interrupts(job=sleeper.done()),
        store.bury_unknown_jobs([], 0, job=sleeper.done()),
        store.finish_retention("default", sleeper.done()),
        store.fail_job(sleeper, "x", "y", None),
    ):
        with pytest.raises(StoreError, match="job_claim_lost"):
            await late
    assert not await store.renew_job(sleeper, LONG)
    await store.release_job(sleeper)
    assert (await store.get_tenant("default")).retention_days is None
    [job] = await jobs_of(store)
    assert job == taken
    assert await store.renew_job(taken, LONG)
    await store.finish_job(taken.done())
    with pytest.raises(StoreError, match="job_claim_lost"):
        await store.finish_job(taken.done())


async def test_a_claim_that_ended_is_lost_though_nobody_took_it(store: Store) -> None:
    """B1: the fence is the database's clock."""
    await note(store)
    job = await claim(store, lease_ms=1)
    await eventually(partial(_due, store))
    with pytest.raises(StoreError, match="job_claim_lost"):
        await store.finish_job(job.done())
    assert not await store.renew_job(job, LONG)


async def _due(store: Store) -> bool | None:
    due_ms = await store.next_job(KINDS)
    return True if due_ms is not None and due_ms <= 0 else None


async def test_a_failed_job_is_retried_later_and_at_last_is_dead(store: Store) -> None:
    """B1: each failure keeps its error; a dead job stays until an owner retries it, with all its attempts."""
    await note(store, tenant="default")
    await store.fail_job(await claim(store), "store_full", "No room.", 1)
    [job] = await jobs_of(store)
    assert (job.state, job.attempts, job.error_code, job.lease_until) == ("queued", 1, "store_full", None)
    await store.fail_job(await claim(store), "store_full", "No room.", LONG)
    assert await store.claim_job(KINDS, LONG) is None
    with pytest.raises(UserError, match="job_not_dead"):
        await store.retry_job("default", job.id)

    await note(store, "2", tenant="default")
    second = await claim(store)
    await store.fail_job(second, "bad", "Hopeless.", None)
    [dead, _] = await jobs_of(store)
    assert (dead.id, dead.state, dead.error_code, dead.error_message) == (
        second.id,
        "dead",
        "bad",
        "Hopeless.",
    )
    assert dead.ended_at is not None
    assert await store.count_jobs() == {"queued": 1, "running": 0, "dead": 1}
    assert (await store.retry_job("default", dead.id)).state == "queued"
    again = await claim(store)
    assert (again.id, again.attempts) == (dead.id, 1)
    await store.finish_job(again.done())
    [done, _] = await jobs_of(store)
    assert (done.state, done.error_code, done.lease_until) == ("done", None, None)


async def test_a_claim_that_is_given_back_counts_no_attempt(store: Store) -> None:
    """B1: a server that stops in good order leaves the job to others at once."""
    await note(store)
    await store.release_job(await claim(store))
    assert (await claim(store)).attempts == 1


async def test_a_recurring_job_comes_again_and_begins_anew_when_it_is_armed(store: Store) -> None:
    """S10: completed and queued again in one commit; arming it never delays it."""
    await store.arm_job(NewJob(kind="note", key="note", delay_ms=LONG))
    await store.arm_job(NewJob(kind="note", key="note"))
    first = await claim(store)
    await store.arm_job(NewJob(kind="note", key="note"))
    assert await store.claim_job(KINDS, LONG) is None
    await store.finish_job(first.done(1))
    second = await claim(store)
    assert (second.id, second.attempts, second.epoch) == (first.id, 1, 2)
    await store.finish_job(second.done(LONG))
    await store.arm_job(NewJob(kind="note", key="note", delay_ms=2 * LONG))
    due_ms = await store.next_job(KINDS)
    assert due_ms is not None
    assert due_ms <= LONG


async def test_jobs_that_nobody_can_run_are_dead_after_a_time(store: Store) -> None:
    """B1: those of known kinds, and those that are not due for so long, stay."""
    await note(store, tenant="default")
    await store.add_job(NewJob(kind="gone", key="1", tenant="default"))
    await store.add_job(NewJob(kind="gone", key="2", tenant="default", delay_ms=LONG))
    assert await store.bury_unknown_jobs(KINDS, LONG) == []
    [(job_id, kind)] = await eventually(lambda: _buried(store))
    assert kind == "gone"
    [dead] = (await store.list_jobs("default", state="dead")).items
    assert (dead.id, dead.error_code) == (job_id, "unknown_job_kind")
    assert await store.count_jobs() == {"queued": 2, "running": 0, "dead": 1}


async def _buried(store: Store) -> list[tuple[str, str]] | None:
    return await store.bury_unknown_jobs(KINDS, 0) or None


async def test_an_owner_sees_the_jobs_of_the_tenant_alone(store: Store) -> None:
    """S14: pages and filters; another's job, and one of the server's own, are not there."""
    await person(store, "acme", "ann")
    for number in range(3):
        await note(store, str(number), tenant="acme")
    await note(store, "4")
    await store.add_job(NewJob(kind="other", key="1", tenant="default"))
    first = await store.list_jobs("acme", limit=2)
    rest = await store.list_jobs("acme", limit=2, after=first.next)
    assert sorted(job.key for job in first.items + rest.items) == ["0", "1", "2"]
    assert rest.next is None
    assert [job.kind for job in await jobs_of(store)] == ["other"]
    assert len((await store.list_jobs("acme", state="queued", kind="note")).items) == 3
    assert (await store.list_jobs("acme", kind="other")).items == []
    with pytest.raises(UserError, match="invalid_cursor"):
        await store.list_jobs("acme", after="x")
    with pytest.raises(UserError, match="job_not_found"):
        await store.retry_job("default", first.items[0].id)


async def test_a_tenants_retention_is_a_job_while_it_has_one(store: Store) -> None:
    """C5: setting it adds the job; without it the job ends, and begins anew when it is set again."""

    async def run() -> JobRecord:
        job = await eventually(lambda: store.claim_job([RETENTION], LONG))
        await store.finish_retention("default", job.done(1))
        return (await jobs_of(store))[0]

    await store.set_retention("default", 30)
    assert (await run()).state == "queued"
    await store.set_retention("default", None)
    assert (await run()).state == "done"
    assert await store.next_job([RETENTION]) is None
    await store.set_retention("default", 7)
    assert (await run()).state == "queued"


async def test_jobs_that_are_done_are_swept_after_a_while(store: Store) -> None:
    """C9: what is open or dead stays."""
    assert isinstance(store, Repository)
    for key in ("done", "dead", "open"):
        await note(store, key, tenant="default")
    done = await claim(store)
    await store.finish_job(done.done())
    await store.fail_job(await claim(store), "bad", "", None)
    await store.sweep()
    assert len(await jobs_of(store)) == 3
    await store.executor.write(partial(ask, "sweep_jobs", until=BEYOND_ALL))
    assert sorted(job.state for job in await jobs_of(store)) == ["dead", "queued"]
