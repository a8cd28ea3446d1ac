"""`POST /api/agent/run`: sends a message, waits for its run, and returns the outcome."""

from typing import Annotated

from fastapi.responses import Response
from pydantic import Field

from agio.core.identity.principal import Principal
from agio.core.store.records import AgentRecord, SessionStart, Submission
from agio.core.store.repository import ENDED
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import IdempotencyKey
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import Body, GivenContent, Identifier
from agio.gateway.routes.runs.awaited_run import begin_awaited_run, check_success, session_of
from agio.gateway.routes.runs.outcome import outcome_view
from agio.protocol.ids import new_id
from agio.protocol.messages import ContextEntry, UserMessage

MAX_WAIT_S = 24 * 3600.0


class ContextBody(Body):
    """Context from the caller; the model receives it as untrusted text."""

    description: Annotated[str, Field(max_length=1000)]
    value: Annotated[str, Field(max_length=100_000)]


class AgentRunBody(Body):
    """A message to an agent. `agent` is an id or a name; without `session_id` a new session starts."""

    agent: Identifier
    input: GivenContent
    session_id: Identifier | None = None
    context: Annotated[list[ContextBody], Field(max_length=50)] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=MAX_WAIT_S)] | None = None
    """How long to wait for the end; the run continues. Default: as long as the run may take."""


async def run_agent_once(call: Call, body: AgentRunBody, idempotency_key: IdempotencyKey = None) -> Response:
    """Run an agent once and wait for the outcome."""
    gateway, who = call.gateway, call.who
    agent = await _agent(gateway, who, body.agent)
    given = Submission(
        session_id=body.session_id or new_id("ses"),
        run_id=new_id("run"),
        start=_start(agent, idempotency_key) if body.session_id is None else None,
        messages=[UserMessage(id=new_id("msg"), content=body.input)],
        context=[ContextEntry(entry.description, entry.value) for entry in body.context or ()],
        idempotency_key=idempotency_key,
    )
    after = 0
    if body.session_id is not None:
        session = await session_of(gateway, who, agent, body.session_id)
        after = session.last_pos
    async with await begin_awaited_run(gateway, who, given, after) as turn:
        await turn.ended(who, call.receive, body.timeout_s)
        info, fold = await turn.fold()
    check_success(info, fold)
    return answer(outcome_view(info, fold), 200 if info.status in ENDED else 202)


async def _agent(gateway: Gateway, who: Principal, named: str) -> AgentRecord:
    try:
        return await gateway.store.get_agent(who.tenant, named)
    except UserError as error:
        if error.code != "agent_not_found":
            raise
        agent = await gateway.store.find_agent(who.tenant, named)
        if agent is None:
            raise
        return agent


def _start(agent: AgentRecord, key: str | None) -> SessionStart:
    """Start a session, once per key."""
    return SessionStart(agent_id=agent.id, alias=None if key is None else f"message:{key}")
