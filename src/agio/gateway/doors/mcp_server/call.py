"""A call of an agent's tool: one message to one session, its run awaited, its outcome as a tool result."""

from contextlib import suppress
from typing import Annotated, Any

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from agio.core.run.fold import Fold
from agio.core.store.records import AgentRecord, SessionStart, Submission
from agio.core.store.repository import RunInfo
from agio.errors import AgioError, UserError
from agio.gateway.doors.mcp_server.exchange import Exchange
from agio.gateway.doors.mcp_server.progress import Progress
from agio.gateway.gateway import Gateway
from agio.gateway.http.body import ClientGone
from agio.gateway.routes.body import Body, Identifier
from agio.gateway.routes.runs.awaited_run import begin_awaited_run, check_success, session_of
from agio.protocol.ids import new_id
from agio.protocol.messages import Json, UserMessage

WAITING = "waiting for approval"
_TEXT: dict[str, Json] = {"type": "string"}
INPUT: dict[str, Json] = {
    "type": "object",
    "properties": {
        "message": {**_TEXT, "minLength": 1, "description": "What to say to the agent."},
        "session_id": {
            **_TEXT,
            "minLength": 1,
            "maxLength": 200,
            "description": "The session to continue, from an earlier result. Without it a new session starts.",
        },
    },
    "required": ["message"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Json] = {
    "type": "object",
    "properties": {
        "answer": {**_TEXT, "description": "The agent's answer."},
        "session_id": {**_TEXT, "description": "Pass it to continue the conversation."},
        "run_id": {**_TEXT, "description": "The run of this message."},
        "status": {
            **_TEXT,
            "enum": ["completed", WAITING, "failed", "cancelled", "expired", "refused"],
            "description": "How the call ended; refused: no answer was awaited, see the error.",
        },
        "approval_url": {
            **_TEXT,
            "description": "Where a person approves or refuses what the agent wants to do.",
        },
        "error": {
            "type": "object",
            "properties": {"code": _TEXT, "message": _TEXT, "details": {"type": "object"}},
            "required": ["code", "message", "details"],
        },
    },
    "required": ["answer", "status"],
}


class Arguments(Body):
    """The arguments of a call, as `INPUT` describes them."""

    message: Annotated[str, Field(min_length=1)]
    session_id: Identifier | None = None


async def call_agent(
    gateway: Gateway, exchange: Exchange, agent: AgentRecord, arguments: dict[str, Any]
) -> CallToolResult:
    """Send the message, wait for the run, and return its outcome. A client that leaves cancels the run.

    Raises ClientGone, AgioError, and pydantic's ValidationError.
    """
    given, who = Arguments.model_validate(arguments), exchange.who
    after = 0
    if given.session_id is not None:
        after = (await session_of(gateway, who, agent, given.session_id)).last_pos
    submission = Submission(
        session_id=given.session_id or new_id("ses"),
        run_id=new_id("run"),
        start=SessionStart(agent_id=agent.id) if given.session_id is None else None,
        messages=[UserMessage(id=new_id("msg"), content=given.message)],
    )
    show = Progress(exchange).show if exchange.wants_progress else None
    async with await begin_awaited_run(gateway, who, submission, after) as turn:
        try:
            await turn.ended(who, exchange.receive, None, show)
        except ClientGone:
            with suppress(UserError):  # the session may be deleted
                await gateway.intake.cancel(who, run_id=turn.run_id)
            raise
        info, fold = await turn.fold()
    return _outcome(info, fold, f"{exchange.base_url}/chat/{info.session_id}")


def refused(error: AgioError) -> CallToolResult:
    """Return the result of a call that has no outcome: the error, where a model can read it."""
    return _failure("refused", error, {})


def _outcome(info: RunInfo, fold: Fold, link: str) -> CallToolResult:
    ids = {"session_id": info.session_id, "run_id": info.run_id}
    if info.status == "completed":
        said = {"answer": fold.text, "status": info.status, **ids}
        return CallToolResult(content=[TextContent(text=fold.text)], structured_content=said)
    if info.status == "interrupted":
        asks = [asked.message for asked in fold.interrupts.values() if isinstance(asked.message, str)]
        words = [fold.text, *asks, f"A person must decide before the agent continues: {link}"]
        said = {"answer": fold.text, "status": WAITING, "approval_url": link, **ids}
        text = "\n\n".join(part for part in words if part)
        return CallToolResult(content=[TextContent(text=text)], structured_content=said)
    try:
        check_success(info, fold)
    except AgioError as error:
        return _failure(info.status, error, ids, fold.text)
    return _failure(info.status, UserError("run_cancelled", "The run was cancelled."), ids, fold.text)


def _failure(status: str, error: AgioError, ids: dict[str, Any], answer: str = "") -> CallToolResult:
    problem = {"code": error.code, "message": error.message, "details": error.details}
    return CallToolResult(
        content=[TextContent(text=f"{error.code}: {error.message}")],
        structured_content={"answer": answer, "status": status, "error": problem, **ids},
        is_error=True,
    )
