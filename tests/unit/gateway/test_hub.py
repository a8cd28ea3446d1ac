"""Fan-out: every reader gets each committed event once, in order, and a slow one costs nothing."""

import asyncio
import random
import time
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest

from agio.core.config import ServerLimits
from agio.core.store.records import EventSlice
from agio.db.repository import open_store
from agio.gateway.stream.event_slice import EncodedSlice
from agio.gateway.stream.hub import BATCH_BYTES, Hub, Subscription
from tests.support.engine import soon
from tests.support.written_run import WrittenRun, new_session


@asynccontextmanager
async def _run(limits: ServerLimits | None = None) -> AsyncGenerator[WrittenRun]:
    store = await open_store(":memory:")
    hub = Hub(store, limits or ServerLimits())
    session = await new_session(store)
    yield await WrittenRun(store, hub, session.id).start()
    hub.close()
    await store.close()


async def _log(run: WrittenRun) -> bytes:
    chunks = await run.store.read_session(run.session_id, 0, 2**30)
    return b"".join(chunk.payload for chunk in chunks)


async def _read(reader: Subscription, until: int) -> list[EncodedSlice]:
    """Read up to a position; what comes is consecutive."""
    pieces: list[EncodedSlice] = []
    while not pieces or pieces[-1].last_pos < until:
        taken = await soon(reader.take())
        assert taken
        for piece in taken:
            assert not pieces or piece.events.first_pos == pieces[-1].last_pos + 1
            pieces.append(piece)
    return pieces


def _bytes(pieces: list[EncodedSlice]) -> bytes:
    return b"".join(piece.events.payload for piece in pieces)


async def test_a_reader_gets_what_was_stored_and_then_what_is_published() -> None:
    """R6, L9: nothing is missed between the store and the live events, and nothing comes twice."""
    async with _run() as run:
        await run.write(3)
        async with run.hub.subscribe(run.session_id, 0) as reader:
            stored = await _read(reader, 4)
            await run.write(2)
            live = await _read(reader, 6)
            assert _bytes(stored) + _bytes(live) == await _log(run)


async def test_two_readers_share_the_texts_of_what_is_published() -> None:
    """R6: an event is framed once for all its readers."""
    async with _run() as run:
        readers = [run.hub.subscribe(run.session_id, 1, from_now=True) for _ in range(2)]
        await run.write(3)
        one, other = [(await _read(reader, 4))[0] for reader in readers]
        assert one.sse is other.sse
        assert one.realtime is other.realtime
        assert one.sse.count(b"\n\n") == 3
        assert run.hub.open_streams == 2
        for reader in readers:
            reader.close()
        assert run.hub.open_streams == 0


def test_a_thread_may_have_any_name_on_the_websocket() -> None:
    """R1: what a program called its thread is quoted, so that what is sent stays JSON."""
    name = 'my "thread" \\ \n'
    shown = msgspec.json.decode(EncodedSlice(name, EventSlice("run_1", 1, 1, b'{"type":"X"}\n')).realtime)
    assert (shown["session_id"], shown["run_id"], shown["events"]) == (name, "run_1", [{"type": "X"}])


async def test_what_was_published_before_is_dropped() -> None:
    """R6: a repeated or overlapping publication brings each position once."""
    async with _run() as run, run.hub.subscribe(run.session_id, 1, from_now=True) as reader:
        first = await run.write(2)
        run.hub.publish(run.session_id, first)
        second = await run.commit_custom(3)
        both = EventSlice(run.run_id, first.first_pos, 5, first.payload + second.payload)
        run.hub.publish(run.session_id, both)
        run.hub.publish(run.session_id, second)
        pieces = await _read(reader, 6)
        assert _bytes(pieces) == first.payload + second.payload


async def test_a_publication_that_was_lost_is_read_from_the_store() -> None:
    """B1: the store is the truth: a gap in what is published is noticed and filled."""
    async with _run() as run, run.hub.subscribe(run.session_id, 0, from_now=True) as reader:
        await run.commit_custom(3)
        await run.write(1)
        assert _bytes(await _read(reader, 5)) == await _log(run)


@pytest.mark.parametrize(
    "limits",
    [ServerLimits(reader_window_events=10), ServerLimits(reader_window_bytes=1000)],
    ids=["events", "bytes"],
)
async def test_a_reader_that_falls_behind_loses_its_window_and_no_event(limits: ServerLimits) -> None:
    """C7, B1: it is served from the store until it has caught up, and is live again then."""
    async with _run(limits) as run, run.hub.subscribe(run.session_id, 1, from_now=True) as reader:
        for _ in range(40):
            await run.write(1)
        pieces = await _read(reader, 41)
        await run.write(1)
        pieces += await _read(reader, 42)
        assert b"".join((await _log(run)).partition(b"\n")[2:]) == _bytes(pieces)
        assert pieces[-1].events.count == 1


async def test_one_frame_larger_than_the_window_comes_live() -> None:
    """R6: the window is for what waits; what comes to a reader that waits for it always fits."""
    limits = ServerLimits(reader_window_events=2)
    async with _run(limits) as run, run.hub.subscribe(run.session_id, 1, from_now=True) as reader:
        chunk = await run.write(50)
        (piece,) = await soon(reader.take())
        assert piece.events is chunk


async def test_one_frame_of_too_many_bytes_comes_in_parts() -> None:
    """L9: no message to a reader is larger than a batch and one event, whatever was committed at once."""
    limits = ServerLimits(reader_window_bytes=100_000)
    async with _run(limits) as run, run.hub.subscribe(run.session_id, 1, from_now=True) as reader:
        chunk = await run.write(100, size_bytes=5000)
        pieces = await _read(reader, 101)
        assert max(len(piece.events.payload) for piece in pieces) < BATCH_BYTES + 6000
        assert _bytes(pieces) == chunk.payload


async def test_readers_that_come_at_every_event_see_the_same_bytes() -> None:
    """C7, B1: cut after every position and joined again, the stream is the uncut one."""
    async with _run() as run:
        for size in (1, 4, 2, 7):
            await run.write(size)
        await run.finish()
        lines = (await _log(run)).split(b"\n")[:-1]
        for cut in range(len(lines)):
            async with run.hub.subscribe(run.session_id, cut) as reader:
                rest = _bytes(await _read(reader, len(lines)))
            assert rest.split(b"\n")[:-1] == lines[cut:]


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_the_pace_every_reader_gets_everything_once(seed: int) -> None:
    """C7, L9, B1: readers of any pace, coming at any time, beside a run that goes on."""
    dice = random.Random(seed)
    limits = ServerLimits(reader_window_events=8)
    async with _run(limits) as run:
        total = 300

        async def read(after: int, pause: float) -> bytes:
            taken: list[bytes] = []
            at = after
            async with run.hub.subscribe(run.session_id, after) as reader:
                while at < total:
                    for piece in await reader.take():
                        assert piece.events.first_pos == at + 1
                        at = piece.last_pos
                        taken.append(piece.events.payload)
                    if dice.random() < pause:
                        for _ in range(dice.randrange(20)):
                            await asyncio.sleep(0)
            return b"".join(taken)

        readers: list[tuple[int, asyncio.Task[bytes]]] = []
        while run.seq < total:
            if len(readers) < 12 and dice.random() < 0.3:
                after = dice.randrange(run.seq + 1)
                readers.append((after, asyncio.ensure_future(read(after, dice.random()))))
            await run.write(min(dice.randrange(1, 12), total - run.seq))
        lines = (await _log(run)).split(b"\n")[:-1]
        for after, task in readers:
            assert (await soon(task)).split(b"\n")[:-1] == lines[after:total]


async def test_a_hundred_stalled_readers_of_a_fast_run_cost_little() -> None:
    """C7: law 10: memory stays bounded, and a reader that keeps up does not notice."""
    async with _run() as run:
        stalled = [run.hub.subscribe(run.session_id, 1, from_now=True) for _ in range(100)]
        live = run.hub.subscribe(run.session_id, 1, from_now=True)
        for reader in stalled:
            await run.write(1, 1000)
            (await soon(reader.take()))[0].sse  # noqa: B018 what it is sending when it stalls
        await _read(live, run.seq)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            chunk = await run.write(50, 1000)
            (piece,) = await soon(live.take())
            assert piece.events is chunk
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        # The store in memory keeps what was written too: 200 frames of 50 KB.
        assert grown < 25_000_000
        for reader in stalled[::20]:
            pieces = await _read(reader, run.seq)
            assert pieces[-1].last_pos == run.seq


async def test_publishing_costs_a_few_microseconds_a_reader() -> None:
    """R6: fan-out is cheap: no task, no copy and no encoding for an event."""
    async with _run() as run:
        readers = [run.hub.subscribe(run.session_id, 1, from_now=True) for _ in range(100)]
        chunk = await run.commit_custom(1)
        best = min([_timed(run, chunk, pos) for pos in range(chunk.first_pos, chunk.first_pos + 100)])
        assert len(readers) == 100
        assert best < 100 * 50e-6


def _timed(run: WrittenRun, chunk: EventSlice, pos: int) -> float:
    again = EventSlice(chunk.run_id, pos, 1, chunk.payload)
    start = time.perf_counter()
    run.hub.publish(run.session_id, again)
    return time.perf_counter() - start


async def test_a_deleted_session_ends_its_readers() -> None:
    """C5: readers of a session that was deleted are told, those of others are not."""
    async with _run() as run:
        other = await new_session(run.store)
        reader = run.hub.subscribe(run.session_id, 1, from_now=True)
        spared = run.hub.subscribe(other.id, 0)
        waiting = asyncio.ensure_future(reader.next())
        await asyncio.sleep(0)
        run.hub.forget(run.session_id)
        assert await soon(waiting) is None
        assert (reader.ended, spared.ended) == ("deleted", None)


async def test_a_hub_that_closes_ends_all_readers_and_lets_no_other_begin() -> None:
    """C7: at shutdown every stream ends."""
    async with _run() as run:
        reader = run.hub.subscribe(run.session_id, 0)
        run.hub.close()
        assert await soon(reader.take()) == []
        late = run.hub.subscribe(run.session_id, 0)
        assert await soon(late.next()) is None
        assert (reader.ended, late.ended) == ("closing", "closing")


async def test_a_nudge_lets_a_reader_say_that_it_is_alive() -> None:
    """C7: a stream that waits can be woken without an event."""
    async with _run() as run, run.hub.subscribe(run.session_id, 1) as reader:
        waiting = asyncio.ensure_future(reader.take())
        await asyncio.sleep(0)
        reader.nudge()
        assert await soon(waiting) == []
        assert reader.ended is None
        await run.write(1)
        assert len(await soon(reader.take())) == 1
