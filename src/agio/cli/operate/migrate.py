"""`agio migrate`: migrates the store to this program's schema version, or down to an earlier one."""

from pathlib import Path

from agio.db.migrations import known_version
from agio.db.postgres.migrate import migrate_database
from agio.db.sqlite.database import open_writable
from agio.db.sqlite.migrate import migrate
from agio.errors import UserError
from agio.server.announcement import place_of
from agio.server.composition import database_of
from agio.settings import ServerSettings, Settings


async def migrate_store(
    data: Path | None, down: int | None, settings: Settings, server: ServerSettings
) -> None:
    """Migrate and print the new schema version. Raises UserError `unknown_version`, StoreError."""
    database = database_of(settings, server, data)
    newest = known_version("postgres" if isinstance(database, str) else "sqlite")
    if down is not None and down > newest:
        raise UserError("unknown_version", f"There is no schema version {down}. This agio has 0 to {newest}.")
    if isinstance(database, str):
        await migrate_database(database, down)
    else:
        _migrate_file(database, down)
    print(f"The store {place_of(database)} now has schema version {newest if down is None else down}.")


def _migrate_file(file: Path, down: int | None) -> None:
    connection, lock = open_writable(file)
    try:
        migrate(connection, down)
    finally:
        connection.close()
        if lock is not None:
            lock.release()
