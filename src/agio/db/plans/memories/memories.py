"""Memories: add, search, change, forget, count their use."""

import hashlib
from collections.abc import Sequence

from msgspec import structs

from agio.core.memory import (
    MAX_CHARS,
    FoundMemory,
    MemoryChange,
    MemoryFields,
    MemoryRecord,
    MemoryScope,
    MemorySource,
    MemoryType,
    Reach,
)
from agio.core.passage import Passage, PassageQuery
from agio.core.store.records import Page
from agio.core.text import clean
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.agents import get_agent
from agio.db.plans.memories.passages import find_passages, place_of, put_passage
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.records import now_ms
from agio.db.refusals import memory_not_found, message_not_found
from agio.db.rows import to_struct
from agio.errors import LimitExceeded, UserError
from agio.protocol.ids import new_id

MAX_MEMORIES = 100_000
"""How many memories a person may have, and an agent for its team."""
_RECENT_MS = 90 * 24 * 3600 * 1000
_IMPORTANCE = 0.01
_RECENCY = 0.006
"""What importance and recency add to a score between 0 and 1: a place, no more."""


def list_memories(
    tenant: str,
    user: str,
    *,
    agent_id: str | None = None,
    memory_type: MemoryType | None = None,
    scope: MemoryScope | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[MemoryRecord]]:
    """The memories that apply to a user with an agent; without one all of the user's. UserError `invalid_cursor`."""
    created_at, memory_id = (BEYOND_ALL, "") if after is None else read_cursor(after, tuple[int, str])
    rows = yield from ask(
        "list_memories",
        tenant=tenant,
        user_id=user,
        agent_id=agent_id,
        memory_type=memory_type,
        scope=scope,
        created_at=created_at,
        memory_id=memory_id,
        limit=page_size(limit) + 1,
    )
    found = [to_struct(MemoryRecord, row) for row in rows]
    return page_of(found, limit, lambda each: each, lambda each: [each.created_at, each.id])


def get_memory(tenant: str, user: str, memory_id: str) -> Plan[MemoryRecord]:
    """Raises UserError `memory_not_found`."""
    row = yield from ask_one("get_memory", tenant=tenant, user_id=user, memory_id=memory_id)
    if row is None:
        raise memory_not_found(memory_id)
    return to_struct(MemoryRecord, row)


def has_memories(reach: Reach) -> Plan[bool]:
    """Whether a run may use any memory."""
    found = yield from ask_one(
        "has_memories", tenant=reach.tenant, user_id=reach.user, agent_id=reach.agent_id
    )
    return found is not None


def find_memories(reach: Reach, query: PassageQuery) -> Plan[list[FoundMemory]]:
    """The memories that a run may use and that fit a search, best first."""
    places = [memory_place(reach.tenant, reach.user, None)]
    if not reach.agent_id:
        rows = yield from ask("agents_with_memories", tenant=reach.tenant, user_id=reach.user)
        places += [memory_place(reach.tenant, reach.user, str(agent_id)) for [agent_id] in rows]
    else:
        places += [memory_place(reach.tenant, user, reach.agent_id) for user in (reach.user, None)]
    wide = structs.replace(query, limit=2 * query.limit + 10)  # some may have been superseded
    scores = {each.item_id: each.score for each in (yield from find_passages(reach.tenant, places, wide))}
    if not scores:
        return []
    rows = yield from ask("live_memories", tenant=reach.tenant, ids=list(scores), now=query.now)
    found: list[FoundMemory] = []
    for row in rows:
        memory = to_struct(MemoryRecord, row)
        age = max(query.now - memory.observed_at, 0) / _RECENT_MS
        score = scores[memory.id] + _IMPORTANCE * (memory.importance - 0.5) + _RECENCY / (1 + age)
        found.append(FoundMemory(memory, score))
    return sorted(found, key=lambda each: (-each.score, each.memory.id))[: query.limit]


def add_memory(
    tenant: str,
    user: str,
    agent_id: str,
    fields: MemoryFields,
    source: MemorySource,
    *,
    automatic: bool = False,
) -> Plan[MemoryRecord]:
    """Add a memory, or change the one that says the same. Raises as the port says."""
    content = checked_content(fields.content)
    yield from get_agent(tenant, agent_id)
    if source.call_id is not None:
        row = yield from ask_one(
            "memory_by_call", tenant=tenant, user_id=user, run_id=source.run_id, call_id=source.call_id
        )
        if row is not None:
            return to_struct(MemoryRecord, row)
    if source.message_id is not None and source.run_id is None:
        source = yield from _message_source(tenant, user, source)
    owner, of_agent = _owner(user, agent_id, fields.scope)
    [[count]] = yield from ask("count_memories", tenant=tenant, user_id=owner, agent_id=agent_id)
    if int(str(count)) >= MAX_MEMORIES:
        raise LimitExceeded("too_many_memories", f"There are {count} memories. Delete some first.")
    now, memory_id = now_ms(), new_id("mem")
    digest = text_digest(owner, of_agent, content)
    added = yield from ask_one(
        "add_memory",
        id=memory_id,
        tenant=tenant,
        agent_id=of_agent,
        user_id=owner,
        content=content,
        memory_type=fields.memory_type,
        importance=fields.importance,
        digest=digest,
        session_id=source.session_id,
        run_id=source.run_id,
        message_id=source.message_id,
        call_id=source.call_id,
        created_by=None if automatic else user,
        observed_at=now if fields.observed_at is None else fields.observed_at,
        expires_at=fields.expires_at,
        now=now,
    )
    row = yield from ask_one("memory_by_text", tenant=tenant, digest=digest)
    if row is None:
        raise memory_not_found(memory_id)
    memory = to_struct(MemoryRecord, row)
    if added is None:
        if automatic:
            return memory
        same = MemoryChange(
            memory_type=fields.memory_type,
            importance=fields.importance,
            observed_at=fields.observed_at,
            expires_at=fields.expires_at,
        )
        return (yield from change_memory(tenant, user, memory.id, same, team=True))
    yield from _index(tenant, memory)
    if fields.supersedes is not None:
        replaced = {"memory_id": fields.supersedes, "by": memory.id, "agent_id": agent_id, "user_id": owner}
        if (yield from ask_one("supersede_memory", tenant=tenant, now=now, **replaced)) is not None:
            yield from ask("drop_passage", tenant=tenant, kind="memory", item_id=fields.supersedes)
    return memory


def change_memory(
    tenant: str, user: str, memory_id: str, change: MemoryChange, *, team: bool = False
) -> Plan[MemoryRecord]:
    """Change a memory. Raises as the port says."""
    memory = yield from _changeable(tenant, user, memory_id, team=team)
    scope = change.scope or memory.scope
    if "agent" in (scope, memory.scope):
        check_team(team=team)
    agent_id = memory.agent_id
    if scope != "user" and agent_id is None:
        raise UserError(
            "memory_without_agent", "A memory of every agent cannot become one agent's: add it there."
        )
    owner, of_agent = _owner(user, agent_id or "", scope)
    content = memory.content if change.content is None else checked_content(change.content)
    changed = yield from ask_one(
        "change_memory",
        memory_id=memory_id,
        tenant=tenant,
        content=content,
        memory_type=change.memory_type or memory.memory_type,
        importance=memory.importance if change.importance is None else change.importance,
        digest=text_digest(owner, of_agent, content),
        agent_id=of_agent,
        owner=owner,
        user_id=user,
        observed_at=change.observed_at or memory.observed_at,
        expires_at=change.expires_at or memory.expires_at,
        now=now_ms(),
    )
    if changed is None:
        raise UserError("memory_exists", "Another memory says exactly this.")
    memory = yield from get_memory(tenant, user, memory_id)
    if memory.superseded_by is None:
        yield from _index(tenant, memory)
    return memory


def delete_memory(tenant: str, user: str, memory_id: str, *, team: bool = False) -> Plan[None]:
    """Delete a memory, what it replaced, and what would replace it. Raises as the port says."""
    yield from _changeable(tenant, user, memory_id, team=team)
    waiting = [memory_id]
    while waiting:
        current = waiting.pop()
        yield from ask("delete_suggestions_of_memory", tenant=tenant, memory_id=current)
        rows = yield from ask("superseded_memories", tenant=tenant, memory_id=current)
        waiting += [str(row[0]) for row in rows]
        yield from ask("delete_memory", tenant=tenant, memory_id=current)


def forget_user(tenant: str, user: str) -> Plan[int]:
    """Delete all memories of a user, the suggestions, and the index of the user's conversations."""
    yield from ask("forget_suggestions", tenant=tenant, user_id=user)
    yield from ask("forget_conversations", tenant=tenant, place=message_place(tenant, user))
    return len((yield from ask("forget_user", tenant=tenant, user_id=user)))


def use_memories(run_id: str, ids: Sequence[str]) -> Plan[None]:
    """Count memories as used in a run, once a run."""
    now = now_ms()
    for memory_id in ids:
        if (yield from ask_one("use_memory", memory_id=memory_id, run_id=run_id)) is not None:
            yield from ask("count_use", memory_id=memory_id, now=now)


def _message_source(tenant: str, user: str, source: MemorySource) -> Plan[MemorySource]:
    """The source with the run of its message. Raises UserError `message_not_found`."""
    given = {"session_id": source.session_id, "message_id": source.message_id}
    row = yield from ask_one("run_of_message", tenant=tenant, user_id=user, **given)
    if row is None:
        raise message_not_found(source.message_id or "")
    return structs.replace(source, run_id=str(row[0]))


def memory_place(tenant: str, user: str | None, agent_id: str | None) -> str:
    """The place of memories of a user with an agent, of a user, or of an agent."""
    return place_of("memory", tenant, user, agent_id)


def message_place(tenant: str, user: str) -> str:
    """The place of a user's conversations."""
    return place_of("message", tenant, user)


def text_digest(user: str | None, agent_id: str | None, content: str) -> bytes:
    """What two memories of the same text in the same scope have in common."""
    said = " ".join(content.casefold().split()).rstrip(".!")
    return hashlib.sha256(f"{user or ''}\0{agent_id or ''}\0{said}".encode("utf-8", "surrogatepass")).digest()


def checked_content(content: str) -> str:
    """Return a memory's text as it is kept. Raises UserError `memory_empty`, `memory_too_large`."""
    text = clean(content).strip()
    if not text:
        raise UserError("memory_empty", "A memory needs a text.")
    if len(text) > MAX_CHARS:
        raise UserError(
            "memory_too_large",
            f"The memory has {len(text)} characters, and {MAX_CHARS} are allowed. Say it shorter.",
            {"limit": MAX_CHARS},
        )
    return text


def check_team(*, team: bool) -> None:
    """Raise UserError `forbidden` for a change of what a whole team's agent remembers."""
    if not team:
        raise UserError(
            "forbidden",
            "What an agent remembers for the whole team is changed by admins and owners.",
            {"needs": "build"},
        )


def _changeable(tenant: str, user: str, memory_id: str, *, team: bool) -> Plan[MemoryRecord]:
    memory = yield from get_memory(tenant, user, memory_id)
    if memory.scope == "agent":
        check_team(team=team)
    return memory


def _owner(user: str, agent_id: str, scope: MemoryScope) -> tuple[str | None, str | None]:
    return None if scope == "agent" else user, None if scope == "user" else agent_id


def _index(tenant: str, memory: MemoryRecord) -> Plan[None]:
    passage = Passage(
        place=memory_place(tenant, memory.user, memory.agent_id),
        kind="memory",
        item_id=memory.id,
        text=memory.content,
        at=memory.observed_at,
    )
    yield from put_passage(tenant, passage)
