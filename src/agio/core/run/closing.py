"""Builds the events that close open turns, calls and steps before a run ends. Pure functions of the fold.

The runner uses them to end its own runs. A gateway uses `closing_frame` to end orphaned runs.
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
    """Build the TOOL_CALL_RESULT event of a call; `error` goes into its metadata."""
    event = ToolCallResult(f"res_{id_body(call_id)}", call_id, content)
    if error is not None:
        event.metadata = {"error": error}
    return event


def take_back_events(fold: Fold) -> list[AgentEvent]:
    """Return the events that rewind an unfinished turn: its open calls end, then `agio.rewind`."""
    if fold.draft is None:
        return []
    ends = [ToolCallEnd(call_id) for call_id in fold.draft.open_calls()]
    return [*ends, Custom(REWIND, {"to_seq": fold.draft.from_seq})]


def keep_events(fold: Fold, why: str, error: str) -> list[AgentEvent]:
    """Return the events that keep an unfinished turn: its open calls end, and each call gets `why` as its result."""
    if fold.draft is None:
        return []
    ends = [ToolCallEnd(call_id) for call_id in fold.draft.open_calls()]
    return [*ends, *(result_event(call_id, why, error) for call_id in fold.draft.calls)]


def settle_events(
    calls: Sequence[ToolCall], why: str, error: str, acted: Collection[str]
) -> list[AgentEvent]:
    """Build the results of open calls. Calls in `acted` have effect "once" and may already have taken effect."""
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
    """Build the frame that ends an orphaned run: failed with the error `ended`, or cancelled. Updates the fold."""
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
    """Build the summary stored beside an ended run's log. `usage_unknown`: a model call did not report its usage."""
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
