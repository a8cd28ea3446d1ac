"""Requests to Anthropic Messages: the rules beyond their schema, and the vendor-neutral view."""

import re

from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.anthropic_request import (
    Document,
    Image,
    Message,
    MessagesRequest,
    RedactedThinking,
    Text,
    Thinking,
    ToolResultBlock,
    ToolUse,
)
from agio.testing.wires.wire import Rejected, sign

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_LEAST_BUDGET = 1024
_LEAST_TOP_P = 0.95


def check(request: MessagesRequest) -> None:
    """Refuse requests that the vendor refuses despite a valid schema. Raises Rejected."""
    if not request.messages:
        raise Rejected("messages: at least one message is required")
    if request.max_tokens < 1:
        raise Rejected("max_tokens: Input should be greater than or equal to 1")
    if request.temperature is not None and request.top_p is not None:
        raise Rejected("`temperature` and `top_p` cannot both be specified for this model.")
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
    if request.top_p is not None and request.top_p < _LEAST_TOP_P:
        raise Rejected("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
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
            case Text() if not block.text.strip():
                raise Rejected(f"messages.{at}: text content blocks must be non-empty, beyond whitespace")
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
    """Return the vendor-neutral view of a request."""
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
