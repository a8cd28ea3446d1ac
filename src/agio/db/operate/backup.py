"""Backup and restore of an embedded store, while it is in use.

A copy is read in one transaction, so it is the store as of one commit. It is rebuilt, so it holds no deleted data.
A file gets its name only after it is complete and synced.
"""

import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from agio.db.queries import load_queries
from agio.db.sqlite.database import check_pages, open_readable, open_unchecked, wrapped_errors
from agio.db.sqlite.lock import StoreLock
from agio.db.sqlite.migrate import schema_version
from agio.errors import StoreError, UserError

_BESIDE = ("-wal", "-shm")


class Copy(Struct, frozen=True):
    """A copy whose pages were checked."""

    path: Path
    version: int
    """The schema it has."""
    size: int


def copy_store(store: Path, target: Path, *, replace: bool = False) -> Copy:
    """Copy a store that may be in use to a new file. The file is complete when this returns.

    Raises UserError `file_exists`; StoreError as opening a store does.
    """
    _check_free(target, replace)
    with _new_file(target) as unfinished:
        connection = open_readable(store, any_version=True)
        try:
            with wrapped_errors(store):
                connection.execute(load_queries("sqlite")["copy_store"], {"path": str(unfinished)})
        finally:
            connection.close()
        copy = check_copy(unfinished)
        _check_free(target, replace)
        _sync(unfinished)
        os.replace(unfinished, target)
    _sync(target.parent)
    return Copy(target, copy.version, copy.size)


def check_copy(path: Path) -> Copy:
    """Check all pages of a copy. Raises StoreError as opening does, and `store_corrupt` for a damaged page."""
    connection = open_readable(path, any_version=True)
    try:
        with wrapped_errors(path):
            if found := check_pages(connection):
                raise StoreError("store_corrupt", f"The file {path} is damaged: {found}.")
            return Copy(path, schema_version(connection), path.stat().st_size)
    finally:
        connection.close()


def restore_store(copy: Path, store: Path) -> Path | None:
    """Replace a store by a copy. The old file is kept; its new name is returned.

    Raises StoreError `store_locked` while a process holds the store, and what `check_copy` raises.
    """
    check_copy(copy)
    with wrapped_errors(store):
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = StoreLock(store)
        lock.acquire()
        try:
            with _new_file(store) as unfinished:
                shutil.copyfile(copy, unfinished)
                check_copy(unfinished)
                _sync(unfinished)
                aside = _set_aside(store) if store.stat().st_size else None  # else the lock has just made it
                os.replace(unfinished, store)
            _sync(store.parent)
        finally:
            lock.release()
    return aside


def _set_aside(store: Path) -> Path:
    """Link the old file to a second name, after a checkpoint of its WAL if it can be read."""
    with suppress(Exception):  # a damaged file is kept as it is
        connection = open_unchecked(store)
        try:
            connection.pragma("wal_checkpoint", "truncate")
        finally:
            connection.close()
    aside = store.with_name(f"{store.name}.{time.strftime('%Y%m%d-%H%M%S')}")
    number = 0
    while aside.exists():
        number += 1
        aside = store.with_name(f"{store.name}.{time.strftime('%Y%m%d-%H%M%S')}-{number}")
    os.link(store, aside)
    for ending in _BESIDE:
        beside = store.with_name(store.name + ending)
        if beside.exists():
            os.replace(beside, aside.with_name(aside.name + ending))
    return aside


@contextmanager
def _new_file(target: Path) -> Generator[Path]:
    """Create a private empty file beside the target; it is deleted at the end unless it was renamed."""
    with wrapped_errors(target):
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            yield unfinished
        finally:
            for name in (unfinished, *(unfinished.with_name(unfinished.name + ending) for ending in _BESIDE)):
                name.unlink(missing_ok=True)


def _check_free(target: Path, replace: bool) -> None:
    if target.is_dir() or (target.exists() and not replace):
        raise UserError(
            "file_exists", f"{target} exists already. Name another file, or replace it with --force."
        )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
