"""The runner of background jobs, and the owners' view of them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from agio.core.store.jobs import RETENTION, JobRecord, NewJob
from agio.core.store.store import Store
from agio.db.repository import open_store
from agio.errors import ToolError
from agio.gateway.jobs.runner import UNKNOWN, JobKind, JobRunner
from tests.support.clock import days_ago
from tests.support.engine import LATER, QUICK, soon
from tests.support.house import code_of, house

LIMITS = structs.replace(QUICK, sweep_s=LATER, job_lease_s=LATER)
NOTE = NewJob(kind="note", key="1", tenant="default")


@asynccontextmanager
async def running(
    store: Store, run: Callable[[JobRecord], Awaitable[object]], **options: object
) -> AsyncGenerator[JobRunner]:
    """A runner of the kind `note`, in its task."""
    limits = structs.replace(
        LIMITS, **{name: options.pop(name) for name in [*options] if name in QUICK.__struct_fields__}
    )
    kind = JobKind(run=run, backoff_s=0.001, **options)  # pyright: ignore[reportArgumentType]
    runner = JobRunner(store, {"note": kind}, limits)
    task = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await runner.close()


async def until_state(store: Store, state: str) -> JobRecord:
    """Wait until the one job is in this state."""

    async def look() -> JobRecord:
        while (job := (await store.list_jobs("default")).items[0]).state != state:
            pass
        return job

    return await soon(look())


@pytest.fixture
async def store() -> AsyncGenerator[Store]:
    opened = await open_store(":memory:")
    yield opened
    await opened.close()


async def test_a_job_runs_when_the_bell_rings(store: Store) -> None:
    """S10: the runner sleeps otherwise; a job that was added before it began is found."""
    keys: asyncio.Queue[str] = asyncio.Queue()

    async def work(job: JobRecord) -> None:
        await store.finish_job(job.done())
        keys.put_nowait(job.key)

    await store.add_job(NOTE)
    async with running(store, work) as runner:
        assert await soon(keys.get()) == "1"
        await store.add_job(structs.replace(NOTE, key="2"))
        runner.ring()
        assert await soon(keys.get()) == "2"


async def test_a_job_runs_when_it_is_due_without_a_bell(store: Store) -> None:
    """S10: a failure is retried after a pause, by itself, and counted."""
    tried: list[int] = []

    async def work(job: JobRecord) -> None:
        tried.append(job.attempts)
        if len(tried) < 4:
            raise ToolError("flaky", "Not yet.")
        await store.finish_job(job.done())

    await store.add_job(NOTE)
    async with running(store, work):
        assert (await until_state(store, "done")).error_code is None
    assert tried == [1, 2, 3, 4]


def test_the_pause_before_a_retry_doubles_up_to_a_limit() -> None:
    """B1: with jitter, so that what failed together is not retried together."""

    async def work(job: JobRecord) -> None: ...

    kind = JobKind(run=work, backoff_s=1.0, max_backoff_s=60.0)
    for attempts, longest_ms in ((1, 1000), (2, 2000), (5, 16_000), (7, 60_000), (10_000, 60_000)):
        pauses = {kind.pause_ms(attempts) for _ in range(50)}
        assert longest_ms / 2 <= min(pauses) < max(pauses) <= longest_ms
    assert JobKind(run=work, every_s=0.1).pause_ms(30) <= 100


@pytest.mark.parametrize(
    ("error", "code"),
    [(ToolError("broken", "It is broken."), "broken"), (ValueError("secret"), "internal_error")],
)
async def test_a_job_that_keeps_failing_is_dead_with_its_error(
    store: Store, error: Exception, code: str
) -> None:
    """B1: of an unexpected error nothing is kept but that it happened."""

    async def work(job: JobRecord) -> None:
        raise error

    await store.add_job(NOTE)
    async with running(store, work, attempts=3):
        dead = await until_state(store, "dead")
    assert (dead.attempts, dead.error_code) == (3, code)
    assert "secret" not in (dead.error_message or "")


async def test_a_job_whose_processes_keep_dying_is_dead(store: Store) -> None:
    """B1: a claim counts as an attempt though nothing is heard of it again; the last one is not worked on."""

    async def work(job: JobRecord) -> None:
        raise AssertionError("it is not run again")

    await store.add_job(NOTE)
    for _ in range(2):
        assert await store.claim_job(["note"], 1) is not None
        while (await store.next_job(["note"]) or 1) > 0:
            pass
    async with running(store, work, attempts=2):
        assert (await until_state(store, "dead")).error_code == "job_abandoned"


async def test_a_long_job_keeps_its_claim_and_one_that_lost_it_is_stopped(store: Store) -> None:
    """B1: the claim is extended while the work goes on; work whose claim is another's is cancelled."""
    began: asyncio.Queue[JobRecord] = asyncio.Queue()
    stopped: asyncio.Queue[str] = asyncio.Queue()

    async def work(job: JobRecord) -> None:
        began.put_nowait(job)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.put_nowait(job.id)

    await store.add_job(NOTE)
    async with running(store, work, job_lease_s=0.3):
        job = await soon(began.get())
        first = (await store.list_jobs("default")).items[0].lease_until
        while (await store.list_jobs("default")).items[0].lease_until == first:
            pass
        assert stopped.empty()
        await store.finish_job(job.done())
        assert await soon(stopped.get()) == job.id


async def test_a_runner_that_stops_gives_its_jobs_back(store: Store) -> None:
    """B1: in good order: the next gateway claims them at once, and no attempt is lost."""
    began = asyncio.Event()

    async def work(job: JobRecord) -> None:
        began.set()
        await asyncio.Event().wait()

    await store.add_job(NOTE)
    async with running(store, work):
        await soon(began.wait())
    again = await store.claim_job(["note"], 1000)
    assert again is not None
    assert again.attempts == 1


async def test_so_many_jobs_run_at_once_and_no_more(store: Store) -> None:
    """C9: the next one is claimed when there is room again."""
    began: asyncio.Queue[JobRecord] = asyncio.Queue()
    go = asyncio.Event()

    async def work(job: JobRecord) -> None:
        began.put_nowait(job)
        await go.wait()
        await store.finish_job(job.done())

    for key in "123":
        await store.add_job(structs.replace(NOTE, key=key))
    async with running(store, work, jobs_at_once=2):
        await soon(began.get())
        await soon(began.get())
        assert await store.count_jobs() == {
            "queued": 2,
            "running": 2,
            "dead": 0,
        }  # the runner's own waits too
        go.set()
        assert (await soon(began.get())).attempts == 1


async def test_the_runner_ends_jobs_that_no_process_can_run(store: Store) -> None:
    """B1: a job whose code is gone is no endless loop."""

    async def work(job: JobRecord) -> None:
        raise AssertionError

    await store.add_job(NewJob(kind="gone", key="1", tenant="default"))
    async with running(store, work, sweep_s=0.01, unknown_job_s=0.0):
        assert (await until_state(store, "dead")).error_code == "unknown_job_kind"
    assert await store.next_job([UNKNOWN]) is not None


async def test_owners_see_the_jobs_of_their_team_and_retry_the_dead() -> None:
    """B11: with state, attempts and error, without the payload; others are refused, another team sees nothing."""
    async with house(LIMITS) as place, place.client() as ann, place.client("bob") as bob:
        async with place.client("cid") as admin:
            assert code_of(await admin.get("/api/jobs")) == "forbidden"
        await place.store.set_role("default", "ann", "owner")
        await place.store.set_role("other", "bob", "owner")
        await place.store.add_job(structs.replace(NOTE, payload=b'"text"'))
        claimed = await place.store.claim_job(["note"], 60_000)
        assert claimed is not None
        path = f"/api/jobs/{claimed.id}/retry"
        assert code_of(await ann.post(path)) == "job_not_dead"
        await place.store.fail_job(claimed, "broken", "It is broken.", None)
        [job] = (await ann.get("/api/jobs", params={"state": "dead", "kind": "note"})).json()["items"]
        times = [job.pop(name) for name in ("run_at", "created_at", "ended_at")]
        assert min(times) > 0
        assert job == {
            "id": claimed.id,
            "kind": "note",
            "key": "1",
            "state": "dead",
            "attempts": 1,
            "error": {"code": "broken", "message": "It is broken."},
        }
        assert 'agio_jobs{state="dead"} 1.0' in (await ann.get("/metrics")).text
        assert (await bob.get("/api/jobs")).json() == {"items": [], "next": None}
        assert code_of(await bob.post(path)) == "job_not_found"
        assert (await ann.post(path)).json()["state"] == "queued"
        assert (await ann.get("/api/jobs", params={"state": "dead"})).json()["items"] == []
        assert code_of(await ann.get("/api/jobs", params={"after": "x"})) == "invalid_cursor"
        [entry] = (await place.store.list_audit("default", action="job.retry")).items
        assert (entry.user, entry.object, entry.details) == ("ann", claimed.id, {"kind": "note"})


async def test_a_team_that_sets_a_retention_loses_its_old_sessions() -> None:
    """C5: its job runs at once, and readers of a deleted session are told."""
    async with house(LIMITS) as place, place.client() as ann:
        with days_ago(2):
            old = await place.start_session(ann)
        young = await place.start_session(ann, name="Eve")
        async with place.room.hub.subscribe(old, 0) as reader:
            assert (await ann.patch("/api/tenant", json={"retention_days": 1})).status_code == 200
            assert await soon(reader.next()) is None
            assert reader.ended == "deleted"
        assert code_of(await ann.get(f"/api/agent-sessions/{old}")) == "session_not_found"
        assert (await ann.get(f"/api/agent-sessions/{young}")).status_code == 200
        assert (await until_state(place.store, "queued")).kind == RETENTION
