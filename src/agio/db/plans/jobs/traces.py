"""The queue of traces: filled by the ends of runs, emptied by the jobs that send them."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from agio.core.identity.team import TenantRecord, TracesSent
from agio.core.store.repository import RunLog
from agio.core.store.traces import QueuedTrace, Sink, TraceAccount, TraceExport
from agio.db.plan import Each, Plan, ask, ask_one
from agio.db.plans.people.identity import get_tenant
from agio.db.plans.runs.log import log_of
from agio.db.records import run_info
from agio.db.rows import by_name, to_struct


def queue_traces(run_id: str, sinks: Sequence[str]) -> Plan[None]:
    """Queue an ended run for each service, in the transaction of its end."""
    yield Each("queue_trace", [{"run_id": run_id, "sink": sink} for sink in sinks])


def queued_traces(
    sink: Sink, after: QueuedTrace | None = None, limit: int = 100, *, waiting: bool = False
) -> Plan[list[QueuedTrace]]:
    """The runs that wait for a service, oldest first."""
    paused = yield from ask_one("paused_traces", sink=sink)
    place = {"queued_at": -1, "run_id": ""}
    if after is not None:
        place = {"queued_at": after.queued_at, "run_id": after.run_id}
    is_paused = int(paused is not None and bool(paused[0]) and not waiting)
    rows = yield from ask(
        "queued_traces", sink=sink, paused=is_paused, waiting=int(waiting), limit=limit, **place
    )
    return [to_struct(QueuedTrace, row) for row in rows]


def trace_logs(run_ids: Sequence[str], limit_bytes: int) -> Plan[list[RunLog]]:
    """The logs of runs that were not deleted, up to about so many bytes."""
    logs: list[RunLog] = []
    for run_id in run_ids:
        row = yield from ask_one("get_run", run_id=run_id)
        if row is None:
            continue
        logs.append((yield from log_of(run_info(row), 0)))
        limit_bytes -= len(logs[-1].payload)
        if limit_bytes <= 0:
            break
    return logs


def settle_traces(
    account: TraceAccount,
    run_ids: Sequence[str],
    *,
    refused: bool = False,
    error: tuple[str, str] | None = None,
) -> Plan[int]:
    """Take runs out of the queue and count those that were in it."""
    taken = yield from _take(account.sink, run_ids)
    code, message = error or (None, None)
    if taken or error is not None:
        yield from ask(
            "count_traces",
            **_columns(account),
            sent=0 if refused else taken,
            refused=taken if refused else 0,
            code=code,
            message=message,
        )
    if not account.own:
        yield from ask("resume_traces", sink=account.sink)
    return taken


def drop_traces(sink: Sink, run_ids: Sequence[str]) -> Plan[None]:
    """Take runs out of the queue."""
    yield from _take(sink, run_ids)


def pause_traces(account: TraceAccount, error: tuple[str, str], retry_ms: int) -> Plan[None]:
    """Record a failed attempt."""
    code, message = error
    yield from ask("pause_traces", **_columns(account), code=code, message=message, retry_ms=retry_ms)


def trace_failures(account: TraceAccount) -> Plan[int]:
    """How many attempts of an account have failed in a row."""
    if account.own:
        row = yield from ask_one("own_trace_failures", sink=account.sink, tenant=account.tenant)
    else:
        row = yield from ask_one("trace_failures", sink=account.sink)
    return 0 if row is None else msgspec.convert(row[0], int)


def trace_exports(tenant: str) -> Plan[list[TraceExport]]:
    """What became of a team's traces."""
    rows = yield from ask("trace_exports", tenant=tenant)
    found = [by_name(TraceExport, row) for row in rows]
    return [msgspec.convert({**values, "own": bool(values["own"])}, TraceExport) for values in found]


def trace_backlog(sink: Sink, tenant: str | None = None) -> Plan[tuple[int, int | None]]:
    """How many runs wait for a service, and since when."""
    row = yield from ask_one("trace_backlog", sink=sink, tenant=tenant)
    if row is None:
        return 0, None
    _, count, oldest = msgspec.convert(row, tuple[str, int, int])
    return count, oldest


def set_traces(tenant: str, sent: TracesSent) -> Plan[TenantRecord]:
    """Set what of a team's runs is sent. Raises UserError `tenant_not_found`."""
    yield from ask("set_traces", tenant=tenant, traces=sent)
    return (yield from get_tenant(tenant))


def _take(sink: Sink, run_ids: Sequence[str]) -> Plan[int]:
    taken = 0
    for run_id in run_ids:
        row = yield from ask_one("take_trace", run_id=run_id, sink=sink)
        taken += row is not None
    return taken


def _columns(account: TraceAccount) -> dict[str, object]:
    return {**structs.asdict(account), "own": int(account.own)}
