"""New runs: writes an accepted run and its messages, queued or running from the start."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET

from agio.core.run.title import title_of
from agio.core.store.records import AgentRecord, ClaimBy, Claimed
from agio.core.store.repository import RunInfo
from agio.db.plan import Hold, Plan, ask, ask_one
from agio.db.plans.agents.agents import with_tools
from agio.db.plans.agents.definitions import changed, pin, with_team
from agio.db.plans.runs.arrivals import Arrival
from agio.db.plans.runs.claims import started_line
from agio.db.plans.runs.paths import place_run
from agio.db.plans.sessions.sessions import hash_key
from agio.db.records import encode_json, encode_message
from agio.db.refusals import run_exists
from agio.protocol.frames import Frame
from agio.protocol.messages import Message, RunAgentInput

Kind: TypeAlias = Literal["answer", "message"]


def queue_run(sent: Arrival, kind: Kind, messages: Sequence[Message], parent: str | None) -> Plan[None]:
    """Add a run that waits to be claimed."""
    agent = sent.session.agent
    if sent.given.definition is not None:
        agent = yield from _agent_of(sent)
    info = _new_info(sent, agent, (yield from _title(sent, kind, messages)))
    info = msgspec.structs.replace(info, parent_run_id=parent)
    if sent.given.definition is not None:
        info = msgspec.structs.replace(info, definition=(yield from pin(agent)))
    blob = encode_json("input", _input_of(sent, messages))
    yield from _add(sent, kind, info, messages, blob)


def begin_run(
    sent: Arrival, kind: Kind, messages: Sequence[Message], by: ClaimBy, parent: str | None
) -> Plan[Claimed]:
    """Add a run that is claimed at once, in the state that `claim_next` would give it."""
    place = yield from place_run(sent.given.session_id, sent.session.head, parent)
    agent = yield from _agent_of(sent)
    if sent.given.definition is not None:
        place = msgspec.structs.replace(place, active_agent="")
    info = msgspec.structs.replace(
        _new_info(sent, agent, (yield from _title(sent, kind, messages))),
        status="running",
        epoch=1,
        first_pos=place.first_pos,
        parent_run_id=place.parent_run_id,
        parent_seq=place.parent_seq,
        branched=place.branched,
        active_agent=place.active_agent,
        definition=(yield from pin(agent)),
        started_at=sent.now,
        worker=by.worker,
        token_hash=by.token_hash,
        gateway=by.gateway,
    )
    yield from _add(sent, kind, info, messages, None)
    line = started_line(info, _input_of(sent, messages), sent.now, place)
    yield Hold(info.run_id, 1, 0, Frame(info.run_id, 1, 1, 1, line))
    info = msgspec.structs.replace(info, last_seq=1)
    return Claimed(info, agent, info.session_id, None, line)


def _title(sent: Arrival, kind: Kind, messages: Sequence[Message]) -> Plan[str]:
    """The beginning of the user's message; an answer takes the title of the run before."""
    start = sent.given.start
    is_made = sent.session.is_new and start is not None and not start.title
    title = sent.session.title if is_made else title_of(messages)
    if title or kind == "message":
        return title
    row = yield from ask_one("newest_title", session_id=sent.given.session_id)
    return "" if row is None else str(row[0])


def _agent_of(sent: Arrival) -> Plan[AgentRecord]:
    """The agent that a run pins: the session's with its tools, or what was given instead."""
    agent = sent.session.agent
    if not sent.session.is_new:
        agent = yield from with_tools(agent)
    if sent.given.definition is not None:
        agent = yield from changed(agent, sent.given.definition)
    return (yield from with_team(agent))


def _new_info(sent: Arrival, agent: AgentRecord, title: str) -> RunInfo:
    given = sent.given
    return RunInfo(
        run_id=given.run_id,
        session_id=given.session_id,
        agent=agent.name,
        model=f"{agent.model_provider}:{agent.model_name}",
        status="queued",
        epoch=0,
        last_seq=0,
        created_at=sent.now,
        ended_at=None,
        mark=sent.session.mark,
        tenant=sent.tenant,
        user=sent.user,
        first_pos=0,
        title=title,
        agent_id=agent.id,
        alias=given.alias,
        request_id=given.request_id,
        log_level=sent.session.head.log_level,
        traceparent=given.traceparent,
    )


def _input_of(sent: Arrival, messages: Sequence[Message]) -> RunAgentInput:
    given = sent.given
    run_input = RunAgentInput(given.session_id, given.run_id, list(messages))
    run_input.tools = list(given.tools) or UNSET
    run_input.context = list(given.context) or UNSET
    run_input.resume = list(given.resume) or UNSET
    return run_input


def _add(
    sent: Arrival, kind: Kind, info: RunInfo, messages: Sequence[Message], blob: bytes | None
) -> Plan[None]:
    """Write the run, its messages and its idempotency key. Raises StoreError `run_exists`."""
    is_queued = info.status == "queued"
    row = yield from ask_one(
        "add_run",
        run_id=info.run_id,
        agent_id=info.agent_id,
        agent_name=info.agent,
        model=info.model,
        status=info.status,
        kind=kind,
        epoch=info.epoch,
        first_pos=None if is_queued else info.first_pos,
        created_at=info.created_at,
        started_at=info.started_at,
        mark=info.mark,
        title=info.title,
        alias=info.alias,
        input=blob,
        worker=info.worker,
        token_hash=info.token_hash,
        gateway=info.gateway,
        request_id=info.request_id,
        key_id=sent.given.key_id,
        parent_run_id=info.parent_run_id,
        parent_seq=info.parent_seq,
        branched=int(info.branched),
        definition=info.definition,
        log_level=info.log_level,
        active_agent=info.active_agent,
        traceparent=info.traceparent,
        **sent.place,
    )
    if row is None:
        raise run_exists(info.run_id)
    for idx, message in enumerate(messages):
        yield from ask(
            "put_message",
            session_id=info.session_id,
            id=message.id,
            run_id=info.run_id,
            run_number=row[0],
            idx=idx,
            pos=None if is_queued else info.first_pos + 1,
            role=message.role,
            message=encode_message(message),
            now=sent.now,
        )
    if not sent.session.is_new:
        yield from ask("take_in", title=sent.session.title or info.title, now=sent.now, **sent.place)
    yield from keep_key(sent, info.run_id)


def keep_key(sent: Arrival, made_id: str) -> Plan[None]:
    """Keep the submission's idempotency key, with the id of the run or message that it made."""
    if (key := sent.given.idempotency_key) is not None:
        yield from ask(
            "put_key",
            tenant=sent.tenant,
            user_id=sent.user,
            kind="key",
            scope=sent.given.session_id,
            hash=hash_key(key),
            digest=sent.given.digest,
            run_id=made_id,
            now=sent.now,
        )
