"""Requests to OpenAI Responses: their shape, and the rules a wrong one breaks."""

from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from agio.protocol.messages import Json
from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.wire import Rejected, require_strict, sign

_ID_CHARS = 64


class _Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class InputText(_Strict, tag_field="type", tag="input_text"):
    """Text of a message to the model."""

    text: str


class OutputText(_Strict, tag_field="type", tag="output_text"):
    """Text of a message by the model."""

    text: str
    annotations: list[Json] = []
    logprobs: list[Json] | None = None


class Refusal(_Strict, tag_field="type", tag="refusal"):
    """What the model refused with."""

    refusal: str


class InputImage(_Strict, tag_field="type", tag="input_image"):
    """An image: an address, a data URL, or a file's handle."""

    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["auto", "low", "high", "original"] | None = "auto"


class InputFile(_Strict, tag_field="type", tag="input_file"):
    """A document."""

    file_data: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    filename: str | None = None


Part: TypeAlias = InputText | OutputText | Refusal | InputImage | InputFile


class Message(_Strict, tag_field="type", tag="message"):
    """A message of any role."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Part]
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class FunctionCall(_Strict, tag_field="type", tag="function_call"):
    """A tool call of an earlier turn."""

    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: str | None = None


class FunctionCallOutput(_Strict, tag_field="type", tag="function_call_output"):
    """The result of a tool call."""

    call_id: str
    output: str | list[InputText | InputImage | InputFile]
    id: str | None = None
    status: str | None = None


class SummaryText(_Strict, tag_field="type", tag="summary_text"):
    """A part of the summary of reasoning."""

    text: str


class Reasoning(_Strict, tag_field="type", tag="reasoning"):
    """Reasoning of an earlier turn."""

    summary: list[SummaryText]
    id: str | None = None
    content: list[Json] | None = None
    encrypted_content: str | None = None
    status: str | None = None


Item: TypeAlias = Message | FunctionCall | FunctionCallOutput | Reasoning


class ToolSpec(_Strict):
    """A tool on offer."""

    type: Literal["function"]
    name: str
    parameters: dict[str, Json]
    description: str | None = None
    strict: bool | None = True


class Format(_Strict):
    """The form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    schema: dict[str, Json] | None = None
    strict: bool | None = None
    description: str | None = None


class TextConfig(_Strict):
    """How text is written."""

    format: Format | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(_Strict):
    """How much the model thinks."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class ResponsesRequest(_Strict):
    """The body of a request."""

    model: str
    input: str | list[Item] = field(default_factory=list[Item])
    instructions: str | None = None
    stream: bool = False
    stream_options: dict[str, bool] | None = None
    store: bool = True
    include: list[str] = []
    tools: list[ToolSpec] = []
    tool_choice: Json = None
    parallel_tool_calls: bool | None = None
    text: TextConfig | None = None
    reasoning: ReasoningConfig | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    previous_response_id: str | None = None
    metadata: dict[str, str] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    top_logprobs: int | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None
    background: bool | None = None

    def items(self) -> list[Item]:
        """Return the input as items."""
        return [Message(role="user", content=self.input)] if isinstance(self.input, str) else self.input


def decode(body: bytes) -> ResponsesRequest:
    """Decode a body; a message may leave out its type. Raises Rejected."""
    try:
        table = msgspec.json.decode(body, type=dict[str, Json])
        items = table.get("input")
        if isinstance(items, list):
            rows = msgspec.convert(items, list[dict[str, Json]])
            table["input"] = [{"type": "message", **row} if "role" in row else row for row in rows]
        return msgspec.convert(table, ResponsesRequest)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise Rejected(f"Invalid request: {error}") from error


def check(request: ResponsesRequest, reasons: Mapping[str, str]) -> None:
    """Refuse what the vendor refuses; `reasons` maps items to the reasoning they need. Raises Rejected."""
    if not request.items():
        raise Rejected("One of 'input', 'previous_response_id' or 'prompt' must be provided.")
    form = request.text.format if request.text is not None else None
    if form is not None and form.type == "json_schema":
        if form.name is None or form.schema is None:
            raise Rejected("Missing required parameter: 'text.format.name' or 'text.format.schema'.")
        if form.strict:
            require_strict(form.schema, f"response_format '{form.name}'")
    for tool in request.tools:
        if tool.strict:
            require_strict(tool.parameters, f"function '{tool.name}'")
    _check_calls(request.items())
    _check_reasoning(request, reasons)
    for at, item in enumerate(request.items()):
        if isinstance(item, Message) and not isinstance(item.content, str):
            wrong = InputText if item.role == "assistant" else OutputText
            if any(isinstance(part, wrong) for part in item.content):
                raise Rejected(
                    f"Invalid value for 'input[{at}].content': wrong text type for role '{item.role}'."
                )


def _check_calls(items: list[Item]) -> None:
    owed: Counter[str] = Counter()
    for item in items:
        if isinstance(item, FunctionCall):
            if not 0 < len(item.call_id) <= _ID_CHARS:
                raise Rejected(f"Invalid 'call_id': expected 1 to {_ID_CHARS} characters.")
            owed[item.call_id] += 1
        elif isinstance(item, FunctionCallOutput):
            if not owed[item.call_id]:
                raise Rejected(f"No tool call found for function call output with call_id {item.call_id}.")
            owed[item.call_id] -= 1
    missing = [id_ for id_, count in owed.items() if count]
    if missing:
        raise Rejected(f"No tool output found for function call {', '.join(missing)}.")


def _check_reasoning(request: ResponsesRequest, reasons: Mapping[str, str]) -> None:
    items = request.items()
    present = {item.id for item in items if isinstance(item, Reasoning)}
    for at, item in enumerate(items):
        if isinstance(item, Reasoning):
            following = items[at + 1] if at + 1 < len(items) else None
            if not isinstance(following, FunctionCall | Reasoning) and not (
                isinstance(following, Message) and following.role == "assistant"
            ):
                raise Rejected(
                    f"Item '{item.id}' of type 'reasoning' was provided without its required following item."
                )
            if item.encrypted_content is None and not request.store:
                raise Rejected(
                    f"Item with id '{item.id}' not found. Items are not persisted with `store` false.",
                    "model_not_found",
                )
            seen = "".join(part.text for part in item.summary)
            if item.encrypted_content not in (None, sign("reasoning", seen)):
                raise Rejected(
                    "The encrypted content could not be verified. Reason: it could not be decrypted."
                )
        elif isinstance(item, FunctionCall | Message) and item.id is not None:
            reason = reasons.get(item.id)
            if reason is not None and reason not in present:
                raise Rejected(
                    f"Item '{item.id}' was provided without its required 'reasoning' item: '{reason}'."
                )


def view(request: ResponsesRequest) -> Reading:
    """Return what all formats have in common."""
    names: dict[str, str] = {}
    system = [request.instructions] if request.instructions else []
    messages: list[tuple[str, str]] = []
    results: list[ToolResult] = []
    for item in request.items():
        match item:
            case Message(role="system" | "developer"):
                system.append(_text(item.content))
            case Message():
                messages.append((item.role, _text(item.content)))
            case FunctionCall():
                names[item.call_id] = item.name
                if not messages or messages[-1][0] != "assistant":
                    messages.append(("assistant", ""))
            case FunctionCallOutput():
                text = _text(item.output)
                results.append(ToolResult(names.get(item.call_id, ""), text))
                messages.append(("tool", text))
            case Reasoning():
                pass
    return Reading(
        model=request.model,
        stream=request.stream,
        system="\n".join(system),
        messages=messages,
        tool_names=[tool.name for tool in request.tools],
        tool_results=results,
        wants=frozenset({"encrypted"} if "reasoning.encrypted_content" in request.include else ()),
    )


def _text(content: str | list[Part] | list[InputText | InputImage | InputFile]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, InputText | OutputText))
