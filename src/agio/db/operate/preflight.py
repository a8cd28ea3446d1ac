"""Reads a store before it is opened: creates, migrates and locks nothing."""

import asyncio
from pathlib import Path

from agio.db.postgres.driver import connect
from agio.db.postgres.errors import opening_error, postgres_error
from agio.db.postgres.migrate import check_schema
from agio.db.postgres.plans import ask_query
from agio.db.repository import open_store
from agio.errors import StoreError


async def has_account(database: str | Path) -> bool:
    """Whether the store exists and has an account. Raises StoreError."""
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
