"""The order of events as code: the rules of AG-UI 1.0, and the stricter rules of agio's own streams.

Without the house rules `Grammar` accepts exactly what the pipeline of `@ag-ui/client` 1.0.0 accepts.
"""

from collections.abc import Iterable
from typing import Literal, assert_never

from msgspec import UNSET

from agio.protocol import events as ev
from agio.protocol.events import AgentEvent
from agio.protocol.streams import GrammarError, Lanes, Owner, Rule, Streams, name_of

__all__ = ["Grammar", "GrammarError", "Rule"]


class Grammar:
    """Checks a stream event by event; runs may follow one another. After an error it cannot be used again.

    `house=False` disables the rules that only agio has. `known_calls` are ids of earlier tool calls whose results
    the stream may have.
    """

    def __init__(self, *, house: bool = True, known_calls: Iterable[str] = ()) -> None:
        self._house = house
        self._known_calls = set(known_calls)
        self._phase: Literal["before", "running", "finished", "failed"] = "before"
        self._begin_run()

    def check_stream(self, events: Iterable[AgentEvent]) -> None:
        """Check a complete stream, whose last run must have ended. Raises GrammarError."""
        for event in events:
            self.check(event)
        if self._phase in ("before", "running"):
            raise GrammarError("run-ends", "The stream stops before RUN_FINISHED or RUN_ERROR.")

    def check(self, event: AgentEvent) -> None:
        """Check the next event. Raises GrammarError."""
        self._check_phase(event)
        if self._house:
            self._check_carried(event)
        self._lanes.take(event)
        self._check_order(event)

    def _begin_run(self) -> None:
        self._seq = 0
        self._streams = Streams()
        self._lanes = Lanes(self._streams)
        self._steps: set[tuple[Owner, str]] = set()
        self._subagents: dict[str, Literal["running", "ended"]] = {}

    def _check_phase(self, event: AgentEvent) -> None:
        match self._phase, event:
            case (("before" | "finished" | "failed"), ev.RunStarted()):
                self._known_calls |= {entity for kind, entity in self._streams.owners if kind == "tool call"}
                self._begin_run()
            case "running", ev.RunStarted():
                raise GrammarError("one-run-at-a-time", "RUN_STARTED came while a run was going on.")
            case ("running", _) | (("before" | "finished"), ev.RunError()):
                pass
            case "before", _:
                raise GrammarError("starts-with-run", f"{event.type} came before RUN_STARTED.")
            case _:
                raise GrammarError("nothing-after-the-end", f"{event.type} came after the end of the run.")

    def _check_order(self, event: AgentEvent) -> None:
        streams = self._streams
        match event:
            case ev.RunStarted():
                self._phase = "running"
                if event.input is not UNSET:
                    streams.seed(event.input.messages, replace=False)
            case ev.RunFinished():
                self._check_all_closed()
                self._phase = "finished"
            case ev.RunError():
                self._phase = "failed"
            case ev.StepStarted() | ev.StepFinished():
                self._check_step(event)
            case ev.TextMessageStart():
                streams.start("text message", event.message_id, event.subagent_run_id)
            case ev.TextMessageContent():
                streams.go_on("text message", event.message_id, event.subagent_run_id)
            case ev.TextMessageEnd():
                streams.end("text message", event.message_id, event.subagent_run_id)
            case ev.ToolCallStart():
                streams.start_call(event.tool_call_id, event.subagent_run_id, event.parent_message_id)
            case ev.ToolCallArgs():
                streams.go_on("tool call", event.tool_call_id, event.subagent_run_id)
            case ev.ToolCallEnd():
                streams.end("tool call", event.tool_call_id, event.subagent_run_id)
            case ev.ToolCallResult():
                if self._house:
                    self._check_result(event.tool_call_id)
                streams.owners["text message", event.message_id] = event.subagent_run_id
            case ev.ReasoningStart():
                streams.start("reasoning span", event.message_id, event.subagent_run_id)
            case ev.ReasoningMessageStart():
                streams.start("reasoning message", event.message_id, event.subagent_run_id)
            case ev.ReasoningMessageContent():
                streams.go_on("reasoning message", event.message_id, event.subagent_run_id)
            case ev.ReasoningMessageEnd():
                streams.end("reasoning message", event.message_id, event.subagent_run_id)
            case ev.ReasoningEnd():
                streams.end("reasoning span", event.message_id, event.subagent_run_id)
            case ev.ReasoningEncryptedValue():
                self._check_encrypted(event)
            case ev.MessagesSnapshot():
                if self._house and streams.open:
                    raise GrammarError(
                        "house-snapshot",
                        f"MESSAGES_SNAPSHOT came before the end of {', '.join(self._open())}.",
                    )
                streams.seed(event.messages, replace=True)
            case ev.ActivitySnapshot():
                if event.replace is not False or ("activity", event.message_id) not in streams.owners:
                    streams.owners["activity", event.message_id] = event.subagent_run_id
            case ev.ActivityDelta():
                streams.agree("activity", event.message_id, event.subagent_run_id)
            case ev.SubagentStarted() | ev.SubagentFinished() | ev.SubagentError():
                self._check_subagent(event)
            case ev.TextMessageChunk() | ev.ToolCallChunk() | ev.ReasoningMessageChunk():
                pass
            case ev.StateSnapshot() | ev.StateDelta() | ev.Raw() | ev.Custom():
                pass
            case _:
                assert_never(event)

    def _check_all_closed(self) -> None:
        subagents = [f"subagent '{name}'" for name, state in self._subagents.items() if state == "running"]
        steps = [f"step '{name}'" for _, name in self._steps]
        if left := self._open() + steps + subagents:
            raise GrammarError("closed-at-the-end", f"RUN_FINISHED came before the end of {', '.join(left)}.")

    def _open(self) -> list[str]:
        return [f"{kind} '{entity}'" for kind, entity in sorted(self._streams.open)]

    def _check_step(self, event: ev.StepStarted | ev.StepFinished) -> None:
        step, owner = (event.subagent_run_id, event.step_name), name_of(event.subagent_run_id)
        match event:
            case ev.StepStarted():
                if step in self._steps:
                    raise GrammarError(
                        "step-once", f"The step '{event.step_name}' of {owner} is already open."
                    )
                self._steps.add(step)
            case ev.StepFinished():
                if step not in self._steps:
                    raise GrammarError(
                        "step-of-its-owner", f"No step '{event.step_name}' of {owner} is open."
                    )
                self._steps.remove(step)

    def _check_subagent(self, event: ev.SubagentStarted | ev.SubagentFinished | ev.SubagentError) -> None:
        name = event.subagent_run_id
        match event:
            case ev.SubagentStarted():
                if name in self._subagents:
                    raise GrammarError(
                        "subagent-once", f"The subagent '{name}' was already started in this run."
                    )
                parent = event.parent_subagent_run_id
                if parent is not UNSET and parent not in self._subagents:
                    raise GrammarError(
                        "subagent-parent", f"The subagent '{parent}' was not started in this run."
                    )
                self._subagents[name] = "running"
            case ev.SubagentFinished() | ev.SubagentError():
                if self._subagents.get(name) != "running":
                    raise GrammarError("subagent-open", f"No subagent '{name}' is running.")
                self._subagents[name] = "ended"

    def _check_encrypted(self, event: ev.ReasoningEncryptedValue) -> None:
        if event.subtype == "tool-call":
            kind = "tool call"
        elif ("text message", event.entity_id) in self._streams.owners:
            kind = "text message"
        else:
            kind = "reasoning message"
        self._streams.agree(kind, event.entity_id, event.subagent_run_id)

    def _check_carried(self, event: AgentEvent) -> None:
        if event.metadata is not UNSET and "seq" in event.metadata:
            seq = event.metadata["seq"]
            if isinstance(event, ev.MessagesSnapshot) and isinstance(seq, int) and seq >= self._seq:
                self._seq = seq  # the snapshot replaces all events up to this seq
                return
            self._seq += 1
            if event.metadata["seq"] != self._seq:
                raise GrammarError(
                    "house-seq", f"seq is {event.metadata['seq']!r} where {self._seq} comes next."
                )
        if isinstance(event, ev.TextMessageChunk | ev.ReasoningMessageChunk) and event.message_id is UNSET:
            raise GrammarError("house-chunk-id", f"{event.type} carries no messageId.")

    def _check_result(self, call: str) -> None:
        if ("tool call", call) in self._streams.open:
            raise GrammarError("house-result-of-call", f"The result of '{call}' came before TOOL_CALL_END.")
        if ("tool call", call) not in self._streams.owners and call not in self._known_calls:
            raise GrammarError("house-result-of-call", f"The result of '{call}' belongs to no known call.")
