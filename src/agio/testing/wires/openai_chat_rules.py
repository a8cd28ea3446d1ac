"""Requests to Chat Completions: the rules beyond their schema, and the vendor-neutral view."""

from collections import Counter

from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.openai_chat_request import (
    Assistant,
    ChatRequest,
    Content,
    Developer,
    Message,
    System,
    TextPart,
    Tool,
    User,
)
from agio.testing.wires.wire import Rejected, require_strict

_ID_CHARS = 40


def check(request: ChatRequest) -> None:
    """Refuse requests that the vendor refuses despite a valid schema. Raises Rejected."""
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
    """Return the vendor-neutral view of a request."""
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
