"""Leases: acquired, renewed and released by compare-and-set on the database's clock."""

import msgspec

from agio.core.store.jobs import Lease
from agio.db.plan import Plan, ask_one


def acquire_lease(name: str, holder: str, for_ms: int) -> Plan[Lease | None]:
    """Acquire a lease; None while it is held."""
    row = yield from ask_one("acquire_lease", name=name, holder=holder, for_ms=for_ms)
    return None if row is None else Lease(name, holder, msgspec.convert(row[0], int))


def renew_lease(lease: Lease, for_ms: int) -> Plan[bool]:
    """Extend a lease; returns whether it was still held."""
    return (yield from ask_one("renew_lease", for_ms=for_ms, **msgspec.structs.asdict(lease))) is not None


def release_lease(lease: Lease) -> Plan[bool]:
    """End a lease; returns whether it was still held."""
    return (yield from ask_one("release_lease", **msgspec.structs.asdict(lease))) is not None
