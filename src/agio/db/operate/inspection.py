"""Read-only inspection of a store that may be in use, for `agio doctor`."""

import threading
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from agio.db.migrations import known_version
from agio.db.postgres.driver import connect
from agio.db.postgres.errors import opening_error
from agio.db.postgres.migrate import check_schema
from agio.db.postgres.plans import ask_query
from agio.db.queries import load_queries
from agio.db.sqlite.database import check_pages, open_readable, store_error
from agio.db.sqlite.migrate import schema_version
from agio.errors import StoreError


class StoreReport(Struct, frozen=True, kw_only=True):
    """The result of an inspection."""

    version: int
    """The store's schema version."""
    newest: int
    """The newest schema version that this agio knows."""
    damage: str = ""
    thorough: bool = True
    """Whether all pages were checked within the time limit."""
    newest_run_at: int = 0
    """When the newest run began (ms)."""
    server_version: int = 0
    """Postgres: `server_version_num`, such as 160002."""
    skew_ms: int = 0
    """Postgres: how far its clock is ahead of ours."""


def inspect_file(path: Path, within_s: float) -> StoreReport:
    """Inspect a file, for at most about `within_s`. Raises StoreError as opening it does."""
    import apsw

    connection = open_readable(path, any_version=True)
    timer = threading.Timer(within_s, connection.interrupt)
    timer.start()
    version, newest_at, damage, thorough = 0, None, "", True
    try:
        version = schema_version(connection)
        newest_at = connection.execute(load_queries("sqlite")["newest_run_at"]).get
        damage = check_pages(connection)
    except apsw.InterruptError:
        thorough = False
    except Exception as error:
        raise store_error(error, path) from error
    finally:
        timer.cancel()
        timer.join()
        connection.close()
    return StoreReport(
        version=version,
        newest=known_version("sqlite"),
        damage=damage,
        thorough=thorough,
        newest_run_at=msgspec.convert(newest_at or 0, int),
    )


async def inspect_database(url: str) -> StoreReport:
    """Inspect a Postgres database. Raises StoreError as opening it does."""
    try:
        connection = await connect(url)
    except Exception as error:
        raise opening_error(error, url) from error
    try:
        version = await check_schema(connection, url)
        [(server,)] = await ask_query(connection, "server_version", {})
        began = time.time_ns()
        [(theirs,)] = await ask_query(connection, "server_time", {})
        ours = (began + time.time_ns()) // 2_000_000
    except StoreError:
        raise
    except Exception as error:
        raise opening_error(error, url) from error
    finally:
        await connection.close()
    return StoreReport(
        version=version,
        newest=known_version("postgres"),
        server_version=msgspec.convert(server, int),
        skew_ms=msgspec.convert(theirs, int) - ours,
    )
