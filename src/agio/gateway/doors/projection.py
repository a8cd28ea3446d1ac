"""Projects the log for stock AG-UI clients: pure folds of the log.

Such a client uses its own thread and run ids, cannot rewind, and can join a run only at its start. So ids are
replaced, a rewind is followed by a snapshot of the whole thread, and a client that rejoins a run gets its start, a
snapshot, and the events that reopen open steps and calls.
"""

from collections.abc import Iterator

from msgspec import UNSET, Struct, structs

from agio.core.run.fold import Fold, fold_slices
from agio.core.run.lane import Lane
from agio.core.store.repository import RunLog
from agio.protocol.codec import decode_event, encode
from agio.protocol.events import (
    REWIND,
    AgentEvent,
    Custom,
    MessagesSnapshot,
    ReasoningMessageChunk,
    RunError,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
    seq_of,
)
from agio.protocol.frames import CUSTOM, FINISHED, STARTED, ends_run
from agio.protocol.messages import AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall

_REWIND = REWIND.encode()
_BRANCH = b'"branch":true'
CLEARED = encode(MessagesSnapshot(messages=[]))
"""An empty snapshot: a client keeps the order of the messages it has, so a path with another order follows this."""


class ClientIds(Struct, frozen=True):
    """A client's own ids of a thread and a run."""

    thread_id: str
    run_id: str


class View(Struct, frozen=True):
    """A thread after event `seq` of one of its runs. It omits the run's end, which the client receives as an event."""

    run_id: str
    seq: int
    messages: list[Message]
    spans: list[AgentEvent]
    """Events that reopen steps and sub-agents."""
    calls: list[AgentEvent]
    """Events that reopen calls whose arguments are still streaming."""


def is_plain(payload: bytes) -> bool:
    """Whether these lines go to a client unchanged. It decodes nothing."""
    return not (payload.startswith(STARTED) or _REWIND in payload or ends_run(payload))


def takes_back(payload: bytes) -> bool:
    """Whether these lines may contain a rewind. It decodes nothing."""
    return _REWIND in payload


def branches_off(payload: bytes) -> bool:
    """Whether these lines start a run that does not continue the session's newest run. It decodes nothing."""
    return payload.startswith(STARTED) and _BRANCH in payload[: payload.find(b"\n")]


def rename_ends(payload: bytes, ids: ClientIds) -> bytes:
    """Return a run's lines with the client's ids in its start and end events."""
    first = payload.find(b"\n") + 1
    if payload.startswith(STARTED):
        payload = rename(payload[: first - 1], ids) + payload[first - 1 :]
    last = payload.rfind(b"\n", 0, -1) + 1
    if payload.startswith(FINISHED, last):
        payload = payload[:last] + rename(payload[last:-1], ids) + b"\n"
    return payload


def snapshot_after(line: bytes, *, start: bool) -> int:
    """Return the event's seq if a snapshot must follow it (a rewind; with `start`, the run's start), else 0."""
    if start and line.startswith(STARTED):
        return 1
    if not line.startswith(CUSTOM) or _REWIND not in line:
        return 0
    event = decode_event(line)
    return seq_of(event) if isinstance(event, Custom) and event.name == REWIND else 0


def rename(line: bytes, ids: ClientIds, *, bare: bool = False) -> bytes:
    """Return an event's line with thread and run replaced by the client's ids.

    A `bare` start omits its input: a client would place those messages before the ones of the snapshot that follows.
    """
    if not line.startswith((STARTED, FINISHED)):
        return line
    event = decode_event(line)
    match event:
        case RunStarted():
            event.thread_id, event.run_id = ids.thread_id, ids.run_id
            if bare:
                event.input = UNSET
            elif event.input is not UNSET:
                event.input.thread_id, event.input.run_id = ids.thread_id, ids.run_id
        case RunFinished():
            event.thread_id, event.run_id = ids.thread_id, ids.run_id
        case _:
            return line
    return encode(event)


def snapshot(view: View, limit_bytes: int) -> bytes:
    """Return the snapshot line: it replaces the client's thread and stands for all events up to the view's.

    If the thread exceeds the limit, the snapshot has the newest messages only, at least one.
    """
    messages = view.messages
    left = limit_bytes
    for at in range(len(messages) - 1, -1, -1):
        left -= len(encode(messages[at]))
        if left < 0 and at + 1 < len(messages):
            messages = messages[at + 1 :]
            break
    return encode(MessagesSnapshot(messages=messages, metadata={"run": view.run_id, "seq": view.seq}))


def rejoin(view: View, started: bytes, ids: ClientIds, limit_bytes: int) -> list[bytes]:
    """Return the first lines for a client that rejoins; the log continues after the view's event."""
    reopening = map(encode, (*view.spans, *view.calls))
    return [rename(started, ids, bare=True), snapshot(view, limit_bytes), *reopening]


def renew(view: View, limit_bytes: int) -> list[bytes]:
    """Return the lines that replace the thread of a client in mid-run. A snapshot must not come within a call."""
    ended = {event.tool_call_id for event in view.calls if isinstance(event, ToolCallEnd)}
    ends = [
        ToolCallEnd(event.tool_call_id, subagent_run_id=event.subagent_run_id)
        for event in view.calls
        if isinstance(event, ToolCallStart) and event.tool_call_id not in ended
    ]
    return [*map(encode, ends), snapshot(view, limit_bytes), *map(encode, view.calls)]


class ThreadView:
    """Folds a thread's logs, oldest first, up to event `seq` of `run_id`: `take` each log, then call `view()`."""

    def __init__(self, run_id: str, seq: int) -> None:
        self._run_id = run_id
        self._seq = seq
        self._fold = Fold()
        self._hidden: set[str] = set()
        self._spans: dict[tuple[object, ...], AgentEvent] = {}
        """The events that opened the run's open steps and sub-agents."""
        self._newest_reasoning = ""
        self._abandoned_reasoning = ""
        """The reasoning that the run's last rewind removed, if any."""
        self._ended = False

    def take(self, log: RunLog) -> Iterator[None]:
        """Fold the next log; yield after each slice."""
        fold, run_id = self._fold, log.info.run_id
        own = run_id == self._run_id
        for events in fold_slices(fold, log, self._seq if own else None):
            if own:
                for event in events:
                    self._note(event)
            yield
        # A correction sent to the model is not part of the conversation: the client never saw it.
        for lane in fold.all_lanes:
            self._hidden |= {f"{lane.key or run_id}_c{number + 1}" for number in range(lane.corrections)}

    def view(self) -> View:
        """Return the view of the logs folded so far."""
        calls = [event for lane in self._fold.all_lanes for event in _draft_of(lane)[1]]
        thread = self._fold.woven(lambda lane: [*lane.messages, *_draft_of(lane)[0]])
        messages = [message for message in thread if message.id not in self._hidden]
        abandoned = self._abandoned_reasoning
        if abandoned and not any(isinstance(message, ReasoningMessage) for message in messages):
            # A client keeps its reasoning if a snapshot has none: this clears the removed reasoning.
            messages.append(ReasoningMessage(id=abandoned, content=""))
        if self._ended:
            return View(self._run_id, self._seq - 1, messages, [], [])
        return View(self._run_id, self._seq, messages, list(self._spans.values()), calls)

    def _note(self, event: AgentEvent) -> None:
        spans = self._spans
        match event:
            case ReasoningMessageChunk():
                self._newest_reasoning = event.message_id or self._newest_reasoning
            case Custom(name=name) if name == REWIND:
                self._abandoned_reasoning = self._newest_reasoning
            case StepStarted():
                spans[event.subagent_run_id, event.step_name] = structs.replace(event, metadata=UNSET)
            case StepFinished():
                spans.pop((event.subagent_run_id, event.step_name), None)
            case SubagentStarted():
                spans[(event.subagent_run_id,)] = structs.replace(event, metadata=UNSET)
            case SubagentFinished() | SubagentError():
                spans.pop((event.subagent_run_id,), None)
            case RunFinished() | RunError():
                self._ended = True
            case _:
                pass


def _draft_of(lane: Lane) -> tuple[list[Message], list[AgentEvent]]:
    """Return the lane's turn in progress: its messages, and its events from the first open call on."""
    if (draft := lane.draft) is None:
        return [], []
    messages: list[Message] = []
    if draft.reasoning:
        messages.append(ReasoningMessage(id=draft.reasoning_id, content="".join(draft.reasoning)))
    calls = list(draft.calls.values())
    closed = next((at for at, call in enumerate(calls) if not call.ended), len(calls))
    if draft.text or closed:
        message = AssistantMessage(id=draft.message_id)
        if draft.text:
            message.content = "".join(draft.text)
        if closed:
            message.tool_calls = [
                ToolCall(call.id, FunctionCall(call.name, "".join(call.arguments))) for call in calls[:closed]
            ]
        messages.append(message)
    for message in messages:
        message.subagent_run_id = lane.key or UNSET
    events: list[AgentEvent] = []
    for call in calls[closed:]:
        events.append(lane.own(ToolCallStart(call.id, call.name, draft.message_id or UNSET)))
        if call.arguments:
            events.append(lane.own(ToolCallArgs(call.id, "".join(call.arguments))))
        if call.ended:
            events.append(lane.own(ToolCallEnd(call.id)))
    return messages, events
