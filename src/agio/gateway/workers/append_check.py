"""Checks a worker's appends: they concern the claimed run, and every reader can decode them. See recorder.py.

A check costs about 0.7 us per event, less than a thirtieth of a run.
"""

from collections.abc import Sequence
from math import isfinite

import msgspec
from msgspec import UNSET, UnsetType

from agio.core.log_level import KNOWN, PLAIN
from agio.core.run.answers import input_id
from agio.core.run.closing import outcome_of
from agio.core.run.fold import Fold
from agio.core.store.repository import Append, Charge, Outcome, RunInfo, RunInput, RunStatus
from agio.core.tool import INPUT_REQUIRED
from agio.errors import StoreError
from agio.protocol.events import (
    INPUT,
    REWIND,
    AgentEvent,
    CancelledOutcome,
    Custom,
    InterruptOutcome,
    MessagesSnapshot,
    RunError,
    RunFinished,
    RunStarted,
    ToolCallArgs,
    ToolCallChunk,
    ToolCallEnd,
    ToolCallStart,
)
from agio.protocol.ids import id_body
from agio.protocol.messages import json_object

ESCAPED = 8
"""How many times `max_event_bytes` an event's JSON may take: escaping turns one byte into six."""
_MOST = 10**12
"""The limit of a charge's tokens and cost: sums over many of them stay within 64 bits."""
_REFUSED = frozenset({RunStarted, RunFinished, RunError, MessagesSnapshot, ToolCallChunk})
"""Only the gateway writes RUN_STARTED; the two ends come with `end`; the others rewrite published calls."""

_decode_lines = msgspec.json.Decoder(AgentEvent).decode_lines
_encode_lines = msgspec.json.Encoder().encode_lines


def check_append(info: RunInfo, write: Append, limit_bytes: int) -> None:
    """Refuse an append that does not fit the claim or could not be decoded.

    Raises StoreError `stale_epoch`, `invalid_append`.
    """
    frame, end = write.frame, write.end
    if frame.run_id != info.run_id or frame.epoch != info.epoch:
        raise StoreError("stale_epoch", f"The claim is not of run {frame.run_id}, epoch {frame.epoch}.")
    if write.create is not None:
        raise _invalid(info, "it makes a run")
    for turn in write.turns:
        if turn.run_id != info.run_id or not 0 < turn.seq <= frame.last_seq:
            raise _invalid(info, "a turn is not of this run")
    if write.charge is not None and not _is_plausible(write.charge):
        raise _invalid(info, "its charge is out of bounds")
    if not PLAIN <= write.level <= KNOWN:
        raise _invalid(info, "no reader knows its log level")
    events = _events(info, write, limit_bytes)
    if end is None:
        if write.outcome is not None or write.error_code is not None or write.error_message is not None:
            raise _invalid(info, "what a run ends with came before its end")
    else:
        _check_end(info, write, events.pop() if events else None)
    run_id, seq = info.run_id, frame.first_seq
    for event in events:
        carried = event.metadata
        if type(event) in _REFUSED:
            raise _invalid(info, f"a worker does not write {event.type} here")
        if type(event) is Custom and event.name == INPUT and not write.consumed:
            raise _invalid(info, "a worker does not speak for the user")
        if carried is not UNSET and (carried.get("seq", seq) != seq or carried.get("run", run_id) != run_id):
            raise _invalid(info, f"event {seq} carries another place")
        seq += 1


def _events(info: RunInfo, write: Append, limit_bytes: int) -> list[AgentEvent]:
    """Decode a frame. It must equal our own encoding of its events, so that all readers decode the same."""
    frame = write.frame
    payload = frame.payload
    if len(payload) > limit_bytes and max(map(len, payload.split(b"\n"))) > limit_bytes:
        raise _invalid(info, f"an event has more than {limit_bytes} bytes")
    try:
        events = _decode_lines(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _invalid(info, "its lines are not events") from error
    if len(events) != frame.count or _encode_lines(events) != payload:
        raise _invalid(info, f"it does not hold {frame.count} events, each a line")
    return events


def _check_end(info: RunInfo, write: Append, last: AgentEvent | None) -> None:
    match last:
        case RunError():
            status: RunStatus = "failed"
            said = (None if last.code is UNSET else last.code, last.message)
        case RunFinished(run_id=info.run_id, thread_id=info.session_id):
            status, said = _status_of(last), (None, None)
        case _:
            raise _invalid(info, "its last event does not end the run")
    carried = {} if last.metadata is UNSET else last.metadata
    place = (info.run_id, write.frame.last_seq)
    if (carried.get("run", place[0]), carried.get("seq", place[1])) != place:
        raise _invalid(info, "its last event carries another place")
    if write.end != status or (write.error_code, write.error_message) != said:
        raise _invalid(info, f"it ends as {write.end}, and its last event says {status}")
    outcome = write.outcome or Outcome()
    if outcome.questions and status != "interrupted":
        raise _invalid(info, "only an interrupted run asks")
    counts = (outcome.steps or 0, outcome.needed or 0)
    if not all(0 <= count <= _MOST for count in counts) or not 0 <= (outcome.ended_at or 0) < 2**53:
        raise _invalid(info, "its totals are out of bounds")


def _status_of(last: RunFinished) -> RunStatus:
    match last.outcome:
        case InterruptOutcome():
            return "interrupted"
        case CancelledOutcome():
            return "cancelled"
        case _:
            return "completed"


def _is_plausible(charge: Charge) -> bool:
    counters = (charge.input_tokens or 0, charge.output_tokens or 0, charge.cost or 0)
    return all(isfinite(figure) and 0 <= figure <= _MOST for figure in counters)


def check_inputs(info: RunInfo, write: Append, waiting: Sequence[RunInput]) -> None:
    """Refuse a frame whose input of the user is not what waits, in order. Raises StoreError `invalid_append`."""
    events = _decode_lines(write.frame.payload)
    given = [event.value for event in events if isinstance(event, Custom) and event.name == INPUT]
    expected = [{"idx": each.idx, "message": each.message} for each in waiting if each.idx <= write.consumed]
    if not expected or expected[-1]["idx"] != write.consumed or msgspec.to_builtins(expected) != given:
        raise _invalid(info, "its input is not the user's")


def checked_questions(info: RunInfo, fold: Fold, events: list[AgentEvent], given: Outcome) -> Outcome:
    """Return the outcome of an interrupted run, with messages and questions derived from its log.

    `events` are all events of the run; `fold` has folded them. A person approves the call that the log shows, so each
    approval must concern a call of this run that was shown exactly once. What a tool asks may concern a call of an
    earlier run; the recorder compares it with what the tool asked. Raises StoreError `invalid_append`.
    """
    derived = outcome_of(fold, "interrupted")
    shown = _shown_calls(info, events)
    asked = list(derived.questions)
    if len(asked) != len(fold.interrupts) or list(given.questions) != asked:
        raise _invalid(info, "its questions are not those of its log")
    for question in asked:
        call_id = str(question.interrupt.tool_call_id)
        known = shown.get(call_id)
        if question.interrupt.reason == INPUT_REQUIRED:
            if not question.interrupt.id.startswith(input_id(call_id, info.run_id, 0)[:-1]):
                raise _invalid(info, "a question of a tool is not of this run")
            if known is None:
                continue  # a call of an earlier run, which goes on: the fold has it from there
        elif question.interrupt.id != f"int_{id_body(call_id)}":
            raise _invalid(info, "a question is not about the call it names")
        if not call_id.startswith(f"call_{id_body(info.run_id)}_"):
            raise _invalid(info, "a question is not about a call of its own")
        if known is None or (known.name, "".join(known.arguments)) != (question.tool, question.arguments):
            raise _invalid(info, "a question is not about the call that was shown")
    return msgspec.structs.replace(given, messages=derived.messages, questions=derived.questions)


class _ShownCall(msgspec.Struct):
    name: str
    seq: int
    lane: str | UnsetType
    arguments: list[str] = []
    ended: bool = False


def _shown_calls(info: RunInfo, events: list[AgentEvent]) -> dict[str, _ShownCall]:
    """Return the calls a person sees. Refuse calls that begin twice or continue after their end: clients differ."""
    calls: dict[str, _ShownCall] = {}
    for seq, event in enumerate(events, 1):
        match event:
            case ToolCallStart(tool_call_id=call_id):
                if call_id in calls:
                    raise _invalid(info, f"the call {call_id} is shown twice")
                calls[call_id] = _ShownCall(event.tool_call_name, seq, event.subagent_run_id)
            case ToolCallArgs(tool_call_id=call_id) | ToolCallEnd(tool_call_id=call_id):
                call = calls.get(call_id)
                if call is None or call.ended or call.lane != event.subagent_run_id:
                    raise _invalid(info, f"the call {call_id} continues after its end")
                if isinstance(event, ToolCallArgs):
                    call.arguments.append(event.delta)
                else:
                    call.ended = True
            case Custom(name=name) if name == REWIND:
                to_seq = json_object(event.value).get("to_seq")
                if not isinstance(to_seq, int) or to_seq >= seq:
                    raise _invalid(info, "a rewind leads nowhere")
                lane = event.subagent_run_id
                calls = {
                    call_id: call
                    for call_id, call in calls.items()
                    if call.lane != lane or call.seq <= to_seq
                }
            case _:
                pass
    return calls


def _invalid(info: RunInfo, why: str) -> StoreError:
    return StoreError("invalid_append", f"This write does not fit the claim of run {info.run_id}: {why}.")
