"""Suggested memories: they wait for a person, whose first decision counts."""

from collections.abc import Sequence

from agio.core.memory import (
    MemoryChange,
    MemoryFields,
    MemoryRecord,
    MemorySource,
    SuggestionRecord,
    SuggestionState,
)
from agio.core.store.records import Page
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.agents.agents import get_agent
from agio.db.plans.memories.memories import add_memory, check_team, checked_content, text_digest
from agio.db.plans.runs.log import BEYOND_ALL, check_session
from agio.db.records import now_ms
from agio.db.refusals import suggestion_not_found
from agio.db.rows import to_struct
from agio.errors import UserError
from agio.protocol.ids import new_id


def suggest_memory(
    tenant: str, user: str, agent_id: str, fields: MemoryFields, source: MemorySource
) -> Plan[SuggestionRecord | None]:
    """Add a suggestion; None if it was suggested before, or is a memory. Raises as the port says."""
    content = checked_content(fields.content)
    yield from get_agent(tenant, agent_id)
    if source.call_id is not None:
        row = yield from ask_one(
            "suggestion_by_call", tenant=tenant, user_id=user, run_id=source.run_id, call_id=source.call_id
        )
        if row is not None:
            return to_struct(SuggestionRecord, row)
    for known in (text_digest(user, agent_id, content), text_digest(user, None, content)):
        if (yield from ask_one("memory_by_text", tenant=tenant, digest=known)) is not None:
            return None
    suggestion_id = new_id("sug")
    now = now_ms()
    added = yield from ask_one(
        "add_suggestion",
        id=suggestion_id,
        tenant=tenant,
        agent_id=agent_id,
        user_id=user,
        content=content,
        memory_type=fields.memory_type,
        importance=fields.importance,
        scope=fields.scope,
        digest=text_digest(user, agent_id, content),
        session_id=source.session_id,
        run_id=source.run_id,
        message_id=source.message_id,
        call_id=source.call_id,
        supersedes=fields.supersedes,
        observed_at=now if fields.observed_at is None else fields.observed_at,
        expires_at=fields.expires_at,
        now=now,
    )
    return None if added is None else (yield from _get(tenant, user, suggestion_id))


def list_suggestions(
    tenant: str,
    user: str,
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[SuggestionRecord]]:
    """The suggestions to a user that wait, newest first. Raises UserError `invalid_cursor`."""
    created_at, suggestion_id = (BEYOND_ALL, "") if after is None else read_cursor(after, tuple[int, str])
    rows = yield from ask(
        "list_suggestions",
        tenant=tenant,
        user_id=user,
        agent_id=agent_id,
        session_id=session_id,
        created_at=created_at,
        suggestion_id=suggestion_id,
        limit=page_size(limit) + 1,
    )
    found = [to_struct(SuggestionRecord, row) for row in rows]
    return page_of(found, limit, lambda each: each, lambda each: [each.created_at, each.id])


def approve_suggestion(
    tenant: str, user: str, suggestion_id: str, *, team: bool = False
) -> Plan[MemoryRecord]:
    """Make a suggestion a memory. Raises as the port says."""
    suggestion = yield from _get(tenant, user, suggestion_id)
    if suggestion.scope == "agent":
        check_team(team=team)
    yield from _decide(tenant, user, suggestion, "approved")
    fields = MemoryFields(
        content=suggestion.content,
        memory_type=suggestion.memory_type,
        importance=suggestion.importance,
        scope=suggestion.scope,
        observed_at=suggestion.observed_at,
        expires_at=suggestion.expires_at,
        supersedes=suggestion.supersedes,
    )
    source = MemorySource(
        session_id=suggestion.session_id, run_id=suggestion.run_id, message_id=suggestion.message_id
    )
    return (yield from add_memory(tenant, user, suggestion.agent_id, fields, source))


def approve_suggestions(
    tenant: str, user: str, session_id: str, *, team: bool = False
) -> Plan[list[MemoryRecord]]:
    """Approve all suggestions of a session that wait, oldest first. Raises as the port says."""
    yield from check_session(tenant, user, session_id)
    approved: list[MemoryRecord] = []
    while True:
        waiting = yield from list_suggestions(tenant, user, session_id=session_id, limit=200)
        if not waiting.items:
            return approved
        for each in reversed(waiting.items):
            memory = yield from approve_suggestion(tenant, user, each.id, team=team)
            approved.append(memory)


def reject_suggestion(tenant: str, user: str, suggestion_id: str) -> Plan[None]:
    """Reject a suggestion. Raises UserError `suggestion_not_found`, `suggestion_closed`."""
    suggestion = yield from _get(tenant, user, suggestion_id)
    yield from _decide(tenant, user, suggestion, "rejected")


def change_suggestion(
    tenant: str, user: str, suggestion_id: str, change: MemoryChange
) -> Plan[SuggestionRecord]:
    """Edit a suggestion that waits. Its digest stays: what was suggested is not suggested again."""
    known = yield from _get(tenant, user, suggestion_id)
    changed = yield from ask_one(
        "change_suggestion",
        suggestion_id=suggestion_id,
        tenant=tenant,
        user_id=user,
        content=known.content if change.content is None else checked_content(change.content),
        memory_type=change.memory_type or known.memory_type,
        importance=known.importance if change.importance is None else change.importance,
        scope=change.scope or known.scope,
        observed_at=change.observed_at or known.observed_at,
        expires_at=change.expires_at or known.expires_at,
        now=now_ms(),
    )
    if changed is None:
        raise _closed(known.state)
    return (yield from _get(tenant, user, suggestion_id))


def new_suggestions(session_id: str, before: int) -> Plan[list[SuggestionRecord]]:
    """Announce the waiting suggestions of a session that were made before a time; each is returned once."""
    rows = yield from ask("announce_suggestions", session_id=session_id, before=before, now=now_ms())
    found: list[SuggestionRecord] = []
    for row in rows:
        found += [
            to_struct(SuggestionRecord, each)
            for each in (yield from ask("suggestions_by_id", suggestion_id=row[0]))
        ]
    return found


def suggest_all(
    tenant: str, user: str, agent_id: str, proposals: Sequence[tuple[MemoryFields, MemorySource]]
) -> Plan[int]:
    """Add suggestions; returns how many are new."""
    made = 0
    for fields, source in proposals:
        made += (yield from suggest_memory(tenant, user, agent_id, fields, source)) is not None
    return made


def _get(tenant: str, user: str, suggestion_id: str) -> Plan[SuggestionRecord]:
    row = yield from ask_one("get_suggestion", tenant=tenant, user_id=user, suggestion_id=suggestion_id)
    if row is None:
        raise suggestion_not_found(suggestion_id)
    return to_struct(SuggestionRecord, row)


def _decide(tenant: str, user: str, suggestion: SuggestionRecord, state: SuggestionState) -> Plan[None]:
    decided = yield from ask_one(
        "decide_suggestion",
        tenant=tenant,
        user_id=user,
        suggestion_id=suggestion.id,
        state=state,
        now=now_ms(),
    )
    if decided is None:
        raise _closed(suggestion.state)


def _closed(state: SuggestionState) -> UserError:
    known = state if state != "pending" else "decided"
    return UserError("suggestion_closed", f"This suggestion was {known} before.", {"state": state})
