"""Sessions: list, start, get with messages, change, fork, delete, and where one stands."""

from contextlib import nullcontext
from typing import Annotated, Self

from fastapi import Body as JsonBody
from fastapi.responses import Response
from pydantic import ConfigDict, Field, model_validator

from agio.core.store.records import Branch, OnBusy, SessionRecord
from agio.errors import UserError
from agio.gateway.http.query import (
    MAX_POS,
    After,
    Before,
    Filter,
    Id,
    IdempotencyKey,
    Leaf,
    Limit,
    SearchSessions,
    Tail,
)
from agio.gateway.http.route import Call, answer
from agio.gateway.intake.forks import ForkRequest
from agio.gateway.routes.body import AS_WHOLE, Body, Identifier, Title, any_given
from agio.gateway.routes.runs.log import count_steps
from agio.gateway.routes.sessions.conversation import Part, conversation
from agio.gateway.routes.sessions.views import (
    Interrupts,
    InterruptView,
    SessionStatus,
    SessionWithMessages,
    interrupt_view,
    session_view,
    sessions_view,
)


class SessionBody(Body):
    """A new session."""

    title: Title = ""
    on_busy: OnBusy = "queue"


class SessionChange(Body):
    """The fields of a session to change."""

    model_config = ConfigDict(
        json_schema_extra=any_given(
            title="string", on_busy="string", seen_pos="integer", leaf_run_id="string"
        )
    )

    title: Title | None = None
    on_busy: OnBusy | None = None
    seen_pos: Annotated[int, Field(ge=0, le=MAX_POS), AS_WHOLE] | None = None
    """The last position the user has read."""

    leaf_run_id: Identifier | None = None
    """The run that the next message continues: it chooses the branch that every client shows."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if all(value is None for value in (self.title, self.on_busy, self.seen_pos, self.leaf_run_id)):
            raise ValueError("send a title, on_busy, seen_pos or leaf_run_id")
        return self


class ForkBody(Body):
    """The end of the copy: before the user message with this id."""

    before: Identifier
    title: Title | None = None
    """Left out, it is the original's."""


async def list_sessions(
    call: Call,
    search: SearchSessions = None,
    agent_id: Filter = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List the caller's sessions, most recently changed first."""
    async with call.gateway.searches.turn(call.who) if search else nullcontext():
        page = await call.gateway.store.list_sessions(
            call.who.tenant, call.who.user, agent_id=agent_id, search=search, after=after, limit=limit
        )
    return answer(sessions_view(page))


async def list_agent_sessions(
    call: Call, agent_id: Id, search: SearchSessions = None, after: After = None, limit: Limit = 50
) -> Response:
    """List the caller's sessions with an agent, most recently changed first."""
    await call.gateway.store.get_agent(call.who.tenant, agent_id)
    return await list_sessions(call, search, agent_id, after, limit)


async def start_session(
    call: Call, agent_id: Id, body: Annotated[SessionBody | None, JsonBody()] = None
) -> Response:
    """Start a session with an agent."""
    given = body or SessionBody()
    session = await call.gateway.store.start_session(
        call.who.tenant, call.who.user, agent_id, title=given.title, on_busy=given.on_busy
    )
    return answer(session_view(session), 201)


async def get_session(
    call: Call,
    session_id: Id,
    after: After = None,
    before: Before = None,
    tail: Tail = False,
    limit: Limit = 200,
    leaf: Leaf = None,
) -> Response:
    """Get a session with a page of its messages, in order: the first page, or the last with `tail`."""
    if after is not None and (before is not None or tail):
        raise UserError("invalid_query", "Send either after, or one of before and tail.")
    session = await _session(call, session_id)
    shown_leaf = leaf or session.leaf_run_id
    branches: list[Branch] = []
    if shown_leaf is not None and (leaf is not None or session.branched):
        branches = await call.gateway.store.branches(session.id, shown_leaf)
    page = await conversation(call.gateway, session, Part(after, before, tail, limit, leaf))
    shown = session_view(session)
    return answer(
        SessionWithMessages(
            **{name: getattr(shown, name) for name in shown.__struct_fields__},
            messages=page.messages,
            next=page.next,
            previous=page.previous,
            stream_after=page.stream_after,
            shown_leaf=shown_leaf,
            branches=branches,
        )
    )


async def change_session(call: Call, session_id: Id, body: SessionChange) -> Response:
    """Change a session's title, its policy for messages that arrive during a run, or its read position."""
    session = await call.gateway.store.update_session(
        call.who.tenant,
        call.who.user,
        session_id,
        title=body.title,
        on_busy=body.on_busy,
        seen_pos=body.seen_pos,
        leaf_run_id=body.leaf_run_id,
    )
    return answer(session_view(session))


async def fork_session(
    call: Call, session_id: Id, body: ForkBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Copy a session up to, but without, one of the caller's messages."""
    gateway, who = call.gateway, call.who
    gateway.rates.take("fork", who.credential, f"{who.tenant}/{who.user}")
    asked = ForkRequest(session_id=session_id, before=body.before, title=body.title, key=idempotency_key)
    return answer(session_view(await gateway.forks.make(who, asked)), 201)


async def delete_session(call: Call, session_id: Id) -> Response:
    """Delete a session with everything in it. Its runs are cancelled."""
    await call.gateway.intake.delete_session(call.who, session_id)
    return Response(status_code=204)


async def session_status(call: Call, session_id: Id) -> Response:
    """Get a session's state and the step of its newest run."""
    store = call.gateway.store
    session = await _session(call, session_id)
    step = 0
    run = None
    if session.last_run_id is not None:
        run = await store.find_run(call.who.tenant, call.who.user, session.last_run_id)
        step = await count_steps(store, run)
    return answer(
        SessionStatus(
            state=session.state,
            run_id=session.last_run_id,
            run_status=run.status if run else None,
            step=step,
            goal_met=run.goal_met if run else None,
            last_pos=session.last_pos,
            pending=session.pending,
            interrupts=[shown for shown in await _interrupts(call, session_id) if shown.state == "open"],
        )
    )


async def list_interrupts(call: Call, session_id: Id) -> Response:
    """List a session's questions, newest first, including answered ones."""
    return answer(Interrupts(await _interrupts(call, session_id)))


async def _session(call: Call, session_id: str) -> SessionRecord:
    return await call.gateway.store.get_session(call.who.tenant, call.who.user, session_id)


async def _interrupts(call: Call, session_id: str) -> list[InterruptView]:
    records = await call.gateway.store.list_interrupts(call.who.tenant, call.who.user, session_id)
    return [interrupt_view(record) for record in records]
