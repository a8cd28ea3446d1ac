"""Forks: a session up to one of its messages, copied run by run in the name of nobody, then handed to its user."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from agio.core.file import CHUNK_BYTES
from agio.core.records import SessionRecord
from agio.core.repository import RunInfo
from agio.db.plan import Events, Plan, ask, ask_one
from agio.db.plans.agents import put_inline_agent
from agio.db.plans.fork_source import Fork
from agio.db.plans.identity import add_tenant, add_user
from agio.db.plans.inline import inline_agent_id
from agio.db.plans.log import check_session
from agio.db.plans.sessions import get_session
from agio.db.records import now_ms
from agio.db.refusals import session_not_found

NOBODY = "(nobody)"
"""The tenant and user that copies belong to until they are whole: nobody has a credential of theirs."""
PIECE_BYTES = 256 * 1024
"""How much of a run's log is read and copied at a time."""
_Filled: TypeAlias = tuple[str, Mapping[str, object]]


class Piece(Struct, frozen=True):
    """Rows of a copy, as queries and their values; the log is copied up to event `last_seq`."""

    rows: list[_Filled]
    last_seq: int
    size_bytes: int


def begin_fork(fork: Fork) -> Plan[None]:
    """Add the session of a copy. Raises UserError `session_not_found`."""
    yield from add_tenant(NOBODY, NOBODY)
    yield from add_user(NOBODY, NOBODY, NOBODY, "member")
    now = now_ms()
    begun = yield from ask_one(
        "begin_fork",
        fork_id=fork.id,
        nobody=NOBODY,
        agent_id=fork.agent.id,
        title=fork.title,
        alias=_alias(fork),
        now=now,
        seen_pos=fork.last_pos,
        tenant=fork.tenant,
        user_id=fork.user,
        session_id=fork.source,
    )
    if begun is None:
        raise session_not_found(fork.source)
    yield from ask("note_fork", fork_id=fork.id, now=now)


def read_piece(fork: Fork, run: RunInfo, after: int) -> Plan[Piece]:
    """Read a run's events after `after`, and before the first of them what else there is of the run."""
    names, run_id = fork.names, fork.names.renamed_id(run.run_id)
    rows = [] if after else (yield from _beside_log(fork, run))
    found = yield Events(run.run_id, after, run.last_seq, PIECE_BYTES)
    payload = b"".join(part for (part,) in msgspec.convert(found, list[tuple[bytes]]))
    if not payload:
        raise session_not_found(fork.source)
    last_seq = after + payload.count(b"\n")
    log = {"run_id": run_id, "first_seq": after + 1, "last_seq": last_seq, "payload": names.renamed(payload)}
    return Piece([*rows, ("copy_log", log)], last_seq, len(payload))


def write_rows(rows: Sequence[_Filled]) -> Plan[None]:
    """Write what was read."""
    for query, values in rows:
        yield from ask(query, **values)


def copy_file(fork: Fork, file_id: str) -> Plan[None]:
    """Add the copy of a file, without its pieces."""
    yield from ask(
        "copy_file",
        file_id=file_id,
        new_file_id=fork.names.renamed_id(file_id),
        nobody=NOBODY,
        fork_id=fork.id,
        session_id=fork.source,
    )


def copy_chunks(fork: Fork, file_id: str, first: int, last: int) -> Plan[None]:
    """Copy a file's pieces from `first` up to `last`."""
    new_file_id = fork.names.renamed_id(file_id)
    yield from ask("copy_file_chunks", file_id=file_id, new_file_id=new_file_id, first=first, last=last)


def finish_fork(tenant: str, user: str, fork: Fork) -> Plan[SessionRecord]:
    """Hand a copy that is whole to its user. Raises UserError `session_not_found`."""
    now = now_ms()
    own_agent = None
    if fork.agent.source == "inline":
        yield from ask("lock_tenant", tenant=tenant)
        own_agent = inline_agent_id(tenant, user, fork.id)
        yield from put_inline_agent(tenant, own_agent, fork.agent)
    yield from check_session(tenant, user, fork.source)
    for file_id, _ in fork.files:
        new_file_id = fork.names.renamed_id(file_id)
        yield from ask("forget_copied_file", file_id=file_id, new_file_id=new_file_id, session_id=fork.source)
    handed = {"to_tenant": tenant, "to_user": user, "fork_id": fork.id}
    given = yield from ask_one("hand_over_session", nobody=NOBODY, own_agent=own_agent, now=now, **handed)
    if given is None:
        raise session_not_found(fork.source)
    yield from ask("hand_over_runs", own_agent=own_agent, **handed)
    yield from ask("hand_over_files", now=now, **handed)
    yield from ask("end_fork", fork_id=fork.id)
    return (yield from get_session(tenant, user, fork.id))


def drop_fork(fork: Fork) -> Plan[None]:
    """Remove a copy that will not be finished."""
    yield from ask("drop_fork", fork_id=fork.id, nobody=NOBODY)


def chunks_of(size: int) -> int:
    """How many pieces a file of this size has."""
    return -(-size // CHUNK_BYTES)


def _alias(fork: Fork) -> str | None:
    """A session with an agent of its own is known by a key: the copy's is its id."""
    return fork.id if fork.agent.source == "inline" else None


def _beside_log(fork: Fork, run: RunInfo) -> Plan[list[_Filled]]:
    """A run's row, turns, tool calls, questions and messages."""
    names, run_id, fork_id = fork.names, fork.names.renamed_id(run.run_id), fork.id
    copied: dict[str, object] = {"run_id": run.run_id, "new_run_id": run_id, "fork_id": fork_id}
    rows: list[_Filled] = [("copy_run", {**copied, "nobody": NOBODY, "token_hash": b""})]
    turns = yield from ask("turns_of_run", run_id=run.run_id)
    for seq, step, record in msgspec.convert(turns, list[tuple[int, int, bytes]]):
        ours, vendor, theirs = record.partition(b'"vendor":')  # the vendor wants its own back as it was
        turn = {"run_id": run_id, "seq": seq, "step": step, "record": names.renamed(ours) + vendor + theirs}
        rows.append(("put_turn", turn))
    for key, tool, effect, state, content, error, started_at, ended_at in msgspec.convert(
        (yield from ask("tools_of_run", run_id=run.run_id)),
        list[tuple[str, str, str, str, bytes | None, str | None, int, int | None]],
    ):
        call: dict[str, object] = {
            "run_id": run_id,
            "key": names.renamed_id(key),
            "tool": tool,
            "effect": effect,
            "state": state,
            "content": None if content is None else names.renamed(content),
            "error": error,
            "started_at": started_at,
            "ended_at": ended_at,
        }
        rows.append(("copy_tool", call))
    rows += yield from _questions(fork, run)
    messages = yield from ask(
        "messages_between",
        session_id=fork.source,
        first_pos=run.first_pos,
        last_pos=run.first_pos + run.last_seq,
        run_id=run.run_id,
    )
    for message_id, idx, pos, role, message, created_at in msgspec.convert(
        messages, list[tuple[str, int, int, str, bytes, int]]
    ):
        said: dict[str, object] = {
            "fork_id": fork_id,
            "id": names.renamed_id(message_id),
            "run_id": run_id,
            "idx": idx,
            "pos": pos,
            "role": role,
            "message": names.renamed(message),
            "created_at": created_at,
        }
        rows.append(("copy_message", said))
    return rows


def _questions(fork: Fork, run: RunInfo) -> Plan[list[_Filled]]:
    names, now = fork.names, now_ms()
    rows: list[_Filled] = []
    copied = {each.run_id for each in fork.runs}
    for (
        asked,
        call,
        tool,
        arguments,
        message,
        state,
        created_at,
        expires_at,
        closed_at,
        by,
    ) in msgspec.convert(
        (yield from ask("interrupts_of_run", run_id=run.run_id)),
        list[tuple[str, str, str, str, str, str, int, int, int | None, str | None]],
    ):
        question: dict[str, object] = {
            "fork_id": fork.id,
            "id": names.renamed_id(asked),
            "run_id": names.renamed_id(run.run_id),
            "tool_call_id": names.renamed_id(call),
            "tool": tool,
            "arguments": arguments,
            "message": message,
            "state": state,
            "created_at": created_at,
            "expires_at": expires_at,
            "closed_at": closed_at,
            "closed_by": names.renamed_id(by) if by in copied else None,
            "now": now,
        }
        rows.append(("copy_interrupt", question))
    return rows
