"""Requests to OpenAI Responses: their schema; fields unknown to the vendor are refused."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from agio.protocol.messages import Json
from agio.testing.wires.wire import Rejected


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
    """The text of a refusal."""

    refusal: str


class InputImage(_Strict, tag_field="type", tag="input_image"):
    """An image: a URL, a data URL, or a file id."""

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
    """The format of the response."""

    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    schema: dict[str, Json] | None = None
    strict: bool | None = None
    description: str | None = None


class TextConfig(_Strict):
    """The options of text output."""

    format: Format | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(_Strict):
    """The options of thinking."""

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
    """Decode a body; a message may omit its type. Raises Rejected."""
    try:
        table = msgspec.json.decode(body, type=dict[str, Json])
        items = table.get("input")
        if isinstance(items, list):
            rows = msgspec.convert(items, list[dict[str, Json]])
            table["input"] = [{"type": "message", **row} if "role" in row else row for row in rows]
        return msgspec.convert(table, ResponsesRequest)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise Rejected(f"Invalid request: {error}") from error
