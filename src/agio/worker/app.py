"""The user's module (`--app`): the agents and tools it defines, found by name."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast, runtime_checkable

from msgspec import Struct, field

from agio.core.config import AgentLimits, AgentRunConfig
from agio.core.engine.context import ContextSource
from agio.core.engine.loop import Engine
from agio.core.engine.runner import RunHooks
from agio.core.handoff import Handoff
from agio.core.link.link import ToolOffer, offer_tool
from agio.core.model import ModelDriver
from agio.core.run.spec import AgentSpec
from agio.core.store.records import AgentFields, AgentTool, MemoryPolicy
from agio.core.tool import AnyTool, Tool
from agio.errors import UserError


@runtime_checkable
class CodeAgent(Protocol):
    """An agent defined in Python, as a worker uses it; `agio.Agent` implements it."""

    spec: AgentSpec
    tools: list[AnyTool]
    source: ContextSource
    hooks: RunHooks | None

    @property
    def memory_policy(self) -> MemoryPolicy:
        """Whether it remembers."""
        ...

    @property
    def memory_tools(self) -> Sequence[str]:
        """The names of the memory tools that it has."""
        ...

    def driver(self) -> ModelDriver | None:
        """Return the model's driver; None: the worker's own of its provider."""
        ...

    def engine(self) -> Engine:
        """Return what drives the runs that begin with this agent."""
        ...

    def links(self) -> "Sequence[tuple[CodeAgent, Handoff]]":
        """Return the agents that it may call or hand over to, with how."""
        ...

    def described(self, instructions: str, model: str) -> "CodeAgent | None":
        """Return it with the words and the model that a session describes; None: the loop runs what is described."""
        ...

    async def aclose(self) -> None:
        """Close the agent's driver and tools."""
        ...


class App(Struct, frozen=True):
    """The agents and tools of a module, by name."""

    agents: Mapping[str, CodeAgent] = field(default_factory=dict[str, CodeAgent])
    tools: Mapping[str, AnyTool] = field(default_factory=dict[str, AnyTool])

    def agent_fields(self) -> list[AgentFields]:
        """Return the agents as the gateway lists them."""
        return [_fields_of(agent) for agent in self.agents.values()]

    def tool_offers(self) -> list[ToolOffer]:
        """Return all tools, including those of the agents, as the gateway offers them to any agent."""
        own = {tool.name: tool for agent in self.agents.values() for tool in agent.tools}
        return [
            offer_tool("module", tool.name, tool)
            for tool in {**own, **self.tools}.values()
            if tool.function is not None
        ]


def load_app(name: str) -> App:
    """Import `module`, `module:attribute`, `file.py` or `file.py:attribute` and collect its definitions.

    It collects agents and tools at the module's top level, also from lists. Raises UserError
    `app_not_found`, `app_invalid`, `duplicate_agent`, `duplicate_tool`.
    """
    target, colon, attribute = name.rpartition(":")
    if not colon or attribute.endswith(".py"):
        target, attribute = name, ""
    module = _import_file(Path(target)) if target.endswith(".py") else _import_module(target)
    values = list(vars(module).values())
    if attribute:
        if not hasattr(module, attribute):
            raise UserError("app_not_found", f"{target} has no {attribute!r}.")
        values = [cast(object, getattr(module, attribute))]
    app = _collect(values)
    if not app.agents and not app.tools:
        raise UserError(
            "app_invalid",
            f"{name} defines nothing to serve: it needs an agio.Agent or a function with @agio.tool.",
        )
    return app


def _import_module(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise UserError(
                "app_not_found", f"There is no module {name} in {Path.cwd()} or among the installed ones."
            ) from error
        raise _invalid(name, error) from error
    except (Exception, SystemExit) as error:  # the module is the user's code
        raise _invalid(name, error) from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError("app_not_found", f"There is no file {path}.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise UserError("app_invalid", f"{path} is no Python module.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the module is the user's code
        del sys.modules[path.stem]
        raise _invalid(str(path), error) from error
    return module


def _invalid(name: str, error: BaseException) -> UserError:
    if isinstance(error, ModuleNotFoundError) and error.name == "agents":
        return UserError(
            "missing_package",
            f"{name} uses the OpenAI Agents SDK, which is not installed: install agio with its extra openai-agents.",
        )
    if isinstance(error, UserError):
        return UserError("app_invalid", f"{name} cannot be served: {error.message}", {"cause": error.code})
    return UserError("app_invalid", f"{name} cannot be imported: {type(error).__name__}: {error}.")


def _collect(values: list[object]) -> App:
    agents: dict[str, CodeAgent] = {}
    tools: dict[str, AnyTool] = {}
    foreign: list[object] = []
    for value in _flat(values):
        if isinstance(value, Tool):
            _add_tool(tools, cast(AnyTool, value))
        elif (agent := _agent(value)) is not None:
            _add(agents, agent)
        elif _is_sdk(value):
            foreign.append(value)
    if foreign:
        from agio.engines.openai_agents.agent import collected

        found, functions = collected(foreign)
        for agent in found:
            _add(agents, agent)
        for each in functions:
            _add_tool(tools, each)
    return App(agents, tools)


def _is_sdk(value: object) -> bool:
    """Whether a value is an agent or a function tool of the OpenAI Agents SDK, which only a user's module imports."""
    return any(base.__module__ in ("agents.agent", "agents.tool") for base in type(value).__mro__)


def _add_tool(tools: dict[str, AnyTool], found: AnyTool) -> None:
    """Add a tool. Raises UserError `duplicate_tool`."""
    if found.function is not None and tools.setdefault(found.name, found) is not found:
        raise UserError("duplicate_tool", f"The module has two tools named {found.name}.")


def _add(agents: dict[str, CodeAgent], agent: CodeAgent) -> None:
    """Add an agent and those that it may use. Raises UserError `duplicate_agent`."""
    name = agent.spec.name
    if name in agents:
        if agents[name] is not agent:
            raise UserError("duplicate_agent", f"The module has two agents named {name}.")
        return
    agents[name] = agent
    for other, _ in agent.links():
        _add(agents, other)


def _agent(value: object) -> CodeAgent | None:
    try:
        known = isinstance(value, CodeAgent) and isinstance(cast(object, value.spec), AgentSpec)
    except Exception:  # attribute access runs the user's code
        return None
    return cast(CodeAgent, value) if known else None


def _flat(values: list[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from cast("list[object]", value)
        else:
            yield value


def _fields_of(agent: CodeAgent) -> AgentFields:
    spec = agent.spec
    return AgentFields(
        name=spec.name,
        system_prompt=spec.instructions,
        model_provider=spec.provider,
        model_name=spec.model,
        goal=spec.goal,
        temperature=spec.config.model.temperature,
        max_steps=spec.config.max_steps,
        output_schema=None if spec.output is None else spec.output.schema,
        limits=_limits_of(spec.config),
        tools=[
            *(AgentTool(tool.name) for tool in agent.tools if tool.function is not None),
            *map(AgentTool, agent.memory_tools),
        ],
        memory=agent.memory_policy,
        handoffs=[link for _, link in agent.links()],
    )


def _limits_of(config: AgentRunConfig) -> AgentLimits | None:
    """Return the agent's limits that differ from the defaults."""
    usual = AgentRunConfig()
    names = AgentLimits.__struct_fields__
    said = {name: getattr(config, name) for name in names if getattr(config, name) != getattr(usual, name)}
    return AgentLimits(**said) if said else None
