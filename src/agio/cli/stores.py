"""Opens the store of a server: a file, or a database that several gateways share."""

from pathlib import Path

from agio.core.store import Store
from agio.db.repository import Repository, open_store


async def open_database(database: str | Path) -> Store:
    """Open a file, or the Postgres database of a URL. Raises StoreError."""
    if isinstance(database, Path):
        return await open_store(database)
    from agio.db.postgres import open_postgres

    return Repository(await open_postgres(database))
