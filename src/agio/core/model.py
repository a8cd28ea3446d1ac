"""The model port: a driver takes a `ModelRequest` and yields `ModelEvent`s.

A driver speaks one vendor's wire format. It never retries and never runs a tool, and it has no notion of a run.
The loop above it does these things.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from agio.protocol.messages import Content, Json, Message

StopReason: TypeAlias = Literal["end", "tool_calls", "length", "refusal", "content_filter"]
"""Why a turn ended. Only `end` and `tool_calls` are normal."""


MOST_TOKENS = 10**9
"""The upper bound of plausible token counts in one model call."""


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
        """Input and output tokens. 0 means that the vendor reported no usage: every call uses some."""
        return self.input + self.output

    @property
    def plausible(self) -> bool:
        """Whether the counts are plausible for one call: not negative, and small enough to be summed."""
        figures = (self.input, self.output, self.cached, self.reasoning, self.cache_write)
        return min(figures) >= 0 and max(figures) <= MOST_TOKENS


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Json]
    searchable: bool = False
    """Whether the model may have to search it first, if there are many."""


class OutputSpec(Struct, frozen=True):
    """The JSON schema of a final answer."""

    name: str
    schema: dict[str, Json]


class ModelSettings(Struct, frozen=True):
    """Sampling and tool settings of a call. A driver omits those that are None."""

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    tool_choice: Literal["auto", "required", "none"] | None = None
    parallel_tool_calls: bool | None = None
    extra_body: dict[str, Json] = field(default_factory=dict[str, Json])
    """Vendor options, merged last into the request's JSON body."""


class VendorTurn(Struct, frozen=True, omit_defaults=True):
    """Vendor data that a driver needs back verbatim when its turn is sent again as history.

    `wire` names the wire format that made the items (`openai`, `openai-chat`, `anthropic`, `gemini`). A driver of
    another format ignores them and builds the turn from the message.
    """

    wire: str
    items: list[Json]
    model: str = ""
    """The model id (`provider:model`) of the turn, set when it is folded. Another model ignores the items."""


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
    """A piece of the answer's text."""

    text: str


class ReasoningDelta(Struct, frozen=True, gc=False):
    """A piece of the model's reasoning, if the vendor shows it."""

    text: str


class ToolCallBegin(Struct, frozen=True, gc=False):
    """The model calls a tool. `index` counts the calls of the turn from 0, independent of the vendor's ids."""

    index: int
    name: str


class ToolCallDelta(Struct, frozen=True, gc=False):
    """A piece of a call's arguments, as JSON text."""

    index: int
    arguments: str


class ToolCallDone(Struct, frozen=True, gc=False):
    """A call's arguments are complete."""

    index: int


class ToolOutcome(Struct, frozen=True):
    """The result of a call that the vendor ran on its side."""

    index: int
    content: Content


class StatusUpdate(Struct, frozen=True):
    """A notice that is not an error: a stable code and a sentence."""

    code: str
    message: str


class PartialUsage(Struct, frozen=True, gc=False):
    """The call's usage so far. `TurnEnd` has the final usage."""

    usage: Usage


class TurnEnd(Struct, frozen=True):
    """The last event of a complete stream: why it ended, its usage, and the vendor data to send back."""

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
    """A driver whose service lists its models."""

    async def models(self) -> list[str]:
        """Return the names of the models that are useful for agents. Raises ModelError."""
        ...


class Embedded(Struct, frozen=True):
    """The vectors of texts, in their order, and what they cost."""

    vectors: list[list[float]]
    usage: Usage


@runtime_checkable
class Embedder(Protocol):
    """A driver whose service makes vectors of texts."""

    async def embed(self, model: str, texts: Sequence[str], size: int | None) -> Embedded:
        """Return the vectors of texts, all of one size. Raises ModelError."""
        ...


class ModelDriver(Protocol):
    """A streaming client of one vendor's wire format."""

    @property
    def wire(self) -> str:
        """The wire format's name, as in `provider:model`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Call the model and yield its events, one list for each network read.

        A list may be empty: the connection is alive but brought nothing new. The last event is `TurnEnd`; a stream
        that ends without it is broken. Closing the iterator closes the connection. Raises ModelError.
        """
        ...

    async def aclose(self) -> None:
        """Close the driver's connections."""
        ...
