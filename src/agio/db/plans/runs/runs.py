"""Runs of programs, tool records, and the rows that an append writes besides its events."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import UNSET

from agio.core.log_level import INPUTS, PLAIN
from agio.core.run.answers import asked_input
from agio.core.store.repository import Append, Charge, Effect, NewRun, Outcome, Question, RunInfo, ToolRecord
from agio.core.text import clean
from agio.db.plan import Each, Hold, Plan, ask, ask_one
from agio.db.plans.agents.agents import library_agent
from agio.db.plans.jobs.jobs import arm_extraction
from agio.db.plans.jobs.traces import queue_traces
from agio.db.plans.memories.memories import use_memories
from agio.db.plans.runs.inputs import requeue_inputs
from agio.db.plans.runs.log import get_run
from agio.db.plans.runs.paths import EMPTY_HEAD, SessionHead, place_run, session_head
from agio.db.records import encode_message, encode_names, now_ms, pack_content, run_info, tool_record
from agio.db.refusals import run_ended, run_exists, session_not_found, stale_epoch
from agio.db.rows import Columns, ToolResultRow, as_row
from agio.errors import StoreError

ANSWER_WITHIN_MS = 7 * 24 * 3600 * 1000
"""The default lifetime of a question."""
CALL_MS = 8000
"""How long others wait for the result of a call whose owner does not extend its lease."""
ERROR_CHARS = 2000
"""The longest error message in a run's row; the run's last event has the whole message."""


class _EndedRow(Columns, frozen=True):
    """`end_run`."""

    session_id: str
    first_pos: int
    number: int
    log_level: int


def create_run(run: NewRun) -> Plan[RunInfo]:
    """Add a program's running run, and its agent and session if they do not exist.

    Raises StoreError `run_exists`, `thread_busy`; UserError `session_not_found` for a session of another user.
    """
    if (yield from ask_one("place_of_run", run_id=run.run_id)) is not None:
        raise run_exists(run.run_id)
    now = now_ms()
    head = yield from _session_head(run)
    if head is None:
        yield from ask("add_tenant", tenant=run.tenant, name=run.tenant, now=now)
        yield from ask("add_user", tenant=run.tenant, user_id=run.user, name=run.user, role="member", now=now)
    agent_id = yield from library_agent(run.tenant, run.agent, run.model)
    if head is None:
        added = yield from ask_one(
            "add_session",
            session_id=run.session_id,
            tenant=run.tenant,
            user_id=run.user,
            agent_id=agent_id,
            title=run.title,
            on_busy="queue",
            alias=None,
            mark=run.mark,
            now=run.created_at or now,
        )
        if added is None:  # another transaction has just added it
            head = yield from _session_head(run)
    head = head or EMPTY_HEAD
    place = yield from place_run(run.session_id, head, None)
    placed = yield from ask_one(
        "add_run",
        run_id=run.run_id,
        session_id=run.session_id,
        agent_id=agent_id,
        agent_name=run.agent,
        tenant=run.tenant,
        user_id=run.user,
        model=run.model,
        status="running",
        kind="message",
        epoch=run.epoch,
        created_at=run.created_at or now,
        started_at=now,
        mark=run.mark,
        title=run.title,
        alias=None,
        input=None,
        worker=None,
        token_hash=b"",
        request_id="",
        key_id="",
        definition=None,
        log_level=head.log_level,
        traceparent="",
        gateway="",
        **place.columns,
    )
    row = yield from ask_one("get_run", run_id=run.run_id)
    if placed is None or row is None:
        raise run_exists(run.run_id)
    yield Hold(run.run_id, run.epoch, 0)
    return run_info(row)


def claim_run(run_id: str) -> Plan[RunInfo]:
    """Take over a running run. Raises UserError `run_not_found`, StoreError `run_ended`."""
    raised = yield from ask_one("raise_epoch", run_id=run_id)
    info = yield from get_run(run_id)
    if raised is None:
        raise run_ended(info)
    epoch = msgspec.convert(raised[0], int)
    yield Hold(run_id, epoch, info.last_seq)
    return msgspec.structs.replace(info, epoch=epoch)


def begin_tool(
    run_id: str,
    key: str,
    *,
    tool: str = "",
    effect: Effect = "once",
    epoch: int | None = None,
    lane: str = "",
) -> Plan[ToolRecord | None]:
    """Record the start of a call, or return its record.

    Raises UserError `run_not_found`, StoreError `stale_epoch`, `run_ended`.
    """
    yield from ask("lock_run", run_id=run_id)
    info = yield from get_run(run_id)
    if epoch is not None and epoch != info.epoch:
        raise stale_epoch(run_id, info.epoch, epoch)
    known = yield from find_tool(run_id, key)
    if known is not None:
        return known
    if info.status != "running":
        raise run_ended(info)
    yield from ask(
        "begin_tool",
        run_id=run_id,
        key=key,
        tool=tool,
        effect=effect,
        lane=lane,
        now=now_ms(),
        lease_ms=CALL_MS,
    )
    return None


def find_tool(run_id: str, key: str) -> Plan[ToolRecord | None]:
    """The record of a call, None if it has not begun."""
    known = yield from ask_one("get_tool", run_id=run_id, key=key)
    if known is None:
        return None
    found = as_row(ToolResultRow, known)
    return tool_record(found.content, found.error)


def end_tool(run_id: str, key: str, record: ToolRecord) -> Plan[None]:
    """Record a call's result; the first one stays. Raises UserError `run_not_found`, StoreError `not_storable`."""
    content = pack_content(record)
    yield from get_run(run_id)
    yield from ask("end_tool", run_id=run_id, key=key, content=content, error=record.error, now=now_ms())


def keep_append(write: Append, last_seq: int, turns: Sequence[dict[str, object]]) -> Plan[None]:
    """Write the turns, tool calls and end that come with an accepted append.

    `last_seq` is the log's last event with the append, `turns` are the rows `pack_turns` made of it.
    """
    run_id, now = write.frame.run_id, now_ms()
    if turns and not write.frame.count and (yield from ask_one("find_turn", **turns[0])) is not None:
        return  # a repeat: without events, the fence cannot tell it from the next append
    if write.level > PLAIN:
        yield from ask("raise_level", run_id=run_id, level=write.level)
    if write.consumed:
        yield from ask("consume_inputs", run_id=run_id, upto=write.consumed)
    for turn in turns:
        yield from ask("put_turn", **turn)
    if used := sorted({each for turn in write.turns for each in turn.context if each.startswith("mem_")}):
        yield from use_memories(run_id, used)
    for begun in write.begins:
        yield from ask(
            "begin_tool",
            run_id=run_id,
            key=begun.key,
            tool=begun.tool,
            effect=begun.effect,
            lane=begun.lane,
            now=now,
            lease_ms=CALL_MS,
        )
    if write.charge is not None and write.end is None:
        yield from ask("charge_run", run_id=run_id, **_columns(write.charge))
    for ended in write.ends:
        yield from ask("end_tool", run_id=run_id, key=ended.key, content=None, error=ended.error, now=now)
    if write.end is not None:
        yield from _end(write, last_seq, now)


def _end(write: Append, last_seq: int, now: int) -> Plan[None]:
    run_id, outcome = write.frame.run_id, write.outcome or Outcome()
    row = yield from ask_one(
        "end_run",
        run_id=run_id,
        status=write.end,
        error_code=write.error_code,
        now=now,
        ended_at=now if outcome.ended_at is None else min(outcome.ended_at, now),
        last_seq=last_seq,
        goal_met=None if outcome.goal_met is None else int(outcome.goal_met),
        steps=outcome.steps,
        error_message=None if write.error_message is None else _kept(write.error_message),
        pending=encode_names(outcome.pending),
        active_agent=outcome.active_agent,
        needed=outcome.needed,
        **_columns(write.charge),
    )
    ended = as_row(_EndedRow, row or ())
    session_id = ended.session_id
    place = {
        "session_id": session_id,
        "run_id": run_id,
        "run_number": ended.number,
        "pos": ended.first_pos + last_seq,
        "now": now,
    }
    rows = [
        {"id": message.id, "idx": idx, "role": message.role, "message": encode_message(message), **place}
        for idx, message in enumerate(outcome.messages)
    ]
    yield Each("put_message", rows)
    for question in outcome.questions:
        yield from _ask_person(question, session_id, run_id, now)
    if ended.log_level >= INPUTS:
        yield from requeue_inputs(run_id, session_id, now)
    if write.sinks:
        yield from queue_traces(run_id, write.sinks)
    yield from ask("settle_session", session_id=session_id, now=now)
    if write.extract_in_ms is not None:
        yield from arm_extraction(session_id, write.extract_in_ms)


def _columns(charge: Charge | None) -> dict[str, object]:
    """A charge, as parameters of `charged`; None changes nothing."""
    given = charge or Charge()
    return {
        "input_tokens": given.input_tokens,
        "output_tokens": given.output_tokens,
        "cost": None if given.cost is None else float(given.cost),
        "partial": None if charge is None else int(charge.partial),
    }


def _kept(message: str) -> str:
    text = clean(message)
    return text if len(text) <= ERROR_CHARS else text[: ERROR_CHARS - 1] + "…"


def _ask_person(question: Question, session_id: str, run_id: str, now: int) -> Plan[None]:
    asked = question.interrupt
    given = asked_input(asked)
    yield from ask(
        "open_interrupt",
        session_id=session_id,
        id=asked.id,
        run_id=run_id,
        tool_call_id="" if asked.tool_call_id is UNSET else asked.tool_call_id,
        tool=question.tool,
        arguments=question.arguments,
        message="" if asked.message is UNSET else asked.message,
        input=None if given is None else msgspec.json.encode(given).decode(),
        now=now,
        expires_at=now + ANSWER_WITHIN_MS if asked.expires_at is UNSET else _ms_of(asked.expires_at, now),
    )


def _ms_of(moment: str, now: int) -> int:
    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1000)
    except (ValueError, OverflowError):
        return now + ANSWER_WITHIN_MS


def _session_head(run: NewRun) -> Plan[SessionHead | None]:
    """The head of a session; None if the session is new. Raises what `create_run` raises."""
    owner = yield from ask_one("lock_owner", session_id=run.session_id)
    if owner is None:
        return None
    if tuple(owner) != (run.tenant, run.user):
        raise session_not_found(run.session_id)
    running = yield from ask_one(
        "running_run_of_session", tenant=run.tenant, user_id=run.user, session_id=run.session_id
    )
    if running is not None:
        raise StoreError(
            "thread_busy",
            f"Run {running[0]} of this thread has not ended. Wait for it, or claim and finish it.",
            {"run_id": running[0], "thread_id": run.session_id},
        )
    return (yield from session_head(run.session_id))
