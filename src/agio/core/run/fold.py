"""Folds events and turn records into messages and run state. No other module interprets the log.

The loop folds the events it emits; replay and crash recovery fold stored events. All three reach the same state.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from agio.core.model import Usage, VendorTurn
from agio.core.name import seen
from agio.core.run.metrics import usage_by_model
from agio.core.store.repository import RunLog, RunStatus, TurnRecord
from agio.core.text import grapheme_at
from agio.protocol.events import (
    ERROR,
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
    TextMessageChunk,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    seq_of,
)
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    FunctionCall,
    Json,
    Message,
    Metadata,
    ReasoningMessage,
    ResumeEntry,
    RunAgentInput,
    ToolCall,
    ToolMessage,
    UserMessage,
    json_object,
    text_of,
)

COMPLETE_GOAL = "complete_goal"
"""The tool that the model calls when the agent's goal is met."""


TITLE_CHARS = 80
SLICE_BYTES = 32 * 1024
"""How much of a log is folded in one slice: about one millisecond of work."""


class CallDraft(Struct):
    """A tool call whose arguments are still being streamed."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    ended: bool = False
    ended_at: int | UnsetType = UNSET


class TurnDraft(Struct):
    """The model turn in progress. A rewind discards every event after `from_seq`."""

    from_seq: int
    message_id: str = ""
    reasoning_id: str = ""
    text: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    reasoning_from: int | UnsetType = UNSET
    reasoning_until: int | UnsetType = UNSET
    calls: dict[str, CallDraft] = field(default_factory=dict[str, CallDraft])
    notes: list[tuple[bool, ActivityMessage]] = field(default_factory=list[tuple[bool, ActivityMessage]])
    """Notes of the turn, each with a flag: whether the assistant message had begun before it."""

    def open_calls(self) -> list[str]:
        """Return the ids of calls that have started and not ended."""
        return [call.id for call in self.calls.values() if not call.ended]


class Fold:
    """The state of a thread and of its newest run, after the events applied so far.

    Start from the thread's earlier `messages` and `vendor` turns, or start empty and apply the whole thread.
    """

    def __init__(self, messages: Sequence[Message] = (), vendor: dict[str, VendorTurn] | None = None) -> None:
        self.messages: list[Message] = list(messages)
        self.vendor: dict[str, VendorTurn] = dict(vendor or {})
        self.pending: list[ToolCall] = []
        """Calls of the newest finished turn that have no result yet, in call order."""
        self.interrupts: dict[str, Interrupt] = {}
        self._calls: list[ToolCall] = []
        self._results: dict[str, ToolMessage] = {}
        self._results_at = 0
        for message in self.messages:
            if isinstance(message, AssistantMessage):
                self._expect_results(message)
            elif isinstance(message, ToolMessage):
                self._results[message.tool_call_id] = message
        self.pending = [call for call in self._calls if call.id not in self._results]
        self._begin_run("", "", 0)

    def _begin_run(self, run_id: str, session_id: str, seq: int) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.started_at_ms = 0
        self.status: RunStatus = "running"
        self.seq = seq
        self.step = 0
        self.step_open = False
        self.turn_done = False
        """Whether the current step's model turn is complete."""
        self._corrected = False
        self.stop: str = "end"
        self.draft: TurnDraft | None = None
        self.usage: dict[str, Usage] = {}
        self.step_usage = Usage()
        self.step_usage_unknown = False
        """Whether a model call of the step began to answer and did not report its usage."""
        self.usage_unknown = False
        """Whether a model call of the run began to answer and did not report its usage."""
        self.text = ""
        """The text of the newest finished turn of this run."""
        self.result: Json = UNSET
        self.error: RunError | None = None
        self.goal: dict[str, Json] | None = None
        """The arguments of the accepted `complete_goal` call."""
        self.bad_arguments = 0
        self.corrections = 0
        self.first_message = len(self.messages)
        """The index of this run's first message in `messages`."""
        self.earlier_results: list[ToolMessage] = []
        """Results that this run received for calls of the previous run. They precede its own messages."""
        self.notes: list[tuple[int, ActivityMessage]] = []
        """Errors and notices of this run, each with the number of the run's messages that precede it."""
        self.ended_at_ms = 0
        self.resume: list[ResumeEntry] = []
        self.input: RunAgentInput | None = None

    @property
    def answered(self) -> bool:
        """Whether the newest turn is a final answer: complete, without tool calls and without a correction."""
        return self.turn_done and not self._calls and not self._corrected

    @property
    def total_usage(self) -> Usage:
        """The token usage of all models in the newest run."""
        return sum(self.usage.values(), Usage())

    @property
    def kept(self) -> list[Message]:
        """This run's messages as stored: results for the previous run's calls first, notes in their places."""
        own = self.messages[self.first_message :]
        for at, note in reversed(self.notes):
            own.insert(at, note)
        return [*self.earlier_results, *own]

    def apply(self, event: AgentEvent, seq: int = 0) -> None:
        """Apply the next event. `seq` is its number, read from the event if 0."""
        self.seq = seq or seq_of(event) or self.seq + 1
        match event:  # most frequent events first: each case that fails to match costs time
            case TextMessageChunk() | TextMessageContent():
                draft = self._draft()
                if event.message_id is not UNSET:
                    draft.message_id = event.message_id
                if event.delta is not UNSET:
                    draft.text.append(event.delta)
            case ToolCallArgs():
                self._draft().calls[event.tool_call_id].arguments.append(event.delta)
            case ReasoningMessageChunk() | ReasoningMessageContent():
                draft = self._draft()
                if event.message_id is not UNSET:
                    draft.reasoning_id = event.message_id
                if event.delta is not UNSET:
                    draft.reasoning.append(event.delta)
                if draft.reasoning_from is UNSET:
                    draft.reasoning_from = event.timestamp
                draft.reasoning_until = event.timestamp
            case Custom():
                self._take_custom(event)
            case StepStarted():
                self.step += 1
                self.step_open = True
                self.turn_done = False
                self._corrected = False
                self.step_usage = Usage()
                self.step_usage_unknown = False
            case StepFinished():
                self.step_open = False
            case ToolCallStart():
                draft = self._draft()
                if event.parent_message_id is not UNSET:
                    draft.message_id = event.parent_message_id
                draft.calls[event.tool_call_id] = CallDraft(event.tool_call_id, event.tool_call_name)
            case ToolCallEnd():
                call = self._draft().calls[event.tool_call_id]
                call.ended, call.ended_at = True, event.timestamp
            case ToolCallResult():
                self._take_result(event)
            case RunStarted():
                self._start(event)
            case RunFinished():
                self._finish(event)
            case RunError():
                self._close_draft()
                self.status = "failed"
                self.error = event
                self._end(event)
            case MessagesSnapshot():
                self.messages = list(event.messages)
            case _:
                pass

    def apply_turn(self, record: TurnRecord) -> None:
        """Apply the record of a complete model turn."""
        self.text = ""
        message_id = self._close_draft()
        if message_id:
            self.vendor[message_id] = record.vendor
        else:
            self._calls = []
        self.turn_done = True
        self.stop = record.stop
        if not record.usage.total:
            self.step_usage_unknown = self.usage_unknown = True
            return
        self.count(record.model, record.usage)

    def count(self, model: str, usage: Usage) -> None:
        """Add a model call's usage to the step and the run. Implausible usage counts as unknown."""
        if not usage.plausible:
            self.step_usage_unknown = self.usage_unknown = True
            return
        self.step_usage = self.step_usage + usage
        self.usage[model] = self.usage.get(model, Usage()) + usage

    def _start(self, event: RunStarted) -> None:
        self._close_draft()
        self._begin_run(event.run_id, event.thread_id, self.seq)
        if event.timestamp is not UNSET:
            self.started_at_ms = event.timestamp
        if event.input is UNSET:
            return
        self.input = event.input
        for message in event.input.messages:
            if isinstance(message, ToolMessage):
                self._add_result(message)
            else:
                self.messages.append(message)
        self.resume = [] if event.input.resume is UNSET else event.input.resume

    def _draft(self) -> TurnDraft:
        if self.draft is None:
            self.draft = TurnDraft(self.seq - 1)
        return self.draft

    def _close_draft(self) -> str:
        """Turn the draft into messages. Return the assistant message's id, empty if there is none."""
        draft, self.draft = self.draft, None
        if draft is None:
            return ""
        if draft.reasoning:
            reasoning = ReasoningMessage(id=draft.reasoning_id, content="".join(draft.reasoning))
            reasoning.metadata = _times(began_at=draft.reasoning_from, ended_at=draft.reasoning_until)
            self.messages.append(reasoning)
        self.text = "".join(draft.text)
        own = len(self.messages) - self.first_message
        self.notes += [(own + spoken, note) for spoken, note in draft.notes]
        if not draft.message_id:
            return ""
        message = AssistantMessage(id=draft.message_id)
        if draft.text:
            message.content = self.text
        if draft.calls:
            message.tool_calls = [
                ToolCall(
                    call.id,
                    FunctionCall(call.name, "".join(call.arguments)),
                    metadata=_times(began_at=call.ended_at),
                )
                for call in draft.calls.values()
            ]
        self.messages.append(message)
        self._expect_results(message)
        self.pending = list(self._calls)
        return draft.message_id

    def _expect_results(self, message: AssistantMessage) -> None:
        self._calls = [] if message.tool_calls is UNSET else message.tool_calls
        self._results = {}
        self._results_at = self.messages.index(message) + 1

    def _take_result(self, event: ToolCallResult) -> None:
        if self.draft is not None and event.tool_call_id in self.draft.calls:
            self._close_draft()
        message = ToolMessage(id=event.message_id, content=event.content, tool_call_id=event.tool_call_id)
        message.metadata = _times(ended_at=event.timestamp)
        error = None if event.metadata is UNSET else event.metadata.get("error")
        if isinstance(error, str):
            message.error = error
            self.bad_arguments += error == "bad_arguments"
        self._add_result(message)

    def _add_result(self, message: ToolMessage) -> None:
        call = next((call for call in self.pending if call.id == message.tool_call_id), None)
        if call is None:
            return
        self.pending.remove(call)
        self._results[call.id] = message
        # Results arrive in any order; the conversation keeps them in call order.
        ordered = [self._results[call.id] for call in self._calls if call.id in self._results]
        self.messages[self._results_at : self._results_at + len(ordered) - 1] = ordered
        if self._results_at <= self.first_message:
            self.first_message += 1
            self.earlier_results.append(message)
        if call.function.name == COMPLETE_GOAL and message.error is UNSET:
            self.goal = _decoded(call.function.arguments)

    def _take_custom(self, event: Custom) -> None:
        value = json_object(event.value)
        if event.name == REWIND:
            if self.draft is not None:
                self.step_usage_unknown = self.usage_unknown = True
            self.draft = None
            return
        if event.name not in (ERROR, NOTICE):
            return
        self._note(event, value)
        if event.name == ERROR and isinstance(used := value.get("usage"), dict):
            self.count(str(value.get("model")), msgspec.convert(used, Usage))
            self.step_usage_unknown = self.usage_unknown = True
        elif event.name == ERROR and isinstance(correction := value.get("tell_model"), str):
            self.corrections += 1
            self.messages.append(UserMessage(id=f"{self.run_id}_c{self.corrections}", content=correction))
            self._corrected = True

    def _note(self, event: Custom, value: dict[str, Json]) -> None:
        """Keep an error or notice, placed after the messages that had begun before it."""
        note = ActivityMessage(id=f"{self.run_id}_n{self.seq}", activity_type=event.name, content=value)
        note.metadata = _times(at=event.timestamp)
        if self.draft is None:
            self.notes.append((len(self.messages) - self.first_message, note))
        else:
            self.draft.notes.append((bool(self.draft.message_id), note))

    def _finish(self, event: RunFinished) -> None:
        self._close_draft()
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


def _times(**moments: int | UnsetType) -> Metadata | UnsetType:
    """Return the known timestamps as message metadata, UNSET if there are none."""
    return {name: moment for name, moment in moments.items() if moment is not UNSET} or UNSET


def _decoded(arguments: str) -> dict[str, Json]:
    try:
        return json_object(msgspec.json.decode(arguments))
    except msgspec.DecodeError:
        return {}


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


def title_of(messages: Iterable[Message]) -> str:
    """Return the start of the newest user message, as a title in lists of runs."""
    texts = [text_of(message.content) for message in messages if isinstance(message, UserMessage)]
    return _beginning(seen(" ".join(texts[-1].split())[: 4 * TITLE_CHARS])) if texts else ""


def _beginning(text: str) -> str:
    """Cut text to TITLE_CHARS at the end of a word, or inside a word if less than half would remain."""
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[: TITLE_CHARS - 1]
    if text[len(cut)] != " ":
        end = cut.rfind(" ")
        cut = cut[:end] if end >= TITLE_CHARS // 2 else cut[: grapheme_at(text, len(cut))[0]] or cut
    return seen(cut) + "…"
