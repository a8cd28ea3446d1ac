"""Requests to Anthropic Messages: their shape, and the rules a wrong one breaks."""

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from agio.protocol.messages import Json
from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.wire import Rejected, sign

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_LEAST_BUDGET = 1024


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
    """Reasoning only the vendor can read."""

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
    """How much the model thinks."""

    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = None
    display: str | None = None


class OutputFormat(_Strict):
    """The schema of a structured answer."""

    type: Literal["json_schema"]
    schema: dict[str, Json]


class OutputConfig(_Strict):
    """The form of the answer."""

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


def check(request: MessagesRequest) -> None:
    """Refuse what the vendor refuses beyond the shape. Raises Rejected."""
    if not request.messages:
        raise Rejected("messages: at least one message is required")
    if request.max_tokens < 1:
        raise Rejected("max_tokens: Input should be greater than or equal to 1")
    thinks = _check_thinking(request)
    for tool in request.tools:
        if not _NAME.fullmatch(tool.name):
            raise Rejected(f"tools.name: String should match pattern, got '{tool.name}'")
        if tool.input_schema.get("type") != "object":
            raise Rejected("tools.0.custom.input_schema.type: Field required")
    if request.tool_choice is not None and not request.tools:
        raise Rejected("tool_choice may only be specified while providing tools.")
    role = ""
    owed: list[str] = []
    for at, message in enumerate(request.messages):
        if message.role == role:
            raise Rejected(f'messages.{at}: roles must alternate between "user" and "assistant"')
        role = message.role
        if at == 0 and role != "user":
            raise Rejected("messages.0: first message must use the user role")
        owed = _check_message(at, message, owed, last=at == len(request.messages) - 1)
    if owed:
        raise Rejected(f"`tool_use` ids were found without `tool_result` blocks after: {', '.join(owed)}.")
    if thinks:
        _check_last_turn(request.messages)


def _check_last_turn(messages: list[Message]) -> None:
    if messages[-1].role == "assistant":
        raise Rejected("A request with thinking may not end with an assistant message.")
    answers = any(isinstance(block, ToolResultBlock) for block in messages[-1].blocks())
    if answers and not isinstance(messages[-2].blocks()[0], Thinking | RedactedThinking):
        raise Rejected(
            f"messages.{len(messages) - 2}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
            " `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking"
            " block."
        )


def _check_thinking(request: MessagesRequest) -> bool:
    thinking = request.thinking
    if thinking is None or thinking.type != "enabled":
        return False
    budget = thinking.budget_tokens
    if budget is None or budget < _LEAST_BUDGET:
        raise Rejected(
            f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_LEAST_BUDGET}"
        )
    if request.max_tokens <= budget:
        raise Rejected("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if request.temperature not in (None, 1):
        raise Rejected("`temperature` may only be set to 1 when thinking is enabled.")
    if request.tool_choice is not None and request.tool_choice.get("type") in ("any", "tool"):
        raise Rejected("Thinking may not be enabled when tool_choice forces tool use.")
    return True


def _check_message(at: int, message: Message, owed: list[str], *, last: bool) -> list[str]:
    uses: list[str] = []
    paid: list[str] = []
    blocks = message.blocks()
    if not blocks and not (last and message.role == "assistant"):
        raise Rejected(f"messages.{at}: all messages must have non-empty content")
    for number, block in enumerate(blocks):
        where = f"messages.{at}.content.{number}"
        match block:
            case Text() if not block.text:
                raise Rejected(f"messages.{at}: text content blocks must be non-empty")
            case Text() if last and message.role == "assistant" and block.text != block.text.rstrip():
                raise Rejected("messages: final assistant content cannot end with trailing whitespace")
            case ToolUse():
                _check_use(where, message, block, uses)
                uses.append(block.id)
            case ToolResultBlock():
                if block.tool_use_id not in owed:
                    raise Rejected(
                        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks:"
                        f" {block.tool_use_id}. Each must have its `tool_use` in the previous message."
                    )
                if len(paid) != number:
                    raise Rejected(f"{where}: `tool_result` blocks must come before all other content.")
                if block.tool_use_id in paid:
                    raise Rejected(f"{where}: each tool_use must have a single result.")
                paid.append(block.tool_use_id)
            case Thinking() if block.signature != sign("thinking", block.thinking):
                raise Rejected(f"{where}: Invalid `signature` in `thinking` block")
            case RedactedThinking() if block.data != sign("redacted"):
                raise Rejected(f"{where}: Invalid `data` in `redacted_thinking` block")
            case _:
                pass
    if message.role == "assistant" and isinstance(blocks[-1], Thinking | RedactedThinking):
        raise Rejected(f"messages.{at}: The final block in an assistant message cannot be `thinking`.")
    missing = [id_ for id_ in owed if id_ not in paid]
    if missing:
        raise Rejected(
            f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block."
        )
    return uses


def _check_use(where: str, message: Message, block: ToolUse, uses: list[str]) -> None:
    if message.role != "assistant":
        raise Rejected(f"{where}: `tool_use` blocks can only be in `assistant` messages")
    if not _ID.fullmatch(block.id):
        raise Rejected(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if block.id in uses:
        raise Rejected(f"{where}: `tool_use` ids must be unique")


def view(request: MessagesRequest) -> Reading:
    """Return what all formats have in common."""
    names: dict[str, str] = {}
    messages: list[tuple[str, str]] = []
    results: list[ToolResult] = []
    for message in request.messages:
        said: list[str] = []
        for block in message.blocks():
            match block:
                case Text():
                    said.append(block.text)
                case ToolUse():
                    names[block.id] = block.name
                case ToolResultBlock():
                    text = _text(block.content)
                    results.append(ToolResult(names.get(block.tool_use_id, ""), text))
                    messages.append(("tool", text))
                case _:
                    pass
        if said or message.role == "assistant":
            messages.append((message.role, "\n".join(said)))
    return Reading(
        model=request.model,
        stream=request.stream,
        system=_text(request.system),
        messages=messages,
        tool_names=[tool.name for tool in request.tools],
        tool_results=results,
    )


def _text(content: str | list[Text] | list[Text | Image | Document]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))
