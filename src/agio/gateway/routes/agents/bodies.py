"""Request bodies of the routes of agents."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from agio.core.config import AgentLimits
from agio.core.handoff import Handoff, HandoffFilter, HandoffMode
from agio.core.store.records import AgentFields, AgentStatus, AgentTool, ApprovalPolicy, MemoryPolicy
from agio.core.store.repository import Approval
from agio.gateway.routes.body import AS_WHOLE, NOT_BLANK, Body, Identifier, Name

MAX_STEPS = 1000
MAX_RUN_S = 24 * 3600
MAX_TURN_S = 3600
MAX_TOKENS = 10**9
MAX_HISTORY = 1000
TOOL_NAME_CHARS = 64
MAX_HANDOFFS = 16
MAX_MEMORIES = 200
MAX_COLLECTIONS = 50


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it must not be blank")
    return text


def _named(given: object) -> object:
    return {"name": given} if isinstance(given, str) else given


SystemPrompt: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=100_000, json_schema_extra=NOT_BLANK), AfterValidator(_not_blank)
]
ProviderName: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
ModelName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=TOOL_NAME_CHARS)]


class ToolBody(Body):
    """A tool an agent may use; `approval` overrides the tool's own."""

    name: ToolName
    approval: Approval | None = None


class HandoffBody(Body):
    """Another agent that the agent may hand over to (`handoff`), or call like a tool (`tool`)."""

    agent: Annotated[str, Field(min_length=1, max_length=200)]
    """Its id or name."""
    mode: HandoffMode = "handoff"
    description: Annotated[str, Field(max_length=1000)] = ""
    """For the model: when to use it."""
    filter: HandoffFilter = "all"
    """What the other agent sees of the conversation, with `handoff`."""
    tool: Annotated[str, Field(max_length=TOOL_NAME_CHARS, pattern=r"^([A-Za-z][A-Za-z0-9_-]*)?$")] = ""
    """The name of the tool that stands for it; empty: made from its name."""


GivenTool: TypeAlias = Annotated[
    ToolBody, BeforeValidator(_named, json_schema_input_type=ToolName | ToolBody), Field(title="Tool")
]


class LimitsBody(Body):
    """The limits of an agent's runs; omitted ones are the server's defaults."""

    run_timeout_s: Annotated[float, Field(gt=0, le=MAX_RUN_S)] | None = None
    turn_timeout_s: Annotated[float, Field(gt=0, le=MAX_TURN_S)] | None = None
    """How long the model may take for one turn."""
    tool_timeout_s: Annotated[float, Field(gt=0, le=MAX_TURN_S)] | None = None
    """How long a tool may take that does not say so itself; an HTTP tool two minutes at most."""
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), AS_WHOLE] | None = None
    """Input and output tokens of all model calls of a run together."""
    context_tokens: Annotated[int, Field(ge=1000, le=MAX_TOKENS), AS_WHOLE] | None = None
    """The size of a prompt, estimated."""
    max_history_messages: Annotated[int, Field(ge=0, le=MAX_HISTORY), AS_WHOLE] | None = None
    compact_at_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS), AS_WHOLE] | None = None
    """The size of a prompt past which older messages are summarised: 80 % of `context_tokens` if omitted, 0: never."""
    max_tool_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), AS_WHOLE] | None = None
    """Past so many tokens of tool declarations the model searches MCP tools with `find_tools`."""

    max_document_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS), AS_WHOLE] | None = None
    """Documents of at most so many tokens are in the prompt as a whole; 0: none, only the tools read them."""
    max_memories: Annotated[int, Field(ge=0, le=MAX_MEMORIES), AS_WHOLE] | None = None
    """How many memories a run begins with."""
    memory_update_async: bool | None = None
    """False: closing a session is answered when its memories have been suggested."""

    def said(self) -> AgentLimits | None:
        """Return the limits as the store takes them; None if nothing is said."""
        limits = AgentLimits(**self.model_dump())
        return limits if limits.said() else None


class AgentBody(Body):
    """An agent."""

    name: Name
    system_prompt: SystemPrompt
    model_provider: ProviderName
    model_name: ModelName
    description: Annotated[str, Field(max_length=2000)] = ""
    goal: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_steps: Annotated[int, Field(ge=1, le=MAX_STEPS), AS_WHOLE] | None = None
    status: AgentStatus = "active"
    approval: ApprovalPolicy = "tool"
    memory: MemoryPolicy = "suggest"
    """Whether it remembers what people say: `off`, what they approve (`suggest`), or by itself (`automatic`)."""
    search_conversations: bool = False
    """Whether it can search its user's other conversations."""
    collections: Annotated[list[Identifier], Field(default=[], max_length=MAX_COLLECTIONS)]
    """The ids of the collections whose documents it knows."""
    output_schema: dict[str, object] | None = None
    """What the final answer must be, as a JSON schema of at most 64 KiB; null: text."""
    limits: LimitsBody | None = None
    tools: Annotated[list[GivenTool], Field(default=[], max_length=100)]
    """Names, or objects with a name and an approval."""
    handoffs: Annotated[list[HandoffBody], Field(default=[], max_length=MAX_HANDOFFS)]

    def fields(self) -> AgentFields:
        """Return the agent as the store takes it."""
        given = self.model_dump(exclude={"tools", "limits", "handoffs"})
        limits = None if self.limits is None else self.limits.said()
        handoffs = [Handoff(**each.model_dump()) for each in self.handoffs]
        return AgentFields(**given, limits=limits, tools=self.agent_tools(), handoffs=handoffs)

    def agent_tools(self) -> list[AgentTool]:
        """Return the tools, each once."""
        tools: dict[str, AgentTool] = {}
        for tool in self.tools:
            tools.setdefault(tool.name, AgentTool(tool.name, tool.approval))
        return list(tools.values())


class AssignmentBody(Body):
    """The assignment of a tool to an agent; `approval` overrides the tool's own."""

    approval: Approval | None = None
