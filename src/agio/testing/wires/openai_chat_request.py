"""Requests to Chat Completions: their schema; fields unknown to the vendor are refused."""

from typing import Literal, TypeAlias

from msgspec import Struct, field

from agio.protocol.messages import Json


class _Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class TextPart(_Strict, tag_field="type", tag="text"):
    """Text of a message."""

    text: str


class RefusalPart(_Strict, tag_field="type", tag="refusal"):
    """The text of a refusal."""

    refusal: str


class ImageUrl(_Strict):
    """A URL, or a data URL."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(_Strict, tag_field="type", tag="image_url"):
    """An image."""

    image_url: ImageUrl


class AudioPart(_Strict, tag_field="type", tag="input_audio"):
    """Audio."""

    input_audio: dict[str, str]


class FilePart(_Strict, tag_field="type", tag="file"):
    """A document."""

    file: dict[str, str]


Part: TypeAlias = TextPart | RefusalPart | ImagePart | AudioPart | FilePart
Content: TypeAlias = str | list[Part]


class Function(_Strict):
    """The function of a tool call."""

    name: str
    arguments: str


class ToolCall(_Strict):
    """A tool call of an earlier turn."""

    id: str
    type: Literal["function"]
    function: Function


class System(_Strict, tag_field="role", tag="system"):
    """Instructions."""

    content: Content
    name: str | None = None


class Developer(_Strict, tag_field="role", tag="developer"):
    """Instructions for reasoning models."""

    content: Content
    name: str | None = None


class User(_Strict, tag_field="role", tag="user"):
    """A user message."""

    content: Content
    name: str | None = None


class Assistant(_Strict, tag_field="role", tag="assistant"):
    """An earlier turn. The reasoning fields are those of compatible services."""

    content: Content | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] = []
    name: str | None = None
    audio: Json = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Json = None


class Tool(_Strict, tag_field="role", tag="tool"):
    """The result of a tool call."""

    content: Content
    tool_call_id: str


Message: TypeAlias = System | Developer | User | Assistant | Tool


class FunctionSpec(_Strict):
    """A function on offer."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = field(default_factory=dict[str, Json])
    strict: bool | None = None


class ToolSpec(_Strict):
    """A tool on offer."""

    type: Literal["function"]
    function: FunctionSpec


class Schema(_Strict):
    """The schema of a structured response."""

    name: str
    schema: dict[str, Json]
    strict: bool | None = None
    description: str = ""


class Format(_Strict):
    """The format of the response."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: Schema | None = None


class StreamOptions(_Strict):
    """What a stream contains besides the response."""

    include_usage: bool = False
    include_obfuscation: bool = True


class ChatRequest(_Strict):
    """The body of a request."""

    model: str
    messages: list[Message]
    stream: bool = False
    stream_options: StreamOptions | None = None
    tools: list[ToolSpec] = []
    tool_choice: Json = None
    parallel_tool_calls: bool | None = None
    response_format: Format | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    stop: Json = None
    seed: int | None = None
    n: int | None = None
    user: str | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    logit_bias: dict[str, float] | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    prediction: Json = None
    modalities: list[str] | None = None
