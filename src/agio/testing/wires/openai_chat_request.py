"""Requests to Chat Completions: their shape, and the rules a wrong one breaks."""

from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct, field

from agio.protocol.messages import Json
from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.wire import Rejected, require_strict

_ID_CHARS = 40


class _Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class TextPart(_Strict, tag_field="type", tag="text"):
    """Text of a message."""

    text: str


class RefusalPart(_Strict, tag_field="type", tag="refusal"):
    """What the model refused with."""

    refusal: str


class ImageUrl(_Strict):
    """An address, or a data URL."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(_Strict, tag_field="type", tag="image_url"):
    """An image."""

    image_url: ImageUrl


class AudioPart(_Strict, tag_field="type", tag="input_audio"):
    """A sound."""

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
    """Instructions, to the models that reason."""

    content: Content
    name: str | None = None


class User(_Strict, tag_field="role", tag="user"):
    """What the user said."""

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
    """The schema of a structured answer."""

    name: str
    schema: dict[str, Json]
    strict: bool | None = None
    description: str = ""


class Format(_Strict):
    """The form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: Schema | None = None


class StreamOptions(_Strict):
    """What a stream carries besides the answer."""

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


def check(request: ChatRequest) -> None:
    """Refuse what the vendor refuses beyond the shape. Raises Rejected."""
    if not request.messages:
        raise Rejected("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    if request.stream_options is not None and not request.stream:
        raise Rejected("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if not request.tools and (request.tool_choice is not None or request.parallel_tool_calls is not None):
        raise Rejected("'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified.")
    if request.max_tokens is not None and request.max_completion_tokens is not None:
        raise Rejected("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    form = request.response_format
    if form is not None and form.type == "json_schema":
        if form.json_schema is None:
            raise Rejected("Missing required parameter: 'response_format.json_schema'.")
        if form.json_schema.strict:
            require_strict(form.json_schema.schema, f"response_format '{form.json_schema.name}'")
    for tool in request.tools:
        if tool.function.strict:
            require_strict(tool.function.parameters, f"function '{tool.function.name}'")
    _check_calls(request.messages)


def _check_calls(messages: list[Message]) -> None:
    owed: Counter[str] = Counter()
    for at, message in enumerate(messages):
        if isinstance(message, Tool):
            if not owed[message.tool_call_id]:
                raise Rejected(
                    f"Invalid parameter: messages[{at}] with role 'tool' must be a response to a preceding"
                    " message with 'tool_calls'."
                )
            owed[message.tool_call_id] -= 1
            continue
        _check_paid(owed)
        owed.clear()
        if isinstance(message, Assistant):
            if message.content is None and not message.tool_calls and message.refusal is None:
                raise Rejected(f"Invalid value for 'content': expected a string, got null (messages[{at}]).")
            for call in message.tool_calls:
                if not 0 < len(call.id) <= _ID_CHARS:
                    raise Rejected(
                        f"Invalid 'messages[{at}].tool_calls.id': expected 1 to {_ID_CHARS} characters."
                    )
                owed[call.id] += 1
    _check_paid(owed)


def _check_paid(owed: Counter[str]) -> None:
    missing = [id_ for id_, count in owed.items() if count]
    if missing:
        raise Rejected(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            f" 'tool_call_id'. These tool_call_ids did not have any: {', '.join(missing)}"
        )


def view(request: ChatRequest) -> Reading:
    """Return what all formats have in common."""
    names: dict[str, str] = {}
    system: list[str] = []
    messages: list[tuple[str, str]] = []
    results: list[ToolResult] = []
    for message in request.messages:
        text = _text(message.content)
        match message:
            case System() | Developer():
                system.append(text)
            case User():
                messages.append(("user", text))
            case Assistant():
                names.update({call.id: call.function.name for call in message.tool_calls})
                messages.append(("assistant", text))
            case Tool():
                messages.append(("tool", text))
                results.append(ToolResult(names.get(message.tool_call_id, ""), text))
    options = request.stream_options
    return Reading(
        model=request.model,
        stream=request.stream,
        system="\n".join(system),
        messages=messages,
        tool_names=[tool.function.name for tool in request.tools],
        tool_results=results,
        wants=frozenset({"usage"} if options is not None and options.include_usage else ()),
    )


def _text(content: Content | None) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content or () if isinstance(part, TextPart))
