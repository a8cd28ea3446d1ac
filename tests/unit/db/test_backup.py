"""Copies of a store's file: what is in them, and what a restore leaves alone."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agio.cli.operate.backup import back_up, put_back
from agio.db.migrations import known_version
from agio.db.operate.backup import check_copy, copy_store, restore_store
from agio.db.repository import open_store
from agio.db.sqlite.database import open_unchecked, open_writable
from agio.db.sqlite.migrate import migrate
from agio.errors import AgioError, StoreError, UserError
from agio.settings import ServerSettings, Settings
from tests.support.scenes import person


async def _filled(file: Path, text: str) -> str:
    """Make a store with a session in which this was said; return the session's id."""
    store = await open_store(file)
    ann = await person(store)
    session = await ann.session()
    await ann.send(session, text)
    await store.close()
    return session.id


async def test_what_was_deleted_is_not_in_a_copy(tmp_path: Path) -> None:
    """B1: deleting deletes, also from what is copied afterwards."""
    file, copy = tmp_path / "agio.db", tmp_path / "copy"
    word = "a-word-that-is-deleted " * 500
    session = await _filled(file, word)
    store = await open_store(file)
    await store.delete_session("default", "local", session)
    await store.close()
    assert word.encode()[:200] in file.read_bytes()  # in pages that are free
    made = copy_store(file, copy)
    assert b"a-word-that-is-deleted" not in copy.read_bytes()
    assert (made.path, made.version, made.size) == (copy, known_version("sqlite"), copy.stat().st_size)


async def test_a_copy_is_refused_where_a_file_is(tmp_path: Path) -> None:
    """B1: nothing is replaced unless that is said, and a folder never."""
    file, copy = tmp_path / "agio.db", tmp_path / "copy"
    await _filled(file, "hello")
    copy.write_text("precious")
    for target in (copy, tmp_path):
        with pytest.raises(UserError, match="file_exists"):
            copy_store(file, target)
    assert copy.read_text() == "precious"
    copy_store(file, copy, replace=True)
    assert check_copy(copy).size > 0


def test_what_is_no_store_cannot_be_copied_or_put_back(tmp_path: Path) -> None:
    """B1: nothing is left behind by a copy that failed."""
    (tmp_path / "text").write_text("no database " * 1000)
    foreign = open_unchecked(tmp_path / "foreign")
    foreign.execute("create table theirs (x)")
    foreign.close()
    open_unchecked(tmp_path / "empty").close()
    for name in ("text", "foreign", "empty", "missing"):
        with pytest.raises(StoreError, match=r"store_(corrupt|older|unavailable)"):
            copy_store(tmp_path / name, tmp_path / "copy")
        with pytest.raises(StoreError, match=r"store_(corrupt|older|unavailable)"):
            restore_store(tmp_path / name, tmp_path / "agio.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".lock") == [
        "empty",
        "foreign",
        "text",
    ]


def test_a_store_of_an_older_agio_can_be_copied_and_put_back(tmp_path: Path, later_migration: int) -> None:
    """B1: before an upgrade is when one makes a copy."""
    connection, lock = open_writable(tmp_path / "agio.db")
    older = later_migration - 1
    migrate(connection, older)
    connection.close()
    assert lock is not None
    lock.release()
    assert copy_store(tmp_path / "agio.db", tmp_path / "copy").version == older
    aside = restore_store(tmp_path / "copy", tmp_path / "agio.db")
    assert aside is not None
    assert check_copy(aside).version == check_copy(tmp_path / "agio.db").version == older


async def test_what_a_crash_left_beside_the_store_goes_with_what_is_set_aside(tmp_path: Path) -> None:
    """B1: the log of changes of the old file must never be taken for the new one's."""
    (tmp_path / "old").mkdir()
    first = await _filled(tmp_path / "old" / "agio.db", "first")
    copy_store(tmp_path / "old" / "agio.db", tmp_path / "copy")
    program = (
        "import asyncio, os, sys\n"
        "from agio.db.repository import open_store\n"
        "async def main():\n"
        "    store = await open_store(sys.argv[1])\n"
        "    await store.update_session('default', 'local', sys.argv[2], title='said last')\n"
        "    os._exit(9)\n"
        "asyncio.run(main())\n"
    )
    file = tmp_path / "old" / "agio.db"
    died = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(file), first)
    assert await asyncio.wait_for(died.wait(), 60) == 9
    assert file.with_name("agio.db-wal").stat().st_size > 0
    aside = restore_store(tmp_path / "copy", file)
    assert aside is not None
    assert not file.with_name("agio.db-wal").exists()
    for path, title in ((aside, "said last"), (file, "first")):
        store = await open_store(path)
        assert (await store.get_session("default", "local", first)).title == title
        await store.close()


async def test_a_store_somebody_has_is_not_replaced(tmp_path: Path) -> None:
    """B1: whoever writes a store has it alone."""
    file = tmp_path / "agio.db"
    await _filled(file, "hello")
    copy_store(file, tmp_path / "copy")
    store = await open_store(file)
    with pytest.raises(StoreError, match="store_locked"):
        restore_store(tmp_path / "copy", file)
    await store.close()
    aside = restore_store(tmp_path / "copy", file)
    assert aside is not None
    assert aside.name.startswith("agio.db.2")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """B1: an error of ours, and no file."""
    if os.geteuid() == 0:
        target = Path("/proc/agio-copy")
    else:
        tmp_path.chmod(0o500)
        target = tmp_path / "copy"
    with pytest.raises(StoreError, match="store_unavailable"):
        copy_store(tmp_path / "agio.db", target)


def test_a_shared_database_has_its_own_tools(tmp_path: Path) -> None:
    """B1: agio copies files."""
    server = ServerSettings(database_url="postgresql://127.0.0.1:1/none")
    settings = Settings(tmp_path, {})
    for command in (
        lambda: back_up(tmp_path / "copy", None, settings, server, replace=False),
        lambda: put_back(tmp_path / "copy", None, settings, server),
    ):
        with pytest.raises(AgioError, match="not_embedded"):
            command()
