"""Items of conversations that programs keep with the Agents SDK: JSON, in the order of the conversation."""

from collections.abc import Sequence

import msgspec

from agio.db.plan import Plan, ask

ALL = 2**31 - 1


def session_items(tenant: str, key: str, limit: int | None = None) -> Plan[list[bytes]]:
    """A session's items, or its newest, oldest first."""
    return [item for _, item in reversed((yield from _newest(tenant, key, ALL if limit is None else limit)))]


def add_session_items(tenant: str, key: str, items: Sequence[bytes]) -> Plan[None]:
    """Add items to a session."""
    yield from ask("lock_tenant", tenant=tenant)
    newest = yield from _newest(tenant, key, 1)
    first = newest[0][0] + 1 if newest else 1
    for idx, item in enumerate(items, first):
        yield from ask("add_session_item", tenant=tenant, key=key, idx=idx, item=item)


def pop_session_item(tenant: str, key: str) -> Plan[bytes | None]:
    """Remove the newest item of a session and return it; None if there is none."""
    yield from ask("lock_tenant", tenant=tenant)
    newest = yield from _newest(tenant, key, 1)
    if not newest:
        return None
    yield from ask("remove_session_items", tenant=tenant, key=key, first=newest[0][0])
    return newest[0][1]


def clear_session_items(tenant: str, key: str) -> Plan[None]:
    """Remove all items of a session."""
    yield from ask("remove_session_items", tenant=tenant, key=key, first=0)


def _newest(tenant: str, key: str, limit: int) -> Plan[list[tuple[int, bytes]]]:
    rows = yield from ask("newest_session_items", tenant=tenant, key=key, limit=limit)
    return [msgspec.convert(row, tuple[int, bytes]) for row in rows]
