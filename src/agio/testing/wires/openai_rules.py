"""Requests to OpenAI Responses: the rules beyond their schema, and the vendor-neutral view."""

from collections import Counter
from collections.abc import Mapping

from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.openai_request import (
    FunctionCall,
    FunctionCallOutput,
    InputFile,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    Part,
    Reasoning,
    ResponsesRequest,
)
from agio.testing.wires.wire import Rejected, require_strict, sign

_ID_CHARS = 64


def check(request: ResponsesRequest, reasons: Mapping[str, str]) -> None:
    """Refuse requests that the vendor refuses; `reasons` maps items to the reasoning they require. Raises Rejected."""
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
    """Return the vendor-neutral view of a request."""
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
