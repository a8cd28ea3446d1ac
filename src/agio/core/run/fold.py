"""Folds events and turn records into messages and run state. No other module interprets the log.

The loop folds the events it emits; replay and crash recovery fold stored events. All three reach the same state.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET, structs

from agio.core.handoff import Handoff
from agio.core.model import Usage, VendorTurn
from agio.core.run.lane import CallDraft, Lane
from agio.core.run.metrics import usage_by_model
from agio.core.store.repository import RunLog, RunStatus, TurnRecord
from agio.protocol.events import (
    CITATIONS,
    COMPACTED,
    ERROR,
    HANDOFF,
    INPUT,
    NOTICE,
    REWIND,
    AgentEvent,
    CancelledOutcome,
    Custom,
    Interrupt,
    InterruptOutcome,
    MessagesSnapshot,
    ReasoningMessageChunk,
    ReasoningMessageContent,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    SubagentSuspended,
    TextMessageChunk,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    seq_of,
)
from agio.protocol.messages import (
    AssistantMessage,
    Json,
    Message,
    ResumeEntry,
    RunAgentInput,
    ToolCall,
    ToolMessage,
    UserMessage,
    json_object,
)

SLICE_BYTES = 32 * 1024
"""How much of a log is folded in one slice: about one millisecond of work."""


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """The value of `agio.compacted`: a summary that replaces the older part of a conversation for the model."""

    text: str
    through_id: str
    """The newest message that it stands for."""
    kept_ids: list[str]
    """The messages up to there that the model still sees."""
    messages: int
    """How many messages the summary stands for."""
    model: str
    usage: Usage = Usage()


class Fold(Lane):
    """The state of a thread and of its newest run, after the events applied so far.

    It is the lane of the run's agent, and keeps those of its sub-agents. Start from the thread's earlier `messages`
    and `vendor` turns, or start empty and apply the whole thread.
    """

    def __init__(self, messages: Sequence[Message] = (), vendor: dict[str, VendorTurn] | None = None) -> None:
        super().__init__("", messages)
        self.vendor |= vendor or {}
        self.lanes: dict[str, Lane] = {}
        """The lanes of the thread's sub-agents, by key, in the order they began."""
        self.interrupts: dict[str, Interrupt] = {}
        self._reset("", "", 0)

    def _begin(self, run_id: str, session_id: str, seq: int) -> None:
        self.begin_run()
        for lane in self.lanes.values():
            lane.begin_run()
        self._reset(run_id, session_id, seq)

    def _reset(self, run_id: str, session_id: str, seq: int) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.started_at_ms = 0
        self.status: RunStatus = "running"
        self.seq = seq
        self.last_step = 0
        """The number of steps that the run has begun, over all lanes."""
        self.inputs = 0
        """The number of the newest input that arrived during the run."""
        self.lanes_begun = 0
        """The number of sub-agents that began in the run."""
        self.handoffs = 0
        """The number of handoffs in the run."""
        self.usage: dict[str, Usage] = {}
        self.uncharged: list[tuple[str, Usage]] = []
        """The usage of model calls, by model, that no append has taken yet."""
        self.usage_unknown = False
        """Whether a model call of the run began to answer and did not report its usage."""
        self.result: Json = UNSET
        self.error: RunError | None = None
        self.ended_at_ms = 0
        self.resume: list[ResumeEntry] = []
        self.input: RunAgentInput | None = None

    @property
    def total_usage(self) -> Usage:
        """The token usage of all models in the newest run."""
        return sum(self.usage.values(), Usage())

    @property
    def all_lanes(self) -> list[Lane]:
        """All lanes: the agent's first, each sub-agent's after its caller's."""
        return [self, *self.lanes.values()]

    def lanes_within(self, outer: Lane) -> list[Lane]:
        """Return a lane and those of the sub-agents that were called in it, at any depth, in the order they began."""
        found = {outer.key: outer}
        for lane in self.lanes.values():
            if lane.parent in found:
                found[lane.key] = lane
        return list(found.values())

    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls of all lanes that wait for a result, other than those that a sub-agent answers."""
        if not self.lanes:
            return self.pending
        answered = {lane.call_id for lane in self.lanes.values()}
        return [call for lane in self.all_lanes for call in lane.pending if call.id not in answered]

    @property
    def kept(self) -> list[Message]:
        """This run's messages as stored, those of a sub-agent after the call that it answers."""
        return self.woven(lambda lane: lane.own_messages)

    def woven(self, part: Callable[[Lane], list[Message]]) -> list[Message]:
        """Join a part of every lane's messages, each sub-agent's after the call that it answers."""
        if not self.lanes:
            return part(self)
        parts = {lane.key: list(part(lane)) for lane in self.all_lanes}
        for lane in reversed(self.lanes.values()):
            caller = parts[lane.parent]
            # A call that is not in this part is of an earlier run; a sub-agent without a call comes last.
            default = 0 if lane.call_id else len(caller)
            at = next((at + 1 for at, said in enumerate(caller) if _has_call(said, lane.call_id)), default)
            caller[at:at] = parts[lane.key]
        return parts[""]

    def lane(self, key: str) -> Lane:
        """Return the lane of a key; the agent's own for an empty one."""
        if not key:
            return self
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Lane(key)
        return lane

    def _lane_of(self, event: ToolCallArgs | ToolCallEnd | ToolCallResult) -> Lane:
        """Return the lane of a call. Only the call's first event must name it."""
        if not self.lanes and event.subagent_run_id is UNSET:
            return self
        named = self.lane(event.subagent_run_id or "")
        if named.has_call(event.tool_call_id):
            return named
        return next((lane for lane in self.all_lanes if lane.has_call(event.tool_call_id)), named)

    def apply(self, event: AgentEvent, seq: int = 0) -> None:
        """Apply the next event. `seq` is its number, read from the event if 0."""
        self.seq = seq or seq_of(event) or self.seq + 1
        match event:  # most frequent events first: each case that fails to match costs time
            case TextMessageChunk() | TextMessageContent():
                draft = (self if (key := event.subagent_run_id) is UNSET else self.lane(key)).open_draft(
                    self.seq
                )
                if event.message_id is not UNSET:
                    draft.message_id = event.message_id
                if event.delta is not UNSET:
                    draft.text.append(event.delta)
            case ToolCallArgs():
                self._lane_of(event).open_draft(self.seq).calls[event.tool_call_id].arguments.append(
                    event.delta
                )
            case ReasoningMessageChunk() | ReasoningMessageContent():
                draft = (self if (key := event.subagent_run_id) is UNSET else self.lane(key)).open_draft(
                    self.seq
                )
                if event.message_id is not UNSET:
                    draft.reasoning_id = event.message_id
                if event.delta is not UNSET:
                    draft.reasoning.append(event.delta)
                if draft.reasoning_from is UNSET:
                    draft.reasoning_from = event.timestamp
                draft.reasoning_until = event.timestamp
            case Custom():
                self._take_custom(event, self.lane(event.subagent_run_id or ""))
            case StepStarted():
                self.last_step += 1
                self.lane(event.subagent_run_id or "").begin_step(self.last_step)
            case StepFinished():
                self.lane(event.subagent_run_id or "").step_open = False
            case ToolCallStart():
                draft = self.lane(event.subagent_run_id or "").open_draft(self.seq)
                if event.parent_message_id is not UNSET:
                    draft.message_id = event.parent_message_id
                draft.calls[event.tool_call_id] = CallDraft(event.tool_call_id, event.tool_call_name)
            case ToolCallEnd():
                call = self._lane_of(event).open_draft(self.seq).calls[event.tool_call_id]
                call.ended, call.ended_at = True, event.timestamp
            case ToolCallResult():
                self._lane_of(event).take_result(event)
            case RunStarted():
                self._start(event)
            case RunFinished():
                self._finish(event)
            case RunError():
                self.close_draft()
                self.status = "failed"
                self.error = event
                self._end(event)
            case SubagentStarted():
                self._open_lane(event)
            case SubagentFinished():
                lane = self.lane(event.subagent_run_id)
                lane.result = event.result if isinstance(event.result, str) else ""
                lane.state = "suspended" if isinstance(event.outcome, SubagentSuspended) else "finished"
            case SubagentError():
                lane = self.lane(event.subagent_run_id)
                lane.close_draft()
                lane.result, lane.error_code, lane.state = event.message, event.code or None, "failed"
            case MessagesSnapshot():
                self.messages, self.cuts = list(event.messages), []
            case _:
                pass

    def apply_turn(self, record: TurnRecord) -> None:
        """Apply the record of a complete model turn."""
        lane = self.lane(record.lane)
        message_id = lane.close_turn(record.stop)
        if message_id:
            lane.vendor[message_id] = structs.replace(record.vendor, model=record.model)
        if record.usage.total:
            self.count(record.model, record.usage, lane)
        else:
            self._count_unknown(lane)

    def count(self, model: str, usage: Usage, lane: Lane) -> None:
        """Add a model call's usage to the step and the run. Implausible usage counts as unknown."""
        if not usage.plausible:
            self._count_unknown(lane)
            return
        lane.step_usage = lane.step_usage + usage
        lane.tokens += usage.total
        self.uncharged.append((model, usage))
        self.usage[model] = self.usage.get(model, Usage()) + usage

    def _count_unknown(self, lane: Lane) -> None:
        lane.step_usage_unknown = self.usage_unknown = True

    def _start(self, event: RunStarted) -> None:
        self.close_draft()
        self._begin(event.run_id, event.thread_id, self.seq)
        active = None if event.metadata is UNSET else event.metadata.get("agent")
        self.agent = active if isinstance(active, str) else ""
        if event.timestamp is not UNSET:
            self.started_at_ms = event.timestamp
        if event.input is UNSET:
            return
        self.input = event.input
        for message in event.input.messages:
            if isinstance(message, ToolMessage):
                for lane in self.all_lanes:
                    lane.add_result(message)
            else:
                self.messages.append(message)
        self.resume = [] if event.input.resume is UNSET else event.input.resume

    def _open_lane(self, event: SubagentStarted) -> None:
        """Open the lane of a sub-agent, or reopen one that an earlier run suspended."""
        key = event.subagent_run_id
        is_new = key not in self.lanes
        lane = self.lane(key)
        if is_new:
            self.lanes_begun += 1
            lane.agent = event.name
            lane.parent = event.parent_subagent_run_id or ""
            lane.call_id = event.parent_tool_call_id or ""
            task = None if event.metadata is UNSET else event.metadata.get("task")
            if isinstance(task, str):
                lane.task = task
                lane.add(UserMessage(id=f"msg_{key}", content=task, name=event.name))
        lane.state = "open"

    def _take_custom(self, event: Custom, lane: Lane) -> None:
        value = json_object(event.value)
        if event.name == REWIND:
            if lane.draft is not None:
                self._count_unknown(lane)
            lane.draft = None
            return
        if event.name == INPUT:
            self.inputs = msgspec.convert(value.get("idx"), int)
            lane.add(msgspec.convert(value.get("message"), UserMessage))
            lane.corrected = True
            return
        if event.name == HANDOFF:
            self.handoffs += 1
            handoff = msgspec.convert(
                {"agent": value.get("to"), "filter": value.get("filter", "all")}, Handoff
            )
            lane.note(event, f"{self.run_id}_n{self.seq}")
            lane.hand_over(handoff.agent, handoff.filter, str(value.get("call", "")))
            return
        if event.name == CITATIONS:
            if lane.draft is not None and isinstance(cited := value.get("citations"), list):
                lane.draft.citations = cited
            return
        if event.name not in (ERROR, NOTICE, COMPACTED):
            return
        lane.note(event, f"{self.run_id}_n{self.seq}")
        if event.name == COMPACTED:
            compacted = msgspec.convert(value, Compacted)
            lane.compact(compacted.text, compacted.through_id, frozenset(compacted.kept_ids))
            if compacted.usage.total:
                self.count(compacted.model, compacted.usage, lane)
            else:
                self._count_unknown(lane)
            return
        if event.name == ERROR and isinstance(used := value.get("usage"), dict):
            self.count(str(value.get("model")), msgspec.convert(used, Usage), lane)
            self._count_unknown(lane)
        elif event.name == ERROR and isinstance(correction := value.get("tell_model"), str):
            lane.corrections += 1
            lane.add(UserMessage(id=f"{lane.key or self.run_id}_c{lane.corrections}", content=correction))
            lane.corrected = True

    def _finish(self, event: RunFinished) -> None:
        self.close_draft()
        self.result = event.result
        self._end(event)
        match event.outcome:
            case InterruptOutcome(interrupts=interrupts):
                self.status = "interrupted"
                self.interrupts = {interrupt.id: interrupt for interrupt in interrupts}
            case CancelledOutcome():
                self.status = "cancelled"
            case _:
                self.status = "completed"

    def _end(self, event: RunFinished | RunError) -> None:
        self.ended_at_ms = 0 if event.timestamp is UNSET else event.timestamp
        if event.usage is not UNSET:
            # Includes the partial usage of a call that the end cut off, which no other event records.
            self.usage = usage_by_model(event.usage)


def _has_call(message: Message, call_id: str) -> bool:
    if not isinstance(message, AssistantMessage) or message.tool_calls is UNSET:
        return False
    return any(call.id == call_id for call in message.tool_calls)


def fold_log(fold: Fold, log: RunLog) -> Fold:
    """Fold a run's whole log: its events, and each turn record right after the event it names.

    Raises StoreError `store_corrupt` if the log is damaged.
    """
    for _ in fold_slices(fold, log):
        pass
    return fold


def fold_slices(fold: Fold, log: RunLog, upto: int | None = None) -> Iterator[list[AgentEvent]]:
    """Fold a log, or its events up to seq `upto`, and yield each slice of events after folding it.

    On an event loop, yield to other tasks between slices. Raises StoreError `store_corrupt`.
    """
    waiting = deque(sorted(log.turns, key=lambda turn: turn.seq))
    for part in log.slices(SLICE_BYTES):
        events = part.events()
        if upto is not None:
            events = [event for event in events if seq_of(event) <= upto]
        try:
            for event in events:
                fold.apply(event)
                while waiting and waiting[0].seq <= fold.seq:
                    fold.apply_turn(waiting.popleft())
        except (LookupError, msgspec.ValidationError) as error:
            raise log.damaged(f"{type(error).__name__}: its events do not fit each other.") from error
        yield events
