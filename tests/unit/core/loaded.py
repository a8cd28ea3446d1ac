"""Writes tests/wire/loaded.json: every good stream, and the conversation a page is given when it is loaded afterwards.

python -m tests.unit.core.loaded --write
"""

import asyncio
import sys
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, Struct, field

from agio.core.model import Usage, VendorTurn
from agio.core.run.closing import outcome_of
from agio.core.run.fold import Fold
from agio.core.run.lane import Lane
from agio.core.run.session_history import session_history
from agio.core.store.repository import RunInfo, RunLog, TurnRecord
from agio.gateway.routes.sessions.views import InterruptView, MessageView
from agio.protocol.codec import decode_event, encode
from agio.protocol.events import (
    HANDOFF,
    METRICS,
    AgentEvent,
    Custom,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    SubagentStarted,
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


class Runs:
    """The logs of a stream's runs, as `session_history` reads them."""

    def __init__(self) -> None:
        self.logs: dict[str, RunLog] = {}
        self._newest = ""

    def begin(self, event: RunStarted) -> RunInfo:
        """Add the run that an event begins."""
        place = json_object(event.metadata)
        parent = msgspec.convert(json_object(place.get("parent")).get("run"), str | None)
        before = self.logs.get(parent or "")
        branched = "branch" in place or (before is not None and before.info.branched)
        info = RunInfo(
            event.run_id, event.thread_id, "", "", "completed", 1, 0, 0, None, "", "", "", 0,
            parent_run_id=parent, branched=branched,
        )  # fmt: skip
        self.logs[event.run_id] = RunLog(info, b"")
        self._newest = event.run_id
        return info

    def add(self, entry: AgentEvent | TurnRecord) -> None:
        """Add an event or a turn record to the log of the newest run."""
        if log := self.logs.get(self._newest):
            events, turns = (b"", [entry]) if isinstance(entry, TurnRecord) else (encode(entry) + b"\n", [])
            self.logs[self._newest] = RunLog(log.info, log.payload + events, log.turns + turns)

    def path(self, run_id: str) -> set[str]:
        """Return the runs that lead to a run."""
        parent = self.logs[run_id].info.parent_run_id
        return {run_id, *(self.path(parent) if parent else ())}

    async def list_runs(
        self,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """Return the runs before one, newest first."""
        newest = [log.info for log in reversed(self.logs.values())]
        at = [info.run_id for info in newest].index(before) + 1 if before else 0
        return newest[at : at + limit]

    async def get_log(self, run_id: str) -> RunLog:
        """Return a run's log."""
        return self.logs[run_id]


def render() -> bytes:
    """Return the file as it should be."""
    cases = [_case(stream) for stream in read_streams("streams") + read_streams("branches")]
    return b"[\n" + b",\n".join(map(msgspec.json.encode, cases)) + b"\n]\n"


def _case(stream: Stream) -> Case:
    case = Case(stream.name, list(_placed(stream.events)))
    fold, runs = Fold(), Runs()
    for at, wire in enumerate(case.events):
        event = decode_event(msgspec.json.encode(wire))
        if isinstance(event, RunStarted) and runs.begin(event).branched:
            fold = asyncio.run(session_history(runs, event.thread_id, runs.logs[event.run_id].info))
            path = runs.path(event.run_id)
            case.messages = [shown for shown in case.messages if shown.run_id in path]
        runs.add(event)
        if lane := _ended_turn(fold, event):
            record = _record(fold, lane, _figures(case.events[at:], "step"))
            fold.apply_turn(record)
            runs.add(record)
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


def _ended_turn(fold: Fold, event: AgentEvent) -> Lane | None:
    """Return the lane whose model turn is over before this event: its record stands in between."""
    match event:
        case ToolCallResult() | StepFinished():
            key = event.subagent_run_id
        case Custom() if event.name in (METRICS, HANDOFF) or "tell_model" in json_object(event.value):
            key = event.subagent_run_id
        case SubagentStarted():
            key = event.parent_subagent_run_id
        case RunFinished():
            key = UNSET
        case _:
            return None
    lane = fold.lanes.get(key) if key else fold
    return lane if lane and lane.draft else None


def _record(fold: Fold, lane: Lane, figures: dict[str, Json]) -> TurnRecord:
    tokens = [msgspec.convert(figures.get(name, 0), int) for name in ("input_tokens", "output_tokens")]
    return TurnRecord(
        fold.run_id, lane.step, fold.seq, "demo", "end", Usage(*tokens), VendorTurn("demo", []), lane=lane.key
    )


def _figures(events: list[Wire], scope: str) -> dict[str, Json]:
    """Return the first metrics of a step, or the last of a run, among events."""
    told = [json_object(event["value"]) for event in events if event.get("name") == "agio.metrics"]
    found = [value for value in told if value["scope"] == scope]
    return {} if not found else found[0] if scope == "step" else found[-1]


def _end_run(case: Case, fold: Fold, figures: dict[str, Json]) -> None:
    """Add what the store keeps of a run, as its routes show it."""
    cost = msgspec.convert(figures.get("cost"), float | None)
    outcome = outcome_of(fold, fold.status)
    is_partial, usage = "usage_partial" in figures, fold.total_usage
    is_known = usage.total > 0 or not is_partial
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
            reason="tool_call",
            form=None,
            url=None,
        )
        for question in outcome.questions
    ]
    case.pending = list(outcome.pending)
    error = fold.error
    case.runs.append(
        LoadedRun(
            id=fold.run_id,
            status=fold.status,
            started_at=fold.started_at_ms,
            ended_at=outcome.ended_at,
            error_code=None if error is None else "error" if error.code is UNSET else error.code,
            error_message=None if error is None else error.message,
            steps=fold.last_step,
            input_tokens=usage.input if is_known else None,
            output_tokens=usage.output if is_known else None,
            cost=cost if is_known else None,
            usage_partial=is_partial,
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
