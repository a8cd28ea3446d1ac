"""The logs of ended runs are packed in blocks; what is read is what was written."""

import random

import pytest

from agio.core.store.repository import Append
from agio.core.store.store import Store
from agio.db.packing import BLOCK_BYTES
from agio.errors import StoreError
from tests.support.backends import Backend, begin, finish, frame

LOGS = {"one": [1], "short": [1, 7, 2, 30], "long": [3, 2000, 1, 500] * 2, "huge": [1, -1, 40, -2, 1]}
"""Runs: the sizes of their frames. A negative one is that many events, each of which is longer than a block."""


async def _write(store: Store, run_id: str, sizes: list[int]) -> list[bytes]:
    """Write an ended run; returns its lines."""
    await begin(store, run_id)
    written: list[bytes] = []
    for size in sizes:
        text = "x" * (2 * BLOCK_BYTES) if size < 0 else "é"
        part = frame(run_id, len(written) + 1, abs(size), text=text)
        await store.append(Append(part))
        written += part.payload.splitlines(keepends=True)
    last = await finish(store, run_id, len(written) + 1)
    return [*written, last.frame.payload]


async def test_packed_logs_read_the_same_from_any_event(backend: Backend) -> None:
    """L10: short and long logs are packed, and every range of them is what was appended, to the byte."""
    store = await backend.open()
    logs = {run_id: await _write(store, run_id, sizes) for run_id, sizes in LOGS.items()}
    await store.close()  # on Postgres logs are packed soon after the end, and before the close
    store = await backend.open()
    chosen = random.Random(5)
    for run_id, lines in logs.items():
        assert (await store.get_log(run_id)).payload == b"".join(lines)
        assert await store.get_events(run_id, len(lines) - 1) == frame(run_id, len(lines), 1).events()
        for after in [0, len(lines) - 1, *(chosen.randrange(len(lines)) for _ in range(20))]:
            limit = chosen.choice([1, 500, BLOCK_BYTES, 3 * BLOCK_BYTES])
            part = await store.read_run(run_id, after, limit)
            assert part.first_pos == after + 1
            assert part.payload == b"".join(lines[after : after + part.count])
            assert part.count == 1 or len(part.payload) - len(lines[after + part.count - 1]) < limit
        stored = f"select codec, length(payload), plain_bytes from {backend.log_table} where run_id = :run_id"
        rows = await backend.execute(stored, run_id=run_id)
        assert {codec for codec, *_ in rows} == {"zlib"}
        packed, plain = (sum(int(str(row[column])) for row in rows) for column in (1, 2))
        assert plain == sum(map(len, lines))
        assert packed < plain / 5 or len(lines) < 3
    await store.append(Append(frame("short", 2, 7)))  # a repeat is compared with what is packed
    with pytest.raises(StoreError, match="run_ended"):
        await store.append(Append(frame("short", 2, 7, text="other")))
    await store.close()


async def test_a_read_unpacks_only_the_blocks_of_its_range(backend: Backend) -> None:
    """L10: every block but one is damaged: the events of that one are read, the others are reported."""
    store = await backend.open()
    lines = await _write(store, "r1", [2000] * 3)
    await store.close()
    blocks = f"select first_seq, last_seq from {backend.log_table} where run_id = 'r1' order by first_seq"
    found = await backend.execute(blocks)
    assert len(found) > sum(map(len, lines)) // BLOCK_BYTES > 3
    (start, end), (last, _) = found[1], found[-1]
    damage = f"update {backend.log_table} set payload = substr(payload, 1, length(payload) - 9)"
    await backend.execute(f"{damage} where first_seq <> :start", start=start)
    store = await backend.open()
    after, upto = int(str(start)) - 1, int(str(end))
    part = await store.read_run("r1", after, sum(map(len, lines[after:upto])))
    assert part.payload == b"".join(lines[after:upto])
    for damaged in (0, int(str(last)) - 1):
        with pytest.raises(StoreError, match="store_corrupt"):
            await store.read_run("r1", damaged, 1)
    with pytest.raises(StoreError, match="store_corrupt"):
        await store.get_log("r1")
    await store.close()


async def test_rows_from_before_packing_stay_readable(backend: Backend) -> None:
    """L10: a log that was stored plain is read, and so is one that has rows of both kinds."""
    store = await backend.open()
    lines = await _write(store, "r1", [2000])
    await store.close()
    blocks = f"select first_seq, last_seq from {backend.log_table} where run_id = 'r1' order by first_seq"
    found = await backend.execute(blocks)
    for first, last in found[::2]:
        await backend.execute(
            f"update {backend.log_table} set payload = :payload, codec = null, plain_bytes = null "
            "where first_seq = :first_seq",
            payload=b"".join(lines[int(str(first)) - 1 : int(str(last))]),
            first_seq=first,
        )
    store = await backend.open()
    assert (await store.get_log("r1")).payload == b"".join(lines)
    assert (await store.get_log("r1", 700)).payload == b"".join(lines[700:])
    await store.close()
