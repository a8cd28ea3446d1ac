"""Forks: copies a session up to a message under a placeholder owner, then hands the copy to its user."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from agio.core.file import CHUNK_BYTES
from agio.core.store.records import SessionRecord
from agio.db.plan import Each, Plan, ask, ask_one
from agio.db.plans.agents.agents import put_inline_agent
from agio.db.plans.agents.inline import inline_agent_id
from agio.db.plans.people.identity import KEPT_MS, add_tenant, add_user
from agio.db.plans.runs.log import check_session
from agio.db.plans.sessions.fork_pieces import Filled
from agio.db.plans.sessions.fork_source import NOBODY, Fork
from agio.db.plans.sessions.sessions import get_session
from agio.db.records import now_ms
from agio.db.refusals import idempotency_conflict, session_not_found
from agio.db.rows import KeyRow, as_row
from agio.errors import UserError


class ForkKey(Struct, frozen=True):
    """The hash of a fork's idempotency key, and the digest of its request."""

    hash: bytes
    digest: bytes


class KeyTaken(UserError):
    """Another request with the same key was quicker. It does not leave db/."""


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


def write_rows(rows: Sequence[Filled]) -> Plan[None]:
    """Write rows of a copy."""
    for query, group in groupby(rows, key=itemgetter(0)):
        yield Each(query, [values for _, values in group])


def copy_file(fork: Fork, file_id: str) -> Plan[None]:
    """Add the copy of a file, without its chunks."""
    yield from ask(
        "copy_file",
        file_id=file_id,
        new_file_id=fork.names.renamed_id(file_id),
        nobody=NOBODY,
        fork_id=fork.id,
        session_id=fork.source,
    )


def copy_chunks(fork: Fork, file_id: str, first: int, last: int) -> Plan[None]:
    """Copy a file's chunks from `first` up to `last`."""
    new_file_id = fork.names.renamed_id(file_id)
    yield from ask("copy_file_chunks", file_id=file_id, new_file_id=new_file_id, first=first, last=last)


def find_forked(tenant: str, user: str, session_id: str, key: ForkKey) -> Plan[SessionRecord | None]:
    """The copy that this key made of a session. Raises UserError `idempotency_conflict`, `session_deleted`."""
    row = yield from ask_one(
        "find_key",
        tenant=tenant,
        user_id=user,
        kind="fork",
        scope=session_id,
        hash=key.hash,
        since=now_ms() - KEPT_MS,
    )
    if row is None:
        return None
    known = as_row(KeyRow, row)
    fork_id = known.made_id
    if known.digest != key.digest:
        raise idempotency_conflict("key")
    if (yield from ask_one("own_session", tenant=tenant, user_id=user, session_id=fork_id)) is None:
        raise UserError(
            "session_deleted",
            "The copy that this key made was deleted. Use a new one for another.",
            {"session_id": fork_id},
        )
    return (yield from get_session(tenant, user, fork_id))


def finish_fork(tenant: str, user: str, fork: Fork, key: ForkKey | None = None) -> Plan[SessionRecord]:
    """Hand a complete copy to its user. Raises UserError `session_not_found`, `KeyTaken`."""
    now = now_ms()
    own_agent = None
    if fork.agent.source == "inline":
        yield from ask("lock_tenant", tenant=tenant)
        own_agent = inline_agent_id(tenant, user, fork.id)
        yield from put_inline_agent(tenant, own_agent, fork.agent)
    if key is not None:
        yield from _take_key(tenant, user, fork, key)
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
    """The number of chunks of a file of this size."""
    return -(-size // CHUNK_BYTES)


def _take_key(tenant: str, user: str, fork: Fork, key: ForkKey) -> Plan[None]:
    now = now_ms()
    taken = yield from ask_one(
        "take_fork_key",
        tenant=tenant,
        user_id=user,
        session_id=fork.source,
        hash=key.hash,
        digest=key.digest,
        fork_id=fork.id,
        now=now,
        since=now - KEPT_MS,
    )
    if taken is None:
        raise KeyTaken("idempotency_conflict", "This key made another copy meanwhile.")


def _alias(fork: Fork) -> str | None:
    """A session with an inline agent has a key; the copy's key is its id."""
    return fork.id if fork.agent.source == "inline" else None
