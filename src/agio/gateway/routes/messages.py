"""What a person or program says in a session: messages, answers, results of client-side tools, and stop."""

from collections.abc import Sequence

from fastapi.responses import Response

from agio.core.store.records import OnBusy, Submission
from agio.errors import UserError
from agio.gateway.http.query import Id, IdempotencyKey
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.bodies import AnswersBody, MessageBody, ToolResultsBody
from agio.gateway.routes.views import Cancelled, CancelledRun, Sent
from agio.protocol.ids import new_id
from agio.protocol.messages import Message, ResumeEntry, ToolMessage, UserMessage


async def send_message(
    call: Call, session_id: Id, body: MessageBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Send a message: it is stored with its run before this answers."""
    if idempotency_key is not None and body.client_message_id not in (None, idempotency_key):
        raise UserError(
            "invalid_body", "client_message_id and Idempotency-Key are the same thing: send one of them."
        )
    return await _send(
        call,
        session_id,
        idempotency_key or body.client_message_id,
        messages=[UserMessage(id=new_id("msg"), content=body.content)],
        on_busy=body.on_busy,
    )


async def answer_interrupts(
    call: Call, session_id: Id, body: AnswersBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answer a session's open questions, all of them at once: a new run goes on with what was decided."""
    resume = [given.entry() for given in body.answers]
    return await _send(call, session_id, idempotency_key, resume=resume)


async def send_tool_results(
    call: Call, session_id: Id, body: ToolResultsBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Send the results of client-side tool calls: a new run goes on with them."""
    messages = [
        ToolMessage(id=new_id("msg"), content=content, tool_call_id=call_id)
        for call_id, content in body.results.items()
    ]
    return await _send(call, session_id, idempotency_key, messages=messages)


async def cancel_session(call: Call, session_id: Id) -> Response:
    """Stop what is going on in a session and what waits in its queue."""
    runs = await call.gateway.intake.cancel(call.who, session_id=session_id)
    return answer(Cancelled([CancelledRun(run.run_id, run.status) for run in runs]), 202)


async def cancel_run(call: Call, run_id: Id) -> Response:
    """Stop a run. One that has ended stays as it is."""
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
) -> Response:
    given = Submission(
        session_id=session_id,
        run_id=new_id("run"),
        messages=messages,
        resume=resume,
        idempotency_key=key,
        on_busy=on_busy,
    )
    accepted = await call.gateway.intake.accept(call.who, given)
    status = "queued" if accepted.claimed is None else "running"
    if accepted.repeated:
        run = await call.gateway.store.find_run(call.who.tenant, call.who.user, accepted.run_id)
        status = run.status
    return answer(
        Sent(
            message_id=accepted.message_id,
            run_id=accepted.run_id,
            session_id=session_id,
            status=status,
            repeated=accepted.repeated,
        ),
        202,
    )
