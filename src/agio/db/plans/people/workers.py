"""Keys of workers, and the tenants whose runs each may take."""

import msgspec

from agio.core.identity.worker_key import WorkerKey
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.people.identity import get_tenant
from agio.db.records import decode_names, encode_names, now_ms
from agio.db.rows import by_name
from agio.errors import UserError


def add_worker_key(key: WorkerKey, key_hash: bytes) -> Plan[None]:
    """Store a worker's key. Raises UserError `tenant_not_found`."""
    for tenant in key.tenants or ():
        yield from get_tenant(tenant)
    yield from ask(
        "add_worker_key",
        id=key.id,
        name=key.name,
        prefix=key.prefix,
        hash=key_hash,
        tenants=None if key.tenants is None else encode_names(sorted(set(key.tenants))),
        created_at=key.created_at,
    )


def list_worker_keys() -> Plan[list[WorkerKey]]:
    """All keys, newest first, with revoked ones."""
    rows = yield from ask("list_worker_keys")
    return [_worker_key(row) for row in rows]


def revoke_worker_key(key_id: str) -> Plan[None]:
    """Revoke a key. Raises UserError `key_not_found`."""
    row = yield from ask_one("revoke_worker_key", id=key_id, now=now_ms())
    if row is None:
        raise UserError("key_not_found", f"There is no worker key {key_id}.", {"key_id": key_id})


def find_worker_key(key_hash: bytes) -> Plan[WorkerKey | None]:
    """The key with this hash, unless it was revoked."""
    row = yield from ask_one("find_worker_key", hash=key_hash)
    return None if row is None else _worker_key(row)


def note_worker_key(key_hash: bytes) -> Plan[None]:
    """Update the time of a key's last use."""
    yield from ask("note_worker_key", hash=key_hash, now=now_ms())


def _worker_key(row: Row) -> WorkerKey:
    values = by_name(WorkerKey, row)
    if values["tenants"] is not None:
        values["tenants"] = decode_names(msgspec.convert(values["tenants"], str))
    return msgspec.convert(values, WorkerKey)
