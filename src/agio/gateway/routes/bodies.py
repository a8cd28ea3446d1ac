"""What every route's body is made of, and the bodies of agents. Unknown fields are refused; nothing is coerced."""

from typing import Annotated, TypeAlias

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic.config import JsonDict

from agio.core.config import AgentLimits
from agio.core.name import name_problem, seen
from agio.core.store.records import AgentFields, AgentStatus, AgentTool, ApprovalPolicy
from agio.core.store.repository import Approval
from agio.protocol.messages import Content, ContentPart

MAX_STEPS = 1000
MAX_RUN_S = 24 * 3600
MAX_TURN_S = 3600
MAX_TOKENS = 10**9
MAX_HISTORY = 1000
TOOL_NAME_CHARS = 64
_PARTS = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/ContentPart"}}


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it must not be blank")
    return text


def _name(text: str) -> str:
    name = text.strip()
    if (problem := name_problem(name)) is not None:
        raise ValueError(problem)
    return name


def _name_or_none(text: str) -> str:
    return _name(text) if text.strip() else ""


def _title(text: str) -> str:
    """Take what can be seen, in one line: titles are made of messages, and nobody is known by one."""
    return seen(" ".join(text.split()))


def _content(given: object) -> Content:
    if isinstance(given, str):
        return given
    try:
        parts = msgspec.convert(given, list[ContentPart])
    except msgspec.ValidationError as error:
        raise ValueError(f"it must be text or a list of AG-UI content parts ({error})") from None
    if not parts:
        raise ValueError("it must have at least one part")
    return parts


def _whole(given: object) -> object:
    """Take 7.0 for 7, as JSON schema does."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def any_given(**kinds: str) -> JsonDict:
    """Say in a schema that one of these fields is given, and not null."""
    return {
        "anyOf": [{"required": [name], "properties": {name: {"type": kind}}} for name, kind in kinds.items()]
    }


def _named(given: object) -> object:
    return {"name": given} if isinstance(given, str) else given


NOT_BLANK: JsonDict = {"pattern": r"\S"}
Name: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=100, json_schema_extra=NOT_BLANK), AfterValidator(_name)
]
AS_WHOLE = BeforeValidator(_whole)
ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=TOOL_NAME_CHARS)]
NameOrNone: TypeAlias = Annotated[str, Field(max_length=100), AfterValidator(_name_or_none)]
Title: TypeAlias = Annotated[str, Field(max_length=200), AfterValidator(_title)]
Identifier: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
GivenContent: TypeAlias = Annotated[
    Content, PlainValidator(_content), WithJsonSchema({"anyOf": [{"type": "string"}, _PARTS]})
]


class Body(BaseModel):
    """A JSON object with these fields and no others, each of its own kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ToolBody(Body):
    """A tool an agent may use; `approval` overrides the tool's own."""

    name: ToolName
    approval: Approval | None = None


GivenTool: TypeAlias = Annotated[
    ToolBody, BeforeValidator(_named, json_schema_input_type=ToolName | ToolBody), Field(title="Tool")
]


class LimitsBody(Body):
    """The limits of an agent's runs; what is not given is the server's default."""

    run_timeout_s: Annotated[float, Field(gt=0, le=MAX_RUN_S)] | None = None
    turn_timeout_s: Annotated[float, Field(gt=0, le=MAX_TURN_S)] | None = None
    """How long the model may take for one turn."""
    tool_timeout_s: Annotated[float, Field(gt=0, le=MAX_TURN_S)] | None = None
    """How long a tool may take that does not say so itself; an HTTP tool two minutes at most."""
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), AS_WHOLE] | None = None
    """Input and output tokens of all model calls of a run together."""
    max_history_messages: Annotated[int, Field(ge=0, le=MAX_HISTORY), AS_WHOLE] | None = None

    def said(self) -> AgentLimits | None:
        """Return the limits as the store takes them; None if nothing is said."""
        limits = AgentLimits(**self.model_dump())
        return limits if limits.said() else None


class AgentBody(Body):
    """An agent."""

    name: Name
    system_prompt: Annotated[
        str, Field(min_length=1, max_length=100_000, json_schema_extra=NOT_BLANK), AfterValidator(_not_blank)
    ]
    model_provider: Annotated[str, Field(min_length=1, max_length=100)]
    model_name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=2000)] = ""
    goal: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_steps: Annotated[int, Field(ge=1, le=MAX_STEPS), AS_WHOLE] | None = None
    status: AgentStatus = "active"
    approval: ApprovalPolicy = "tool"
    output_schema: dict[str, object] | None = None
    """What the final answer must be, as a JSON schema of at most 64 KiB; null: text."""
    limits: LimitsBody | None = None
    tools: Annotated[list[GivenTool], Field(max_length=100)] = []
    """Names, or objects with a name and an approval."""

    def fields(self) -> AgentFields:
        """Return the agent as the store takes it."""
        given = self.model_dump(exclude={"tools", "limits"})
        limits = None if self.limits is None else self.limits.said()
        return AgentFields(**given, limits=limits, tools=self.agent_tools())

    def agent_tools(self) -> list[AgentTool]:
        """Return the tools, each once."""
        tools: dict[str, AgentTool] = {}
        for tool in self.tools:
            tools.setdefault(tool.name, AgentTool(tool.name, tool.approval))
        return list(tools.values())
