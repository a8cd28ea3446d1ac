"""SdkAgent: an agent of the OpenAI Agents SDK as one of ours, with those that it hands over to or calls."""

import copy
import dataclasses
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from agents import Agent, FunctionTool, Handoff, Model, handoff
from agents.guardrail import GuardrailFunctionOutput, InputGuardrail, OutputGuardrail
from agents.models.default_models import get_default_model
from agents.models.multi_provider import MultiProvider
from agents.tool import Tool as SdkTool
from agents.tool_context import ToolContext as SdkToolContext
from agents.util._approvals import evaluate_function_tool_approval

from agio.core.config import AgentRunConfig, checked_config
from agio.core.engine.context import ContextSource, NoContext
from agio.core.engine.loop import Engine as EngineOf
from agio.core.engine.runner import RunHooks
from agio.core.handoff import Handoff as Link
from agio.core.model import ModelDriver
from agio.core.name import name_problem
from agio.core.run.spec import AgentSpec
from agio.core.store.records import MemoryPolicy
from agio.core.tool import AnyTool
from agio.engines.openai_agents.engine import COPY, Engine, RecordedModel, install
from agio.engines.openai_agents.items import WIRE
from agio.engines.openai_agents.lane import here
from agio.engines.openai_agents.models import OwnModelDriver
from agio.engines.openai_agents.servers import Servers
from agio.engines.openai_agents.tools import RunFacts, tool_of
from agio.errors import UserError

OURS = "_agio_agent"
"""The attribute of a program's agent that holds its SdkAgent."""
_ELSEWHERE = ("litellm", "any-llm")
"""Prefixes of model names that the SDK's own providers resolve."""
_KEPT = 100
_DYNAMIC = "(The program writes its instructions for each model call.)"


class SdkAgent:
    """An agent of the OpenAI Agents SDK, as a worker serves it. `agio serve --app` makes one of each `agents.Agent`.

    `context` makes the SDK's context of a run from its facts; without it, the facts are the context. Raises UserError
    `sdk_unsupported` for what cannot be recorded.
    """

    def __init__(
        self,
        agent: Agent[Any],
        *,
        context: Callable[[RunFacts], object] | None = None,
        config: AgentRunConfig | None = None,
        hooks: RunHooks | None = None,
        source: ContextSource | None = None,
        memory: MemoryPolicy = "off",
    ) -> None:
        if (problem := name_problem(agent.name)) is not None:
            raise UserError("invalid_agent", f"The name of an agent does not do: {problem}.")
        self.agent = agent
        self.hooks = hooks
        self.source = source or NoContext()
        self.memory_policy: MemoryPolicy = memory
        self.memory_tools: Sequence[str] = ()
        self._context = context
        model = _model_of(agent)
        provider, name = (WIRE, _name_of(model)) if isinstance(model, Model) else model
        self._driver = OwnModelDriver(model) if isinstance(model, Model) else None
        self.spec = AgentSpec(
            name=agent.name,
            instructions=agent.instructions if isinstance(agent.instructions, str) else _DYNAMIC,
            provider=provider,
            model=name,
            config=checked_config(config or AgentRunConfig()),
        )
        self._servers = Servers(agent.mcp_servers)
        self._described: dict[tuple[str, str], SdkAgent] = {}
        """The agent as sessions describe it, by instructions and model."""
        vars(agent)[OURS] = self
        check_agent(agent)
        self.tools: list[AnyTool] = [tool_of(tool) for tool in _functions(agent) if not _is_agent(tool)]

    @staticmethod
    def of(agent: Agent[Any]) -> "SdkAgent":
        """Return the SdkAgent of an agent; make it if there is none."""
        return cast("SdkAgent | None", vars(agent).get(OURS)) or SdkAgent(agent)

    def links(self) -> "list[tuple[SdkAgent, Link]]":
        """Return the agents that it may call or hand over to, with how."""
        found: list[tuple[SdkAgent, Link]] = []
        for tool in _functions(self.agent):
            if _is_agent(tool):
                other = SdkAgent.of(_inner(tool))
                found.append((other, Link(other.spec.name, "tool", tool.description, tool=tool.name)))
        for entry in self.agent.handoffs:
            other = SdkAgent.of(_target(self.agent, entry))
            words, tool = (
                (entry.tool_description, entry.tool_name)
                if isinstance(entry, Handoff)
                else (entry.handoff_description or "", Handoff.default_tool_name(entry))
            )
            found.append((other, Link(other.spec.name, "handoff", words, tool=tool)))
        return found

    def driver(self) -> ModelDriver | None:
        """Return the driver of the program's own model; None: the worker's driver of its provider."""
        return self._driver

    def described(self, instructions: str, model: str) -> "SdkAgent":
        """Return the agent with other instructions or another model."""
        if (instructions, model) == (self.spec.instructions, self.spec.model_id):
            return self
        made = self._described.get((instructions, model))
        if made is None:
            other = self.agent.clone(
                instructions=self.agent.instructions
                if instructions == self.spec.instructions
                else instructions,
                model=self.agent.model if model == self.spec.model_id else model,
            )
            made = SdkAgent(
                other,
                context=self._context,
                config=self.spec.config,
                hooks=self.hooks,
                source=self.source,
                memory=self.memory_policy,
            )
            if len(self._described) >= _KEPT:
                self._described.clear()
            self._described[instructions, model] = made
        return made

    def engine(self) -> EngineOf:
        """Return the engine of a run that begins with this agent."""
        install()
        team = self.team()
        copies = {name: each._copy() for name, each in team.items()}
        return Engine(self.spec.name, copies, self._context)

    async def aclose(self) -> None:
        """Close the model's connections and the MCP servers."""
        if self._driver is not None:
            await self._driver.aclose()
        await self._servers.aclose()

    def team(self) -> "dict[str, SdkAgent]":
        """Return this agent and those that its runs may use, by name."""
        team: dict[str, SdkAgent] = {self.spec.name: self}
        waiting: list[SdkAgent] = [self]
        while waiting:
            for other, _ in waiting.pop().links():
                if other.spec.name not in team:
                    team[other.spec.name] = other
                    waiting.append(other)
        return team

    def _copy(self) -> Agent[Any]:
        """Return the recorded copy of the agent: its model, tools, handoffs and guardrails go through the log."""
        made = cast("Agent[Any] | None", vars(self.agent).get(COPY))
        if made is None:
            own = self.agent
            made = own.clone(
                model=RecordedModel(),
                model_settings=own.model_settings,
                tools=[],
                handoffs=[],
                mcp_servers=[],
                input_guardrails=[_recorded_input(each) for each in own.input_guardrails],
                output_guardrails=[_recorded_output(each) for each in own.output_guardrails],
            )
            vars(self.agent)[COPY] = made  # before its handoffs: two agents may hand over to each other
            made.tools = [_recorded_tool(tool) for tool in _functions(own)]
            made.handoffs = [self._recorded_handoff(entry) for entry in own.handoffs]
            vars(made)["get_mcp_tools"] = self._found_tools
        return made

    def _recorded_handoff(self, entry: "Agent[Any] | Handoff[Any, Any]") -> Handoff[Any, Any]:
        given = entry if isinstance(entry, Handoff) else handoff(entry)
        target = SdkAgent.of(_target(self.agent, entry))._copy()

        async def invoke(context: Any, arguments: str) -> Any:
            await here().hand_over(given, target, context, arguments)
            return target

        made = dataclasses.replace(given, on_invoke_handoff=invoke)
        made._agent_ref = weakref.ref(target)  # pyright: ignore[reportPrivateUsage]
        return made

    async def _found_tools(self, context: Any) -> list[SdkTool]:
        """Return the tools that a run finds: those of the agent's MCP servers, and the client's."""
        lane = here()
        lane.note_context(context, self._copy())
        for tool in _functions(self.agent):
            if _is_agent(tool) and tool.needs_approval is not False:
                lane.state.tools.add(tool_of(tool))  # which asks; its lane answers
        found: list[SdkTool] = []
        if self.agent.mcp_servers:
            await self._servers.connect()
            for tool in await self.agent.get_mcp_tools(context):
                if isinstance(tool, FunctionTool):
                    lane.state.tools.add(tool_of(tool))
                    found.append(_recorded_tool(tool))
        return [*found, *lane.client_tools()]


def check_agent(agent: Agent[Any]) -> None:
    """Refuse an agent whose runs could not be recorded and resumed. Raises UserError `sdk_unsupported`."""
    name = agent.name
    if type(agent).__module__.startswith("agents.") and type(agent) is not Agent:
        raise _unsupported(name, type(agent).__name__, "its work is not in the log")
    if agent.prompt is not None:
        raise _unsupported(name, "prompt", "OpenAI keeps it, and may change it between two runs")
    for tool in agent.tools:
        if not isinstance(tool, FunctionTool):
            own = getattr(tool, "name", "")
            raise _unsupported(
                name, f"the tool {own} ({type(tool).__name__})", "it does not run here, or without our record"
            )
        if tool.defer_loading or tool.allowed_callers or tool.output_json_schema is not None:
            raise _unsupported(name, f"the tool {tool.name}", "it is loaded or called on OpenAI's side")
    for entry in agent.handoffs:
        _target(agent, entry)
    settings = agent.model_settings
    for where in (settings.extra_args, settings.extra_body):
        for key in ("conversation", "conversation_id", "previous_response_id"):
            if isinstance(where, dict) and key in where:
                raise _unsupported(name, f"the setting {key}", "OpenAI would keep the conversation")
    if settings.context_management:
        raise _unsupported(name, "the setting context_management", "OpenAI would shorten the conversation")


def _unsupported(agent: str, what: str, why: str) -> UserError:
    return UserError(
        "sdk_unsupported", f"The agent {agent} cannot be served with {what}: {why}.", {"agent": agent}
    )


def _functions(agent: Agent[Any]) -> Iterator[FunctionTool]:
    return (tool for tool in agent.tools if isinstance(tool, FunctionTool))


def _is_agent(tool: FunctionTool) -> bool:
    return tool._is_agent_tool  # pyright: ignore[reportPrivateUsage]


def _inner(tool: FunctionTool) -> Agent[Any]:
    return cast("Agent[Any]", tool._agent_instance)  # pyright: ignore[reportPrivateUsage]


def _target(agent: Agent[Any], entry: "Agent[Any] | Handoff[Any, Any]") -> Agent[Any]:
    """Return the agent that a handoff leads to. Raises UserError `sdk_unsupported`."""
    if isinstance(entry, Agent):
        return entry
    reference = entry._agent_ref  # pyright: ignore[reportPrivateUsage]
    target = None if reference is None else reference()
    if not isinstance(target, Agent):
        what = f"the handoff {entry.tool_name}"
        raise _unsupported(
            agent.name, what, "its agent is not known before the run: make it with handoff(agent)"
        )
    return cast("Agent[Any]", target)


def _model_of(agent: Agent[Any]) -> tuple[str, str] | Model:
    """Return the provider and model of a name, as ours, or the program's own model."""
    model = agent.model
    if isinstance(model, Model):
        return model
    name = model or get_default_model()
    prefix, slash, rest = name.partition("/")
    if slash and prefix in _ELSEWHERE:
        return MultiProvider().get_model(name)
    if slash and prefix == "openai":
        return "openai", rest
    provider, colon, rest = name.partition(":")
    return (provider, rest) if colon and provider != "ft" else ("openai", name)


def _name_of(model: Model) -> str:
    name = getattr(model, "model", None)
    return name if isinstance(name, str) and name else type(model).__name__


def _recorded_tool(tool: FunctionTool) -> FunctionTool:
    """Return a tool whose calls go through the lane in which the Runner is working."""
    made = copy.copy(tool)

    async def invoke(context: SdkToolContext[Any], arguments: str) -> Any:
        if _is_agent(tool):
            return await here().call_agent(tool, _inner(tool).name, context, arguments)
        return await here().call_tool(context, strict=tool.timeout_behavior == "raise_exception")

    async def asks(context: Any, given: dict[str, Any], call_id: str) -> bool:
        if isinstance(tool.needs_approval, bool):
            return True  # the lane has approved the calls that ask nobody
        return (
            await evaluate_function_tool_approval(tool, context, here().arguments(call_id), call_id)
        ).outcome == "require_approval"

    made.on_invoke_tool = invoke
    made.needs_approval = asks
    made.timeout_seconds = None  # our executor's
    made.tool_input_guardrails = made.tool_output_guardrails = None  # they stand before the log
    return made


def _recorded_input(guardrail: InputGuardrail[Any]) -> InputGuardrail[Any]:
    name = guardrail.get_name()

    async def check(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return await _checked("input", name, lambda: guardrail.guardrail_function(context, agent, given))

    return dataclasses.replace(guardrail, guardrail_function=check, name=name)


def _recorded_output(guardrail: OutputGuardrail[Any]) -> OutputGuardrail[Any]:
    name = guardrail.get_name()

    async def check(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return await _checked("output", name, lambda: guardrail.guardrail_function(context, agent, output))

    return dataclasses.replace(guardrail, guardrail_function=check, name=name)


async def _checked(place: str, name: str, check: Callable[[], Any]) -> GuardrailFunctionOutput:
    """Return what a guardrail decides. What the log says that it has passed is not checked again."""
    lane = here()
    if lane.guarded(place, name):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)
    decided = check()
    output = cast(GuardrailFunctionOutput, await decided if inspect.isawaitable(decided) else decided)
    lane.note_guardrail(place, name, "blocked" if output.tripwire_triggered else "passed")
    return output


def collected(values: Sequence[object]) -> tuple[list[SdkAgent], list[AnyTool]]:
    """Return the SDK's agents and function tools among a module's values, as ours."""
    found = [SdkAgent.of(cast("Agent[Any]", value)) for value in values if isinstance(value, Agent)]
    tools = [tool_of(value) for value in values if isinstance(value, FunctionTool) and not _is_agent(value)]
    return found, tools
