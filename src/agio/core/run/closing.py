"""Builds the events that close open turns, calls and steps before a run ends. Pure functions of the fold.

The runner uses them to end its own runs. A gateway uses `closing_frame` to end orphaned runs.
"""

from collections.abc import Collection, Iterator
from typing import TypeAlias

from msgspec import UNSET

from agio.core.run.boundary import run_failed, run_finished
from agio.core.run.fold import Fold
from agio.core.run.lane import Lane
from agio.core.run.metrics import wall_ms
from agio.core.store.repository import Charge, Outcome, Question, RunStatus
from agio.errors import AgioError
from agio.protocol.codec import encode
from agio.protocol.events import (
    REWIND,
    AgentEvent,
    CancelledOutcome,
    Custom,
    StepFinished,
    SubagentError,
    ToolCallEnd,
    ToolCallResult,
)
from agio.protocol.frames import Frame
from agio.protocol.ids import id_body
from agio.protocol.messages import Content, json_object

Why: TypeAlias = tuple[str, str]
"""Why open calls get no result of their own, in words, and the error code."""
CANCELLED: Why = ("Cancelled.", "cancelled")
FAILED: Why = ("Not run: the run failed.", "not_run")


def result_event(call_id: str, content: Content, error: str | None = None) -> ToolCallResult:
    """Build the TOOL_CALL_RESULT event of a call; `error` goes into its metadata."""
    event = ToolCallResult(f"res_{id_body(call_id)}", call_id, content)
    if error is not None:
        event.metadata = {"error": error}
    return event


def take_back_events(fold: Fold) -> list[AgentEvent]:
    """Return the events that rewind the unfinished turns of all lanes."""
    return [event for lane in fold.all_lanes for event in rewind_events(lane)]


def rewind_events(lane: Lane) -> list[AgentEvent]:
    """Return the events that rewind an unfinished turn: its open calls end, then `agio.rewind`."""
    if lane.draft is None:
        return []
    ends = [lane.own(ToolCallEnd(call_id)) for call_id in lane.draft.open_calls()]
    return [*ends, lane.own(Custom(REWIND, {"to_seq": lane.draft.from_seq}))]


def close_events(
    fold: Fold, outer: Lane, why: Why, acted: Collection[str], *, keep: bool, error: Why | None = None
) -> Iterator[AgentEvent]:
    """Yield the events that close a lane and those within it. Apply each to the fold before taking the next.

    An unfinished turn is rewound, or with `keep` kept. Open calls get `why` as their result; those in `acted` have
    effect "once" and may already have taken effect. Sub-agents end with `error`, by default `why`.
    """
    text, code = why
    for lane in reversed(fold.lanes_within(outer)):
        if lane.key and lane.state != "open":
            continue
        if keep and lane.draft is not None:
            yield from [lane.own(ToolCallEnd(call_id)) for call_id in lane.draft.open_calls()]
            yield from [lane.own(result_event(call_id, text, code)) for call_id in lane.draft.calls]
        else:
            yield from rewind_events(lane)
        for call in list(lane.pending):
            if call.id in acted:
                outcome = f"{text} {call.function.name} was under way: it is unknown whether it took effect."
                yield lane.own(result_event(call.id, outcome, "unknown"))
            else:
                yield lane.own(result_event(call.id, text, code))
        if lane.key:
            if lane.step_open:
                yield lane.own(StepFinished(f"step-{lane.step}"))
            yield SubagentError(lane.key, *(error or why))


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

    why = CANCELLED if ended is None else FAILED
    for event in close_events(fold, fold, why, acted, keep=ended is None):
        emit(event)
    if fold.step_open:
        emit(StepFinished(f"step-{fold.step}"))
    if ended is None:
        emit(run_finished(fold, CancelledOutcome()))
    else:
        emit(run_failed(fold, ended.code, ended.message))
    payload = b"".join(encode(event) + b"\n" for event in events)
    return Frame(fold.run_id, epoch, seq + 1, len(events), payload)


def outcome_of(fold: Fold, status: RunStatus) -> Outcome:
    """Build the summary stored beside an ended run's log."""
    calls = {call.id: call.function for call in fold.open_calls}
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
        active_agent=fold.agent,
        needed=fold.needed,
        goal_met=goal_met if isinstance(goal_met, bool) else None,
        steps=fold.last_step,
        ended_at=fold.ended_at_ms or None,
    )


def last_charge(fold: Fold, cost: float | None, *, usage_unknown: bool) -> Charge:
    """Return the charge of a run's last append, which adds what no other append has: `cost` for no tokens, or nothing.

    `usage_unknown`: a model call did not report its usage.
    """
    if fold.usage or usage_unknown:
        return Charge(partial=usage_unknown)
    return Charge(0, 0, cost)
