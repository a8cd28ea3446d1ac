"""Model providers of a team, each with its sealed key."""

from typing import Literal

import msgspec

from agio.core.provider import KEY_FIELD, ProviderFields, ProviderRecord, Sealed, SecretPlace
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.secrets import delete_secret, delete_secrets_of, put_secrets, sealed_of
from agio.db.records import decode_names, encode_names, now_ms
from agio.db.refusals import changed_elsewhere
from agio.db.rows import by_name
from agio.errors import UserError


def list_providers(tenant: str) -> Plan[list[ProviderRecord]]:
    """A tenant's providers, by name."""
    return [
        _record(by_name(ProviderRecord, row)) for row in (yield from ask("list_providers", tenant=tenant))
    ]


def get_provider(tenant: str, provider_id: str) -> Plan[ProviderRecord]:
    """Raises UserError `provider_not_found`."""
    row = yield from ask_one("get_provider", tenant=tenant, provider_id=provider_id)
    if row is None:
        raise _not_found(provider_id)
    return _record(by_name(ProviderRecord, row))


def find_provider(tenant: str, name: str) -> Plan[tuple[ProviderRecord, Sealed | None] | None]:
    """The tenant's provider with this name, and its sealed key."""
    row = yield from ask_one("find_provider", tenant=tenant, name=name)
    if row is None:
        return None
    values = by_name(ProviderRecord, row, "key_id", "sealed")
    key_id, data = values["key_id"], values["sealed"]
    return _record(values), None if key_id is None else sealed_of(key_id, data)


def create_provider(
    tenant: str, provider_id: str, fields: ProviderFields, key: Sealed | None
) -> Plan[ProviderRecord]:
    """Raises UserError `provider_exists`."""
    added = yield from ask_one("add_provider", **_values(tenant, provider_id, fields))
    if added is None:
        raise _exists(fields.name)
    if key is not None:
        yield from put_secrets(tenant, provider_id, {KEY_FIELD: key})
    return (yield from get_provider(tenant, provider_id))


def update_provider(
    tenant: str,
    provider_id: str,
    fields: ProviderFields,
    key: Sealed | Literal["keep"] | None,
    expected: int | None = None,
) -> Plan[ProviderRecord]:
    """Raises UserError `provider_not_found`, `provider_exists`, `api_key_required`, `changed_elsewhere`."""
    yield from ask("lock_tenant", tenant=tenant)
    known = yield from get_provider(tenant, provider_id)
    if key == "keep" and known.has_key and known.place != fields.place:
        raise UserError(
            "api_key_required",
            "The address changes: enter the API key again, or null for none. A key is only ever sent to the "
            "address it was entered for.",
            {"provider_id": provider_id},
        )
    named = yield from find_provider(tenant, fields.name)
    if named is not None and named[0].id != provider_id:
        raise _exists(fields.name)
    values = _values(tenant, provider_id, fields)
    if (yield from ask_one("update_provider", expected=expected, **values)) is None:
        raise changed_elsewhere("provider")
    if key is None:
        yield from delete_secret(SecretPlace(tenant, provider_id, KEY_FIELD))
    elif key != "keep":
        yield from put_secrets(tenant, provider_id, {KEY_FIELD: key})
    return (yield from get_provider(tenant, provider_id))


def delete_provider(tenant: str, provider_id: str) -> Plan[None]:
    """Remove a provider and its key. Raises UserError `provider_not_found`."""
    yield from ask("lock_tenant", tenant=tenant)
    if (yield from ask_one("delete_provider", tenant=tenant, provider_id=provider_id)) is None:
        raise _not_found(provider_id)
    yield from delete_secrets_of(tenant, provider_id)


def _record(values: dict[str, object]) -> ProviderRecord:
    values["models"] = decode_names(str(values["models"]))
    values["has_key"] = bool(values["has_key"])
    return msgspec.convert(values, ProviderRecord)


def _values(tenant: str, provider_id: str, fields: ProviderFields) -> dict[str, object]:
    return {
        "tenant": tenant,
        "provider_id": provider_id,
        "name": fields.name,
        "kind": fields.kind,
        "base_url": fields.base_url,
        "models": encode_names(fields.models),
        "now": now_ms(),
    }


def _not_found(provider_id: str) -> UserError:
    return UserError(
        "provider_not_found", f"There is no provider {provider_id}.", {"provider_id": provider_id}
    )


def _exists(name: str) -> UserError:
    return UserError("provider_exists", f"There is already a provider {name}.", {"name": name})
