"""The SDK's function tools as tools of ours, which the executor runs once, with our time-outs and records."""

import copy
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, cast

import msgspec
from agents import (
    FunctionTool,
    ItemHelpers,
    ModelBehaviorError,
    RunContextWrapper,
)
from agents.tool import maybe_invoke_function_tool_failure_error_function
from agents.tool_context import ToolContext as SdkToolContext
from agents.tool_guardrails import (
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    ToolOutputGuardrailData,
)
from msgspec import Struct
from openai.types.responses import ResponseFunctionToolCall

from agio.core.store.repository import Approval
from agio.core.tool import AnyTool, Tool, ToolAnswer, ToolContext
from agio.engines.openai_agents.items import content_of
from agio.errors import AgioError, LimitExceeded, ToolError
from agio.protocol.messages import Content, Json

_CONTEXT = "(context)"
"""The parameter that carries the context, under a name that no model can use."""


class RunFacts(Struct, frozen=True):
    """Who runs an agent, and where: the SDK's `context` of a served agent that names no other."""

    tenant: str
    user: str
    session: str
    run: str


CALLER: ContextVar[SdkToolContext[Any] | None] = ContextVar("agio_sdk_caller", default=None)
"""The SDK's context of the call that is under way, if the SDK's Runner made the call."""


def tool_of(tool: FunctionTool) -> AnyTool:
    """Return a tool that runs the SDK's. A person is asked as it says. Raises UserError `invalid_tool`."""
    noted, failures = _noting(tool)

    async def call(**given: object) -> ToolAnswer:
        context = cast(ToolContext, given.pop(_CONTEXT))
        arguments = msgspec.json.encode(given).decode()
        caller = CALLER.get() or _caller(tool, context, arguments)
        return await _invoke(noted, failures, caller, arguments)

    approval: Approval = "never" if tool.needs_approval is False else "ask"
    made: AnyTool = Tool(
        name=tool.name,
        description=tool.description,
        parameters=cast("dict[str, Json]", tool.params_json_schema),
        function=cast(Callable[..., object], call),
        context_parameter=_CONTEXT,
        approval=approval,
        timeout_s=tool.timeout_seconds,
    )
    made.check = None  # the SDK checks the arguments, with the types of the function
    return made


def _caller(tool: FunctionTool, context: ToolContext, arguments: str) -> SdkToolContext[Any]:
    """Return a context of the SDK for a call that its Runner did not make."""
    facts = RunFacts(context.tenant, context.user, context.session, context.run)
    return SdkToolContext(
        context=facts, tool_name=tool.name, tool_call_id=context.call_id, tool_arguments=arguments
    )


def _noting(tool: FunctionTool) -> tuple[FunctionTool, ContextVar[list[Exception] | None]]:
    """Return a copy of a tool that notes the exception which it turns into a message for the model."""
    failures: ContextVar[list[Exception] | None] = ContextVar("agio_sdk_failures", default=None)

    async def note(context: RunContextWrapper[Any], error: Exception) -> str | None:
        if (noted := failures.get()) is not None:
            noted.append(error)
        return await maybe_invoke_function_tool_failure_error_function(
            function_tool=tool, context=context, error=error
        )

    noted = copy.copy(tool)
    noted._failure_error_function = cast(Any, note)  # pyright: ignore[reportPrivateUsage]
    noted._use_default_failure_error_function = False  # pyright: ignore[reportPrivateUsage]
    return noted, failures


async def _invoke(
    tool: FunctionTool,
    failures: ContextVar[list[Exception] | None],
    caller: SdkToolContext[Any],
    arguments: str,
) -> ToolAnswer:
    """Run a tool between its guardrails. Raises LimitExceeded `guardrail_tripped`, ToolError `tool_failed`."""
    agent = cast(Any, caller.agent)
    for guardrail in tool.tool_input_guardrails or ():
        checked = await guardrail.run(ToolInputGuardrailData(context=caller, agent=agent))
        if (refusal := _refusal(tool, checked)) is not None:
            return refusal
    noted: list[Exception] = []
    failures.set(noted)
    try:
        output = await tool.on_invoke_tool(caller, arguments)
    except AgioError:
        raise
    except (
        Exception
    ) as error:  # the program has no words for the model: the failure ends the run, as in the SDK
        raise ToolError("tool_raised", f"{tool.name} failed: {type(error).__name__}: {error}.") from error
    if noted:
        unfit = isinstance(noted[-1], ModelBehaviorError)
        return ToolAnswer(str(output), "bad_arguments" if unfit else "tool_failed")
    for guardrail in tool.tool_output_guardrails or ():
        data = ToolOutputGuardrailData(context=caller, agent=agent, output=output)
        if (refusal := _refusal(tool, await guardrail.run(data))) is not None:
            return refusal
    return ToolAnswer(content_of_output(output))


def _refusal(tool: FunctionTool, checked: ToolGuardrailFunctionOutput) -> ToolAnswer | None:
    match checked.behavior:
        case {"type": "reject_content", "message": message}:
            return ToolAnswer(message, "guardrail_tripped")
        case {"type": "raise_exception"}:
            raise LimitExceeded("guardrail_tripped", f"A guardrail of the tool {tool.name} ended the run.")
        case _:
            return None


def content_of_output(output: object) -> Content:
    """Return what a tool of the SDK returned as content of ours: what the SDK would send."""
    item = ItemHelpers.tool_call_output_item(_CALL, output)
    return content_of(item["output"])


_CALL = ResponseFunctionToolCall(arguments="", call_id="call", name="tool", type="function_call")
