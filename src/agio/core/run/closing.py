"""The events that close what is open in a run's log, so that it can end: pure, from the fold alone.

The runner ends its own runs with them; a gateway ends those nobody runs any more (`closing_frame`).
"""

from collections.abc import Collection, Sequence

from msgspec import UNSET

from agio.core.run.boundary import run_failed, run_finished
from agio.core.run.fold import Fold
from agio.core.run.metrics import wall_ms
from agio.core.store.repository import Outcome, Question, RunStatus, Totals
from agio.errors import AgioError
from agio.protocol.codec import encode
from agio.protocol.events import (
    REWIND,
    AgentEvent,
    CancelledOutcome,
    Custom,
    StepFinished,
    ToolCallEnd,
    ToolCallResult,
)
from agio.protocol.frames import Frame
from agio.protocol.ids import id_body
from agio.protocol.messages import Content, ToolCall, json_object


def result_event(call_id: str, content: Content, error: str | None = None) -> ToolCallResult:
    """Make the event of a call's result."""
    event = ToolCallResult(f"res_{id_body(call_id)}", call_id, content)
    if error is not None:
        event.metadata = {"error": error}
    return event


def take_back_events(fold: Fold) -> list[AgentEvent]:
    """Take back what was shown of an unfinished turn: close what is open, then `agio.rewind`."""
    if fold.draft is None:
        return []
    ends = [ToolCallEnd(call_id) for call_id in fold.draft.open_calls()]
    return [*ends, Custom(REWIND, {"to_seq": fold.draft.from_seq})]


def keep_events(fold: Fold, why: str, error: str) -> list[AgentEvent]:
    """Keep what was shown of an unfinished turn: its open calls end, and get a result that says why."""
    if fold.draft is None:
        return []
    ends = [ToolCallEnd(call_id) for call_id in fold.draft.open_calls()]
    return [*ends, *(result_event(call_id, why, error) for call_id in fold.draft.calls)]


def settle_events(
    calls: Sequence[ToolCall], why: str, error: str, acted: Collection[str]
) -> list[AgentEvent]:
    """Give open calls their results; those in `acted` must happen once and may have taken effect."""
    return [
        result_event(
            call.id,
            f"{why} {call.function.name} was under way: it is unknown whether it took effect.",
            "unknown",
        )
        if call.id in acted
        else result_event(call.id, why, error)
        for call in calls
    ]


def closing_frame(fold: Fold, epoch: int, ended: AgioError | None, acted: Collection[str] = ()) -> Frame:
    """Make the frame that ends a run nobody runs: cancelled, or failed with an error. The fold goes with it."""
    events: list[AgentEvent] = []
    seq = fold.seq

    def emit(event: AgentEvent) -> None:
        event.timestamp = wall_ms()
        own = {} if event.metadata is UNSET else event.metadata
        event.metadata = {**own, "run": fold.run_id, "seq": fold.seq + 1}
        fold.apply(event, fold.seq + 1)
        events.append(event)

    if ended is None:
        why, label = "Cancelled.", "cancelled"
        opened = keep_events(fold, why, label)
    else:
        why, label = "Not run: the run failed.", "not_run"
        opened = take_back_events(fold)
    for event in opened:
        emit(event)
    for event in settle_events(list(fold.pending), why, label, acted):
        emit(event)
    if fold.step_open:
        emit(StepFinished(f"step-{fold.step}"))
    if ended is None:
        emit(run_finished(fold, CancelledOutcome()))
    else:
        emit(run_failed(fold, ended.code, ended.message))
    payload = b"".join(encode(event) + b"\n" for event in events)
    return Frame(fold.run_id, epoch, seq + 1, len(events), payload)


def outcome_of(
    fold: Fold, status: RunStatus, cost: float | None = None, usage_unknown: bool = False
) -> Outcome:
    """What a run that has ended leaves beside its log. `usage_unknown`: a model call did not report its usage."""
    calls = {call.id: call.function for call in fold.pending}
    goal_met = json_object(fold.result).get("goal_met")
    return Outcome(
        messages=fold.kept,
        questions=[
            Question(interrupt, calls[interrupt.tool_call_id].name, calls[interrupt.tool_call_id].arguments)
            for interrupt in fold.interrupts.values()
            if interrupt.tool_call_id is not UNSET and interrupt.tool_call_id in calls
        ]
        if status == "interrupted"
        else (),
        pending=list(calls) if status == "completed" else (),
        goal_met=goal_met if isinstance(goal_met, bool) else None,
        totals=_totals(fold, cost, usage_unknown),
        ended_at=fold.ended_at_ms or None,
    )


def _totals(fold: Fold, cost: float | None, usage_unknown: bool) -> Totals:
    usage = fold.total_usage
    if usage_unknown and not usage.total:
        return Totals(fold.step, None, None, None, partial=True)
    return Totals(fold.step, usage.input, usage.output, cost, partial=usage_unknown)
