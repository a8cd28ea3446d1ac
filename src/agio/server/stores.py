"""Opens the store of a server, a file or a database that several gateways share, and the vault of its secrets."""

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agio.core.store.store import Store
from agio.core.store.traces import Sink
from agio.db.repository import Repository, open_store
from agio.errors import StoreError, UserError
from agio.vault import KEY_FILE, Vault, key_file

_log = logging.getLogger("agio")


@contextmanager
def hint_if_locked(hint: str) -> Generator[None]:
    """Add advice to the error of a store that another process, maybe a server, has locked."""
    try:
        yield
    except StoreError as error:
        if error.code == "store_locked":
            raise StoreError("store_locked", f"{error.message} {hint}", error.details) from error
        raise


async def open_database(
    database: str | Path, connections: int | None = None, *, sinks: Sequence[Sink] = ()
) -> Store:
    """Open a file, or the Postgres database of a URL with at most so many connections. Raises StoreError.

    Traces are queued for `sinks`.
    """
    if isinstance(database, Path):
        return await open_store(database, sinks=sinks)
    from agio.db.postgres.driver import CONNECTIONS
    from agio.db.postgres.executor import open_postgres

    return Repository(await open_postgres(database, connections or CONNECTIONS), sinks)


async def open_vault(database: str | Path, keys: Sequence[bytes], store: Store) -> Vault | None:
    """Open the vault of the store's secrets: with these keys, and for an SQLite file with the key file beside it.

    The key file is made if there is no key at all and nothing is sealed yet. None: a shared database without a key. The
    caller holds the store's lock. Raises UserError `no_secret_key`, `insecure_key_file`, `invalid_setting`; StoreError.
    """
    if isinstance(database, Path):
        kept = database.parent / KEY_FILE
        if not keys and not kept.exists() and await store.count_secrets():
            raise UserError(
                "no_secret_key",
                f"The store has secrets, and {kept} is missing, whose key opens them. Put it back beside the store; if "
                "it is lost, set AGIO_SECRET_KEY to a new key and enter the secrets anew.",
            )
        if not keys or kept.exists():
            keys = [*keys, *key_file(kept)]
    return Vault(keys) if keys else None


async def check_secrets(store: Store, vault: Vault | None) -> None:
    """Warn of secrets that cannot be opened: a master key is missing. Raises StoreError."""
    for key_id, count in (await store.count_secrets()).items():
        if vault is None or not vault.knows(key_id):
            _log.warning(
                "%d stored secrets were sealed with the master key %s, which is not in AGIO_SECRET_KEY or secret.key: "
                "what needs them fails until it is added",
                count,
                key_id,
            )
