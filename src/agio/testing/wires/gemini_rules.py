"""Requests to Gemini generateContent: the rules beyond their schema, and the vendor-neutral view."""

from collections.abc import Mapping

import msgspec

from agio.protocol.messages import Json
from agio.testing.capture import Reading, ToolResult
from agio.testing.wires.gemini_request import Content, FunctionCall, GenerateRequest, Part
from agio.testing.wires.wire import Rejected, sign

_SKIP = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
_SCHEMA_NAMES = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "items",
        "minimum",
        "maximum",
    ]
)


def check(request: GenerateRequest, model: str) -> None:
    """Refuse requests that the vendor refuses despite a valid schema. Raises Rejected."""
    if not request.contents:
        raise Rejected("* GenerateContentRequest.contents: contents is not specified")
    config = request.generation_config
    thinking = config.thinking_config
    if thinking is not None and thinking.thinking_budget is not None and thinking.thinking_level is not None:
        raise Rejected("You can only set one of thinking budget and thinking level.")
    if thinking is not None and thinking.thinking_level is not None and model.startswith("gemini-2"):
        raise Rejected("Thinking level is not supported for this model.")
    if (
        config.response_schema or config.response_json_schema
    ) and config.response_mime_type != "application/json":
        raise Rejected("response_schema is only allowed with response_mime_type 'application/json'")
    _check_schema(config.response_schema, "generation_config.response_schema")
    for tool in request.tools:
        for declared in tool.function_declarations:
            _check_schema(declared.parameters, f"tools.function_declarations.{declared.name}.parameters")
            if declared.parameters is not None and declared.parameters_json_schema is not None:
                raise Rejected("Only one of parameters and parameters_json_schema may be set.")
    _check_turns(request.contents)
    if model.startswith("gemini-3"):
        _check_signatures(request.contents)


def _check_schema(schema: Mapping[str, Json] | None, where: str) -> None:
    if schema is None:
        return
    for name, value in schema.items():
        if name not in _SCHEMA_NAMES:
            raise Rejected(
                f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}': Cannot find field."
            )
        if name == "properties":
            for nested in msgspec.convert(value, dict[str, dict[str, Json]]).values():
                _check_schema(nested, where)
        elif name == "items":
            _check_schema(msgspec.convert(value, dict[str, Json]), where)
        elif name == "anyOf":
            for nested in msgspec.convert(value, list[dict[str, Json]]):
                _check_schema(nested, where)


def _check_turns(contents: list[Content]) -> None:
    owed: list[FunctionCall] = []
    role = ""
    for at, content in enumerate(contents):
        if content.role is None and len(contents) > 1:
            raise Rejected("Please use a valid role: user, model.")
        if at == 0 and content.role == "model":
            raise Rejected("Please ensure that the first content is of the user role.")
        if not content.parts or any(part.kinds() != 1 for part in content.parts):
            raise Rejected(
                f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty."
            )
        if content.calls() and role != "user":
            raise Rejected(
                "Please ensure that function call turn comes immediately after a user turn or after a"
                " function response turn."
            )
        if owed or content.responses():
            _check_paid(owed, content)
        owed = content.calls()
        role = content.role or "user"
    if owed:
        raise Rejected("Please ensure that the conversation does not end with a function call turn.")


def _check_paid(owed: list[FunctionCall], content: Content) -> None:
    results = content.responses()
    if len(results) != len(owed) or content.role == "model":
        raise Rejected(
            "Please ensure that the number of function response parts is equal to the number of function call"
            " parts of the function call turn."
        )
    if sorted(result.name for result in results) != sorted(call.name for call in owed):
        raise Rejected("Please ensure that function response names match the function call names.")
    ids = {call.id for call in owed if call.id}
    for result in results:
        if result.id is not None and ids and result.id not in ids:
            raise Rejected(f"Function response id '{result.id}' does not match a function call.")


def _check_signatures(contents: list[Content]) -> None:
    last_user = max(
        (at for at, content in enumerate(contents) if content.role == "user" and not content.responses()),
        default=0,
    )
    for at, content in enumerate(contents):
        for number, part in enumerate(content.parts):
            given = part.thought_signature
            call = part.function_call
            if given is not None and given not in _SKIP and given != signature(part):
                raise Rejected("Corrupted thought signature.")
            first = call is not None and not any(before.function_call for before in content.parts[:number])
            if call is not None and first and given is None and at > last_user:
                raise Rejected(
                    f"Function call is missing a thought_signature in functionCall parts. Function call"
                    f" `{call.name}`, position {at}."
                )


def signature(part: Part) -> str:
    """Return the signature that belongs to a part."""
    if part.function_call is not None:
        return sign("call", part.function_call.name, msgspec.json.encode(part.function_call.args).decode())
    return sign("text")


def view(request: GenerateRequest, model: str, *, stream: bool) -> Reading:
    """Return the vendor-neutral view of a request."""
    messages: list[tuple[str, str]] = []
    results: list[ToolResult] = []
    for content in request.contents:
        for response in content.responses():
            text = _result_text(response.response)
            results.append(ToolResult(response.name, text))
            messages.append(("tool", text))
        if content.role == "model" or content.text() or not content.responses():
            messages.append(("assistant" if content.role == "model" else "user", content.text()))
    system = request.system_instruction
    return Reading(
        model=model,
        stream=stream,
        system=system.text() if system is not None else "",
        messages=messages,
        tool_names=[declared.name for tool in request.tools for declared in tool.function_declarations],
        tool_results=results,
    )


def _result_text(response: Mapping[str, Json]) -> str:
    # the vendor accepts any object; a plain text result is one string under one name
    values = list(response.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return msgspec.json.encode(response).decode()
