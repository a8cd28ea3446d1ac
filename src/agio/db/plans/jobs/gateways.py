"""Gateways that share a store: leases by compare-and-set on the database's clock, and the runs they hold."""

from collections.abc import Mapping, Sequence

import msgspec

from agio.core.store.gateways import GatewayRecord
from agio.core.store.records import AgentFields
from agio.core.store.repository import RunInfo
from agio.db.plan import Each, Plan, ask, ask_one
from agio.db.plans.agents.agents import put_code_agents
from agio.db.records import run_info
from agio.db.rows import Columns, as_row, to_struct
from agio.errors import StoreError


class _CallLease(Columns, frozen=True):
    """`call_lease`."""

    owner: str
    left_ms: int | None


_encode = msgspec.json.Encoder().encode
_decode_agents = msgspec.json.Decoder(dict[str, list[AgentFields]]).decode


def cluster_secret(fresh: bytes) -> Plan[bytes]:
    """The secret that the store's gateways share."""
    yield from ask("keep_secret", secret=fresh)
    row = yield from ask_one("cluster_secret")
    if row is None:
        raise StoreError(
            "store_corrupt", "The table `cluster` cannot be written. Restore a copy of the store."
        )
    return msgspec.convert(row[0], bytes)


def join_gateway(gateway: GatewayRecord, lease_ms: int) -> Plan[bool]:
    """Begin a lease, also again. False: another gateway with its name is alive."""
    given = msgspec.structs.asdict(gateway)
    return (yield from ask_one("join_gateway", lease_ms=lease_ms, **given)) is not None


def renew_gateway(gateway: str, lease_ms: int) -> Plan[bool]:
    """Extend a lease; returns whether there was one."""
    return (yield from ask_one("renew_gateway", id=gateway, lease_ms=lease_ms)) is not None


def leave_gateway(gateway: str) -> Plan[None]:
    """End a lease."""
    yield from ask("leave_gateway", id=gateway)


def live_gateways() -> Plan[list[GatewayRecord]]:
    """The gateways that are alive, the oldest first."""
    return [to_struct(GatewayRecord, row) for row in (yield from ask("live_gateways"))]


def put_offers(gateway: str, offers: bytes, agents: Mapping[str, Sequence[AgentFields]]) -> Plan[None]:
    """Record a gateway's offers; the store's agents in code become those of all live gateways.

    Of agents with one name, the newest offer counts. Raises UserError `agent_exists`.
    """
    yield from ask("lock_gateways")
    yield from ask("put_offers", id=gateway, offers=offers, agents=_encode(agents))
    union: dict[str, dict[str, AgentFields]] = {}
    others = [each for each in (yield from live_gateways()) if each.id != gateway]
    for offered in (*(_decode_agents(each.agents) for each in others), agents):
        for tenant, fields in offered.items():
            union.setdefault(tenant, {}).update({each.name: each for each in fields})
    for tenant in sorted(union):
        yield from put_code_agents(tenant, [union[tenant][name] for name in sorted(union[tenant])])


def lost_runs(gateway: str, limit: int = 100) -> Plan[list[RunInfo]]:
    """Running runs whose gateway is gone, and those that were freed."""
    return [run_info(row) for row in (yield from ask("lost_runs", gateway=gateway, limit=limit))]


def flagged_runs(gateway: str) -> Plan[list[str]]:
    """A gateway's running runs that are to be cancelled."""
    return [str(run_id) for (run_id,) in (yield from ask("flagged_runs", gateway=gateway))]


def free_run(run_id: str, epoch: int, gateway: str) -> Plan[None]:
    """Let any gateway take over a run."""
    yield from ask("free_run", run_id=run_id, epoch=epoch, gateway=gateway)


def honour_run(run_id: str, epoch: int, gateway: str) -> Plan[bool]:
    """Take over a claim with its worker; returns whether it is valid."""
    return (yield from ask_one("honour_run", run_id=run_id, epoch=epoch, gateway=gateway)) is not None


def session_heads(session_ids: Sequence[str]) -> Plan[dict[str, int]]:
    """The last stored positions of sessions."""
    rows = yield from ask("session_heads", session_ids=list(session_ids))
    return dict(msgspec.convert(rows, list[tuple[str, int]]))


def call_lease(run_id: str, key: str) -> Plan[tuple[str, int]]:
    """The owner of a call that has begun, and how long its lease lasts."""
    row = yield from ask_one("call_lease", run_id=run_id, key=key)
    lease = _CallLease("", 0) if row is None else as_row(_CallLease, row)
    return lease.owner, lease.left_ms or 0


def renew_calls(owner: str, calls: Sequence[tuple[str, str]], lease_ms: int) -> Plan[None]:
    """Extend the leases of calls, and take them over."""
    yield Each(
        "renew_call",
        [{"owner": owner, "run_id": run_id, "key": key, "lease_ms": lease_ms} for run_id, key in calls],
    )


def take_attempt(kind: str, keys: Sequence[str], every_ms: int, burst_ms: int) -> Plan[int]:
    """Count an attempt for each key, unless one has too many: then its wait."""
    wait_ms = yield from attempt_wait(kind, keys, every_ms, burst_ms)
    if wait_ms:
        return wait_ms
    for key in keys:
        if (
            yield from ask_one("take_attempt", kind=kind, key=key, every_ms=every_ms, burst_ms=burst_ms)
        ) is None:
            return every_ms  # another gateway was first
    return 0


def attempt_wait(kind: str, keys: Sequence[str], every_ms: int, burst_ms: int) -> Plan[int]:
    """In how many milliseconds an attempt is allowed."""
    wait_ms = 0
    for key in keys:
        row = yield from ask_one("attempt_wait", kind=kind, key=key, every_ms=every_ms, burst_ms=burst_ms)
        if row is not None:
            wait_ms = max(wait_ms, msgspec.convert(row[0], int))
    return wait_ms
