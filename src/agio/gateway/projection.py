"""The log as a stock AG-UI client can take it: folds of the log, pure.

Such a client knows thread and run by the ids it gave them, takes nothing back, and can join a run only at its
start. So ids are replaced, a rewind is followed by a snapshot of the whole thread, and who comes back to a run gets
its start, a snapshot, and what is open again.
"""

from collections.abc import Iterable

from msgspec import UNSET, Struct, structs

from agio.core.fold import Fold, TurnDraft, fold_events, fold_log
from agio.core.repository import RunLog
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
from agio.protocol.frames import ends_run
from agio.protocol.messages import AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall

_STARTED = b'{"type":"RUN_STARTED"'
_FINISHED = b'{"type":"RUN_FINISHED"'
_CUSTOM = b'{"type":"CUSTOM"'
_REWIND = REWIND.encode()


class ClientIds(Struct, frozen=True):
    """What a client calls a thread and a run."""

    thread_id: str
    run_id: str


class View(Struct, frozen=True):
    """A thread after event `seq` of one of its runs. A run's end is not in it: the client is to see it happen."""

    run_id: str
    seq: int
    messages: list[Message]
    reopening: list[AgentEvent]
    """Events that open again what is open: steps, sub-agents, calls whose arguments are still coming."""


def is_plain(payload: bytes) -> bool:
    """Whether these lines go to a client as they are. Nothing is decoded."""
    return not (payload.startswith(_STARTED) or _REWIND in payload or ends_run(payload))


def takes_back(payload: bytes) -> bool:
    """Whether there may be a rewind among these lines. Nothing is decoded."""
    return _REWIND in payload


def rename_ends(payload: bytes, ids: ClientIds) -> bytes:
    """Return a run's lines with the client's ids in its start and its end, if they are among them."""
    first = payload.find(b"\n") + 1
    if payload.startswith(_STARTED):
        payload = rename(payload[: first - 1], ids) + payload[first - 1 :]
    last = payload.rfind(b"\n", 0, -1) + 1
    if payload.startswith(_FINISHED, last):
        payload = payload[:last] + rename(payload[last:-1], ids) + b"\n"
    return payload


def snapshot_after(line: bytes, *, start: bool) -> int:
    """Return the seq of an event that a snapshot must follow: a rewind, with `start` the run's start; else 0."""
    if start and line.startswith(_STARTED):
        return 1
    if not line.startswith(_CUSTOM) or _REWIND not in line:
        return 0
    event = decode_event(line)
    return seq_of(event) if isinstance(event, Custom) and event.name == REWIND else 0


def rename(line: bytes, ids: ClientIds, *, bare: bool = False) -> bytes:
    """Return an event's line with the client's ids where it names its thread and run.

    A `bare` start is without its input: a client would put the messages before those of the snapshot that follows.
    """
    if not line.startswith((_STARTED, _FINISHED)):
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


def snapshot(view: View) -> bytes:
    """Return the line that replaces a client's thread: it stands for all events up to the view's."""
    return encode(MessagesSnapshot(messages=view.messages, metadata={"run": view.run_id, "seq": view.seq}))


def rejoin(view: View, started: bytes, ids: ClientIds) -> list[bytes]:
    """Return the lines with which a client that comes back begins; the log goes on after the view's event."""
    return [rename(started, ids, bare=True), snapshot(view), *map(encode, view.reopening)]


def view_thread(logs: Iterable[RunLog], run_id: str, seq: int) -> View:
    """Fold a thread's logs, oldest first, that of `run_id` up to event `seq`."""
    fold = Fold()
    hidden: set[str] = set()
    own: list[AgentEvent] = []
    for log in logs:
        if log.info.run_id == run_id:
            own = [event for event in log.events() if seq_of(event) <= seq]
            fold_events(fold, own, log.turns)
        else:
            fold_log(fold, log)
        # What corrects the model is no message of the conversation: nobody was shown it.
        hidden |= {f"{log.info.run_id}_c{number + 1}" for number in range(fold.corrections)}
    draft, calls = _draft_of(fold.draft)
    messages = [message for message in (*fold.messages, *draft) if message.id not in hidden]
    abandoned = _abandoned_reasoning(own)
    if abandoned and not any(isinstance(message, ReasoningMessage) for message in messages):
        # A client keeps its reasoning when a snapshot has none at all: this empties what was taken back.
        messages.append(ReasoningMessage(id=abandoned, content=""))
    if own and isinstance(own[-1], (RunFinished, RunError)):
        return View(run_id, seq - 1, messages, [])
    return View(run_id, seq, messages, [*_open_spans(own), *calls])


def _draft_of(draft: TurnDraft | None) -> tuple[list[Message], list[AgentEvent]]:
    """Return what there is of the turn under way: messages, and events from its first open call on."""
    if draft is None:
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
    events: list[AgentEvent] = []
    for call in calls[closed:]:
        events.append(
            ToolCallStart(
                tool_call_id=call.id,
                tool_call_name=call.name,
                parent_message_id=draft.message_id or UNSET,
            )
        )
        if call.arguments:
            events.append(ToolCallArgs(tool_call_id=call.id, delta="".join(call.arguments)))
        if call.ended:
            events.append(ToolCallEnd(tool_call_id=call.id))
    return messages, events


def _open_spans(events: Iterable[AgentEvent]) -> list[AgentEvent]:
    """Return the events that opened the steps and sub-agents that are open after all of these."""
    spans: dict[tuple[object, ...], AgentEvent] = {}
    for event in events:
        match event:
            case StepStarted():
                spans[event.subagent_run_id, event.step_name] = structs.replace(event, metadata=UNSET)
            case StepFinished():
                spans.pop((event.subagent_run_id, event.step_name), None)
            case SubagentStarted():
                spans[(event.subagent_run_id,)] = structs.replace(event, metadata=UNSET)
            case SubagentFinished() | SubagentError():
                spans.pop((event.subagent_run_id,), None)
            case _:
                pass
    return list(spans.values())


def _abandoned_reasoning(events: Iterable[AgentEvent]) -> str:
    """Return the id of the reasoning that was taken back last, if any was."""
    newest = abandoned = ""
    for event in events:
        match event:
            case ReasoningMessageChunk():
                newest = event.message_id or newest
            case Custom(name=name) if name == REWIND:
                abandoned = newest
            case _:
                pass
    return abandoned
