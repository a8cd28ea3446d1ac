"""Accepting: a message, or answers and results, becomes a run of its session in one commit."""

from collections.abc import Sequence

from msgspec import structs

from agio.core.store.records import Accepted, ClaimBy, Limits, Submission
from agio.core.store.repository import RunInfo
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.definitions import KnownDefinitions
from agio.db.plans.people.identity import KEPT_MS
from agio.db.plans.runs.arrivals import Arrival, receive
from agio.db.plans.runs.claims import flag_cancel
from agio.db.plans.runs.inputs import add_inputs
from agio.db.plans.runs.log import all_current
from agio.db.plans.runs.new_runs import Kind, begin_run, keep_key, queue_run
from agio.db.plans.runs.parents import choose_parent
from agio.db.plans.runs.questions import settle_questions
from agio.db.plans.sessions.files import attach_files
from agio.db.plans.sessions.sessions import find_messages, hash_key
from agio.db.records import decode_names, encode_message
from agio.db.refusals import agent_inactive, idempotency_conflict
from agio.db.rows import Columns, KeyRow, RunRow, as_row
from agio.errors import LimitExceeded, UserError
from agio.protocol.messages import Message, ToolMessage, UserMessage


class _Active(Columns, frozen=True):
    """A row of `count_active`."""

    sessions: int
    queued: int
    queued_by_user: int
    running: int


def accept(
    tenant: str, user: str, given: Submission, limits: Limits, known: KnownDefinitions | None = None
) -> Plan[Accepted]:
    """Take a message into its session: message, run and answers in one commit. Raises as the port says."""
    sent = yield from receive(tenant, user, given, known)
    if sent.session.is_new:
        return (yield from _take_in(sent, given.messages, limits))
    before = yield from _accepted_before(sent)
    if before is not None:
        return (yield from _repeated(sent, before))
    messages, before = yield from _new_messages(sent)
    if before is not None:
        return (yield from _repeated(sent, before))
    if sent.session.agent.status != "active" or sent.session.agent_deleted_at is not None:
        raise agent_inactive(sent.session.agent.name)
    return (yield from _take_in(sent, messages, limits))


def _accepted_before(sent: Arrival) -> Plan[str | None]:
    """What the same key or alias made: see `_repeated`. Raises UserError `idempotency_conflict`."""
    key, alias = sent.given.idempotency_key, sent.given.alias
    if key is not None:
        row = yield from ask_one(
            "find_key",
            tenant=sent.tenant,
            user_id=sent.user,
            kind="key",
            scope=sent.given.session_id,
            hash=hash_key(key),
            since=sent.now - KEPT_MS,
        )
        if row is not None:
            known = as_row(KeyRow, row)
            if known.digest != sent.given.digest:
                raise idempotency_conflict("key")
            return known.made_id
    if alias is not None:
        row = yield from ask_one("find_alias", alias=alias, **sent.place)
        if row is not None:
            return as_row(RunRow, row).run_id
    return None


def _new_messages(sent: Arrival) -> Plan[tuple[Sequence[Message], str | None]]:
    """The messages that the session does not have; if it has all of them, the run that brought them.

    Raises UserError `idempotency_conflict` if another message has the same id.
    """
    messages = sent.given.messages
    if not messages:
        return messages, None
    found = yield from find_messages(
        sent.tenant, sent.user, sent.given.session_id, [message.id for message in messages]
    )
    if not found:
        return messages, None
    known = {record.id: record for record in found}
    for message in messages:
        if message.id in known and known[message.id].message != encode_message(message):
            raise idempotency_conflict("message id")
    new = [message for message in messages if message.id not in known]
    repeats = not new and not sent.given.resume
    return new, found[-1].run_id if repeats else None


def _repeated(sent: Arrival, made_id: str) -> Plan[Accepted]:
    """The answer to a repeat. `made_id` is the run that was made, or the message that was added to a running run."""
    session_id = sent.given.session_id
    found = yield from find_messages(sent.tenant, sent.user, session_id, [made_id])
    run_id, message_id = (found[0].run_id, made_id) if found else (made_id, None)
    if message_id is None:
        row = yield from ask_one("message_of_run", tenant=sent.tenant, user_id=sent.user, run_id=run_id)
        message_id = None if row is None else str(row[0])
    return Accepted(session_id=session_id, run_id=run_id, message_id=message_id, repeated=True)


def _take_in(sent: Arrival, messages: Sequence[Message], limits: Limits) -> Plan[Accepted]:
    given, is_new = sent.given, sent.session.is_new
    active = [] if is_new else (yield from all_current((yield from ask("active_runs", **sent.place))))
    results = yield from _check_results(sent, messages, bool(active))
    parent = yield from choose_parent(sent)
    asked_by = None
    if given.resume or not is_new:
        asked_by = yield from settle_questions(given, messages, sent.now)
    kind: Kind = "answer" if asked_by is not None or results else "message"
    if kind == "answer":
        sent = yield from _in_same_trace(sent, asked_by)
    running = next((run for run in active if run.status == "running" and not run.cancel_requested), None)
    if running is not None and kind == "message" and _steers(sent):
        yield from attach_files(sent.place, messages)
        yield from add_inputs(sent, running, messages, limits.queued_per_user)
        yield from keep_key(sent, messages[-1].id)  # a run that ends without it gives it to the next one
        yield from ask("take_in", title=sent.session.title, now=sent.now, **sent.place)
        return Accepted(
            session_id=given.session_id,
            run_id=running.run_id,
            message_id=messages[-1].id,
            steered=True,
        )
    to_cancel = yield from _make_way(sent, kind, active)
    counted = yield from _check_limits(sent, limits, bool(active))
    ahead = active if kind == "message" else [run for run in active if run.status == "running"]
    yield from attach_files(sent.place, messages)
    by = None if ahead or counted.running >= limits.running_per_tenant else _claimer(sent)
    if by is None:
        claimed = yield from queue_run(sent, kind, messages, asked_by or parent)
    else:
        claimed = yield from begin_run(sent, kind, messages, by, asked_by or parent)
    users = [message.id for message in messages if isinstance(message, UserMessage)]
    return Accepted(
        session_id=given.session_id,
        run_id=given.run_id,
        message_id=users[-1] if users else None,
        claimed=claimed,
        to_cancel=to_cancel,
    )


def _in_same_trace(sent: Arrival, asked_by: str | None) -> Plan[Arrival]:
    """Let an answer continue the trace of the run that asked, if that is part of one."""
    head = sent.session.head
    row = yield from ask_one("trace_of_run", run_id=asked_by or head.leaf_run_id or head.run_id)
    if row is None or not row[0]:
        return sent
    return structs.replace(sent, given=structs.replace(sent.given, traceparent=str(row[0])))


def _steers(sent: Arrival) -> bool:
    """Whether a message is meant for the running run, and needs nothing that only a run of its own can have."""
    given = sent.given
    needs_run = (
        given.tools or given.context or given.definition or given.parent_run_id is not None or given.copy_of
    )
    return (given.on_busy or sent.session.on_busy) == "steer" and not needs_run


def _claimer(sent: Arrival) -> ClaimBy | None:
    """The claim to begin with, unless the worker lacks the agent's code or cannot read the session's logs."""
    agent, by = sent.session.agent, sent.given.claim
    if by is None or sent.session.head.log_level > by.log_level:
        return None
    return None if agent.source == "code" and agent.name not in sent.given.code_agents else by


def _check_results(sent: Arrival, messages: Sequence[Message], is_active: bool) -> Plan[bool]:
    """Whether the messages include tool results. Raises UserError `unknown_tool_call`."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    expected: list[str] = []
    leaf = sent.session.head.leaf_run_id or sent.session.head.run_id
    if results and not is_active and leaf is not None:
        row = yield from ask_one("pending_of_run", run_id=leaf)
        expected = [] if row is None else decode_names(str(row[0]))
    for message in results:
        if message.tool_call_id not in expected:
            raise UserError(
                "unknown_tool_call",
                f"No call {message.tool_call_id} waits for a result in this session.",
                {"tool_call_id": message.tool_call_id},
            )
    return bool(results)


def _make_way(sent: Arrival, kind: Kind, active: Sequence[RunInfo]) -> Plan[list[RunInfo]]:
    """Apply the session's `on_busy`; returns the running runs to cancel. UserError `session_busy`."""
    on_busy = sent.given.on_busy or sent.session.on_busy
    if not active or on_busy in ("queue", "steer") or kind == "answer":
        return []
    if on_busy == "refuse":
        raise UserError(
            "session_busy",
            "A run of this session has not ended. Wait for it, or cancel it.",
            {"run_id": active[0].run_id},
        )
    flagged = yield from flag_cancel(sent.tenant, sent.user, active)
    return [run for run in flagged if run.status == "running"]


def _check_limits(sent: Arrival, limits: Limits, is_active: bool) -> Plan[_Active]:
    """Count what is active. Raises LimitExceeded `too_many_sessions`, `queue_full`."""
    key_id = sent.given.key_id
    row = yield from ask_one("count_active", key_id=key_id, **sent.place)
    counted = as_row(_Active, row or ())
    name = "running_per_key" if key_id else "running_per_user"
    limit = limits.running_per_key if key_id else limits.running_per_user
    if not is_active and counted.sessions >= limit:
        whose = "sessions of this API key" if key_id else "of your sessions"
        raise LimitExceeded(
            "too_many_sessions",
            f"{limit} {whose} have runs under way, the limit {name}. Wait for one, or cancel it.",
            {"limit": limit, "name": name},
        )
    for name, whose, queued, limit in (
        ("queued_per_user", "your", counted.queued_by_user, limits.queued_per_user),
        ("queued_per_tenant", "your team's", counted.queued, limits.queued_per_tenant),
    ):
        if queued >= limit:
            raise LimitExceeded(
                "queue_full",
                f"{limit} of {whose} runs are queued, the limit {name}. Try again later.",
                {"limit": limit, "name": name},
            )
    return counted
