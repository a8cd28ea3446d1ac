"""Memories: list, search, add, edit, delete; what agents remember of the caller, to export and to forget."""

import time
from typing import Annotated, Self, TypeAlias

from fastapi import Query
from fastapi.responses import Response
from pydantic import ConfigDict, Field, model_validator

from agio.core.memory import (
    DEFAULT_IMPORTANCE,
    MAX_QUERY_CHARS,
    MemoryChange,
    MemoryFields,
    MemoryRecord,
    MemoryScope,
    MemorySource,
    MemoryType,
    Reach,
    SuggestionRecord,
)
from agio.errors import UserError
from agio.gateway.http.query import ID_CHARS, MAX_POS, After, Filter, Id, Limit
from agio.gateway.http.route import Call, answer, check_permission
from agio.gateway.routes.body import AS_WHOLE, Body, any_given
from agio.gateway.routes.memories.views import (
    Forgotten,
    Memories,
    MemoryExport,
    memory_view,
    suggestion_view,
)

Importance: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Moment: TypeAlias = Annotated[int, Field(ge=0, le=MAX_POS), AS_WHOLE]
Question: TypeAlias = Annotated[
    str | None, Query(min_length=1, max_length=MAX_QUERY_CHARS, description="What to search for: best first.")
]
OfType: TypeAlias = Annotated[MemoryType | None, Query(alias="type")]
OfScope: TypeAlias = Annotated[MemoryScope | None, Query()]
BodyId: TypeAlias = Annotated[str, Field(min_length=1, max_length=ID_CHARS)]
_PAGE = 200


class MessageBody(Body):
    """A message of the caller's: a memory that comes from it is deleted with its session."""

    session_id: BodyId
    message_id: BodyId


class MemoryBody(Body):
    """A memory to add."""

    content: Annotated[str, Field(min_length=1)]
    """At most 4000 characters."""
    memory_type: MemoryType = "fact"
    importance: Importance = DEFAULT_IMPORTANCE
    scope: MemoryScope = "user_agent"
    """`user_agent`: of the caller with this agent; `user`: with every agent; `agent`: for everybody who uses the
    agent, which needs the permission `build`."""
    observed_at: Moment | None = None
    """When it was so; null: now."""
    expires_at: Moment | None = None
    source: MessageBody | None = None
    """The message that it comes from; null: none, a person wrote it."""


class MemoryChangeBody(Body):
    """The fields of a memory, or of a suggestion, to change."""

    model_config = ConfigDict(
        json_schema_extra=any_given(
            content="string",
            memory_type="string",
            importance="number",
            scope="string",
            observed_at="integer",
            expires_at="integer",
        )
    )

    content: Annotated[str, Field(min_length=1)] | None = None
    memory_type: MemoryType | None = None
    importance: Importance | None = None
    scope: MemoryScope | None = None
    observed_at: Moment | None = None
    expires_at: Moment | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if all(value is None for value in self.model_dump().values()):
            raise ValueError("send a field to change")
        return self

    def change(self) -> MemoryChange:
        """Return the change as the store takes it."""
        return MemoryChange(**self.model_dump())


async def list_memories(
    call: Call,
    agent_id: Id,
    q: Question = None,
    memory_type: OfType = None,
    scope: OfScope = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List what an agent may remember when it talks with the caller; with `q` only what fits, best first."""
    await call.gateway.store.get_agent(call.who.tenant, agent_id)
    return await list_my_memories(call, agent_id, q, memory_type, scope, after, limit)


async def add_memory(call: Call, agent_id: Id, body: MemoryBody) -> Response:
    """Add a memory. The same text in the same scope changes the one that is there."""
    who = call.who
    if body.scope == "agent":
        check_permission(who, "build")
    fields = MemoryFields(**body.model_dump(exclude={"source"}))
    source = MemorySource() if body.source is None else MemorySource(**body.source.model_dump())
    memory = await call.gateway.store.add_memory(who.tenant, who.user, agent_id, fields, source)
    call.gateway.memories.changed(who.tenant)
    return answer(memory_view(memory), 201)


async def get_memory(call: Call, memory_id: Id) -> Response:
    """Get a memory."""
    return answer(memory_view(await call.gateway.store.get_memory(call.who.tenant, call.who.user, memory_id)))


async def change_memory(call: Call, memory_id: Id, body: MemoryChangeBody) -> Response:
    """Change a memory."""
    who = call.who
    memory = await call.gateway.store.change_memory(
        who.tenant, who.user, memory_id, body.change(), team=may_change_team(call)
    )
    call.gateway.memories.changed(who.tenant)
    return answer(memory_view(memory))


async def delete_memory(call: Call, memory_id: Id) -> Response:
    """Delete a memory, what it replaced, and the suggestions that would replace it."""
    who = call.who
    await call.gateway.store.delete_memory(who.tenant, who.user, memory_id, team=may_change_team(call))
    return Response(status_code=204)


async def list_my_memories(
    call: Call,
    agent_id: Filter = None,
    q: Question = None,
    memory_type: OfType = None,
    scope: OfScope = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List what agents remember of the caller; with `agent_id` also what that agent remembers for its team.

    With `q` only what fits, best first.
    """
    gateway, who = call.gateway, call.who
    if q is None:
        page = await gateway.store.list_memories(
            who.tenant,
            who.user,
            agent_id=agent_id,
            memory_type=memory_type,
            scope=scope,
            after=after,
            limit=limit,
        )
        return answer(Memories([memory_view(memory) for memory in page.items], page.next))
    async with gateway.searches.turn(who):
        found = await gateway.memories.search(
            Reach(who.tenant, who.user, agent_id or ""), q, _PAGE if memory_type or scope else limit
        )
    items = [
        memory_view(each.memory, each.score)
        for each in found
        if memory_type in (None, each.memory.memory_type) and scope in (None, each.memory.scope)
    ]
    return answer(Memories(items[:limit], None))


async def export_my_memories(call: Call) -> Response:
    """Export everything that agents remember of the caller: profile, memories and suggestions."""
    store, who = call.gateway.store, call.who
    memories: list[MemoryRecord] = []
    suggestions: list[SuggestionRecord] = []
    after: str | None = None
    while True:
        page = await store.list_memories(who.tenant, who.user, after=after, limit=_PAGE)
        memories += page.items
        if (after := page.next) is None:
            break
    while True:
        waiting = await store.list_suggestions(who.tenant, who.user, after=after, limit=_PAGE)
        suggestions += waiting.items
        if (after := waiting.next) is None:
            break
    export = MemoryExport(
        exported_at=time.time_ns() // 1_000_000,
        user=who.user,
        profile=(await store.get_profile(who.tenant, who.user)).fields,
        memories=[memory_view(memory) for memory in memories],
        suggestions=[suggestion_view(suggestion) for suggestion in suggestions],
    )
    shown = answer(export)
    shown.headers["content-disposition"] = 'attachment; filename="memories.json"'
    return shown


async def forget_me(call: Call) -> Response:
    """Delete all memories of the caller, the suggestions, and the index of the caller's conversations."""
    return answer(Forgotten(await call.gateway.store.forget_user(call.who.tenant, call.who.user)))


def may_change_team(call: Call) -> bool:
    """Whether the caller may change what an agent remembers for its team."""
    try:
        check_permission(call.who, "build")
    except UserError:
        return False
    return True
