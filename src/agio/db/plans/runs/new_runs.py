"""New runs: writes an accepted run and its messages, queued or running from the start."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET

from agio.core.run.fold import title_of
from agio.core.store.records import ClaimBy, Claimed
from agio.core.store.repository import RunInfo
from agio.db.plan import Hold, Plan, ask, ask_one
from agio.db.plans.agents.agents import with_tools
from agio.db.plans.runs.arrivals import Arrival
from agio.db.plans.runs.claims import started_line
from agio.db.plans.sessions.sessions import hash_key
from agio.db.records import encode_json, encode_message
from agio.db.refusals import run_exists
from agio.protocol.frames import Frame
from agio.protocol.messages import Message, RunAgentInput

Kind: TypeAlias = Literal["answer", "message"]


def queue_run(sent: Arrival, kind: Kind, messages: Sequence[Message]) -> Plan[None]:
    """Add a run that waits to be claimed."""
    info = _new_info(sent, (yield from _title(sent, kind, messages)))
    blob = encode_json("input", _input_of(sent, messages))
    yield from _add(sent, kind, info, messages, blob)


def begin_run(sent: Arrival, kind: Kind, messages: Sequence[Message], by: ClaimBy) -> Plan[Claimed]:
    """Add a run that is claimed at once, in the state that `claim_next` would give it."""
    first_pos = 0
    if not sent.session.is_new:
        end = yield from ask_one("session_end", session_id=sent.given.session_id)
        first_pos = 0 if end is None else msgspec.convert(end[0], int)
    info = msgspec.structs.replace(
        _new_info(sent, (yield from _title(sent, kind, messages))),
        status="running",
        epoch=1,
        first_pos=first_pos,
        started_at=sent.now,
        worker=by.worker,
        token_hash=by.token_hash,
    )
    yield from _add(sent, kind, info, messages, None)
    line = started_line(info, _input_of(sent, messages), sent.now)
    yield Hold(info.run_id, 1, 0, Frame(info.run_id, 1, 1, 1, line))
    agent = sent.session.agent
    if not sent.session.is_new:
        agent = yield from with_tools(agent)
    info = msgspec.structs.replace(info, last_seq=1)
    return Claimed(info, agent, info.session_id, None, line)


def _title(sent: Arrival, kind: Kind, messages: Sequence[Message]) -> Plan[str]:
    """The beginning of the user's message; an answer takes the title of the run before."""
    title = title_of(messages)
    if title or kind == "message":
        return title
    row = yield from ask_one("newest_title", session_id=sent.given.session_id)
    return "" if row is None else str(row[0])


def _new_info(sent: Arrival, title: str) -> RunInfo:
    given, agent = sent.given, sent.session.agent
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
        request_id=info.request_id,
        key_id=sent.given.key_id,
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
    if (key := sent.given.idempotency_key) is not None:
        yield from ask(
            "put_key",
            tenant=sent.tenant,
            user_id=sent.user,
            kind="key",
            scope=info.session_id,
            hash=hash_key(key),
            digest=sent.given.digest,
            run_id=info.run_id,
            now=sent.now,
        )
