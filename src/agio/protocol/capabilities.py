"""The capabilities an agent declares, in AG-UI 1.0. Undeclared fields are absent."""

from msgspec import UNSET, Struct, UnsetType

from agio.protocol.events import Count
from agio.protocol.messages import Json, Metadata, ToolDeclaration


class _Part(Struct, rename="camel"):
    pass


class SubagentInfo(_Part):
    name: str
    description: str | UnsetType = UNSET


class IdentityCapabilities(_Part):
    name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET
    documentation_url: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class TransportCapabilities(_Part):
    streaming: bool | UnsetType = UNSET
    websocket: bool | UnsetType = UNSET
    http_binary: bool | UnsetType = UNSET
    push_notifications: bool | UnsetType = UNSET
    resumable: bool | UnsetType = UNSET


class ToolsCapabilities(_Part):
    supported: bool | UnsetType = UNSET
    items: list[ToolDeclaration] | UnsetType = UNSET
    parallel_calls: bool | UnsetType = UNSET
    client_provided: bool | UnsetType = UNSET


class OutputCapabilities(_Part):
    structured_output: bool | UnsetType = UNSET
    supported_mime_types: list[str] | UnsetType = UNSET


class StateCapabilities(_Part):
    snapshots: bool | UnsetType = UNSET
    deltas: bool | UnsetType = UNSET
    memory: bool | UnsetType = UNSET
    persistent_state: bool | UnsetType = UNSET


class MultiAgentCapabilities(_Part):
    supported: bool | UnsetType = UNSET
    delegation: bool | UnsetType = UNSET
    handoffs: bool | UnsetType = UNSET
    subagents: list[SubagentInfo] | UnsetType = UNSET


class ReasoningCapabilities(_Part):
    supported: bool | UnsetType = UNSET
    streaming: bool | UnsetType = UNSET
    encrypted: bool | UnsetType = UNSET


class MultimodalInputCapabilities(_Part):
    image: bool | UnsetType = UNSET
    audio: bool | UnsetType = UNSET
    video: bool | UnsetType = UNSET
    pdf: bool | UnsetType = UNSET
    file: bool | UnsetType = UNSET


class MultimodalOutputCapabilities(_Part):
    image: bool | UnsetType = UNSET
    audio: bool | UnsetType = UNSET


class MultimodalCapabilities(_Part):
    input: MultimodalInputCapabilities | UnsetType = UNSET
    output: MultimodalOutputCapabilities | UnsetType = UNSET


class ExecutionCapabilities(_Part):
    """The limits of a run's execution; `max_execution_time` is in milliseconds."""

    code_execution: bool | UnsetType = UNSET
    sandboxed: bool | UnsetType = UNSET
    max_iterations: Count | UnsetType = UNSET
    max_execution_time: Count | UnsetType = UNSET


class HumanInTheLoopCapabilities(_Part):
    supported: bool | UnsetType = UNSET
    approvals: bool | UnsetType = UNSET
    interventions: bool | UnsetType = UNSET
    feedback: bool | UnsetType = UNSET
    interrupts: bool | UnsetType = UNSET
    approve_with_edits: bool | UnsetType = UNSET


class AgentCapabilities(_Part):
    """All capabilities of an agent. An absent field means unknown, not unsupported."""

    identity: IdentityCapabilities | UnsetType = UNSET
    transport: TransportCapabilities | UnsetType = UNSET
    tools: ToolsCapabilities | UnsetType = UNSET
    output: OutputCapabilities | UnsetType = UNSET
    state: StateCapabilities | UnsetType = UNSET
    multi_agent: MultiAgentCapabilities | UnsetType = UNSET
    reasoning: ReasoningCapabilities | UnsetType = UNSET
    multimodal: MultimodalCapabilities | UnsetType = UNSET
    execution: ExecutionCapabilities | UnsetType = UNSET
    human_in_the_loop: HumanInTheLoopCapabilities | UnsetType = UNSET
    custom: dict[str, Json] | UnsetType = UNSET
