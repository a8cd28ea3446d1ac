"""Opens the store of a server: a file, or a database that several gateways share."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agio.core.store import Store
from agio.db.repository import Repository, open_store
from agio.errors import StoreError


@contextmanager
def hint_if_locked(hint: str) -> Generator[None]:
    """Say what else can be done when the store is another process's, which may be a server."""
    try:
        yield
    except StoreError as error:
        if error.code == "store_locked":
            raise StoreError("store_locked", f"{error.message} {hint}", error.details) from error
        raise


async def open_database(database: str | Path) -> Store:
    """Open a file, or the Postgres database of a URL. Raises StoreError."""
    if isinstance(database, Path):
        return await open_store(database)
    from agio.db.postgres import open_postgres

    return Repository(await open_postgres(database))
