"""Requests to Anthropic Messages: their schema; fields unknown to the vendor are refused."""

from typing import Literal, TypeAlias

from msgspec import Struct

from agio.protocol.messages import Json


class _Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class _Block(_Strict, tag_field="type"):
    cache_control: Json = None


class Text(_Block, kw_only=True, tag="text"):
    """Text of a message."""

    text: str
    citations: Json = None


class Image(_Block, kw_only=True, tag="image"):
    """An image."""

    source: dict[str, str]


class Document(_Block, kw_only=True, tag="document"):
    """A document."""

    source: dict[str, Json]
    title: str | None = None
    context: str | None = None
    citations: Json = None


class ToolUse(_Block, kw_only=True, tag="tool_use"):
    """A tool call of an earlier turn."""

    id: str
    name: str
    input: dict[str, Json]
    caller: Json = None


class ToolResultBlock(_Block, kw_only=True, tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str
    content: str | list[Text | Image | Document] = ""
    is_error: bool = False


class Thinking(_Strict, tag_field="type", tag="thinking"):
    """Reasoning of an earlier turn, signed."""

    thinking: str
    signature: str


class RedactedThinking(_Strict, tag_field="type", tag="redacted_thinking"):
    """Reasoning that only the vendor can decrypt."""

    data: str


Block: TypeAlias = Text | Image | Document | ToolUse | ToolResultBlock | Thinking | RedactedThinking


class Message(_Strict):
    """One message."""

    role: Literal["user", "assistant"]
    content: str | list[Block]

    def blocks(self) -> list[Block]:
        """Return the content as blocks."""
        return [Text(text=self.content)] if isinstance(self.content, str) else self.content


class ToolSpec(_Strict):
    """A tool on offer."""

    name: str
    input_schema: dict[str, Json]
    description: str = ""
    type: str | None = None
    strict: bool | None = None
    cache_control: Json = None
    eager_input_streaming: bool | None = None


class ThinkingConfig(_Strict):
    """The options of thinking."""

    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = None
    display: str | None = None


class OutputFormat(_Strict):
    """The schema of a structured response."""

    type: Literal["json_schema"]
    schema: dict[str, Json]


class OutputConfig(_Strict):
    """The format of the response."""

    format: OutputFormat | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None


class MessagesRequest(_Strict):
    """The body of a request."""

    model: str
    max_tokens: int
    messages: list[Message]
    system: str | list[Text] = ""
    stream: bool = False
    tools: list[ToolSpec] = []
    tool_choice: dict[str, Json] | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    container: Json = None
    cache_control: Json = None
