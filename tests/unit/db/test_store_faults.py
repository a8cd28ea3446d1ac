"""Stores that cannot be opened or written: each with its code and what to do."""

import asyncio
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import msgspec
import pytest

from agio.core.store.repository import Append, NewRun
from agio.db.repository import Repository, open_store
from agio.db.sqlite.connector import Connection
from agio.errors import StoreError
from agio.protocol.frames import Frame


def line(run_id: str, seq: int, size: int = 10) -> Frame:
    return Frame(run_id, 1, seq, 1, b'"' + run_id.encode() + b"x" * size + b'"\n')


@pytest.fixture
def connections() -> Iterator[list[Connection]]:
    """Every connection apsw opens during the test; the writer's is the first."""
    opened: list[Connection] = []

    def note(connection: apsw.Connection) -> None:
        opened.append(cast("Connection", connection))

    apsw.connection_hooks.append(note)
    yield opened
    apsw.connection_hooks.remove(note)


def run_sql(path: Path, statement: str) -> None:
    connection = cast("Connection", apsw.Connection(str(path)))
    connection.execute(statement)
    connection.close()


async def refusal(path: Path, *, read_only: bool = False) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await open_store(path, read_only=read_only)
    assert str(path) in caught.value.message
    return caught.value


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("content", [b"this is no database, " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path, content: bytes, read_only: bool) -> None:
    """L10: a corrupt or foreign file is named, with advice, and not touched."""
    path = tmp_path / "agio.db"
    path.write_bytes(content)
    error = await refusal(path, read_only=read_only)
    assert error.code == "store_corrupt"
    assert "another file" in error.message
    assert path.read_bytes() == content


async def test_a_damaged_page_is_reported_where_it_is_read(tmp_path: Path) -> None:
    """L10: damage inside a store fails the reads that meet it with a code."""
    path = tmp_path / "agio.db"
    store = await open_store(path)
    await store.create_run(NewRun("r", "t", "a", "m", "mark"))
    await store.append(Append(line("r", 1, 200_000), (), "completed"))
    await store.close()
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 100] = b"\xff" * 100
    path.write_bytes(content)
    assert (await refusal(path)).code == "store_corrupt"


@pytest.mark.parametrize("damage", ["delete from tail where id = 2", "update tail set frames = x'c1'"])
async def test_a_log_with_a_hole_is_not_served(tmp_path: Path, damage: str) -> None:
    """B1: a tail that lacks events or cannot be decoded is reported with its file's name."""
    path = tmp_path / "agio.db"
    store = await open_store(path)
    await _begin(store, "r")
    for seq in range(1, 4):
        await store.append(Append(line("r", seq)))
    await store.close()
    run_sql(path, damage)
    assert (await refusal(path)).code == "store_corrupt"


@pytest.mark.parametrize("read_only", [False, True])
async def test_the_database_of_another_program_is_refused(tmp_path: Path, read_only: bool) -> None:
    """L10: agio does not put its tables into someone else's file."""
    path = tmp_path / "other.db"
    run_sql(path, "create table theirs (x)")
    error = await refusal(path, read_only=read_only)
    assert error.code == "store_corrupt"
    assert "another program" in error.message


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_store_of_a_newer_agio_is_refused(tmp_path: Path, read_only: bool) -> None:
    """L10: a newer schema is not guessed at."""
    path = tmp_path / "agio.db"
    await (await open_store(path)).close()
    run_sql(path, "insert into schema_migrations values (999, 'future', 0)")
    error = await refusal(path, read_only=read_only)
    assert error.code == "store_newer"
    assert "Upgrade" in error.message


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    """L10: a folder where a file is wanted is said to be one."""
    error = await refusal(tmp_path)
    assert error.code == "store_unavailable"
    assert "folder" in error.message


async def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    """L10: a folder that cannot be made is an error with a code."""
    (tmp_path / "file").write_text("")
    assert (await refusal(tmp_path / "file" / "agio.db")).code == "store_unavailable"


async def test_a_file_system_that_forbids_files_is_refused() -> None:
    """L10: a place nobody can write to, not even root."""
    assert (await refusal(Path("/proc/agio.db"))).code == "store_unavailable"


async def test_missing_folders_are_made(tmp_path: Path) -> None:
    """L10: a new store needs no preparation."""
    store = await open_store(tmp_path / "a" / "b" / "agio.db")
    await store.close()
    assert (tmp_path / "a" / "b" / "agio.db").exists()


async def test_reading_makes_no_file(tmp_path: Path) -> None:
    """L10: read-only needs a store that exists."""
    assert (await refusal(tmp_path / "agio.db", read_only=True)).code == "store_unavailable"
    assert not os.listdir(tmp_path)


async def test_a_full_store_refuses_and_goes_on_when_there_is_room(
    tmp_path: Path, connections: list[Connection]
) -> None:
    """B1: an append that does not fit changes nothing; later ones are stored when there is room."""
    store = await open_store(tmp_path / "agio.db")
    await _begin(store, "r", "s")
    await store.append(Append(line("r", 1)))
    writer = connections[0]
    writer.pragma("max_page_count", msgspec.convert(writer.pragma("page_count"), int) + 2)
    with pytest.raises(StoreError) as caught:
        await store.append(Append(line("r", 2, 100_000)))
    assert caught.value.code == "store_full"
    assert (await store.get_log("r")).payload == line("r", 1).payload

    big, small = await asyncio.gather(
        store.append(Append(line("r", 2, 100_000))),
        store.append(Append(line("s", 1))),
        return_exceptions=True,
    )
    assert isinstance(big, StoreError)
    assert small is None

    writer.pragma("max_page_count", 1_000_000)
    await store.append(Append(line("r", 2, 100_000)))
    expected = line("r", 1).payload + line("r", 2, 100_000).payload
    assert (await store.get_log("r")).payload == expected
    await store.close()
    again = await open_store(tmp_path / "agio.db")
    assert (await again.get_log("r")).payload == expected
    await again.close()


async def test_an_append_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    """B1: an I/O error fails the append, is not half stored, and the store works when it is over."""
    store = await open_store(tmp_path / "agio.db")
    await _begin(store, "r")
    await store.append(Append(line("r", 1)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "agio.db-wal").stat().st_size + 5000, hard))
    try:
        with pytest.raises(StoreError) as caught:
            await store.append(Append(line("r", 2, 100_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code in {"store_failed", "store_full"}
    assert (await store.get_log("r")).payload == line("r", 1).payload
    await store.append(Append(line("r", 2)))
    await store.close()
    again = await open_store(tmp_path / "agio.db")
    assert (await again.get_log("r")).payload == line("r", 1).payload + line("r", 2).payload
    await again.close()


async def _begin(store: Repository, *runs: str) -> None:
    for run_id in runs:
        await store.create_run(NewRun(run_id, run_id, "a", "m", "mark"))
