"""Sessions: list, start, get with messages, change, fork, delete, and where one stands."""

from contextlib import nullcontext
from typing import Annotated, Self

from fastapi import Body as JsonBody
from fastapi.responses import Response
from pydantic import ConfigDict, Field, model_validator

from agio.core.store.records import OnBusy, SessionRecord
from agio.errors import UserError
from agio.gateway.http.query import (
    MAX_POS,
    After,
    Before,
    Filter,
    Id,
    IdempotencyKey,
    Limit,
    SearchSessions,
    Tail,
)
from agio.gateway.http.route import Call, answer
from agio.gateway.intake.forks import ForkRequest
from agio.gateway.routes.bodies import AS_WHOLE, Body, Identifier, Title, any_given
from agio.gateway.routes.conversation import Part, conversation
from agio.gateway.routes.log import count_steps
from agio.gateway.routes.session_views import (
    Interrupts,
    InterruptView,
    SessionStatus,
    SessionWithMessages,
    interrupt_view,
    session_view,
    sessions_view,
)


class SessionBody(Body):
    """A new conversation."""

    title: Title = ""
    on_busy: OnBusy = "queue"


class SessionChange(Body):
    """What to change of a conversation."""

    model_config = ConfigDict(
        json_schema_extra=any_given(title="string", on_busy="string", seen_pos="integer")
    )

    title: Title | None = None
    on_busy: OnBusy | None = None
    seen_pos: Annotated[int, Field(ge=0, le=MAX_POS), AS_WHOLE] | None = None
    """How far the conversation was read."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.title is None and self.on_busy is None and self.seen_pos is None:
            raise ValueError("send a title, on_busy or seen_pos")
        return self


class ForkBody(Body):
    """Where a copy of a conversation ends: before this message of the user's, by its id."""

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
    """List the caller's sessions, those changed last first."""
    async with call.gateway.searches.turn(call.who) if search else nullcontext():
        page = await call.gateway.store.list_sessions(
            call.who.tenant, call.who.user, agent_id=agent_id, search=search, after=after, limit=limit
        )
    return answer(sessions_view(page))


async def list_agent_sessions(
    call: Call, agent_id: Id, search: SearchSessions = None, after: After = None, limit: Limit = 50
) -> Response:
    """List the caller's sessions with an agent, those changed last first."""
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
) -> Response:
    """Get a session with its messages, in order: the first of them, or the last with `tail`."""
    if after is not None and (before is not None or tail):
        raise UserError("invalid_query", "Send either after, or one of before and tail.")
    session = await _session(call, session_id)
    page = await conversation(call.gateway, session, Part(after, before, tail, limit))
    shown = session_view(session)
    return answer(
        SessionWithMessages(
            **{name: getattr(shown, name) for name in shown.__struct_fields__},
            messages=page.messages,
            next=page.next,
            previous=page.previous,
            stream_after=page.stream_after,
        )
    )


async def change_session(call: Call, session_id: Id, body: SessionChange) -> Response:
    """Rename a session, change what becomes of a message while it is busy, or say how far it was read."""
    session = await call.gateway.store.update_session(
        call.who.tenant,
        call.who.user,
        session_id,
        title=body.title,
        on_busy=body.on_busy,
        seen_pos=body.seen_pos,
    )
    return answer(session_view(session))


async def fork_session(
    call: Call, session_id: Id, body: ForkBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Copy a session up to, and without, a message of the caller's, and everything that belongs to it."""
    gateway, who = call.gateway, call.who
    gateway.rates.take("fork", who.credential, f"{who.tenant}/{who.user}")
    asked = ForkRequest(session_id=session_id, before=body.before, title=body.title, key=idempotency_key)
    return answer(session_view(await gateway.forks.make(who, asked)), 201)


async def delete_session(call: Call, session_id: Id) -> Response:
    """Delete a session and everything in it. What is going on in it is stopped."""
    await call.gateway.intake.delete_session(call.who, session_id)
    return Response(status_code=204)


async def session_status(call: Call, session_id: Id) -> Response:
    """Say where a session stands: its state, and the step of its newest run."""
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
    """List a session's questions to a person, newest first, answered ones too."""
    return answer(Interrupts(await _interrupts(call, session_id)))


async def _session(call: Call, session_id: str) -> SessionRecord:
    return await call.gateway.store.get_session(call.who.tenant, call.who.user, session_id)


async def _interrupts(call: Call, session_id: str) -> list[InterruptView]:
    records = await call.gateway.store.list_interrupts(call.who.tenant, call.who.user, session_id)
    return [interrupt_view(record) for record in records]
