"""Accepting: a message, or answers and results, becomes a queued run of its session in one commit."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from agio.core.fold import title_of
from agio.core.repository import RunInfo
from agio.core.store import Acceptance, Accepted, AgentSource, Claimed, Limits, OnBusy
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.claims import flag_cancel, has_room, start_run
from agio.db.plans.identity import KEPT_MS
from agio.db.plans.log import all_current
from agio.db.plans.questions import settle_questions
from agio.db.plans.sessions import find_messages, hash_key
from agio.db.records import decode_names, encode_json, encode_message, now_ms
from agio.db.refusals import agent_inactive, idempotency_conflict, run_exists, session_not_found
from agio.errors import LimitExceeded, UserError
from agio.protocol.messages import Message, RunAgentInput, ToolMessage, UserMessage

Kind: TypeAlias = Literal["answer", "message"]


class _Session(Struct, frozen=True, array_like=True):
    """A row of `lock_session`."""

    agent_id: str
    agent_name: str
    agent_source: AgentSource
    model: str
    agent_status: str
    agent_deleted_at: int | None
    title: str
    on_busy: OnBusy
    mark: str
    pending: str


class _Sent(Struct, frozen=True):
    """What came, from whom, and into which session."""

    tenant: str
    user: str
    given: Acceptance
    session: _Session
    now: int

    @property
    def place(self) -> dict[str, object]:
        """The session as queries name it."""
        return {"tenant": self.tenant, "user_id": self.user, "session_id": self.given.session_id}


def accept(tenant: str, user: str, given: Acceptance, limits: Limits) -> Plan[Accepted]:
    """Take a message into its session: message, run and answers in one commit. Raises as the port says."""
    row = yield from ask_one("lock_session", tenant=tenant, user_id=user, session_id=given.session_id)
    if row is None:
        raise session_not_found(given.session_id)
    sent = _Sent(tenant, user, given, msgspec.convert(list(row), _Session), now_ms())
    before = yield from _accepted_before(sent)
    if before is not None:
        return (yield from _repeated(sent, before))
    messages, before = yield from _new_messages(sent)
    if before is not None:
        return (yield from _repeated(sent, before))
    if sent.session.agent_status != "active" or sent.session.agent_deleted_at is not None:
        raise agent_inactive(sent.session.agent_name)
    return (yield from _take_in(sent, messages, limits))


def _accepted_before(sent: _Sent) -> Plan[str | None]:
    """The run that the same key or alias began. Raises UserError `idempotency_conflict`."""
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
            digest, run_id = msgspec.convert(row, tuple[bytes, str])
            if digest != sent.given.digest:
                raise idempotency_conflict("key")
            return run_id
    if alias is not None:
        row = yield from ask_one("find_alias", alias=alias, **sent.place)
        if row is not None:
            return str(row[0])
    return None


def _new_messages(sent: _Sent) -> Plan[tuple[Sequence[Message], str | None]]:
    """What of the messages the session has not; if that is nothing, the run that brought them.

    Raises UserError `idempotency_conflict` if a message's id is another message's.
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


def _repeated(sent: _Sent, run_id: str) -> Plan[Accepted]:
    row = yield from ask_one("message_of_run", tenant=sent.tenant, user_id=sent.user, run_id=run_id)
    return Accepted(run_id=run_id, message_id=None if row is None else str(row[0]), repeated=True)


def _take_in(sent: _Sent, messages: Sequence[Message], limits: Limits) -> Plan[Accepted]:
    given = sent.given
    results = _check_results(sent.session, messages)
    answered = yield from settle_questions(given, messages, sent.now)
    kind: Kind = "answer" if answered or results else "message"
    active = yield from all_current((yield from ask("active_runs", **sent.place)))
    to_cancel = yield from _make_way(sent, kind, active)
    yield from _check_limits(sent, limits, bool(active))
    run_input = _input_of(given, messages)
    yield from _add_run(sent, kind, messages, run_input)
    ahead = active if kind == "message" else [run for run in active if run.status == "running"]
    claimed = None if ahead else (yield from _claim_at_once(sent, limits, run_input))
    users = [message.id for message in messages if isinstance(message, UserMessage)]
    return Accepted(
        run_id=given.run_id,
        message_id=users[-1] if users else None,
        claimed=claimed,
        to_cancel=to_cancel,
    )


def _check_results(session: _Session, messages: Sequence[Message]) -> bool:
    """Whether there are results of tools among the messages. Raises UserError `unknown_tool_call`."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    expected = decode_names(session.pending) if results else []
    for message in results:
        if message.tool_call_id not in expected:
            raise UserError(
                "unknown_tool_call",
                f"No call {message.tool_call_id} waits for a result in this session.",
                {"tool_call_id": message.tool_call_id},
            )
    return bool(results)


def _make_way(sent: _Sent, kind: Kind, active: Sequence[RunInfo]) -> Plan[list[RunInfo]]:
    """Do as the session says if a run is going on; the running ones to be cancelled. UserError `session_busy`."""
    on_busy = sent.given.on_busy or sent.session.on_busy
    if not active or on_busy == "queue" or kind == "answer":
        return []
    if on_busy == "refuse":
        raise UserError(
            "session_busy",
            "A run of this session is going on. Wait for it, or cancel it.",
            {"run_id": active[0].run_id},
        )
    flagged = yield from flag_cancel(sent.tenant, sent.user, active)
    return [run for run in flagged if run.status == "running"]


def _check_limits(sent: _Sent, limits: Limits, is_active: bool) -> Plan[None]:
    row = None if is_active else (yield from ask_one("count_active_sessions", **sent.place))
    if row is not None and msgspec.convert(row[0], int) >= limits.running_per_user:
        raise LimitExceeded(
            "too_many_sessions",
            f"{limits.running_per_user} of your sessions are running. Wait for one, or cancel it.",
            {"limit": limits.running_per_user},
        )
    row = yield from ask_one("count_queued", tenant=sent.tenant)
    if row is not None and msgspec.convert(row[0], int) >= limits.queued_per_tenant:
        raise LimitExceeded(
            "queue_full",
            f"{limits.queued_per_tenant} runs are waiting already. Try again later.",
            {"limit": limits.queued_per_tenant},
        )


def _input_of(given: Acceptance, messages: Sequence[Message]) -> RunAgentInput:
    run_input = RunAgentInput(given.session_id, given.run_id, list(messages))
    run_input.tools = list(given.tools) or UNSET
    run_input.context = list(given.context) or UNSET
    run_input.resume = list(given.resume) or UNSET
    return run_input


def _add_run(sent: _Sent, kind: Kind, messages: Sequence[Message], run_input: RunAgentInput) -> Plan[None]:
    given, session = sent.given, sent.session
    title = title_of(messages)
    row = yield from ask_one(
        "add_run",
        run_id=given.run_id,
        agent_id=session.agent_id,
        agent_name=session.agent_name,
        model=session.model,
        status="queued",
        kind=kind,
        epoch=0,
        first_pos=None,
        created_at=sent.now,
        started_at=None,
        mark=session.mark,
        title=title,
        alias=given.alias,
        input=encode_json("input", run_input),
        token_hash=b"",
        **sent.place,
    )
    if row is None:
        raise run_exists(given.run_id)
    for idx, message in enumerate(messages):
        yield from ask(
            "put_message",
            session_id=given.session_id,
            id=message.id,
            run_id=given.run_id,
            run_number=row[0],
            idx=idx,
            pos=None,
            role=message.role,
            message=encode_message(message),
            now=sent.now,
        )
    yield from ask("take_in", title=session.title or title, now=sent.now, **sent.place)
    if given.idempotency_key is not None:
        yield from ask(
            "put_key",
            tenant=sent.tenant,
            user_id=sent.user,
            kind="key",
            scope=given.session_id,
            hash=hash_key(given.idempotency_key),
            digest=given.digest,
            run_id=given.run_id,
            now=sent.now,
        )


def _claim_at_once(sent: _Sent, limits: Limits, run_input: RunAgentInput) -> Plan[Claimed | None]:
    by, session = sent.given.claim, sent.session
    if by is None or (session.agent_source == "code" and session.agent_name not in sent.given.code_agents):
        return None
    if not (yield from has_room(sent.tenant, limits)):
        return None
    return (yield from start_run(sent.given.run_id, by, run_input))
