"""Claims: start a queued run, take over a running one, request a cancellation."""

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

import msgspec

from agio.core.run.boundary import run_started
from agio.core.store.records import AgentRecord, ClaimBy, Claimed, Limits
from agio.core.store.repository import RunInfo
from agio.db.plan import Hold, Plan, ask, ask_one
from agio.db.plans.agents.definitions import agent_to_run, pin
from agio.db.plans.runs.log import all_current, check_session, find_run, get_run
from agio.db.plans.runs.paths import RunPlace, place_run, session_head
from agio.db.plans.runs.questions import cancel_questions
from agio.db.records import now_ms
from agio.db.rows import Columns, as_row
from agio.errors import StoreError, UserError
from agio.protocol.codec import decode_input, encode
from agio.protocol.frames import Frame
from agio.protocol.messages import RunAgentInput

MustEnd: TypeAlias = Literal["cancelled", "expired", "crash_loop", "unreadable"]

FRUITLESS_CLAIMS = 3
"""A run is given up after so many claims without a finished turn."""


class _ClaimState(Columns, frozen=True):
    epoch: int
    fruitless: int
    turns_at_claim: int
    turns: int


def claim_next(
    by: ClaimBy,
    limits: Limits,
    *,
    tenants: Collection[str] | None = None,
    code_agents: Sequence[str] = (),
    code_tenants: Collection[str] | None = None,
    after_tenant: str = "",
    queued_before: int = 0,
    must_end_only: bool = False,
) -> Plan[Claimed | None]:
    """Claim the next run that may run: tenants in turn from the one after `after_tenant`, oldest first."""
    allowed = None if tenants is None else sorted(tenants)
    tenant, wrapped = after_tenant, False
    while True:
        found = yield from _next_tenant(tenant, allowed)
        if found is None:
            if wrapped or not after_tenant:
                return None
            tenant, wrapped = "", True
            continue
        tenant = found
        if wrapped and tenant > after_tenant:
            return None
        wanted: dict[str, object] = {
            "code_agents": list(code_agents) if code_tenants is None or tenant in code_tenants else [],
            "queued_before": queued_before,
            "must_end": int(must_end_only),
            "log_level": by.log_level,
        }
        if (yield from _find("next_run", tenant, limits, wanted)) is None:
            continue
        # Concurrent claims are serialised from here on: look again.
        yield from ask("lock_tenant", tenant=tenant)
        while (run_id := (yield from _find("lock_next_run", tenant, limits, wanted))) is not None:
            try:
                info = yield from get_run(run_id)
                agent = yield from agent_to_run(info)
            except msgspec.DecodeError as damage:  # one row must not hold up the queue
                yield from ask("fail_queued", run_id=run_id, now=now_ms(), error_message=str(damage))
                continue
            return (yield from _start(info, agent, by, queued_before))


def _next_tenant(after: str, allowed: Sequence[str] | None) -> Plan[str | None]:
    """The next tenant, in order of id, that may have a queued run."""
    if allowed is not None:
        return next((tenant for tenant in allowed if tenant > after), None)
    row = yield from ask_one("next_tenant", after=after)
    return None if row is None or row[0] is None else str(row[0])


def _find(query: str, tenant: str, limits: Limits, wanted: dict[str, object]) -> Plan[str | None]:
    """The tenant's next run, if it may run."""
    if not (yield from _has_room(tenant, limits)):
        return None
    found = yield from ask_one(query, tenant=tenant, **wanted)
    return None if found is None else str(found[0])


def _has_room(tenant: str, limits: Limits) -> Plan[bool]:
    """Whether the tenant is below its limit of running runs."""
    row = yield from ask_one("count_running", tenant=tenant)
    return row is not None and msgspec.convert(row[0], int) < limits.running_per_tenant


def _start(info: RunInfo, agent: AgentRecord, by: ClaimBy, queued_before: int) -> Plan[Claimed]:
    """Begin a queued run that may run: its first claim, its place in the session, RUN_STARTED.

    A run with unreadable input begins without it, to be ended. An existing log is continued.
    """
    run_id, now = info.run_id, now_ms()
    given = yield from _input_of(run_id)
    place = yield from _place_of(info)
    definition = info.definition or (yield from pin(agent))
    if info.definition is not None:  # the client's: the agent that it replaces begins
        place = msgspec.structs.replace(place, active_agent="")
    started = yield from ask_one(
        "start_run",
        run_id=run_id,
        now=now,
        worker=by.worker,
        token_hash=by.token_hash,
        definition=definition,
        gateway=by.gateway,
        **place.columns,
    )
    if started is None:
        raise StoreError("run_ended", f"Run {run_id} is not queued any more.", {"run_id": run_id})
    yield from ask("place_messages", session_id=info.session_id, run_id=run_id, pos=place.first_pos + 1)
    epoch, has_log = msgspec.convert(started[0], int), info.last_seq > 0
    info = msgspec.structs.replace(
        info,
        status="running",
        epoch=epoch,
        last_seq=info.last_seq or 1,
        first_pos=place.first_pos,
        parent_run_id=place.parent_run_id,
        parent_seq=place.parent_seq,
        branched=place.branched,
        definition=definition,
        started_at=now,
        worker=by.worker,
        token_hash=by.token_hash,
        gateway=by.gateway,
    )
    line = b"" if has_log else started_line(info, given, now, place)
    yield Hold(
        run_id, epoch, info.last_seq if has_log else 0, Frame(run_id, epoch, 1, 1, line) if line else None
    )
    must_end: MustEnd | None = "expired" if info.created_at < queued_before else None
    return _claimed(info, agent, "unreadable" if given is None else must_end, line)


def reclaim(
    run_id: str, epoch: int, by: ClaimBy, *, held_by: str = "", given_back: bool = False
) -> Plan[Claimed | None]:
    """Take over a running run that has this epoch and gateway: epoch + 1. None if it ended or another has it.

    A claim that was `given_back` does not count as one without a finished turn.
    """
    state = yield from ask_one("claim_state", run_id=run_id)
    if state is None:
        return None
    known = as_row(_ClaimState, state)
    if known.epoch != epoch:
        return None
    fruitless = 0 if known.turns != known.turns_at_claim else known.fruitless + int(not given_back)
    taken = yield from ask_one(
        "take_over",
        run_id=run_id,
        epoch=epoch,
        worker=by.worker,
        token_hash=by.token_hash,
        turns=known.turns,
        fruitless=fruitless,
        gateway=by.gateway,
        held_by=held_by,
    )
    if taken is None:
        return None
    info = yield from get_run(run_id)
    yield Hold(run_id, epoch + 1, info.last_seq)
    info = msgspec.structs.replace(info, epoch=epoch + 1)
    agent = yield from agent_to_run(info)
    return _claimed(info, agent, "crash_loop" if fruitless >= FRUITLESS_CLAIMS else None)


def give_back(run_id: str, epoch: int) -> Plan[None]:
    """Record that a worker gave a run back in good order."""
    yield from ask("give_back", run_id=run_id, epoch=epoch)


def request_cancel(
    tenant: str, user: str, *, session_id: str | None = None, run_id: str | None = None
) -> Plan[list[RunInfo]]:
    """Flag a run, or all queued and running runs of a session, to be cancelled; returns those flagged.

    A run that has ended is left as it is. Raises UserError `run_not_found`, `session_not_found`.
    """
    found: list[RunInfo] = []
    if run_id is not None:
        found.append((yield from find_run(tenant, user, run_id)))
    elif session_id is not None:
        yield from check_session(tenant, user, session_id)
        rows = yield from ask("active_runs", tenant=tenant, user_id=user, session_id=session_id)
        found += yield from all_current(rows)
        yield from cancel_questions(session_id)  # they would hold the queue
    return (yield from flag_cancel(tenant, user, found))


def started_line(info: RunInfo, given: RunAgentInput | None, now: int, place: RunPlace) -> bytes:
    """A run's first event, as a line of its log."""
    event = run_started(
        info.session_id,
        info.run_id,
        given,
        (info.parent_run_id, info.parent_seq),
        is_branch=place.is_branch,
        agent=place.active_agent,
    )
    event.timestamp = now
    event.metadata = {"run": info.run_id, "seq": 1, **(event.metadata or {})}
    return encode(event) + b"\n"


def _place_of(info: RunInfo) -> Plan[RunPlace]:
    """The place of a queued run. One that has a log stays where it is."""
    head = yield from session_head(info.session_id)
    if info.last_seq:
        return RunPlace(info.first_pos, info.parent_run_id, info.parent_seq, info.branched, is_branch=False)
    return (yield from place_run(info.session_id, head, info.parent_run_id))


def flag_cancel(tenant: str, user: str, runs: Sequence[RunInfo]) -> Plan[list[RunInfo]]:
    """Flag those of a user's runs that have not ended for cancellation, and return them."""
    flagged: list[RunInfo] = []
    for info in runs:
        if info.status in ("queued", "running"):
            yield from ask("flag_cancel", tenant=tenant, user_id=user, run_id=info.run_id, now=now_ms())
            flagged.append(msgspec.structs.replace(info, cancel_requested=True))
    return flagged


def _claimed(info: RunInfo, agent: AgentRecord, must_end: MustEnd | None, line: bytes = b"") -> Claimed:
    return Claimed(info, agent, info.session_id, "cancelled" if info.cancel_requested else must_end, line)


def _input_of(run_id: str) -> Plan[RunAgentInput | None]:
    """What a queued run was given, None if it cannot be read."""
    row = yield from ask_one("queued_input", run_id=run_id)
    try:
        return None if row is None else decode_input(msgspec.convert(row[0], bytes))
    except (UserError, msgspec.ValidationError):
        return None
