"""Builds a run's trace: folds its log, and notes when calls, turns and agents begin and end.

Pure: the same log gives the same trace, with the same ids, in every process.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET, MsgspecError, Struct, convert, field, json, structs

from agio.core.model import Usage
from agio.core.run.fold import Compacted, Fold
from agio.core.run.lane import Lane
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunInfo, RunLog, TurnRecord
from agio.core.trace_context import call_span, model_span, own_traceparent, root_span, span_id
from agio.errors import UserError
from agio.protocol import events
from agio.protocol.codec import decode_event
from agio.protocol.events import (
    AgentEvent,
    CancelledOutcome,
    Custom,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageChunk,
    ToolCallResult,
)
from agio.protocol.frames import TEXT
from agio.protocol.messages import (
    AssistantMessage,
    FunctionCall,
    Json,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
    json_object,
    text_of,
)
from agio.telemetry.export.trace import (
    AgentWork,
    GuardrailWork,
    HandoffWork,
    ModelWork,
    Span,
    SpanError,
    TaskWork,
    ToolWork,
    Trace,
    TurnWork,
    Work,
)


def build_trace(
    log: RunLog, definition: AgentRecord | None, history: Sequence[Message] = (), status: str = ""
) -> Trace:
    """Build the trace of an ended run. `history` are the messages before it. Raises StoreError `store_corrupt`.

    Without the run's definition, its agents have no tools and no instructions.
    """
    builder = _Builder(log.info, definition, history)
    waiting = deque(sorted(log.turns, key=lambda turn: turn.seq))
    try:
        for seq, event in _events(log.payload):
            builder.take(event, seq)
            while waiting and waiting[0].seq <= seq:
                builder.take_turn(waiting.popleft())
    except (LookupError, MsgspecError, UserError) as error:
        raise log.damaged(f"{type(error).__name__}: its events do not fit each other.") from error
    info = log.info
    return Trace(
        run_id=info.run_id,
        session_id=info.session_id,
        tenant=info.tenant,
        user=info.user,
        agent=info.agent,
        status=status or info.status,
        traceparent=info.traceparent or own_traceparent(info.run_id),
        answers=info.parent_run_id or "" if is_answer(log) else "",
        spans=builder.spans,
    )


_TAKEN_OVER = SpanError("taken_over", "The process was lost, and the call was made again.")
_UNFINISHED = SpanError("unfinished", "The call did not end.")


def is_answer(log: RunLog) -> bool:
    """Whether a run answers questions about calls of an earlier one. Raises StoreError `store_corrupt`."""
    given = log.input()
    return given is not None and (given.resume is not UNSET or any(map(_is_result, given.messages)))


def _is_result(message: Message) -> bool:
    return isinstance(message, ToolMessage)


_DELTA = re.compile(rb'"delta":"([^"\\]*(?:\\.[^"\\]*)*)"')


def _events(payload: bytes) -> Iterator[tuple[int, AgentEvent]]:
    """Yield the events of a log with their numbers. Pieces of one text that follow each other are one event."""
    lines, at = payload.split(b"\n"), 0
    while at < len(lines) - 1:
        event, end = decode_event(lines[at]), at + 1
        if isinstance(event, TextMessageChunk):
            same = b'"messageId":"%b"' % str(event.message_id).encode()
            while lines[end].startswith(TEXT):
                end += 1
            text = b"\n".join(lines[at:end])
            if text.count(same) < end - at:  # texts of several agents at once
                end = at + 1
            elif end > at + 1:
                pieces = _DELTA.findall(text)
                event.delta = json.decode(b'"%b"' % b"".join(pieces), type=str)
                event.timestamp = decode_event(lines[end - 1]).timestamp
        yield end, event
        at = end


class _OpenLane(Struct):
    """What is open in a lane."""

    task: Span
    agent: Span | None = None
    turn: Span | None = None
    turns: int = 0
    call_at: int = 0
    """When the current model call began."""
    tries: int = 0
    """The calls of the step that broke off before it."""
    lost_at: int = 0
    """When its output was taken back; 0: it was not."""
    model: Span | None = None
    """The newest model call that was answered."""
    usage: Usage = Usage()
    turn_usage: Usage = Usage()
    calls: int = 0
    handed: set[str] = field(default_factory=set[str])
    """The calls that handed over: they are no tool calls."""


class _Builder:
    def __init__(self, info: RunInfo, definition: AgentRecord | None, history: Sequence[Message]) -> None:
        self._info = info
        agents = [] if definition is None else [definition, *definition.team]
        self._agents = {agent.name: agent for agent in agents}
        main, inner = _by_lane(history)
        self.fold = Fold(main)
        for key, messages in inner.items():
            self.fold.lanes[key] = Lane(key, messages)
        self._open: dict[str, _OpenLane] = {}
        self.spans: list[Span] = []
        self._seq = 0
        self._before = self._now = info.created_at
        self._turn_of: dict[str, str] = {}
        """The turns that requested calls, by call."""
        self._calls = 0
        self._told_calls: int | None = None
        """How many model calls the run's last process says it made."""

    def take(self, event: AgentEvent, seq: int) -> None:
        """Take the next event of the log."""
        self._seq = seq
        if event.timestamp is not UNSET:
            self._before, self._now = self._now, event.timestamp
        match event:
            case ToolCallResult():
                self._end_call(event)
            case Custom():
                self._take_custom(event)
            case StepFinished():
                self._end_turn(event.subagent_run_id or "")
            case SubagentFinished():
                self._end_lane(event.subagent_run_id)
            case SubagentError(message=words, code=code):
                self._end_lane(event.subagent_run_id, SpanError(code or "failed", words))
            case RunFinished(outcome=CancelledOutcome()):
                self._end_run(SpanError("cancelled", "The run was cancelled."))
            case RunFinished():
                self._end_run(None)
            case RunError(message=words, code=code):
                self._end_run(SpanError(code or "failed", words))
            case _:
                pass
        self.fold.apply(event, seq)
        match event:
            case RunStarted():
                self._begin_lane("", self._info.agent, root_span(self._info.run_id), "")
                self._begin_agent("", self.fold.agent or self._info.agent)
            case SubagentStarted():
                self._begin_subagent(event)
            case StepStarted():
                self._begin_turn(event.subagent_run_id or "")
            case _:
                pass

    def take_turn(self, record: TurnRecord) -> None:
        """Take the record of a model turn that is complete."""
        lane, open_lane = self.fold.lane(record.lane), self._open[record.lane]
        self._lose_call(record.lane)
        asked, before = list(lane.shown), len(lane.messages)
        if lane.summary is not None:
            asked.insert(0, UserMessage(id="summary", content=lane.summary.text))
        self.fold.apply_turn(record)
        agent = self._agents.get(_name(open_lane))
        work = ModelWork(
            model=record.model,
            wire=record.vendor.wire,
            instructions="" if agent is None else agent.system_prompt,
            input=asked,
            output=lane.messages[before:],
            stop=record.stop,
            usage=record.usage,
            digest=record.digest,
            temperature=None if agent is None else agent.temperature,
        )
        open_lane.model = self._add_model(open_lane, work, lane.step)
        if open_lane.turn is not None:
            self._turn_of.update(dict.fromkeys((call.id for call in lane.pending), open_lane.turn.id))
        self._count(record.lane, record.usage)

    # Beginnings

    def _begin_lane(self, key: str, name: str, span: str, parent: str) -> None:
        self._open[key] = _OpenLane(Span(span, parent, TaskWork(name), self._now, self._now))

    def _begin_agent(self, key: str, name: str) -> None:
        open_lane, agent = self._open[key], self._agents.get(name)
        work = AgentWork(name)
        if agent is not None:
            work = AgentWork(
                name,
                agent.id,
                [
                    *(tool.name for tool in agent.tools),
                    *(each.tool or f"ask_{each.agent}" for each in agent.handoffs if each.mode == "tool"),
                ],
                [each.agent for each in agent.handoffs if each.mode == "handoff"],
                "str" if agent.output_schema is None else str(agent.output_schema.get("title", "object")),
                f"{agent.model_provider}:{agent.model_name}",
            )
        span = span_id(self._info.run_id, "agent", key, self.fold.seq)
        open_lane.agent = Span(span, open_lane.task.id, work, self._now, self._now)

    def _begin_subagent(self, event: SubagentStarted) -> None:
        key, run_id = event.subagent_run_id, self._info.run_id
        call_id = event.parent_tool_call_id or ""
        parent = call_span(run_id, call_id) if call_id else root_span(run_id)
        self._begin_lane(key, event.name, span_id(run_id, "task", key), parent)
        self._begin_agent(key, event.name)

    def _begin_turn(self, key: str) -> None:
        open_lane, lane = self._open[key], self.fold.lane(key)
        if lane.agent and open_lane.agent is not None and lane.agent != _name(open_lane):
            self._end_agent(open_lane)
            self._begin_agent(key, lane.agent)
        open_lane.turns += 1
        open_lane.call_at, open_lane.tries, open_lane.lost_at = self._now, 0, 0
        open_lane.model = None
        parent = open_lane.task.id if open_lane.agent is None else open_lane.agent.id
        work = TurnWork(open_lane.turns, _name(open_lane))
        span = span_id(self._info.run_id, "turn", lane.step)
        open_lane.turn = Span(span, parent, work, self._now, self._now)

    # Ends

    def _take_custom(self, event: Custom) -> None:
        key = event.subagent_run_id or ""
        value, open_lane = json_object(event.value), self._open.get(key)
        if open_lane is None:
            return
        model = open_lane.model
        match event.name:
            case events.REWIND:
                self._lose_call(key)
                open_lane.lost_at = self._now
            case events.ERROR if "attempt" in value:
                self._lose_call(key, SpanError(str(value.get("code")), str(value.get("message"))))
                open_lane.tries = self.fold.lane(key).tries + 1
                open_lane.call_at = self._now + _whole(value.get("retry_in_ms"))
            case events.METRICS if value.get("scope") == "run":
                self._told_calls = _whole(value.get("model_calls"))
            case events.METRICS if model is not None and "first_token_ms" in value:
                if isinstance(model.work, ModelWork):
                    model.work = structs.replace(model.work, first_token_ms=_whole(value["first_token_ms"]))
            case events.HANDOFF:
                self._add_handoff(open_lane, value)
            case events.COMPACTED:
                self._add_summary(key, value)
            case "agio.guardrail":
                work = GuardrailWork(str(value.get("check")), value.get("action") != "pass")
                self._add_instant(open_lane, span_id(self._info.run_id, "guardrail", self._seq), work)
            case _:
                pass

    def _lose_call(self, key: str, error: SpanError | None = None) -> None:
        """Add the model call that broke off. Without an error, only one whose output was taken back before."""
        open_lane = self._open[key]
        if not open_lane.lost_at and error is None:
            return
        end_ms = open_lane.lost_at or self._now
        work = ModelWork(self._model_of(open_lane))
        self._add_model(open_lane, work, self.fold.lane(key).step, end_ms, error or _TAKEN_OVER)
        self._calls += 1
        open_lane.call_at, open_lane.lost_at = end_ms, 0
        open_lane.tries = self.fold.lane(key).tries

    def _add_model(
        self,
        open_lane: _OpenLane,
        work: ModelWork,
        step: int,
        end_ms: int = 0,
        error: SpanError | None = None,
    ) -> Span:
        span = model_span(self._info.run_id, step, open_lane.tries)
        place, end_ms = self._place(open_lane), end_ms or self._now
        return self._add(Span(span, place, work, min(open_lane.call_at, end_ms), end_ms, error))

    def _add_handoff(self, open_lane: _OpenLane, value: Mapping[str, Json]) -> None:
        giver, taker, call = (str(value.get(name, "")) for name in ("from", "to", "call"))
        open_lane.handed.add(call)
        span = span_id(self._info.run_id, "handoff", self.fold.seq)
        self._add_instant(open_lane, span, HandoffWork(giver, taker))

    def _add_summary(self, key: str, value: Mapping[str, Json]) -> None:
        """Add the model call that summarised older messages, which began with the event before."""
        summary = convert(value, Compacted)
        output = AssistantMessage(id="", content=summary.text)
        work = ModelWork(summary.model, output=[output], stop="end", usage=summary.usage)
        span = span_id(self._info.run_id, "summary", self._seq)
        self._open[key].call_at = self._now
        self._add(Span(span, self._place(self._open[key]), work, self._before, self._now))
        self._count(key, summary.usage)

    def _end_call(self, event: ToolCallResult) -> None:
        key, call = self._call_of(event)
        open_lane = self._open.get(key)
        if call is None or open_lane is None or call.id in open_lane.handed:
            return
        error = None if event.metadata is UNSET else event.metadata.get("error")
        output = text_of(event.content)
        failed = SpanError(error, output) if isinstance(error, str) else None
        self._add_call(key, call, output, failed)

    def _add_call(self, key: str, call: ToolCall, output: str | None, error: SpanError | None = None) -> None:
        open_lane, function = self._open[key], call.function
        asked_in = self._turn_of.get(call.id)
        began_at = None if call.metadata is UNSET else call.metadata.get("began_at")
        # A call of an earlier run belongs to no turn of this one, and begins with its answer.
        start_ms = began_at if asked_in and isinstance(began_at, int) else open_lane.task.start_ms
        server = self._server_of(open_lane, function.name)
        work = ToolWork(function.name, call.id, function.arguments, output, server)
        span = call_span(self._info.run_id, call.id)
        place = asked_in or self._agent_of(open_lane)
        self._add(Span(span, place, work, min(start_ms, self._now), self._now, error))

    def _call_of(self, event: ToolCallResult) -> tuple[str, ToolCall | None]:
        """Return the call that a result is of, with its lane."""
        for lane in self.fold.all_lanes:
            for call in lane.pending:
                if call.id == event.tool_call_id:
                    return lane.key, call
            if lane.draft is not None and (drafted := lane.draft.calls.get(event.tool_call_id)) is not None:
                function = FunctionCall(drafted.name, "".join(drafted.arguments))
                return lane.key, ToolCall(drafted.id, function)
        return "", None

    def _end_turn(self, key: str, error: SpanError | None = None) -> None:
        open_lane = self._open[key]
        if open_lane.turn is None:
            return
        if open_lane.model is None and (open_lane.lost_at or self._may_have_called):
            self._lose_call(key, error or _UNFINISHED)
        turn, open_lane.turn = open_lane.turn, None
        turn.end_ms = self._now
        turn.work = TurnWork(open_lane.turns, _name(open_lane), open_lane.turn_usage)
        open_lane.turn_usage = Usage()
        self._add(turn)

    def _end_agent(self, open_lane: _OpenLane, error: SpanError | None = None) -> None:
        if open_lane.agent is not None:
            open_lane.agent.end_ms, open_lane.agent.error = self._now, error
            self._add(open_lane.agent)
        open_lane.agent = None

    def _end_lane(self, key: str, error: SpanError | None = None) -> None:
        open_lane = self._open.get(key)
        if open_lane is None:
            return
        self._end_turn(key, error)
        self._end_agent(open_lane, error)
        task = open_lane.task
        task.end_ms, task.error = self._now, error
        task.work = TaskWork(_name_of(task), open_lane.usage, open_lane.calls)
        self._add(task)
        del self._open[key]

    def _end_run(self, error: SpanError | None) -> None:
        """Close everything. Calls that wait for a person or a client get spans without a result."""
        answered = {lane.call_id for lane in self.fold.lanes.values() if lane.state != "suspended"}
        for lane in self.fold.all_lanes:
            for call in lane.pending:
                if lane.key in self._open and call.id not in answered:
                    self._add_call(lane.key, call, None)
        for key in reversed(list(self._open)):
            self._end_lane(key, error)

    def _count(self, key: str, usage: Usage) -> None:
        """Count a model call in its lane, and in those of the agents that called it."""
        self._calls += 1
        for each in self._around(key):
            each.usage, each.turn_usage = each.usage + usage, each.turn_usage + usage
            each.calls += 1

    # Parts

    @property
    def _may_have_called(self) -> bool:
        """Whether a step without an answer has called its model, as far as the log says."""
        return self._told_calls is None or self._told_calls > self._calls

    def _around(self, key: str) -> Iterator[_OpenLane]:
        """Yield the lanes of a model call: its own, and those of the agents that called it."""
        while True:
            if (open_lane := self._open.get(key)) is not None:
                yield open_lane
            if not key:
                return
            key = self.fold.lane(key).parent

    def _place(self, open_lane: _OpenLane) -> str:
        return self._agent_of(open_lane) if open_lane.turn is None else open_lane.turn.id

    def _agent_of(self, open_lane: _OpenLane) -> str:
        return open_lane.task.id if open_lane.agent is None else open_lane.agent.id

    def _model_of(self, open_lane: _OpenLane) -> str:
        agent = self._agents.get(_name(open_lane))
        return self._info.model if agent is None else f"{agent.model_provider}:{agent.model_name}"

    def _server_of(self, open_lane: _OpenLane, tool: str) -> str:
        agent = self._agents.get(_name(open_lane))
        tools = [] if agent is None else agent.tools
        return next((each.mcp.server_id for each in tools if each.name == tool and each.mcp is not None), "")

    def _add_instant(self, open_lane: _OpenLane, span: str, work: Work) -> None:
        self._add(Span(span, self._place(open_lane), work, self._now, self._now))

    def _add(self, span: Span) -> Span:
        self.spans.append(span)
        return span


def _by_lane(history: Sequence[Message]) -> tuple[list[Message], dict[str, list[Message]]]:
    """Split messages into those of the agent and those of each sub-agent."""
    inner: dict[str, list[Message]] = {}
    main: list[Message] = []
    for message in history:
        key = message.subagent_run_id
        (main if key is UNSET or not key else inner.setdefault(key, [])).append(message)
    return main, inner


def _name(open_lane: _OpenLane) -> str:
    work = None if open_lane.agent is None else open_lane.agent.work
    return work.name if isinstance(work, AgentWork) else ""


def _name_of(task: Span) -> str:
    return task.work.name if isinstance(task.work, TaskWork) else ""


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0
