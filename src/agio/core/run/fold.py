"""Events and turn records to messages and run state: pure, and the only place that knows how.

The loop folds what it emits, replay and crash recovery fold what was stored, so all three agree.
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
"""The tool with which an agent that has a goal says that it is met."""


TITLE_CHARS = 80
SLICE_BYTES = 32 * 1024
"""How much of a log is applied at once: about a millisecond's work."""


class CallDraft(Struct):
    """A tool call whose arguments are still coming."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    ended: bool = False
    ended_at: int | UnsetType = UNSET


class TurnDraft(Struct):
    """The model turn that is under way: everything after event `from_seq` may still be taken back."""

    from_seq: int
    message_id: str = ""
    reasoning_id: str = ""
    text: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    reasoning_from: int | UnsetType = UNSET
    reasoning_until: int | UnsetType = UNSET
    calls: dict[str, CallDraft] = field(default_factory=dict[str, CallDraft])
    notes: list[tuple[bool, ActivityMessage]] = field(default_factory=list[tuple[bool, ActivityMessage]])
    """Notes of the turn, each with whether the model had begun to speak or to call."""

    def open_calls(self) -> list[str]:
        """Return the ids of calls that have begun and not ended."""
        return [call.id for call in self.calls.values() if not call.ended]


class Fold:
    """The state of a thread and of its newest run, after the events applied so far.

    Begin with what is known of the thread before the events (`messages`, `vendor`), or with nothing and
    apply the whole thread.
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
        """Whether a model call of the step that began to answer did not tell what it used."""
        self.usage_unknown = False
        """Whether one of the run did not."""
        self.text = ""
        """The text of the newest finished turn of this run."""
        self.result: Json = UNSET
        self.error: RunError | None = None
        self.goal: dict[str, Json] | None = None
        """The arguments with which the model said that the goal is met."""
        self.bad_arguments = 0
        self.corrections = 0
        self.first_message = len(self.messages)
        """Where this run's own messages begin."""
        self.earlier_results: list[ToolMessage] = []
        """Results of this run for calls of the run before: they stand before its own messages."""
        self.notes: list[tuple[int, ActivityMessage]] = []
        """Errors and notices of this run, each with the number of the run's messages before it."""
        self.ended_at_ms = 0
        self.resume: list[ResumeEntry] = []
        self.input: RunAgentInput | None = None

    @property
    def answered(self) -> bool:
        """Whether the newest turn asked for no tool: the model has said what it had to say."""
        return self.turn_done and not self._calls and not self._corrected

    @property
    def total_usage(self) -> Usage:
        """Tokens of all models of the newest run."""
        return sum(self.usage.values(), Usage())

    @property
    def kept(self) -> list[Message]:
        """This run's messages as they are kept: results of the run before first, notes in their places."""
        own = self.messages[self.first_message :]
        for at, note in reversed(self.notes):
            own.insert(at, note)
        return [*self.earlier_results, *own]

    def apply(self, event: AgentEvent, seq: int = 0) -> None:
        """Take in the next event; `seq` is its number, if the caller has it at hand."""
        self.seq = seq or seq_of(event) or self.seq + 1
        match event:  # what comes most often first: a case that does not fit costs more than one that does
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
        """Take in the record that a model turn is complete."""
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
        """Add the tokens of a model call to those of the step and the run, if they can be true."""
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
        """Turn the draft into messages; return the assistant message's id, empty if there was nothing."""
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
        # Results arrive as they are ready; the conversation has them in call order.
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
        """Keep a note, after what had begun by then."""
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
            # It includes the partial usage of a call that the end cut off, which no turn or error of the log has.
            self.usage = usage_by_model(event.usage)


def _times(**moments: int | UnsetType) -> Metadata | UnsetType:
    """When something happened, as a message says it; nothing if the events do not tell."""
    return {name: moment for name, moment in moments.items() if moment is not UNSET} or UNSET


def _decoded(arguments: str) -> dict[str, Json]:
    try:
        return json_object(msgspec.json.decode(arguments))
    except msgspec.DecodeError:
        return {}


def fold_log(fold: Fold, log: RunLog) -> Fold:
    """Apply a run's whole log: its events, and each turn record right after the event it names.

    Raises StoreError `store_corrupt` if it is not what agio wrote.
    """
    for _ in fold_slices(fold, log):
        pass
    return fold


def fold_slices(fold: Fold, log: RunLog, upto: int | None = None) -> Iterator[list[AgentEvent]]:
    """Apply a log, or its events up to seq `upto`, and yield each slice of events once it is applied.

    On an event loop, let others have a turn between two slices. Raises StoreError `store_corrupt`.
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
    """Return the beginning of the newest user message, for lists of runs."""
    texts = [text_of(message.content) for message in messages if isinstance(message, UserMessage)]
    return _beginning(seen(" ".join(texts[-1].split())[: 4 * TITLE_CHARS])) if texts else ""


def _beginning(text: str) -> str:
    """At most TITLE_CHARS, up to the end of a word; a word that would leave less than half of it is cut."""
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[: TITLE_CHARS - 1]
    if text[len(cut)] != " ":
        end = cut.rfind(" ")
        cut = cut[:end] if end >= TITLE_CHARS // 2 else cut[: grapheme_at(text, len(cut))[0]] or cut
    return seen(cut) + "…"
