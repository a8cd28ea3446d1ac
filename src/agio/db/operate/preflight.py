"""Looks into a store before it is opened for good: nothing is made, migrated or locked."""

import asyncio
from pathlib import Path

from agio.db.postgres.driver import connect
from agio.db.postgres.errors import opening_error, postgres_error
from agio.db.postgres.migrate import check_schema
from agio.db.postgres.plans import ask_query
from agio.db.repository import open_store
from agio.errors import StoreError


async def has_account(database: str | Path) -> bool:
    """Whether a store is there and somebody can sign in to it without a link. Raises StoreError."""
    if isinstance(database, str):
        return await _postgres_has(database)
    if not await asyncio.to_thread(database.exists):
        return False
    try:
        store = await open_store(database, read_only=True)
    except StoreError as error:
        if error.code == "store_older":  # it has no tables yet
            return False
        raise
    try:
        return await store.has_account()
    finally:
        await store.close()


async def _postgres_has(url: str) -> bool:
    try:
        connection = await connect(url)
    except Exception as error:
        raise opening_error(error, url) from error
    try:
        if await check_schema(connection, url) == 0:
            return False
        return bool(await ask_query(connection, "any_account", {}))
    except Exception as error:
        raise postgres_error(error, url) from error
    finally:
        await connection.close()
