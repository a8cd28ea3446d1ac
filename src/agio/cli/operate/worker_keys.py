"""`agio keys create-worker|list-workers|revoke-worker`: worker keys, which may be limited to some tenants."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from agio.cli.operate.keys import opened_store
from agio.cli.terminal.output import make_console
from agio.cli.terminal.tables import ago, new_table
from agio.cli.terminal.view import printable
from agio.core.identity.worker_key import WorkerKey
from agio.core.name import checked_name
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.workers.worker_keys import new_worker_key
from agio.protocol.ids import new_id
from agio.settings import ServerSettings, Settings

_PREFIX_CHARS = 9


async def create_worker_key(
    settings: Settings, server: ServerSettings, data: Path | None, name: str, tenants: Sequence[str]
) -> None:
    """Create a key and print only the key. Raises UserError `tenant_not_found`, `invalid_name`, StoreError."""
    secret = new_worker_key()
    key = WorkerKey(
        new_id("wkey"),
        checked_name(name),
        secret[:_PREFIX_CHARS],
        list(tenants) or None,
        time.time_ns() // 1_000_000,
    )
    async with opened_store(settings, server, data) as store:
        await store.add_worker_key(key, hash_secret(secret))
    print(secret)


async def list_worker_keys(settings: Settings, server: ServerSettings, data: Path | None) -> None:
    """Print a table of the keys. Raises StoreError."""
    async with opened_store(settings, server, data) as store:
        found = await store.list_worker_keys()
    console = make_console()
    if not found:
        console.print("There are no worker keys yet. Create one: agio keys create-worker NAME", markup=False)
        return
    table = new_table()
    for column in ("KEY_ID", "NAME", "PREFIX", "TENANTS", "CREATED", "LAST USED", "STATE"):
        table.add_column(column, no_wrap=column != "TENANTS")
    for key in found:
        used = "never" if key.last_used_at is None else ago(key.last_used_at)
        state = Text("active", "green") if key.revoked_at is None else Text("revoked", "red")
        tenants = "all" if key.tenants is None else ", ".join(map(printable, key.tenants))
        table.add_row(
            key.id, printable(key.name), f"{key.prefix}...", tenants, ago(key.created_at), used, state
        )
    console.print(table)


async def revoke_worker_key(
    settings: Settings, server: ServerSettings, data: Path | None, key_id: str
) -> None:
    """Revoke a key. Raises UserError `key_not_found`, StoreError."""
    async with opened_store(settings, server, data) as store:
        await store.revoke_worker_key(key_id)
    print(f"{key_id} is revoked. Workers that use it are disconnected within 5 seconds.")
