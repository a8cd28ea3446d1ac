"""One process writes a store; others may read it."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agio.core.store.repository import Append, NewRun
from agio.db.repository import open_store
from agio.errors import StoreError
from agio.protocol.frames import Frame

HOLD = """
import asyncio, sys
from agio.core.store.repository import Append, NewRun
from agio.db.repository import open_store
from agio.protocol.frames import Frame

async def main():
    store = await open_store(sys.argv[1])
    await store.create_run(NewRun("r", "t", "a", "m", "mark"))
    await store.append(Append(Frame("r", 1, 1, 2, b"1\\n2\\n")))
    print("held", flush=True)
    sys.stdin.read()
    await store.close()

asyncio.run(main())
"""


@contextmanager
def held(path: Path) -> Generator["subprocess.Popen[bytes]"]:
    """A second process that has the store open."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


async def test_a_store_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    """B1: the second process learns who holds the store and what it can do."""
    path = tmp_path / "agio.db"
    with held(path) as process:
        with pytest.raises(StoreError) as caught:
            await open_store(path)
        assert caught.value.code == "store_locked"
        assert f"process {process.pid} on" in caught.value.message
        assert "read-only" in caught.value.message
        assert caught.value.details["pid"] == process.pid


async def test_a_store_stays_locked_when_its_lock_file_is_deleted(tmp_path: Path) -> None:
    """B1: the database file itself is locked; readers, and writers beside, are let in as before."""
    path = tmp_path / "agio.db"
    with held(path):
        path.with_name("agio.db.lock").unlink()
        for _ in range(2):
            with pytest.raises(StoreError, match="store_locked"):
                await open_store(path)
        beside = await open_store(path, beside=True)
        await beside.add_tenant("acme", "Acme")
        await beside.close()
        reader = await open_store(path, read_only=True)
        assert (await reader.get_tenant("acme")).name == "Acme"
        assert (await reader.get_log("r")).payload == b"1\n2\n"
        await reader.close()
    with pytest.raises(StoreError, match="store_unavailable"):
        await open_store(tmp_path / "other.db", beside=True)


async def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    """B1: kill -9 of the holder leaves a store that opens at once, with all that was acknowledged."""
    path = tmp_path / "agio.db"
    with held(path) as process:
        process.kill()
        process.wait(timeout=60)
        store = await open_store(path)
    log = await store.get_log("r")
    assert (log.info.status, log.payload) == ("running", b"1\n2\n")
    await store.close()


async def test_a_reader_reads_beside_the_writer_of_another_process(tmp_path: Path) -> None:
    """L10: read-only sees running runs, their newest events too, and writes nothing."""
    path = tmp_path / "agio.db"
    with held(path):
        reader = await open_store(path, read_only=True)
        log = await reader.get_log("r", 1)
        assert (log.info.status, log.info.last_seq, log.payload) == ("running", 2, b"2\n")
        assert [run.last_seq for run in await reader.list_runs()] == [2]
        with pytest.raises(StoreError, match="store_read_only"):
            await reader.claim_run("r")
        await reader.close()


async def test_a_reader_follows_a_writer(tmp_path: Path) -> None:
    """L10: a reader opened early sees what is committed later: tail, segments and sealed logs."""
    path = tmp_path / "agio.db"
    writer = await open_store(path)
    reader = await open_store(path, read_only=True)
    await writer.create_run(NewRun("r", "t", "a", "m", "mark"))
    written = b""
    for seq in range(1, 12):
        frame = Frame("r", 1, seq, 1, b'"' + b"x" * 60_000 + b'"\n')
        await writer.append(Append(frame, (), "completed" if seq == 11 else None))
        written += frame.payload
        assert (await reader.get_log("r")).payload == written
    assert (await reader.get_run("r")).status == "completed"
    await reader.close()
    await writer.close()


async def test_a_closed_store_can_be_read_and_written_again(tmp_path: Path) -> None:
    """L10: closing lets go of the lock; a store nobody writes can be read."""
    path = tmp_path / "agio.db"
    store = await open_store(path)
    with pytest.raises(StoreError, match="this process"):
        await open_store(path)
    await store.close()
    reader = await open_store(path, read_only=True)
    assert await reader.list_runs() == []
    await reader.close()
    await (await open_store(path)).close()


def test_a_store_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    """L10: a script may call asyncio.run more than once with one store."""
    store = asyncio.run(open_store(tmp_path / "agio.db"))
    created = asyncio.run(store.create_run(NewRun("r", "t", "a", "m", "mark")))
    assert asyncio.run(store.get_run("r")) == created
    asyncio.run(store.close())


def test_importing_the_store_does_not_import_sqlite() -> None:
    """L10: apsw is loaded when a store is opened, not when agio is imported."""
    code = "import sys, agio.db.repository; print('apsw' in sys.modules, 'sqlite3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == [b"False", b"False"]
