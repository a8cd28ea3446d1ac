"""Opens SQLite files: settings, schema check, migration; maps SQLite's errors to StoreError."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import msgspec

from agio.db.migrations import check_applied, known_version
from agio.db.packing import DamagedLog
from agio.db.queries import load_queries
from agio.db.search.message_text import fold_case, said
from agio.db.sqlite.connector import Connection
from agio.db.sqlite.lock import StoreLock
from agio.db.sqlite.migrate import applied_migrations, migrate
from agio.db.sqlite.vectors import load_vectors
from agio.errors import AgioError, StoreError

APPLICATION_ID = 0x6167696F
"""`agio` in ASCII, in the header of every store."""
BUSY_TIMEOUT_MS = 5_000
STATEMENTS = 512
"""How many prepared statements a connection keeps: more than there are queries."""
WAL_LIMIT_BYTES = 64 * 1024 * 1024
_DAMAGES_TOLD = 3


def open_writable(path: Path | None, *, beside: bool = False) -> tuple[Connection, StoreLock | None]:
    """Open the file for the one writer, making or migrating it; None is a store in memory.

    With `beside` the file stays its holder's: it is neither locked, made nor migrated.

    Raises StoreError `store_locked`, `store_corrupt`, `store_newer`, `store_prerelease`, `store_unavailable`,
    `store_full`.
    """
    lock: StoreLock | None = None
    with wrapped_errors(path), ExitStack() as undo:
        if path is not None and beside:
            return _checked(path, undo, read_only=False), None
        if path is not None:
            _check_path(path)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = StoreLock(path)
            lock.acquire()
            undo.callback(lock.release)
        connection = _connect(path, read_only=False)
        undo.callback(connection.close)
        _check_schema(connection, path)
        if path is not None:
            connection.pragma("journal_mode", "wal")
            connection.pragma("journal_size_limit", WAL_LIMIT_BYTES)
        connection.pragma("application_id", APPLICATION_ID)
        migrate(connection)
        undo.pop_all()
    return connection, lock


def open_readable(path: Path, *, any_version: bool = False) -> Connection:
    """Open a file for reading, beside the writer; with `any_version` also with an older schema.

    Raises StoreError `store_corrupt`, `store_newer`, `store_older`, `store_prerelease`, `store_unavailable`.
    """
    with wrapped_errors(path), ExitStack() as undo:
        return _checked(path, undo, read_only=True, any_version=any_version)


def open_unchecked(path: Path) -> Connection:
    """Open a file without a check; the caller holds its lock. Raises what apsw raises."""
    return _connect(path, read_only=False)


def check_pages(connection: Connection) -> str:
    """Check a file's pages; returns the damage, or nothing."""
    found = connection.pragma("quick_check", _DAMAGES_TOLD)
    return "" if found == "ok" else str(found)


def store_error(error: Exception, path: Path | None) -> AgioError:
    """Wrap an error in a StoreError; an AgioError is returned as it is."""
    import apsw

    where = "The store in memory" if path is None else f"The store {path}"
    match error:
        case AgioError():
            return error
        case apsw.FullError():
            code, text = "store_full", "is full: free some space on its disk and try again"
        case apsw.CorruptError() | apsw.NotADBError() | DamagedLog() | msgspec.DecodeError():
            code = "store_corrupt"
            text = "cannot be read: it is damaged or no SQLite file. Restore a copy or use another file"
        case apsw.BusyError() | apsw.LockedError():
            code, text = "store_locked", "is held by another program: close it there and try again"
        case OSError() | apsw.CantOpenError() | apsw.PermissionsError() | apsw.ReadOnlyError():
            code, text = "store_unavailable", "cannot be opened: check its path and permissions"
        case _:
            code, text = "store_failed", "could not do this"
    wrapped = StoreError(code, f"{where} {text} ({error}).", {"path": str(path or ":memory:")})
    wrapped.__cause__ = error
    return wrapped


@contextmanager
def wrapped_errors(path: Path | None) -> Generator[None]:
    """Raise errors of a file as StoreErrors."""
    try:
        yield
    except AgioError:
        raise
    except Exception as error:
        raise store_error(error, path) from error


def _connect(path: Path | None, *, read_only: bool) -> Connection:
    import apsw

    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    name = ":memory:" if path is None else str(path)
    connection = cast("Connection", apsw.Connection(name, flags=flags, statementcachesize=STATEMENTS))
    # Without this a statement is planned again for every bound value.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.create_scalar_function("lower", _lower, 1, deterministic=True)
    connection.create_scalar_function("said", said, 1, deterministic=True)
    connection.create_scalar_function("fold_case", _fold_case, 1, deterministic=True)
    load_vectors(connection)
    connection.pragma("foreign_keys", "on")
    connection.pragma("synchronous", "full")
    connection.pragma("secure_delete", "fast")  # what is deleted leaves the pages that are written anyway
    connection.pragma("temp_store", "memory")  # keeps the undo data of savepoints in memory
    return connection


def _checked(path: Path, undo: ExitStack, *, read_only: bool, any_version: bool = False) -> Connection:
    """Open a file that is there, with a schema of ours."""
    _check_path(path, must_exist=True)
    connection = _connect(path, read_only=read_only)
    undo.callback(connection.close)
    version = _check_schema(connection, path)
    if version < known_version("sqlite") and not (any_version and version):
        raise StoreError(
            "store_older",
            f"The store {path} is new or was written by an older agio. Open it once for writing.",
            {"path": str(path), "version": version},
        )
    undo.pop_all()
    return connection


def _lower(text: object) -> object:
    """SQLite's own `lower` handles ASCII only."""
    return text.lower() if isinstance(text, str) else text


def _fold_case(text: object) -> object:
    return fold_case(text) if isinstance(text, str) else text


def _check_path(path: Path, *, must_exist: bool = False) -> None:
    if path.is_dir():
        raise IsADirectoryError("it is a folder; name a file in it")
    if must_exist and not path.exists():
        raise FileNotFoundError("there is no such file")


def _check_schema(connection: Connection, path: Path | None) -> int:
    """The file's version. Raises StoreError `store_corrupt` for another program's file, and as `check_applied` does."""
    if connection.execute(load_queries("sqlite")["count_tables"]).get == 0:
        return 0
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreError(
            "store_corrupt", f"The file {path} is the database of another program. Use another file."
        )
    return check_applied(applied_migrations(connection), "sqlite", str(path))
