"""Secrets at rest: sealed bytes that belong to a provider or a tool and are deleted with it."""

from collections.abc import Mapping, Sequence

import msgspec

from agio.core.provider import Sealed, SecretPlace
from agio.db.plan import Plan, ask, ask_one
from agio.db.records import now_ms
from agio.db.rows import to_struct


def get_secret(place: SecretPlace) -> Plan[Sealed | None]:
    """A sealed secret."""
    row = yield from ask_one("get_secret", **_where(place))
    return None if row is None else to_struct(Sealed, row)


def secrets_of(tenant: str, owner_id: str) -> Plan[dict[str, Sealed]]:
    """All sealed secrets of a provider or tool, by field."""
    rows = yield from ask("secrets_of", tenant=tenant, owner_id=owner_id)
    return {str(field): sealed_of(key_id, data) for field, key_id, data in rows}


def put_secrets(tenant: str, owner_id: str, secrets: Mapping[str, Sealed]) -> Plan[None]:
    """Insert or replace secrets, by field, in the transaction that changes their owner."""
    for field, sealed in secrets.items():
        yield from ask(
            "put_secret",
            tenant=tenant,
            owner_id=owner_id,
            field=field,
            key_id=sealed.key_id,
            sealed=sealed.data,
            now=now_ms(),
        )


def delete_secret(place: SecretPlace) -> Plan[None]:
    """Remove a secret, if there is one."""
    yield from ask("delete_secret", **_where(place))


def delete_secrets_of(tenant: str, owner_id: str) -> Plan[None]:
    """Remove all secrets of a provider or tool, in the transaction that deletes it."""
    yield from ask("delete_secrets_of", tenant=tenant, owner_id=owner_id)


def secrets_to_rotate(
    key_id: str, after: SecretPlace | None, limit: int
) -> Plan[list[tuple[SecretPlace, Sealed]]]:
    """Secrets of all tenants that another master key sealed, ordered by place."""
    last = after or SecretPlace("", "", "")
    rows = yield from ask(
        "secrets_to_rotate",
        key_id=key_id,
        after_tenant=last.tenant,
        after_owner=last.owner_id,
        after_field=last.field,
        limit=limit,
    )
    return [
        (SecretPlace(str(tenant), str(owner_id), str(field)), sealed_of(key_id, data))
        for tenant, owner_id, field, key_id, data in rows
    ]


def replace_secrets(changes: Sequence[tuple[SecretPlace, Sealed, Sealed]]) -> Plan[int]:
    """Replace old by new where the old value is still stored; returns how many were replaced."""
    replaced = 0
    for place, old, new in changes:
        rows = yield from ask(
            "replace_secret",
            **_where(place),
            old_key_id=old.key_id,
            old_sealed=old.data,
            key_id=new.key_id,
            sealed=new.data,
            now=now_ms(),
        )
        replaced += len(rows)
    return replaced


def count_secrets() -> Plan[dict[str, int]]:
    """The number of secrets that each master key sealed, by key id, over all tenants."""
    rows = yield from ask("count_secrets")
    return dict(msgspec.convert(list(rows), list[tuple[str, int]]))


def sealed_of(key_id: object, data: object) -> Sealed:
    """A sealed secret from its two columns."""
    return to_struct(Sealed, (key_id, data))


def _where(place: SecretPlace) -> dict[str, object]:
    return {"tenant": place.tenant, "owner_id": place.owner_id, "field": place.field}
