"""Suggested memories: list, edit, approve, reject; closing a session, which makes them."""

from fastapi.responses import Response

from agio.gateway.http.query import After, Filter, Id, Limit
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.memories.memories import MemoryChangeBody, may_change_team
from agio.gateway.routes.memories.views import (
    Approved,
    ClosedSession,
    Suggestions,
    memory_view,
    suggestion_view,
)


async def list_suggestions(
    call: Call, agent_id: Filter = None, session_id: Filter = None, after: After = None, limit: Limit = 50
) -> Response:
    """List the suggestions that wait for the caller, newest first."""
    who = call.who
    page = await call.gateway.store.list_suggestions(
        who.tenant, who.user, agent_id=agent_id, session_id=session_id, after=after, limit=limit
    )
    return answer(Suggestions([suggestion_view(each) for each in page.items], page.next))


async def list_agent_suggestions(
    call: Call, agent_id: Id, session_id: Filter = None, after: After = None, limit: Limit = 50
) -> Response:
    """List the suggestions of an agent that wait for the caller, newest first."""
    await call.gateway.store.get_agent(call.who.tenant, agent_id)
    return await list_suggestions(call, agent_id, session_id, after, limit)


async def approve_suggestion(call: Call, suggestion_id: Id) -> Response:
    """Make a suggestion a memory. The first decision counts."""
    who = call.who
    memory = await call.gateway.store.approve_suggestion(
        who.tenant, who.user, suggestion_id, team=may_change_team(call)
    )
    call.gateway.memories.changed(who.tenant)
    return answer(memory_view(memory))


async def reject_suggestion(call: Call, suggestion_id: Id) -> Response:
    """Reject a suggestion. Its text is deleted, and it is not suggested again."""
    await call.gateway.store.reject_suggestion(call.who.tenant, call.who.user, suggestion_id)
    return Response(status_code=204)


async def edit_suggestion(call: Call, suggestion_id: Id, body: MemoryChangeBody) -> Response:
    """Edit a suggestion that waits."""
    suggestion = await call.gateway.store.change_suggestion(
        call.who.tenant, call.who.user, suggestion_id, body.change()
    )
    return answer(suggestion_view(suggestion))


async def approve_session_suggestions(call: Call, session_id: Id) -> Response:
    """Approve all suggestions of a session that wait."""
    who = call.who
    memories = await call.gateway.store.approve_suggestions(
        who.tenant, who.user, session_id, team=may_change_team(call)
    )
    call.gateway.memories.changed(who.tenant)
    return answer(Approved([memory_view(memory) for memory in memories]))


async def close_session(call: Call, session_id: Id) -> Response:
    """Close a session: its memories are suggested now. A new message opens it again.

    If the agent's `memory_update_async` is false, the answer waits for the suggestions.
    """
    who, store = call.who, call.gateway.store
    closed = await store.close_session(who.tenant, who.user, session_id)
    await call.gateway.extraction.closed(who, session_id)
    waiting = await store.list_suggestions(who.tenant, who.user, session_id=session_id, limit=200)
    return answer(ClosedSession(closed, len(waiting.items)))
