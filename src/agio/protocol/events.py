"""The 31 events of AG-UI 1.0, one struct each, and the names of agio's own CUSTOM events.

`AgentEvent` is their union. Optional fields are absent, never null; `timestamp` is in milliseconds.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from agio.protocol.messages import Content, Json, JsonPresent, Message, Metadata, RunAgentInput

PROTOCOL_VERSION = "1.0"

Timestamp: TypeAlias = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
JsonPointer: TypeAlias = Annotated[str, Meta(pattern=r"^(/([^/~]|~[01])*)*$")]


class _Event(Struct, kw_only=True, rename="camel", tag_field="type"):
    timestamp: Timestamp | UnsetType = UNSET
    raw_event: JsonPresent = UNSET
    metadata: Metadata | UnsetType = UNSET

    @property
    def type(self) -> str:
        """The wire name of the event's type, such as `RUN_STARTED`."""
        return str(self.__struct_config__.tag)


class Attributed(_Event, kw_only=True):
    """An event of the run's agent, or of one of its sub-agents."""

    subagent_run_id: str | UnsetType = UNSET


class _Part(Struct, rename="camel"):
    pass


# A run


class TokenUsage(_Part):
    """Tokens one model used in a run."""

    provider: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    input_tokens: Count | UnsetType = UNSET
    output_tokens: Count | UnsetType = UNSET
    total_tokens: Count | UnsetType = UNSET
    reasoning_tokens: Count | UnsetType = UNSET
    cached_input_tokens: Count | UnsetType = UNSET
    cache_write_input_tokens: Count | UnsetType = UNSET


class Interrupt(_Part):
    """A question a run ended with; the next run answers it."""

    id: str
    reason: str
    message: str | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    response_schema: dict[str, Json] | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    subagent_run_id: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class SuccessOutcome(_Part, tag_field="type", tag="success"):
    pending_tool_call_ids: list[str] | UnsetType = UNSET


class InterruptOutcome(_Part, tag_field="type", tag="interrupt"):
    interrupts: Annotated[list[Interrupt], Meta(min_length=1)]


class CancelledOutcome(_Part, tag_field="type", tag="cancelled"):
    pass


RunOutcome: TypeAlias = SuccessOutcome | InterruptOutcome | CancelledOutcome


class RunStarted(_Event, tag="RUN_STARTED"):
    thread_id: str
    run_id: str
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    input: RunAgentInput | UnsetType = UNSET


class RunFinished(_Event, tag="RUN_FINISHED"):
    thread_id: str
    run_id: str
    result: JsonPresent = UNSET
    outcome: RunOutcome | UnsetType = UNSET
    usage: list[TokenUsage] | UnsetType = UNSET


class RunError(_Event, tag="RUN_ERROR"):
    message: str
    code: str | UnsetType = UNSET
    usage: list[TokenUsage] | UnsetType = UNSET


class StepStarted(Attributed, tag="STEP_STARTED"):
    step_name: str


class StepFinished(Attributed, tag="STEP_FINISHED"):
    step_name: str


# Text

TextRole: TypeAlias = Literal["developer", "system", "assistant", "user"]


class TextMessageStart(Attributed, tag="TEXT_MESSAGE_START"):
    message_id: str
    role: TextRole | UnsetType = UNSET
    name: str | UnsetType = UNSET


class TextMessageContent(Attributed, tag="TEXT_MESSAGE_CONTENT"):
    message_id: str
    delta: str


class TextMessageEnd(Attributed, tag="TEXT_MESSAGE_END"):
    message_id: str


class TextMessageChunk(Attributed, tag="TEXT_MESSAGE_CHUNK"):
    message_id: str | UnsetType = UNSET
    role: TextRole | UnsetType = UNSET
    delta: str | UnsetType = UNSET
    name: str | UnsetType = UNSET


# Tool calls


class ToolCallStart(Attributed, tag="TOOL_CALL_START"):
    tool_call_id: str
    tool_call_name: str
    parent_message_id: str | UnsetType = UNSET


class ToolCallArgs(Attributed, tag="TOOL_CALL_ARGS"):
    tool_call_id: str
    delta: str


class ToolCallEnd(Attributed, tag="TOOL_CALL_END"):
    tool_call_id: str


class ToolCallChunk(Attributed, tag="TOOL_CALL_CHUNK"):
    tool_call_id: str | UnsetType = UNSET
    tool_call_name: str | UnsetType = UNSET
    parent_message_id: str | UnsetType = UNSET
    delta: str | UnsetType = UNSET


class ToolCallResult(Attributed, tag="TOOL_CALL_RESULT"):
    message_id: str
    tool_call_id: str
    content: Content
    role: Literal["tool"] | UnsetType = UNSET


# Reasoning


class ReasoningStart(Attributed, tag="REASONING_START"):
    message_id: str


class ReasoningMessageStart(Attributed, tag="REASONING_MESSAGE_START"):
    message_id: str
    role: Literal["reasoning"] = "reasoning"


class ReasoningMessageContent(Attributed, tag="REASONING_MESSAGE_CONTENT"):
    message_id: str
    delta: str


class ReasoningMessageEnd(Attributed, tag="REASONING_MESSAGE_END"):
    message_id: str


class ReasoningMessageChunk(Attributed, tag="REASONING_MESSAGE_CHUNK"):
    message_id: str | UnsetType = UNSET
    delta: str | UnsetType = UNSET


class ReasoningEnd(Attributed, tag="REASONING_END"):
    message_id: str


class ReasoningEncryptedValue(Attributed, tag="REASONING_ENCRYPTED_VALUE"):
    subtype: Literal["tool-call", "message"]
    entity_id: str
    encrypted_value: str


# State, messages and activities


class AddOperation(_Part, tag_field="op", tag="add"):
    path: JsonPointer
    value: Json


class RemoveOperation(_Part, tag_field="op", tag="remove"):
    path: JsonPointer


class ReplaceOperation(_Part, tag_field="op", tag="replace"):
    path: JsonPointer
    value: Json


class MoveOperation(_Part, tag_field="op", tag="move", rename={"from_": "from"}):
    from_: JsonPointer
    path: JsonPointer


class CopyOperation(_Part, tag_field="op", tag="copy", rename={"from_": "from"}):
    from_: JsonPointer
    path: JsonPointer


class TestOperation(_Part, tag_field="op", tag="test"):
    path: JsonPointer
    value: Json


JsonPatch: TypeAlias = list[
    AddOperation | RemoveOperation | ReplaceOperation | MoveOperation | CopyOperation | TestOperation
]


class StateSnapshot(Attributed, tag="STATE_SNAPSHOT"):
    snapshot: Json


class StateDelta(Attributed, tag="STATE_DELTA"):
    delta: JsonPatch


class MessagesSnapshot(_Event, tag="MESSAGES_SNAPSHOT"):
    messages: list[Message]


class ActivitySnapshot(Attributed, tag="ACTIVITY_SNAPSHOT"):
    message_id: str
    activity_type: str
    content: dict[str, Json]
    replace: bool | UnsetType = UNSET


class ActivityDelta(Attributed, tag="ACTIVITY_DELTA"):
    message_id: str
    activity_type: str
    patch: JsonPatch


# Subagents


class SubagentSuccess(_Part, tag_field="type", tag="success"):
    pass


class SubagentSuspended(_Part, tag_field="type", tag="suspended"):
    interrupt_ids: list[str] | UnsetType = UNSET


class SubagentStarted(_Event, tag="SUBAGENT_STARTED"):
    subagent_run_id: str
    name: str
    description: str | UnsetType = UNSET
    parent_subagent_run_id: str | UnsetType = UNSET
    parent_tool_call_id: str | UnsetType = UNSET
    parent_message_id: str | UnsetType = UNSET


class SubagentFinished(_Event, tag="SUBAGENT_FINISHED"):
    subagent_run_id: str
    result: JsonPresent = UNSET
    outcome: SubagentSuccess | SubagentSuspended | UnsetType = UNSET


class SubagentError(_Event, tag="SUBAGENT_ERROR"):
    subagent_run_id: str
    message: str
    code: str | UnsetType = UNSET


# Raw and custom events


class Raw(Attributed, tag="RAW"):
    event: Json
    source: str | UnsetType = UNSET


class Custom(Attributed, tag="CUSTOM"):
    name: str
    value: Json


METRICS = "agio.metrics"
ERROR = "agio.error"
NOTICE = "agio.notice"
REWIND = "agio.rewind"
COMPACTED = "agio.compacted"
TOOL_PROGRESS = "agio.tool_progress"
INPUT = "agio.input"
HANDOFF = "agio.handoff"
CITATIONS = "agio.citations"
MEMORY_SUGGESTED = "agio.memory_suggested"

AgentEvent: TypeAlias = (
    RunStarted
    | RunFinished
    | RunError
    | StepStarted
    | StepFinished
    | TextMessageStart
    | TextMessageContent
    | TextMessageEnd
    | TextMessageChunk
    | ToolCallStart
    | ToolCallArgs
    | ToolCallEnd
    | ToolCallChunk
    | ToolCallResult
    | ReasoningStart
    | ReasoningMessageStart
    | ReasoningMessageContent
    | ReasoningMessageEnd
    | ReasoningMessageChunk
    | ReasoningEnd
    | ReasoningEncryptedValue
    | StateSnapshot
    | StateDelta
    | MessagesSnapshot
    | ActivitySnapshot
    | ActivityDelta
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | Raw
    | Custom
)

Terminal: TypeAlias = RunFinished | RunError


def seq_of(event: AgentEvent) -> int:
    """Return the sequence number of a logged event in its run; 0 if it has none."""
    if event.metadata is UNSET:
        return 0
    seq = event.metadata.get("seq")
    return seq if isinstance(seq, int) else 0
