"""`agio backup` and `agio restore` of the embedded store. A backup works while a server is running."""

from pathlib import Path

from agio.db.operate.backup import copy_store, restore_store
from agio.errors import UserError
from agio.server.composition import database_of
from agio.settings import ServerSettings, Settings
from agio.vault import KEY_FILE


def back_up(
    target: Path, data: Path | None, settings: Settings, server: ServerSettings, *, replace: bool
) -> None:
    """Back up the store to a file, and print what the backup lacks. Raises UserError, StoreError."""
    database = database_of(settings, server, data)
    if isinstance(database, str):
        raise _use_postgres("pg_dump --format=custom --file FILE")
    copy = copy_store(database, target.expanduser().absolute(), replace=replace)
    print(
        f"{copy.path} is a copy of {database}: {copy.size:,} bytes, schema version {copy.version}, checked."
    )
    kept = database.parent / KEY_FILE
    if server.secret_keys:
        print("It does not contain the master keys of AGIO_SECRET_KEY, which its stored secrets need.")
    if kept.exists():
        print(
            f"It does not contain the master key {kept}. Back that up separately: both together decrypt every secret."
        )


def put_back(copy: Path, data: Path | None, settings: Settings, server: ServerSettings) -> None:
    """Restore the store from a backup, and print where the previous one is. Raises UserError, StoreError."""
    database = database_of(settings, server, data)
    if isinstance(database, str):
        raise _use_postgres("pg_restore --clean --dbname URL FILE")
    aside = restore_store(copy.expanduser().absolute(), database)
    print(f"Restored {copy} to {database}. The next server start continues the runs that were running then.")
    if aside is not None:
        print(f"The previous store is kept as {aside}.")
    if not server.secret_keys and not (database.parent / KEY_FILE).exists():
        print(
            f"Its stored secrets need their master key. Put {KEY_FILE} beside it before you start a server."
        )


def _use_postgres(command: str) -> UserError:
    return UserError(
        "not_embedded",
        f"This store is a Postgres database. Use its own tools: {command}. For an embedded store pass --data DIR.",
    )
