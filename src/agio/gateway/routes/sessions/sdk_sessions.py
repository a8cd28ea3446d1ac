"""Sessions as agent SDKs use them: created with an agent definition, then one message and one answer at a time.

They are ordinary sessions; the client's id is an alias, and the agent is deleted with the session.
"""

from collections.abc import AsyncIterator
from contextlib import ExitStack, nullcontext
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from msgspec import UNSET, Struct, UnsetType
from pydantic import Field

from agio.core.inline import InlineSession
from agio.core.store.records import AgentFields, AgentRecord, SessionRecord, Submission
from agio.errors import LimitExceeded, UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Receive, Scope, Send
from agio.gateway.http.errors import send_error
from agio.gateway.http.query import ID_CHARS
from agio.gateway.http.route import Call, answer, check_permission
from agio.gateway.routes.agents.inline_agent import Described, describe_agent
from agio.gateway.routes.body import Body, GivenContent, Identifier, NameOrNone
from agio.gateway.routes.runs.awaited_run import AwaitedRun, begin_awaited_run, check_success
from agio.gateway.routes.runs.log import Download
from agio.gateway.routes.runs.outcome import TurnToolCall, interrupts_of, said_by, tool_calls_of
from agio.gateway.routes.sessions.conversation import Part, conversation
from agio.gateway.stream.connections import Cut
from agio.gateway.stream.sse import EventStream
from agio.protocol.codec import encode
from agio.protocol.events import Interrupt
from agio.protocol.ids import new_id
from agio.protocol.messages import Json, UserMessage

_PAGE = 200


class SdkAgentBody(Body):
    """Changes to a session's agent, from this message on."""

    name: NameOrNone | None = None
    instructions: Annotated[str, Field(max_length=100_000)] | None = None
    model: Annotated[str, Field(max_length=300)] | None = None


class SdkSessionBody(Body):
    """A session and its agent. The same `session_id` is the same session."""

    agent_name: NameOrNone
    instructions: Annotated[str, Field(max_length=100_000)] = ""
    """May be left out if there is an agent of this name."""
    model: Annotated[str, Field(max_length=300)] | None = None
    session_id: Identifier | None = None


class SdkMessageBody(Body):
    """A message to a session."""

    session_id: Identifier
    user_input: GivenContent
    agent: SdkAgentBody | None = None
    stream: bool = False


class SdkSession(Struct, frozen=True):
    """A session: the client's id for it, its agent and model."""

    session_id: str
    agent_name: str
    model: str
    """`provider:model`."""


class SdkAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a message. `new_items_len` counts the items added to the transcript after the message."""

    final_output: str
    new_items_len: int
    tool_calls: list[str]
    """The names of the tools that were called, in the order of the calls."""
    tool_call_details: list[TurnToolCall]
    interrupts: list[Interrupt] | UnsetType = UNSET
    """The open questions, if a person must be asked first."""


class SdkTranscript(Struct, frozen=True):
    """A session's items: AG-UI messages, oldest first."""

    session_id: str
    items: list[Json]
    length: int


async def create_sdk_session(call: Call, body: SdkSessionBody) -> Response:
    """Create a session with its own agent, or find the session with this id."""
    gateway, who = call.gateway, call.who
    if not body.agent_name:
        raise UserError("empty_input", "An agent needs a name and instructions.")
    if body.session_id is not None:
        try:
            return answer(
                _view(await gateway.store.find_inline_session(who.tenant, who.user, body.session_id))
            )
        except UserError as error:
            if error.code != "session_not_found":
                raise
    said = Described(name=body.agent_name, instructions=body.instructions, model=body.model)
    fields = await _describe(call, said)
    return answer(
        _view(await gateway.store.start_inline_session(who.tenant, who.user, body.session_id, fields))
    )


async def send_sdk_message(call: Call, body: SdkMessageBody) -> Response:
    """Send a message to a session and wait for the answer, or stream the run's events."""
    gateway, who = call.gateway, call.who
    if isinstance(body.user_input, str) and not body.user_input.strip():
        raise UserError("empty_input", "The message is empty.")
    found = await gateway.store.find_inline_session(who.tenant, who.user, body.session_id)
    if body.agent is not None:
        change = Described(
            name=body.agent.name or "", instructions=body.agent.instructions or "", model=body.agent.model
        )
        fields = await _describe(call, change, found.agent)
        found = await gateway.store.change_inline_agent(who.tenant, who.user, body.session_id, fields)
    given = Submission(
        session_id=found.session.id,
        run_id=new_id("run"),
        messages=[UserMessage(id=new_id("msg"), content=body.user_input)],
    )
    with (
        gateway.connections.room(who) if body.stream else nullcontext()
    ):  # refuse before the message is accepted
        turn = await begin_awaited_run(gateway, who, given, found.session.last_pos)
    if body.stream:
        return TurnStream(turn, call)
    async with turn:
        await turn.ended(who, call.receive, None)
        info, fold = await turn.fold()
    check_success(info, fold)
    calls = tool_calls_of(fold)
    return answer(
        SdkAnswer(
            final_output=fold.text,
            new_items_len=len(said_by(fold)),
            tool_calls=[call.name for call in calls],
            tool_call_details=calls,
            interrupts=interrupts_of(fold),
        )
    )


async def sdk_transcript(
    call: Call, session_id: Annotated[str, Query(min_length=1, max_length=ID_CHARS)]
) -> Response:
    """List a session's items, oldest first."""
    found = await call.gateway.store.find_inline_session(call.who.tenant, call.who.user, session_id)
    return Download(call, _transcript(call.gateway, found.session, session_id), media_type="application/json")


async def _transcript(gateway: Gateway, session: SessionRecord, key: str) -> AsyncIterator[bytes]:
    """Write a `SdkTranscript`, a page of the conversation at a time."""
    yield b'{"session_id":%b,"items":[' % encode(key)
    count = 0
    after: str | None = None
    while True:
        page = await conversation(gateway, session, Part(after, limit=_PAGE))
        items = [encode(shown.message) for shown in page.messages if shown.role != "activity"]
        yield (b"," if count and items else b"") + b",".join(items)
        count += len(items)
        if (after := page.next) is None:
            break
    yield b'],"length":%d}' % count


class TurnStream(Response):
    """A turn's events as server-sent events, to its end."""

    def __init__(self, turn: AwaitedRun, call: Call) -> None:
        super().__init__()
        self._turn = turn
        self._gateway = call.gateway
        self._who = call.who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream, until the run has ended or its reader has gone."""
        with ExitStack() as held:
            try:
                held.enter_context(self._gateway.connections.room(self._who))
            except LimitExceeded as error:
                self._turn.events.close()
                await send_error(send, error)
                return
            await self._stream(receive, send)

    async def _stream(self, receive: Receive, send: Send) -> None:
        async with self._turn as turn:
            stream = EventStream(turn.events, receive, send, self._gateway.limits.keep_alive_s)
            await stream.start(
                [(b"agio-session-id", turn.session_id.encode()), (b"agio-run-id", turn.run_id.encode())]
            )
            try:
                async with self._gateway.connections.open(self._who):
                    await self._relay(stream)
                    await stream.finish()
            except Cut:
                await stream.break_off()
            finally:
                stream.release()

    async def _relay(self, stream: EventStream) -> None:
        is_over = False
        while not is_over and (pieces := await stream.take()):
            own = [piece.sse for piece in pieces if piece.run_id == self._turn.run_id]
            if own:
                await stream.write(b"".join(own))
            is_over = self._turn.is_last(pieces)


async def _describe(call: Call, said: Described, now: AgentRecord | None = None) -> AgentFields:
    """Build the agent, if the team's settings allow the caller: it can use any prompt and any model of the team."""
    team = await call.gateway.store.get_tenant(call.who.tenant)
    check_permission(call.who, team.sdk_sessions)
    return await describe_agent(call.gateway, call.who, said, now)


def _view(found: InlineSession) -> SdkSession:
    agent = found.agent
    return SdkSession(found.key, agent.name, f"{agent.model_provider}:{agent.model_name}")
