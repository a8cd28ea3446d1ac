"""The model port: what a driver is asked (`ModelRequest`) and what it answers (`ModelEvent`s).

A driver speaks one vendor's wire format. It never retries, never runs a tool and knows no run: the
loop above it does.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from agio.protocol.messages import Content, Json, Message

StopReason: TypeAlias = Literal["end", "tool_calls", "length", "refusal", "content_filter"]
"""Why a turn ended. `end` and `tool_calls` are the healthy ones."""


MOST_TOKENS = 10**9
"""No model call uses more."""


class Usage(Struct, frozen=True):
    """Tokens of one model call. `input` includes `cached`, `output` includes `reasoning`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """All tokens, in and out. No call uses none: 0 is that of one whose vendor did not tell."""
        return self.input + self.output

    @property
    def plausible(self) -> bool:
        """Whether one call may have used this: figures that an event can carry, and many of which can be added."""
        figures = (self.input, self.output, self.cached, self.reasoning, self.cache_write)
        return min(figures) >= 0 and max(figures) <= MOST_TOKENS


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Json]


class OutputSpec(Struct, frozen=True):
    """The JSON schema a final answer must fit."""

    name: str
    schema: dict[str, Json]


class ModelSettings(Struct, frozen=True):
    """What a caller may tune; a driver leaves out what is None."""

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    tool_choice: Literal["auto", "required", "none"] | None = None
    parallel_tool_calls: bool | None = None
    extra_body: dict[str, Json] = field(default_factory=dict[str, Json])
    """Merged into the request's JSON body last: vendor options agio has no word for."""


class VendorTurn(Struct, frozen=True):
    """What a driver wants back, verbatim, when its own turn is sent again as history.

    `wire` names the wire format that made the items (`openai`, `openai-chat`, `anthropic`, `gemini`):
    another one ignores them and builds the turn from the message.
    """

    wire: str
    items: list[Json]


class ModelRequest(Struct, frozen=True):
    """One model call. `vendor` maps the id of an assistant message to its vendor turn."""

    model: str
    system: str
    messages: Sequence[Message]
    vendor: Mapping[str, VendorTurn] = field(default_factory=dict[str, VendorTurn])
    tools: Sequence[ToolSpec] = ()
    output: OutputSpec | None = None
    settings: ModelSettings = ModelSettings()


class TextDelta(Struct, frozen=True, gc=False):
    """More of the answer's text."""

    text: str


class ReasoningDelta(Struct, frozen=True, gc=False):
    """More of what the model thinks, where the vendor shows it."""

    text: str


class ToolCallBegin(Struct, frozen=True, gc=False):
    """The model asks for a tool. `index` counts the calls of the turn from 0, whatever the vendor's ids are."""

    index: int
    name: str


class ToolCallDelta(Struct, frozen=True, gc=False):
    """More of a call's arguments, JSON text."""

    index: int
    arguments: str


class ToolCallDone(Struct, frozen=True, gc=False):
    """A call's arguments are complete."""

    index: int


class ToolOutcome(Struct, frozen=True):
    """The result of a call the driver ran by itself (a tool on the vendor's side)."""

    index: int
    content: Content


class StatusUpdate(Struct, frozen=True):
    """Something worth a notice that is not an error: a stable code and a sentence."""

    code: str
    message: str


class PartialUsage(Struct, frozen=True, gc=False):
    """What the call has used so far, reported while it goes on; TurnEnd has the whole usage."""

    usage: Usage


class TurnEnd(Struct, frozen=True):
    """The last event of every healthy stream: why it ended, what it used, what must be sent back."""

    stop: StopReason
    usage: Usage
    vendor: VendorTurn


ModelEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolCallBegin
    | ToolCallDelta
    | ToolCallDone
    | ToolOutcome
    | StatusUpdate
    | PartialUsage
    | TurnEnd
)


@runtime_checkable
class ModelLister(Protocol):
    """A driver whose service can say which models it has."""

    async def models(self) -> list[str]:
        """Return their names, as many as are worth showing. Raises ModelError."""
        ...


class ModelDriver(Protocol):
    """One vendor's wire format, streaming."""

    @property
    def wire(self) -> str:
        """The wire format's name, as in `provider:model`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Call the model and yield what it says, one list for each network read.

        A list may be empty (the connection is alive but said nothing new). The last event is
        `TurnEnd`; a stream that ends without one is broken. Closing the iterator closes the
        connection. Raises ModelError.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections the driver keeps."""
        ...
