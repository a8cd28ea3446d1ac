"""`agio keys`: creates, lists and revokes API keys, in the store or through a server."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import structs
from rich.text import Text

from agio.cli.client.server_client import ServerClient
from agio.cli.terminal.output import make_console
from agio.cli.terminal.tables import ago, new_table
from agio.cli.terminal.view import printable
from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER, Permission
from agio.core.name import checked_name
from agio.core.store.store import Store
from agio.errors import StoreError
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.gateway.routes.people.key_views import Keys as KeyList
from agio.gateway.routes.people.key_views import KeyView, NewKey, key_view
from agio.settings import ServerSettings, Settings

_DAY_MS = 24 * 3600 * 1000


class Keys(Protocol):
    """API keys in a store or on a server."""

    async def create(
        self, name: str, permissions: Sequence[Permission] | None, days: int | None
    ) -> tuple[str, str]:
        """Create a key; returns its id and the key."""
        ...

    async def list(self) -> "list[KeyView]":
        """The keys, newest first."""
        ...

    async def revoke(self, key_id: str) -> None:
        """Revoke a key and all keys created with it. Raises UserError `key_not_found`."""
        ...


def opened_keys(
    settings: Settings, server: ServerSettings, data: Path | None, url: str | None
) -> AbstractAsyncContextManager[Keys]:
    """Return the keys of a server, or of the store when none is named. Raises UserError, StoreError."""
    if url is not None:
        return _asked(ServerClient(url, server.api_key))
    return _stored(settings, server, data)


async def create_key(
    opened: AbstractAsyncContextManager[Keys],
    name: str,
    permissions: Sequence[Permission] | None,
    days: int | None,
) -> None:
    """Create a key and print only the key."""
    async with opened as keys:
        _, key = await keys.create(name, permissions, days)
    print(key)


async def list_keys(opened: AbstractAsyncContextManager[Keys]) -> None:
    """Print a table of the keys."""
    async with opened as keys:
        found = await keys.list()
    console = make_console()
    if not found:
        console.print("There are no API keys yet. Create one: agio keys create NAME", markup=False)
        return
    table = new_table()
    for column in ("KEY_ID", "NAME", "PREFIX", "PERMISSIONS", "CREATED", "LAST USED", "EXPIRES", "STATE"):
        table.add_column(column, no_wrap=column != "PERMISSIONS")
    for key in found:
        used = "never" if key.last_used_at is None else ago(key.last_used_at)
        may = "all" if key.permissions is None else ", ".join(key.permissions)
        table.add_row(
            *(key.id, printable(key.name), f"{key.prefix}...", may, ago(key.created_at), used),
            *(_end(key), _state(key)),
        )
    console.print(table)


async def revoke_key(opened: AbstractAsyncContextManager[Keys], key_id: str) -> None:
    """Revoke a key."""
    async with opened as keys:
        await keys.revoke(key_id)
    print(f"{key_id} is revoked.")


def _end(key: KeyView) -> str:
    return "never" if key.expires_at is None else f"{datetime.fromtimestamp(key.expires_at / 1000):%Y-%m-%d}"


def _state(key: KeyView) -> Text:
    if key.revoked_at is not None:
        return Text("revoked", "red")
    if key.expires_at is not None and key.expires_at <= time.time_ns() // 1_000_000:
        return Text("expired", "red")
    return Text("active", "green")


class _StoredKeys:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def create(
        self, name: str, permissions: Sequence[Permission] | None, days: int | None
    ) -> tuple[str, str]:
        secret = new_api_key()
        made = describe_key(secret, DEFAULT_TENANT, LOCAL_USER, checked_name(name))
        key = structs.replace(
            made,
            permissions=None if permissions is None else frozenset(permissions),
            expires_at=None if days is None else made.created_at + days * _DAY_MS,
        )
        await self._store.add_api_key(key, hash_secret(secret))
        return key.id, secret

    async def list(self) -> "list[KeyView]":
        return [key_view(key) for key in await self._store.list_api_keys(DEFAULT_TENANT, LOCAL_USER)]

    async def revoke(self, key_id: str) -> None:
        await self._store.revoke_api_key(DEFAULT_TENANT, LOCAL_USER, key_id)


class _ServerKeys:
    def __init__(self, server: ServerClient) -> None:
        self._server = server

    async def create(
        self, name: str, permissions: Sequence[Permission] | None, days: int | None
    ) -> tuple[str, str]:
        asked = {"name": name, "permissions": permissions, "expires_in_days": days}
        made = await self._server.post("/api/api-keys", asked, NewKey)
        return made.id, made.key

    async def list(self) -> "list[KeyView]":
        return (await self._server.get("/api/api-keys", KeyList)).items

    async def revoke(self, key_id: str) -> None:
        await self._server.delete(f"/api/api-keys/{key_id}")


@asynccontextmanager
async def _asked(server: ServerClient) -> AsyncGenerator[Keys]:
    yield _ServerKeys(server)


@asynccontextmanager
async def _stored(settings: Settings, server: ServerSettings, data: Path | None) -> AsyncGenerator[Keys]:
    async with opened_store(settings, server, data) as store:
        yield _StoredKeys(store)


@asynccontextmanager
async def opened_store(
    settings: Settings, server: ServerSettings, data: Path | None
) -> AsyncGenerator[Store]:
    """Open the store for a command that changes keys, also beside a running server. Raises StoreError."""
    from agio.db.repository import open_store
    from agio.server.composition import database_of
    from agio.server.first_start import make_first
    from agio.server.stores import open_database

    database = database_of(settings, server, data)
    store: Store
    try:
        store = await open_database(database)
        await make_first(store)
    except StoreError as error:
        if error.code != "store_locked" or not isinstance(database, Path):
            raise
        store = await open_store(database, beside=True)
    try:
        yield store
    finally:
        await store.close()
