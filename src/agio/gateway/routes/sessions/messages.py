"""Input of a session: messages, answers, results of client-side tools, and cancel."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from fastapi.responses import Response
from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from agio.core.store.records import OnBusy, Submission
from agio.errors import UserError
from agio.gateway.http.query import Id, IdempotencyKey
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import Body, GivenContent, Identifier
from agio.gateway.routes.sessions.views import Cancelled, CancelledRun, Sent
from agio.protocol.ids import new_id
from agio.protocol.messages import Json, Message, ResumeEntry, ToolMessage, UserMessage


class MessageBody(Body):
    """A message. A repeat with the same `client_message_id` is the same message."""

    content: GivenContent
    on_busy: OnBusy | None = None
    client_message_id: Identifier | None = None
    parent_run_id: Annotated[str, Field(max_length=200)] | None = None
    """The run to continue, on a branch of its own unless it is the newest; empty: none, which begins anew. Omitted:
    the newest run, or the branch that was chosen."""
    copy_of: Identifier | None = None
    """The message that this one replaces: the run continues what that message's run continued."""


_LEFT_OUT: JsonDict = {"type": "null"}
_ONE_ANSWER: JsonDict = {
    "oneOf": [
        {
            "required": ["approved"],
            "properties": {"approved": {"const": True}, "dismissed": _LEFT_OUT},
        },
        {
            "required": ["approved"],
            "properties": {
                "approved": {"const": False},
                "dismissed": _LEFT_OUT,
                "edited_args": _LEFT_OUT,
                "content": _LEFT_OUT,
            },
        },
        {
            "required": ["dismissed"],
            "properties": {
                "dismissed": {"const": True},
                "approved": _LEFT_OUT,
                "reason": _LEFT_OUT,
                "edited_args": _LEFT_OUT,
                "content": _LEFT_OUT,
            },
        },
    ]
}


class AnswerBody(Body):
    """The answer to one question: approved, not approved or dismissed."""

    model_config = ConfigDict(json_schema_extra=_ONE_ANSWER)

    interrupt_id: Identifier
    approved: bool | None = None
    dismissed: Literal[True] | None = None
    reason: Annotated[str, Field(max_length=10_000)] | None = None
    edited_args: dict[str, object] | None = None
    content: dict[str, object] | None = None
    """What a tool asked for, as the question's `response_schema` says."""

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if (self.approved is None) == (self.dismissed is None):
            raise ValueError("send either approved (true or false) or dismissed (true)")
        if self.edited_args is not None and not self.approved:
            raise ValueError("edited_args requires approved: true")
        if self.content is not None and not self.approved:
            raise ValueError("content requires approved: true")
        if self.dismissed and self.reason is not None:
            raise ValueError("reason requires approved")
        return self

    def entry(self) -> ResumeEntry:
        """Return the answer as AG-UI spells it."""
        if self.dismissed:
            return ResumeEntry(self.interrupt_id, "cancelled")
        payload: dict[str, Json] = {"approved": self.approved}
        if self.reason is not None:
            payload["reason"] = self.reason
        if self.edited_args is not None:
            payload["editedArgs"] = self.edited_args
        if self.content is not None:
            payload["content"] = self.content
        return ResumeEntry(self.interrupt_id, "resolved", payload)


class AnswersBody(Body):
    """The answers to all open questions of a session."""

    answers: Annotated[list[AnswerBody], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len({answer.interrupt_id for answer in self.answers}) < len(self.answers):
            raise ValueError("answer each question only once")
        return self


class ToolResultsBody(Body):
    """The results of client-side tool calls, by call id."""

    results: Annotated[dict[Identifier, GivenContent], Field(min_length=1, max_length=100)]


async def send_message(
    call: Call, session_id: Id, body: MessageBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Send a message. The response follows the commit of the message and its run."""
    if idempotency_key is not None and body.client_message_id not in (None, idempotency_key):
        raise UserError(
            "invalid_body", "Send either client_message_id or Idempotency-Key, not two different values."
        )
    return await _send(
        call,
        session_id,
        idempotency_key or body.client_message_id,
        messages=[UserMessage(id=new_id("msg"), content=body.content)],
        on_busy=body.on_busy,
        parent_run_id=body.parent_run_id,
        copy_of=body.copy_of,
    )


async def answer_interrupts(
    call: Call, session_id: Id, body: AnswersBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answer all open questions of a session at once. A new run continues with the answers."""
    resume = [given.entry() for given in body.answers]
    return await _send(call, session_id, idempotency_key, resume=resume)


async def send_tool_results(
    call: Call, session_id: Id, body: ToolResultsBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Send the results of client-side tool calls. A new run continues with them."""
    messages = [
        ToolMessage(id=new_id("msg"), content=content, tool_call_id=call_id)
        for call_id, content in body.results.items()
    ]
    return await _send(call, session_id, idempotency_key, messages=messages)


async def cancel_session(call: Call, session_id: Id) -> Response:
    """Cancel a session's running and queued runs."""
    runs = await call.gateway.intake.cancel(call.who, session_id=session_id)
    return answer(Cancelled([CancelledRun(run.run_id, run.status) for run in runs]), 202)


async def cancel_run(call: Call, run_id: Id) -> Response:
    """Cancel a run. A run that has ended is not changed."""
    runs = await call.gateway.intake.cancel(call.who, run_id=run_id)
    return answer(Cancelled([CancelledRun(run.run_id, run.status) for run in runs]), 202)


async def _send(
    call: Call,
    session_id: str,
    key: str | None,
    *,
    messages: Sequence[Message] = (),
    resume: Sequence[ResumeEntry] = (),
    on_busy: OnBusy | None = None,
    parent_run_id: str | None = None,
    copy_of: str | None = None,
) -> Response:
    given = Submission(
        session_id=session_id,
        run_id=new_id("run"),
        messages=messages,
        resume=resume,
        idempotency_key=key,
        on_busy=on_busy,
        parent_run_id=parent_run_id,
        copy_of=copy_of,
    )
    return await accept(call, given)


async def accept(call: Call, given: Submission) -> Response:
    """Accept a submission and answer with its run."""
    accepted = await call.gateway.intake.accept(call.who, given)
    status = "running" if accepted.claimed is not None or accepted.steered else "queued"
    if accepted.repeated:
        run = await call.gateway.store.find_run(call.who.tenant, call.who.user, accepted.run_id)
        status = run.status
    return answer(
        Sent(
            message_id=accepted.message_id,
            run_id=accepted.run_id,
            session_id=given.session_id,
            status=status,
            repeated=accepted.repeated,
        ),
        202,
    )
