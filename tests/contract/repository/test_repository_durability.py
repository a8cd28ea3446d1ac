"""What was acknowledged is there after a close and after a crash."""

from agio.core.store.repository import AgentRunRepository, Append, ToolRecord
from tests.support.backends import Backend, begin, finish, frame, turn


async def test_a_store_opened_again_is_the_same(backend: Backend) -> None:
    """B1: runs, logs, turns and tool records survive a close."""
    store = await backend.open()
    await _fill(store)
    before = await _everything(store)
    await store.close()
    again = await backend.open()
    assert await _everything(again) == before
    await _go_on(again)
    await again.close()


async def test_a_crash_loses_nothing_acknowledged(backend: Backend) -> None:
    """B1: the files as they are at any moment hold all that was acknowledged."""
    store = await backend.open()
    await _fill(store)
    crashed = await backend.open_after_crash()
    assert await _everything(crashed) == await _everything(store)
    await _go_on(crashed)
    await crashed.close()
    await store.close()


async def test_a_run_that_was_running_stays_so_until_claimed(backend: Backend) -> None:
    """B1: opening a store changes no run; a claim takes it over and finishes it."""
    store = await backend.open()
    await begin(store, "r1")
    await store.append(Append(frame("r1", 1, 3)))
    await store.close()
    store = await backend.open()
    assert (await store.get_run("r1")).status == "running"
    assert (await store.claim_run("r1")).epoch == 2
    await finish(store, "r1", 4, epoch=2)
    await store.close()
    store = await backend.open()
    assert (await store.get_log("r1")).payload == frame("r1", 1, 4).payload
    assert (await store.get_run("r1")).epoch == 2
    await store.close()


async def test_a_repeat_after_a_crash_is_recognised(backend: Backend) -> None:
    """B1: a worker that did not see its acknowledgement sends the frame again and all is well."""
    store = await backend.open()
    await begin(store, "r1")
    write = Append(frame("r1", 1, 3), [turn("r1", 1, 3)])
    await store.append(write)
    crashed = await backend.open_after_crash()
    await crashed.append(write)
    await crashed.append(Append(frame("r1", 4, 1)))
    assert (await crashed.get_log("r1")).payload == frame("r1", 1, 4).payload
    await crashed.close()
    await store.close()


async def _fill(store: AgentRunRepository) -> None:
    """Runs in every state: ended, running, claimed, longer than a segment, without events."""
    await begin(store, "ended")
    await store.append(Append(frame("ended", 1, 3), [turn("ended", 1, 3)]))
    await finish(store, "ended", 4, turns=[turn("ended", 2, 4)])
    await begin(store, "running", thread="t2")
    await store.append(Append(frame("running", 1, 2)))
    await store.append(Append(frame("running", 3, 2), [turn("running", 1, 4)]))
    await begin(store, "claimed", thread="t3")
    await store.append(Append(frame("claimed", 1, 2)))
    await store.claim_run("claimed")
    await store.append(Append(frame("claimed", 3, 1, epoch=2)))
    await begin(store, "long", thread="t4")
    for first in range(1, 12):
        await store.append(Append(frame("long", first, 1, text="x" * 60_000)))
    await begin(store, "empty", thread="t5")
    await store.begin_tool("running", "1.0")
    await store.end_tool("running", "1.0", ToolRecord("done"))


async def _everything(store: AgentRunRepository) -> list[object]:
    return [await store.get_log(run.run_id) for run in await store.list_runs()]


async def _go_on(store: AgentRunRepository) -> None:
    """Whoever had a run may go on with it, and a finished tool is not run again."""
    assert await store.begin_tool("running", "1.0") == ToolRecord("done")
    await finish(store, "running", 5)
    await finish(store, "claimed", 4, epoch=2)
    await finish(store, "long", 12)
    await finish(store, "empty", 1)
    assert (await store.get_log("claimed")).payload == frame("claimed", 1, 4).payload
