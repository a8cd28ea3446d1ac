"""The one renderer: events in, what a person sees out, on a stage that is a terminal or plain text.

Chat and replay feed it alike. Durations come from the events, so a replay shows the original ones.
"""

from collections.abc import Iterable
from typing import Protocol

from msgspec import UNSET

from agio.cli.terminal.view import Card, Ending, Level, Thought, printable, readable, seconds
from agio.core.store.repository import RunStatus
from agio.protocol.codec import encode
from agio.protocol.events import (
    COMPACTED,
    ERROR,
    HANDOFF,
    METRICS,
    NOTICE,
    REWIND,
    TOOL_PROGRESS,
    AgentEvent,
    CancelledOutcome,
    Custom,
    Interrupt,
    InterruptOutcome,
    ReasoningMessageChunk,
    ReasoningMessageContent,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    TextMessageChunk,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from agio.protocol.messages import Json, ResumeEntry, ToolCall, UserMessage, json_object, text_of


class Stage(Protocol):
    """Where a run is shown. What was shown since the last `settle` can be discarded."""

    show_reasoning: bool

    def begin(self) -> None:
        """A run begins."""
        ...

    def user(self, text: str) -> None:
        """Show a user message."""
        ...

    def think(self, thought: Thought) -> None:
        """Show a thought that has grown, or begun."""
        ...

    def write(self, text: str) -> None:
        """Show more of the answer."""
        ...

    def call(self, card: Card) -> None:
        """Show a tool call that has begun, changed or ended."""
        ...

    def remark(self, level: Level, text: str) -> None:
        """Show a line beside the answer."""
        ...

    def settle(self) -> None:
        """Keep what was shown so far."""
        ...

    def discard(self) -> None:
        """Discard what was shown since the last `settle`, with a warning."""
        ...

    def end(self, ending: Ending) -> None:
        """Show how the run ended."""
        ...

    def tick(self) -> None:
        """Draw again if something has changed or moves."""
        ...

    def close(self) -> None:
        """Restore the screen."""
        ...


class EventRenderer:
    """Shows runs on a stage, one event at a time. `echo` shows the user's messages, too."""

    def __init__(self, stage: Stage, *, echo: bool = False) -> None:
        self.stage = stage
        self.cards: dict[str, Card] = {}
        self.steps: list[dict[str, Json]] = []
        """The figures of each finished step."""
        self._echo = echo
        self._run_id = ""
        self.metrics: dict[str, Json] = {}
        """The figures of the run, once it has ended."""
        self.ending: Ending | None = None
        self.questions: list[Interrupt] = []
        """What the run asked when it ended."""
        self._asked: dict[str, str] = {}
        self._draft: list[str] = []
        self._thought: Thought | None = None

    def expect(self, calls: Iterable[ToolCall], questions: Iterable[Interrupt] = ()) -> None:
        """Know calls of an earlier run and the questions about them, which the next run may answer."""
        for question in questions:
            self._ask(question)
        for call in calls:
            if call.id not in self.cards:
                name, arguments = printable(call.function.name), call.function.arguments
                self.cards[call.id] = Card(call.id, name, arguments, "waiting")

    def show(self, event: AgentEvent) -> None:
        """Show the next event."""
        now = 0 if event.timestamp is UNSET else event.timestamp
        match event:
            case TextMessageChunk() | TextMessageContent():
                self._thought = None
                if event.delta is not UNSET:
                    self.stage.write(printable(event.delta))
            case ReasoningMessageChunk() | ReasoningMessageContent():
                if event.delta is not UNSET:
                    self._think(printable(event.delta), now)
            case ToolCallStart():
                self._thought = None
                card = Card(event.tool_call_id, printable(event.tool_call_name))
                self.cards[card.call_id] = card
                self._draft.append(card.call_id)
                self.stage.call(card)
            case ToolCallArgs():
                card = self._card(event.tool_call_id)
                card.arguments += event.delta
                self.stage.call(card)
            case ToolCallEnd():
                card = self._card(event.tool_call_id)
                card.began_ms = now
                self.stage.call(card)
            case ToolCallResult():
                self._result(event, now)
            case Custom():
                self._custom(event)
            case RunStarted():
                self._start(event, now)
            case StepFinished():
                self._settle()
            case RunFinished():
                self._finish(event)
            case RunError():
                code = "" if event.code is UNSET else event.code
                self._end("failed", code, printable(event.message))
            case _:
                pass

    def _start(self, event: RunStarted, now: int) -> None:
        self._run_id, self.metrics, self._draft, self._thought = event.run_id, {}, [], None
        self.steps, self.ending, self.questions = [], None, []
        self.stage.begin()
        if event.input is UNSET:
            return
        for message in event.input.messages:
            if self._echo and isinstance(message, UserMessage):
                self.stage.user(printable(text_of(message.content)))
                self.stage.settle()
        for answer in event.input.resume or []:
            self._take_answer(answer, now)

    def _take_answer(self, answer: ResumeEntry, now: int) -> None:
        """A call that waited runs now, with other arguments if a person changed them."""
        card = self.cards.get(self._asked.pop(answer.interrupt_id, ""))
        if card is None:
            return
        card.state, card.began_ms = "running", now
        edited = json_object(answer.payload).get("editedArgs")
        if edited is not None:
            card.arguments = encode(edited).decode()
        self.stage.call(card)

    def _ask(self, question: Interrupt) -> None:
        if question.tool_call_id is not UNSET:
            self._asked[question.id] = question.tool_call_id

    def _think(self, delta: str, now: int) -> None:
        if self._thought is None:
            self._thought = Thought(began_ms=now)
        self._thought.text += delta
        self._thought.ended_ms = now
        self.stage.think(self._thought)

    def _card(self, call_id: str) -> Card:
        if call_id not in self.cards:
            self.cards[call_id] = Card(call_id, call_id)
        return self.cards[call_id]

    def _result(self, event: ToolCallResult, now: int) -> None:
        self._settle()
        card = self._card(event.tool_call_id)
        error = None if event.metadata is UNSET else event.metadata.get("error")
        card.state, card.error = ("failed", str(error)) if error else ("done", "")
        card.result, card.ended_ms = printable(readable(event.content)), now
        self.stage.call(card)

    def _custom(self, event: Custom) -> None:
        value = json_object(event.value)
        if event.name == METRICS:
            if value.get("scope") == "run":
                self.metrics = value
            else:
                self.steps.append(value)
            self._settle()
        elif event.name == REWIND:
            for call_id in self._draft:
                self.cards.pop(call_id, None)
            self._draft, self._thought = [], None
            self.stage.discard()
        else:
            self._aside(event.name, value)

    def _aside(self, name: str, value: dict[str, Json]) -> None:
        message = printable(str(value.get("message", "")))
        if name == TOOL_PROGRESS and (card := self.cards.get(str(value.get("tool_call_id")))):
            card.progress = message
            fraction = value.get("fraction")
            card.fraction = min(1.0, max(0.0, fraction)) if isinstance(fraction, (int, float)) else None
            self.stage.call(card)
        elif name == ERROR:
            delay = value.get("retry_in_ms")
            again = f" Retrying in {seconds(delay)}." if isinstance(delay, (int, float)) else ""
            self.stage.remark("warning", f"{message}{again} [{value.get('code', '')}]")
        elif name == NOTICE:
            self.stage.remark("notice", message)
        elif name == COMPACTED:
            self.stage.remark("notice", f"Summarised {value.get('messages', 'the')} older messages.")
        elif name == HANDOFF:
            reason = printable(str(value.get("reason", "")))
            words = f"{printable(str(value.get('to', '')))} takes over" + (f": {reason}" if reason else ".")
            self.stage.remark("notice", words)

    def _settle(self) -> None:
        self._draft, self._thought = [], None
        self.stage.settle()

    def _finish(self, event: RunFinished) -> None:
        match event.outcome:
            case InterruptOutcome(interrupts=interrupts):
                self.questions = list(interrupts)
                for interrupt in interrupts:
                    self._ask(interrupt)
                    card = self.cards.get(interrupt.tool_call_id or "")
                    if card is not None:
                        card.state = "waiting"
                        self.stage.call(card)
                self._end("interrupted")
            case CancelledOutcome():
                self._end("cancelled")
            case _:
                self._end("completed")

    def _end(self, status: RunStatus, code: str = "", message: str = "") -> None:
        self._settle()
        self.ending = Ending(status, self._run_id, self.metrics, code, message)
        self.stage.end(self.ending)
