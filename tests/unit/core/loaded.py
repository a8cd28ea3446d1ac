"""Writes tests/wire/loaded.json: every good stream, and the conversation a page is given when it is loaded afterwards.

python -m tests.unit.core.loaded --write
"""

import sys
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, Struct, field

from agio.core.model import Usage, VendorTurn
from agio.core.run.closing import outcome_of
from agio.core.run.fold import Fold
from agio.core.store.repository import TurnRecord
from agio.gateway.routes.session_views import InterruptView, MessageView
from agio.protocol.codec import decode_event, encode
from agio.protocol.events import (
    METRICS,
    AgentEvent,
    Custom,
    RunError,
    RunFinished,
    StepFinished,
    ToolCallResult,
)
from agio.protocol.messages import Json, UserMessage, json_object
from tests.support.wire_examples import WIRE, Stream, Wire, read_streams

FILE = WIRE / "loaded.json"
_FOREVER = 1 << 40


class LoadedRun(Struct, kw_only=True):
    """What a page reads of a run beside its messages."""

    id: str
    status: str
    started_at: int
    ended_at: int | None
    error_code: Json
    error_message: str | None
    steps: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    usage_partial: bool


class Case(Struct):
    """A stream as it was followed, and what there is of it when it is over."""

    name: str
    events: list[Wire]
    messages: list[MessageView] = field(default_factory=list[MessageView])
    runs: list[LoadedRun] = field(default_factory=list[LoadedRun])
    interrupts: list[InterruptView] = field(default_factory=list[InterruptView])
    pending: list[str] = field(default_factory=list[str])


def render() -> bytes:
    """Return the file as it should be."""
    cases = [_case(stream) for stream in read_streams("streams")]
    return msgspec.json.format(msgspec.json.encode(cases), indent=1) + b"\n"


def _case(stream: Stream) -> Case:
    case = Case(stream.name, list(_placed(stream.events)))
    fold = Fold()
    for at, wire in enumerate(case.events):
        event = decode_event(msgspec.json.encode(wire))
        if fold.draft is not None and _ends_turn(event):
            fold.apply_turn(_record(fold, _figures(case.events[at:], "step")))
        fold.apply(event)
        if isinstance(event, (RunFinished, RunError)) and fold.run_id:
            _end_run(case, fold, _figures(case.events[:at], "run"))
    return case


def _placed(events: list[Wire]) -> Iterator[Wire]:
    """Give events what those of a log have, where they have it not.

    A time, their run and their number in it; a run is asked something, a call is of a message.
    """
    run, seq = "", 0
    for at, event in enumerate(events):
        run, seq = (str(event["runId"]), 1) if event["type"] == "RUN_STARTED" else (run, seq + 1)
        own: Wire = {"timestamp": 1000 * (at + 1)}
        if event["type"] == "RUN_STARTED":
            asked = [{"id": f"asked {run}", "role": "user", "content": "Hello"}]
            own["input"] = {"threadId": event["threadId"], "runId": run, "messages": asked}
        elif event["type"] == "TOOL_CALL_START":
            own["parentMessageId"] = f"calls {run}"
        place = {"run": run, "seq": seq} if run else {}
        yield {**own, **event, "metadata": {**place, **json_object(event.get("metadata"))}}


def _ends_turn(event: AgentEvent) -> bool:
    """Whether a model turn is over before this event: its record stands in between."""
    match event:
        case ToolCallResult() | StepFinished() | RunFinished():
            return True
        case Custom(name=name, value=value):
            return name == METRICS or "tell_model" in json_object(value)
        case _:
            return False


def _record(fold: Fold, figures: dict[str, Json]) -> TurnRecord:
    tokens = [msgspec.convert(figures.get(name, 0), int) for name in ("input_tokens", "output_tokens")]
    return TurnRecord(fold.run_id, fold.step, fold.seq, "demo", "end", Usage(*tokens), VendorTurn("demo", []))


def _figures(events: list[Wire], scope: str) -> dict[str, Json]:
    """Return the first metrics of a step, or the last of a run, among events."""
    told = [json_object(event["value"]) for event in events if event.get("name") == "agio.metrics"]
    found = [value for value in told if value["scope"] == scope]
    return {} if not found else found[0] if scope == "step" else found[-1]


def _end_run(case: Case, fold: Fold, figures: dict[str, Json]) -> None:
    """Add what the store keeps of a run, as its routes show it."""
    cost = msgspec.convert(figures.get("cost"), float | None)
    outcome = outcome_of(fold, fold.status, cost, "usage_partial" in figures)
    known = {shown.id for shown in case.messages}
    case.messages += [
        MessageView(
            id=message.id,
            run_id=fold.run_id,
            role=message.role,
            created_at=fold.started_at_ms if isinstance(message, UserMessage) else fold.ended_at_ms,
            pos=len(case.runs) + 1,
            message=Raw(encode(message)),
        )
        for message in outcome.messages
        if message.id not in known
    ]
    case.interrupts = [msgspec.structs.replace(asked, state="resolved") for asked in case.interrupts]
    case.interrupts += [
        InterruptView(
            id=question.interrupt.id,
            session_id=fold.session_id,
            run_id=fold.run_id,
            tool_call_id=question.interrupt.tool_call_id or "",
            tool=question.tool,
            arguments=question.arguments,
            message=question.interrupt.message or "",
            state="open",
            created_at=fold.ended_at_ms,
            expires_at=_FOREVER,
        )
        for question in outcome.questions
    ]
    case.pending = list(outcome.pending)
    totals, error = outcome.totals, fold.error
    assert totals is not None
    case.runs.append(
        LoadedRun(
            id=fold.run_id,
            status=fold.status,
            started_at=fold.started_at_ms,
            ended_at=outcome.ended_at,
            error_code=None if error is None else "error" if error.code is UNSET else error.code,
            error_message=None if error is None else error.message,
            steps=totals.steps,
            input_tokens=totals.input_tokens,
            output_tokens=totals.output_tokens,
            cost=totals.cost,
            usage_partial=totals.partial,
        )
    )


def main() -> None:
    """Say whether the file is current, or write it."""
    if "--write" in sys.argv:
        FILE.write_bytes(render())
    elif render() != FILE.read_bytes():
        sys.exit("tests/wire/loaded.json is not current: run python -m tests.unit.core.loaded --write")


if __name__ == "__main__":
    main()
