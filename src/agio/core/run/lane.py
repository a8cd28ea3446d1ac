"""A lane: one conversation within a run. The agent's own lane is the fold itself; each sub-agent has another.

Only `fold.py` applies events to lanes.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType, field

from agio.core.handoff import HandoffFilter, filtered
from agio.core.model import Usage, VendorTurn
from agio.protocol.events import Attributed, Custom, ToolCallResult
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    FunctionCall,
    Json,
    Message,
    Metadata,
    ReasoningMessage,
    ToolCall,
    ToolMessage,
    decoded_object,
    json_object,
)

COMPLETE_GOAL = "complete_goal"
"""The tool that the model calls when the agent's goal is met."""


A = TypeVar("A", bound=Attributed)

LaneState: TypeAlias = Literal["open", "suspended", "waiting", "finished", "failed"]
"""A sub-agent's state. `suspended`: it waits for a person or a client, `waiting`: since an earlier run."""


class Cut(Struct, frozen=True):
    """A handoff that did not pass on all of the conversation."""

    filter: HandoffFilter
    at: int
    """How many messages it concerns."""
    call_id: str
    """The handoff's call. Its result follows, and is not shown either."""


class Summary(Struct, frozen=True):
    """A text that stands for the older part of the conversation."""

    text: str
    at: int
    """How many messages it concerns."""
    kept: frozenset[str]
    """The ids of those among them that the agent still sees."""


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
    citations: list[Json] = field(default_factory=list[Json])
    """What the `[n]` of its text stand for."""

    def open_calls(self) -> list[str]:
        """Return the ids of calls that have started and not ended."""
        return [call.id for call in self.calls.values() if not call.ended]


class Lane:
    """The state of one conversation: its messages, its model turn in progress, and its calls without a result."""

    def __init__(self, key: str = "", messages: Sequence[Message] = ()) -> None:
        self.key = key
        """The `subagentRunId` of its events; empty for the agent's own lane."""
        self.agent = ""
        """The name of the agent that the conversation was handed to, or of the sub-agent; empty: the run's agent."""
        self.handed_by = ""
        """The call by which it was handed over last."""
        self.cuts: list[Cut] = []
        """The handoffs that the agent knows only in part."""
        self.summary: Summary | None = None
        """What the agent sees of the older part of the conversation."""
        self.parent = ""
        """The key of the lane that called the sub-agent."""
        self.call_id = ""
        """The call that the sub-agent answers."""
        self.task = ""
        """What the sub-agent was asked to do."""
        self.state: LaneState = "open"
        self.result = ""
        """The answer of a sub-agent that finished, or the error message of one that failed."""
        self.error_code: str | None = None
        """The error code of a sub-agent that failed."""
        self.messages: list[Message] = list(messages)
        self.vendor: dict[str, VendorTurn] = {}
        self.pending: list[ToolCall] = []
        """Calls of the newest finished turn that have no result yet, in call order."""
        self._calls: list[ToolCall] = []
        self._results: dict[str, ToolMessage] = {}
        self._results_at = 0
        for message in self.messages:
            if isinstance(message, AssistantMessage):
                self._expect_results(message)
            elif isinstance(message, ToolMessage):
                self._results[message.tool_call_id] = message
        self.pending = [call for call in self._calls if call.id not in self._results]
        self.begin_run()

    def begin_run(self) -> None:
        """Begin a run: what follows belongs to it."""
        if self.state == "suspended":
            self.state = "waiting"
        self.step = 0
        """The number of the lane's newest step. Steps are numbered over all lanes of the run."""
        self.steps = 0
        """How many steps the lane's agent has begun in this run."""
        self.step_open = False
        self.turn_done = False
        """Whether the current step's model turn is complete."""
        self.corrected = False
        """Whether a message for the model follows the newest turn: a correction, or input of the user."""
        self.stop: str = "end"
        self.draft: TurnDraft | None = None
        self.tokens = 0
        """The tokens that the lane's model calls have reported in this run."""
        self.step_usage = Usage()
        self.step_usage_unknown = False
        """Whether a model call of the step began to answer and did not report its usage."""
        self.text = ""
        """The text of the newest finished turn of this run."""
        self.goal: dict[str, Json] | None = None
        """The arguments of the accepted `complete_goal` call."""
        self.bad_arguments = 0
        self.corrections = 0
        self.first_message = len(self.messages)
        """The index of this run's first message in `messages`."""
        self.earlier_results: list[ToolMessage] = []
        """Results that this run received for calls of the previous run. They precede its own messages."""
        self.summarised = False
        """Whether the summary was written in this run."""
        self.notes: list[tuple[int, ActivityMessage]] = []
        """Errors, notices and handoffs of this run, each with the number of the run's messages that precede it."""

    def own(self, event: A) -> A:
        """Attribute an event to the lane."""
        if self.key:
            event.subagent_run_id = self.key
        return event

    @property
    def answered(self) -> bool:
        """Whether the newest turn is a final answer: complete, without tool calls, and no message follows it."""
        return self.turn_done and not self._calls and not self.corrected

    @property
    def own_messages(self) -> list[Message]:
        """This run's messages: results for the previous run's calls first, notes in their places."""
        own = self.messages[self.first_message :]
        for at, note in reversed(self.notes):
            own.insert(at, note)
        return [*self.earlier_results, *own]

    @property
    def shown(self) -> list[Message]:
        """The messages that the agent may see: those since the summary, as handoffs passed them on."""
        kept: list[Message] = []
        done = 0
        if self.summary is not None:
            done = self.summary.at
            kept = [message for message in self.messages[:done] if message.id in self.summary.kept]
        for cut in self.cuts:
            if cut.at < done:
                continue
            kept = filtered([*kept, *self.messages[done : cut.at]], cut.filter)
            done = cut.at
        hidden = {cut.call_id for cut in self.cuts}
        rest = (
            m for m in self.messages[done:] if not (isinstance(m, ToolMessage) and m.tool_call_id in hidden)
        )
        return [*kept, *rest]

    def hand_over(self, agent: str, kept: HandoffFilter, call_id: str) -> None:
        """Give the conversation to another agent, which sees what the filter keeps of it."""
        self.agent, self.handed_by, self.steps = agent, call_id, 0
        if kept != "all":
            self.cuts.append(Cut(kept, len(self.messages), call_id))
        if kept == "last_message":
            self.summary = None

    def compact(self, text: str, through: str, kept: frozenset[str]) -> None:
        """Let a text stand for the conversation up to the message `through`, except for the messages `kept`."""
        ids = [message.id for message in self.messages]
        # An earlier part of the session, which is not loaded, may have the message.
        at = ids.index(through) + 1 if through in ids else 0
        self.summary, self.summarised = Summary(text, at, kept), True

    @property
    def needed(self) -> int | None:
        """How many of the messages before this run the agent still sees; None: all, as far as they fit."""
        if not self.summarised or self.summary is None:
            return None
        return max(0, self.first_message - self.summary.at)

    def begin_step(self, number: int) -> None:
        """Begin a step."""
        self.step = number
        self.steps += 1
        self.step_open = True
        self.turn_done = False
        self.corrected = False
        self.step_usage = Usage()
        self.step_usage_unknown = False

    def has_call(self, call_id: str) -> bool:
        """Whether a call of the turn in progress, or one that waits for its result, has this id."""
        in_draft = self.draft is not None and call_id in self.draft.calls
        return in_draft or any(call.id == call_id for call in self.pending)

    def open_draft(self, seq: int) -> TurnDraft:
        """Return the turn in progress; begin it with event `seq` if there is none."""
        if self.draft is None:
            self.draft = TurnDraft(seq - 1)
        return self.draft

    def close_turn(self, stop: str) -> str:
        """Complete the turn. Return the assistant message's id, empty if there is none."""
        self.text = ""
        message_id = self.close_draft()
        if not message_id:
            self._calls = []
        self.turn_done = True
        self.stop = stop
        return message_id

    def close_draft(self) -> str:
        """Turn the draft into messages. Return the assistant message's id, empty if there is none."""
        draft, self.draft = self.draft, None
        if draft is None:
            return ""
        if draft.reasoning:
            reasoning = ReasoningMessage(id=draft.reasoning_id, content="".join(draft.reasoning))
            reasoning.metadata = times(began_at=draft.reasoning_from, ended_at=draft.reasoning_until)
            self.add(reasoning)
        self.text = "".join(draft.text)
        own = len(self.messages) - self.first_message
        self.notes += [(own + spoken, note) for spoken, note in draft.notes]
        if not draft.message_id:
            return ""
        message = AssistantMessage(id=draft.message_id)
        if draft.text:
            message.content = self.text
        if draft.citations:
            message.metadata = {"citations": draft.citations}
        if draft.calls:
            message.tool_calls = [
                ToolCall(
                    call.id,
                    FunctionCall(call.name, "".join(call.arguments)),
                    metadata=times(began_at=call.ended_at),
                )
                for call in draft.calls.values()
            ]
        self.add(message)
        self._expect_results(message)
        self.pending = list(self._calls)
        return draft.message_id

    def add(self, message: Message) -> None:
        """Add a message to the conversation."""
        if self.key:
            message.subagent_run_id = self.key
        self.messages.append(message)

    def _expect_results(self, message: AssistantMessage) -> None:
        self._calls = [] if message.tool_calls is UNSET else message.tool_calls
        self._results = {}
        self._results_at = self.messages.index(message) + 1

    def take_result(self, event: ToolCallResult) -> None:
        """Add the result of a call that a tool returned."""
        if self.draft is not None and event.tool_call_id in self.draft.calls:
            self.close_draft()
        message = ToolMessage(id=event.message_id, content=event.content, tool_call_id=event.tool_call_id)
        message.metadata = times(ended_at=event.timestamp)
        error = None if event.metadata is UNSET else event.metadata.get("error")
        if isinstance(error, str):
            message.error = error
            self.bad_arguments += error == "bad_arguments"
        self.add_result(message)

    def add_result(self, message: ToolMessage) -> None:
        """Add the result of a pending call; results of other calls are ignored."""
        call = next((call for call in self.pending if call.id == message.tool_call_id), None)
        if call is None:
            return
        if self.key:
            message.subagent_run_id = self.key
        self.pending.remove(call)
        self._results[call.id] = message
        # Results arrive in any order; the conversation keeps them in call order.
        ordered = [self._results[call.id] for call in self._calls if call.id in self._results]
        self.messages[self._results_at : self._results_at + len(ordered) - 1] = ordered
        if self._results_at <= self.first_message:
            self.first_message += 1
            self.earlier_results.append(message)
        if call.function.name == COMPLETE_GOAL and message.error is UNSET:
            self.goal = decoded_object(call.function.arguments)

    def note(self, event: Custom, note_id: str) -> None:
        """Keep an error, a notice or a handoff, placed after the messages that had begun before it."""
        note = ActivityMessage(id=note_id, activity_type=event.name, content=json_object(event.value))
        note.metadata = times(at=event.timestamp)
        if self.key:
            note.subagent_run_id = self.key
        if self.draft is None:
            self.notes.append((len(self.messages) - self.first_message, note))
        else:
            self.draft.notes.append((bool(self.draft.message_id), note))


def times(**moments: int | UnsetType) -> Metadata | UnsetType:
    """Return the known timestamps as message metadata, UNSET if there are none."""
    return {name: moment for name, moment in moments.items() if moment is not UNSET} or UNSET
