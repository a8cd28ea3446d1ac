"""`agio keys rotate`: re-encrypts every stored secret with the first master key, so that the others can be removed.

Each batch is a transaction, and a secret is replaced only if it has not changed since it was read. So a rotation can be
interrupted and repeated, and on Postgres the servers keep running.
"""

import sys
from pathlib import Path

from msgspec import Struct

from agio.core.provider import Sealed, SecretPlace
from agio.core.store.store import Store
from agio.errors import StoreError, UserError
from agio.server.announcement import place_of
from agio.server.composition import database_of
from agio.server.stores import hint_if_locked, open_database, open_vault
from agio.settings import ServerSettings, Settings
from agio.vault import Vault

_PASSES = 10
"""The most passes over secrets that changed during the rotation."""


class Rotated(Struct):
    """The result of a rotation."""

    rotated: int = 0
    missed: int = 0
    """Changed by a server during the last pass."""
    unreadable: int = 0
    """Not decrypted in the last pass."""


async def rotate_keys(data: Path | None, batch: int, settings: Settings, server: ServerSettings) -> int:
    """Rotate, print the result, and return the exit code. Raises UserError `missing_setting`, StoreError."""
    database = database_of(settings, server, data)
    with hint_if_locked("Stop that server, rotate, and start it again."):
        store = await open_database(database)
    try:
        vault = await open_vault(database, server.secret_keys, store)
        if vault is None:
            raise UserError(
                "missing_setting",
                "Set AGIO_SECRET_KEY to the new master key, a comma, and the old key, as on the gateways.",
                {"variable": "AGIO_SECRET_KEY"},
            )
        done = await rotate(store, vault, batch)
    finally:
        await store.close()
    return _report(done, vault, place_of(database))


async def rotate(store: Store, vault: Vault, batch: int) -> Rotated:
    """Re-encrypt secrets of other keys with the vault's first key. Raises StoreError."""
    done = Rotated()
    for _ in range(_PASSES):
        await _pass(store, vault, batch, done)
        if not done.missed:
            break
    return done


async def _pass(store: Store, vault: Vault, batch: int, done: Rotated) -> None:
    done.missed = done.unreadable = 0
    after: SecretPlace | None = None
    while found := await store.secrets_to_rotate(vault.current_key_id, after, batch):
        after = found[-1][0]
        changes = [
            change for place, sealed in found if (change := _re_encrypted(vault, place, sealed)) is not None
        ]
        replaced = await store.replace_secrets(changes)
        done.rotated += replaced
        done.missed += len(changes) - replaced
        done.unreadable += len(found) - len(changes)
        print(f"{done.rotated} re-encrypted", file=sys.stderr, flush=True)


def _re_encrypted(
    vault: Vault, place: SecretPlace, sealed: Sealed
) -> tuple[SecretPlace, Sealed, Sealed] | None:
    try:
        return place, sealed, vault.seal(place, vault.open(place, sealed))
    except StoreError:
        print(
            f"cannot be decrypted: {place.field} of {place.owner_id}, team {place.tenant}, "
            f"encrypted with the key {sealed.key_id}",
            file=sys.stderr,
        )
        return None


def _report(done: Rotated, vault: Vault, store: str) -> int:
    key = vault.current_key_id
    print(f"{done.rotated} secrets in {store} were re-encrypted with the master key {key}.")
    if done.missed:
        print(
            f"{done.missed} were changed during the rotation by a server with a different first key. Run this again."
        )
    if done.unreadable:
        print(
            f"{done.unreadable} could not be decrypted with any key in AGIO_SECRET_KEY and are unchanged. Add the key "
            "that encrypted them and run this again, or enter them again."
        )
    if done.missed or done.unreadable:
        return 1
    print("Every secret now needs only this key. Remove the others from AGIO_SECRET_KEY or secret.key.")
    return 0
