"""The source of a fork: a session's runs before a message, the files they refer to, and new ids."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec
from msgspec import Struct

from agio.core.store.records import AgentRecord, ForkLimits, SessionRecord
from agio.core.store.repository import RunInfo
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.agents import agent_of_run
from agio.db.plans.runs.paths import path_of
from agio.db.plans.sessions.sessions import fit_page, get_session
from agio.db.records import run_info
from agio.db.refusals import agent_inactive, message_not_found, session_too_large
from agio.db.renaming import Renaming
from agio.db.rows import MessagePlace, MessageRow, as_row
from agio.errors import UserError
from agio.protocol.ids import new_id

NOBODY = "(nobody)"
"""The tenant and user of unfinished copies; no credential belongs to them."""
_PAGE = 200
_PAGE_BYTES = 1024 * 1024
_FILE_ID = re.compile(rb"file_\w+")


class Fork(Struct, frozen=True, kw_only=True):
    """A copy of a session that is to be made."""

    id: str
    tenant: str
    user: str
    source: str
    """The session that is copied."""
    title: str
    agent: AgentRecord
    runs: list[RunInfo]
    """The copied runs, oldest first."""
    log_bytes: dict[str, int]
    """The sizes of their logs, by run."""
    files: list[tuple[str, int]]
    """The ids and sizes of the files that the copied messages refer to."""
    names: Renaming
    first_pos: dict[str, int]
    """The positions of the runs in the copy, by run: a path of branches becomes one line."""

    @property
    def last_pos(self) -> int:
        """The position at which the copy ends."""
        return sum(run.last_seq for run in self.runs)


def find_source(
    tenant: str,
    user: str,
    session_id: str,
    before: str,
    title: str | None,
    limits: ForkLimits | None = None,
) -> Plan[Fork]:
    """Find the runs before the one that a user's message began.

    Raises UserError `session_not_found`, `message_not_found`, `session_busy`, `agent_inactive`, `session_too_large`.
    """
    session = yield from get_session(tenant, user, session_id)
    runs = yield from _runs_before((yield from _run_of_message(session, before)), session)
    limits = limits or ForkLimits()
    if (events := sum(run.last_seq for run in runs)) > limits.events:
        raise session_too_large("events", events, limits.events)
    agent = yield from agent_of_run(tenant, session.agent_id)
    named = yield from ask_one("get_agent", tenant=tenant, agent_id=agent.id)
    if agent.status != "active" or (named is None and agent.source != "inline"):
        raise agent_inactive(agent.name)
    place = {"tenant": tenant, "user_id": user, "session_id": session_id}
    files = msgspec.convert((yield from ask("files_of_session", **place)), list[tuple[str, int]])
    sizes = yield from ask("log_sizes", session_id=session_id, last_pos=runs[-1].first_pos if runs else -1)
    ids, used = yield from _messages_of(runs, place, [file_id for file_id, _ in files])
    ours = {run.run_id for run in runs}
    log_bytes = {
        run_id: size for run_id, size in msgspec.convert(sizes, list[tuple[str, int]]) if run_id in ours
    }
    _check_size(log_bytes, [size for file_id, size in files if file_id in used], limits)
    fork_id = new_id("ses")
    names = Renaming([*ids, *used, *(run.run_id for run in runs)])
    names.add(session_id, fork_id)
    return Fork(
        id=fork_id,
        tenant=tenant,
        user=user,
        source=session_id,
        title=title or (session.title if runs else ""),
        agent=agent,
        runs=runs,
        log_bytes=log_bytes,
        files=[(file_id, size) for file_id, size in files if file_id in used],
        names=names,
        first_pos={run.run_id: first for run, first in zip(runs, _starts(runs), strict=True)},
    )


def _starts(runs: Sequence[RunInfo]) -> Iterator[int]:
    """The positions at which runs begin that follow each other."""
    yield from accumulate((run.last_seq for run in runs[:-1]), initial=0) if runs else ()


def _check_size(log_bytes: Mapping[str, int], files: Sequence[int], limits: ForkLimits) -> None:
    size = sum(log_bytes.values()) + sum(files)
    if size > limits.size_bytes:
        raise session_too_large("bytes", size, limits.size_bytes)


def _run_of_message(session: SessionRecord, message_id: str) -> Plan[RunInfo]:
    """The run that a message of the user's began. Raises UserError `message_not_found`."""
    row = yield from ask_one(
        "find_messages", tenant=session.tenant, user_id=session.user, session_id=session.id, ids=[message_id]
    )
    message = None if row is None else as_row(MessageRow, row)
    if message is None or message.role != "user":
        raise message_not_found(message_id)
    found = yield from ask_one("find_run", tenant=session.tenant, user_id=session.user, run_id=message.run_id)
    if found is None:
        raise message_not_found(message_id)
    run = run_info(found)
    # A run may add a message with the role `user` of its own; that is not the user's message.
    if run.status != "queued" and message.pos != run.first_pos + 1:
        raise message_not_found(message_id)
    return run


def _runs_before(run: RunInfo, session: SessionRecord) -> Plan[list[RunInfo]]:
    """The session's runs before one of them. Raises UserError `session_busy` if one has not ended."""
    if run.status == "queued":
        ahead = yield from ask_one(
            "runs_ahead", tenant=session.tenant, user_id=session.user, run_id=run.run_id
        )
        if ahead is not None:
            raise UserError(
                "session_busy",
                "A run before this message has not ended. Wait for it, or cancel it.",
                {"run_id": str(ahead[0])},
            )
    if run.status == "queued" and run.parent_run_id is None:
        return (yield from path_of(session.id, session.leaf_run_id))
    return (yield from path_of(session.id, run.parent_run_id or None))


def _messages_of(
    runs: Sequence[RunInfo], place: Mapping[str, object], files: Sequence[str]
) -> Plan[tuple[list[str], set[str]]]:
    """The ids of the runs' messages and of the files that they refer to."""
    ids: list[str] = []
    known = {file_id.encode() for file_id in files}
    used: set[bytes] = set()
    if not runs:
        return [], set()
    pos, run_number, idx = -1, 0, -1
    while True:
        rows = yield from ask(
            "list_path_messages",
            leaf=runs[-1].run_id,
            pos=pos,
            run_number=run_number,
            idx=idx,
            limit=_PAGE,
            **place,
        )
        found = [as_row(MessagePlace, row) for row in rows]
        ids += [message.id for message in found]
        waiting = found if known else []
        while waiting:
            part = fit_page(waiting, _PAGE, _PAGE_BYTES)
            waiting = waiting[len(part) :]
            read = yield from ask("find_messages", ids=[message.id for message in part], **place)
            for row in read:
                used.update(known.intersection(_FILE_ID.findall(as_row(MessageRow, row).message)))
        if len(found) < _PAGE:
            return ids, {file_id.decode() for file_id in used}
        pos, run_number, idx = found[-1].pos, found[-1].run_number, found[-1].idx
