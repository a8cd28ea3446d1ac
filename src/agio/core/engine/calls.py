"""Runs the tool calls of a turn concurrently. Calls that need approval and client-side calls stay pending."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from msgspec import UNSET

from agio.core.engine.finder import FIND_TOOLS, find_tools
from agio.core.engine.goal import check_goal
from agio.core.engine.handoffs import finish_handoff, hand_over, handoff_calls
from agio.core.engine.results import emit_result
from agio.core.engine.subagent import call_subagent
from agio.core.run.answers import answer_problem, input_id
from agio.core.run.lane import COMPLETE_GOAL
from agio.core.run.metrics import now_s
from agio.core.store.repository import ToolBegin
from agio.core.tool import INPUT_REQUIRED, Decision, ToolAnswer, ToolContext
from agio.core.trace_context import call_span, under
from agio.protocol.events import TOOL_PROGRESS, Interrupt
from agio.protocol.ids import id_body
from agio.protocol.messages import Json, ResumeEntry, ToolCall, json_object

if TYPE_CHECKING:
    from agio.core.engine.loop import LoopState

_RESPONSE_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "editedArgs": {"type": "object"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}


async def call_tools(state: "LoopState") -> None:
    """Run every pending call that may run now, and emit each result as soon as it arrives.

    A call starts only after the turn that requested it is durable. A call with effect "once" also waits until
    its start record is durable. Calls that stay pending wait for a person's approval or for the client.
    """
    started = now_s()
    finish_handoff(state)
    handoffs = handoff_calls(state) if state.edges else []
    decisions = decisions_of(state)
    due = [
        call
        for call in state.lane.pending
        if (call.id in decisions or not (state.tools.is_client(call) or state.tools.asks(call)))
        and call not in handoffs
    ]
    for call in due:
        effect = state.tools.effect_of(call)
        if call.id in state.fresh and effect is not None:
            state.journal.begin(ToolBegin(call.id, call.function.name, effect, state.lane.key))
    await state.journal.commit()
    room = asyncio.Semaphore(state.config.tool_concurrency)

    async def run(call: ToolCall) -> None:
        async with room:
            edge = state.edges.get(call.function.name)
            if edge is None:
                state.begun[call.id] = state.tools.effect_of(call)
                answer = await answer_call(state, call, decisions.get(call.id))
            else:
                answer = await call_subagent(state, call, edge)
        if answer is not None and answer.asks:
            state.asking[call.id] = answer.asks
        elif answer is not None:
            emit_result(state, call.id, answer)

    try:
        if len(due) == 1:
            await run(due[0])
        else:
            async with asyncio.TaskGroup() as group:
                for call in due:
                    group.create_task(run(call))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        state.watch.tools_s += now_s() - started
    if handoffs:
        hand_over(state)


async def answer_call(state: "LoopState", call: ToolCall, decision: Decision | None) -> ToolAnswer:
    """Run a call whose start is recorded, or answer it in the place of its tool. `decision` is a person's."""
    if call.function.name == COMPLETE_GOAL and state.agent.goal is not None:
        return check_goal(call.function.arguments, state.agent.output)
    if call.function.name == FIND_TOOLS and state.tools.effect_of(call) is None:
        return find_tools(call.function.arguments, state.tools.specs)
    if decision is None:
        return await state.tools.call(call, _context(state, call), recorded=call.id in state.fresh)
    if not decision.approved:
        reason = f": {decision.reason}" if decision.reason else "."
        return ToolAnswer(f"Not approved{reason}", "not_approved")
    answer = await state.tools.call(call, _context(state, call), arguments=decision.arguments)
    if decision.arguments is None or answer.error == "bad_arguments" or not isinstance(answer.content, str):
        return answer
    return ToolAnswer(f"(Run with arguments a person changed.)\n{answer.content}", answer.error)


def _context(state: "LoopState", call: ToolCall) -> ToolContext:
    request = state.request

    def report(progress: Json) -> None:
        value = {"tool_call_id": call.id, **json_object(progress)}
        if state.journal.crowded:
            return  # backpressure: progress events are optional
        if state.fold.status == "running" and any(pending.id == call.id for pending in state.lane.pending):
            state.tell(TOOL_PROGRESS, value)

    return ToolContext(
        tenant=request.tenant,
        user=request.user,
        project=request.project,
        session=state.fold.session_id,
        run=state.fold.run_id,
        call_id=call.id,
        report=report,
        agent=state.agent.name,
        lane=state.lane.key,
        traceparent=under(request.traceparent, call_span(state.fold.run_id, call.id)),
    )


def decisions_of(state: "LoopState") -> dict[str, Decision]:
    """Return the approval decisions on calls of the previous run, by call id."""
    decisions: dict[str, Decision] = {}
    for entry in state.fold.resume:
        interrupt = state.fold.interrupts.get(entry.interrupt_id)
        if interrupt is not None and interrupt.tool_call_id is not UNSET:
            decisions[interrupt.tool_call_id] = _decision(entry, interrupt, state.fold.started_at_ms)
    return decisions


def _decision(entry: ResumeEntry, interrupt: Interrupt, answered_at_ms: int) -> Decision:
    if interrupt.reason == INPUT_REQUIRED:
        return Decision(
            True
        )  # the tool itself gets the answer, also a refusal: the gateway reads it from the log
    answered_at = datetime.fromtimestamp(answered_at_ms / 1000, UTC)
    if interrupt.expires_at is not UNSET and datetime.fromisoformat(interrupt.expires_at) < answered_at:
        return Decision(False, "the question has expired")
    if entry.status == "cancelled":
        return Decision(False, "the question was dismissed")
    payload = json_object(entry.payload)
    if (problem := answer_problem(entry)) is not None:
        return Decision(False, problem)
    return Decision(
        approved=payload.get("approved") is True,
        reason=str(payload.get("reason", "")),
        arguments=cast("dict[str, Json] | None", payload.get("editedArgs")),
    )


def interrupts_of(state: "LoopState") -> list[Interrupt]:
    """Return the interrupts that end the run: for each pending call of the lane its approval, or what its tool asks."""
    expires = datetime.now(UTC) + timedelta(seconds=state.config.approval_timeout_s)
    expires_at = expires.isoformat(timespec="seconds")
    asked: list[Interrupt] = []
    for call in state.lane.pending:
        name = call.function.name
        if call.id in state.asking:
            asked += [
                Interrupt(
                    id=input_id(call.id, state.fold.run_id, at),
                    reason=INPUT_REQUIRED,
                    message=question.message,
                    tool_call_id=call.id,
                    response_schema=question.response_schema,
                    expires_at=expires_at,
                    subagent_run_id=state.lane.key or UNSET,
                    metadata=UNSET if question.url is None else {"url": question.url},
                )
                for at, question in enumerate(state.asking[call.id])
            ]
        elif state.tools.asks(call):
            asked.append(
                Interrupt(
                    id=f"int_{id_body(call.id)}",
                    reason="tool_call",
                    message=f"{state.agent.name} wants to run {name}",
                    tool_call_id=call.id,
                    response_schema=_RESPONSE_SCHEMA,
                    expires_at=expires_at,
                    subagent_run_id=state.lane.key or UNSET,
                )
            )
    return asked
