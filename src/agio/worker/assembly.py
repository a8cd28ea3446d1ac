"""Assembles a run from its job: agent, tools, context and history, or the error that ends it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence

from msgspec import UNSET, Struct, structs

from agio.core.config import AgentRunConfig
from agio.core.engine.attachments import ReadFile
from agio.core.engine.context import ContextSource, NoContext, PageContext, RememberedContext
from agio.core.engine.runner import AgentRunner, RunHooks, RunStream
from agio.core.engine.team import Member
from agio.core.handoff import edges_of
from agio.core.link.link import AgentOffer, Job, JobAgent
from agio.core.model import ModelEvent, ModelRequest
from agio.core.run.fold import Fold, fold_slices
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.schema.schema import OutputType
from agio.core.store.repository import Approval
from agio.core.tool import AnyTool, offered_tools
from agio.errors import AgioError, ModelError, UserError
from agio.execution.tool_executor import ToolExecutor
from agio.worker.app import App, CodeAgent
from agio.worker.drivers import Drivers
from agio.worker.outbox import Outbox
from agio.worker.toolbox import Toolbox, own_tool

_log = logging.getLogger("agio.worker")


class Parts(Struct, frozen=True):
    """The parts that all jobs of a worker share."""

    app: App
    drivers: Drivers
    toolbox: Toolbox
    config: AgentRunConfig


async def open_run(job: Job, outbox: Outbox, parts: Parts, files: ReadFile) -> RunStream:
    """Assemble a run. A missing part ends it with RUN_ERROR; it raises only if the log cannot be read."""
    history = Fold()
    try:
        for log in job.history:
            for _ in fold_slices(history, log):
                await asyncio.sleep(0)  # a long conversation must not block other runs
        runner = _runner(job, outbox, parts, files)
        runner.suggested = job.suggested
        return runner.resume(job.log, history)
    except AgioError as error:
        reason = error
    except Exception as error:  # the user's module runs here
        _log.exception("run %s cannot be put together", job.claim.run_id)
        reason = AgioError(
            "internal_error", f"The run could not begin: an unexpected {type(error).__name__}."
        )
    spec = _spec(job.agent, parts.config)
    tools = ToolExecutor((), parts.config)
    refused = AgentRunner(spec, _NoModel(), tools, outbox, hooks=_Refusal(reason))
    return refused.resume(job.log, Fold())


def _runner(job: Job, outbox: Outbox, parts: Parts, files: ReadFile) -> AgentRunner:
    own = _member(JobAgent(job.agent, job.tools, job.memories, job.documents), job, outbox, parts)
    team: dict[str, Member] = {}
    for each in job.team:
        try:
            team[each.agent.name] = _member(each, job, outbox, parts)
        except AgioError as error:  # the run continues without this agent, and says so
            _log.warning("run %s goes without its agent %s: %s", job.claim.run_id, each.agent.name, error)
    code = _code_agent(job.agent, parts.app)
    hooks = None if code is None else code.hooks
    return AgentRunner(
        own.spec,
        own.driver,
        own.tools,
        outbox,
        source=own.source,
        hooks=hooks,
        files=files,
        edges=own.edges,
        team=team,
    )


def _member(given: JobAgent, job: Job, outbox: Outbox, parts: Parts) -> Member:
    """Assemble an agent of a run. Raises AgioError if a part is missing."""
    agent, asked = given.agent, job.log.input()
    code = _code_agent(agent, parts.app)
    if code is None:
        spec = _spec(agent, parts.config)
        driver = parts.drivers.get(agent.model_provider, agent.endpoint)
        source: ContextSource = NoContext()
    else:
        spec, driver, source = _priced(code.spec, agent), code.driver(), code.source
    tools = _tools(given, {} if code is None else {tool.name: tool for tool in code.tools}, parts)
    if asked is not None and asked.tools is not UNSET:
        tools += offered_tools(asked.tools)
    if job.context or given.memories or given.documents:
        source = RememberedContext(source, job.context, given.memories, given.documents)
    if asked is not None and asked.context is not UNSET:
        source = PageContext(source, asked.context)
    elsewhere = [offer.name for offer in given.tools if offer.place == "gateway"]
    executor = ToolExecutor(tools, spec.config, outbox, elsewhere, standing=outbox)
    edges = edges_of(agent.handoffs, [tool.name for tool in tools])
    return Member(spec, driver, executor, source, edges)


def _code_agent(offer: AgentOffer, app: App) -> CodeAgent | None:
    if offer.source != "code":
        return None
    agent = app.agents.get(offer.name)
    if agent is None:
        raise UserError(
            "agent_missing", f"The agent {offer.name} is defined in code, and not in this worker's module."
        )
    return agent


def _spec(offer: AgentOffer, config: AgentRunConfig) -> AgentSpec:
    """Make a job's agent, with defaults from the worker's configuration. Raises UserError `invalid_schema`."""
    if offer.max_steps is not None:
        config = structs.replace(config, max_steps=offer.max_steps)
    if offer.limits is not None:
        config = structs.replace(config, **offer.limits.said())
    if offer.temperature is not None:
        config = structs.replace(config, model=structs.replace(config.model, temperature=offer.temperature))
    spec = AgentSpec(
        name=offer.name,
        instructions=offer.system_prompt,
        provider=offer.model_provider,
        model=offer.model_name,
        goal=offer.goal,
        output=None if offer.output_schema is None else OutputType(offer.output_schema, is_trusted=False),
        config=config,
    )
    return _priced(spec, offer)


def _priced(spec: AgentSpec, offer: AgentOffer) -> AgentSpec:
    """Set the gateway's model price on an agent that has none of its own."""
    if offer.price is None or spec.model_id in spec.config.prices:
        return spec
    prices = {**spec.config.prices, spec.model_id: offer.price}
    return structs.replace(spec, config=structs.replace(spec.config, prices=prices))


def _tools(given: JobAgent, own: Mapping[str, AnyTool], parts: Parts) -> list[AnyTool]:
    """Return an agent's tools: the offered ones, and the others that the agent has in code."""
    known = {**parts.app.tools, **own} if own else parts.app.tools
    always_ask = given.agent.approval == "ask"
    tools: dict[str, AnyTool] = {}
    for offer in given.tools:
        approval: Approval = "ask" if always_ask else offer.approval
        if offer.place == "gateway":
            tools[offer.name] = parts.toolbox.gateway_tool(offer, approval)
        else:
            tools[offer.name] = own_tool(offer, approval, known)
    return [*tools.values(), *(tool for name, tool in own.items() if name not in tools)]


class _Refusal(RunHooks):
    """Ends a run that could not be assembled, right after its first event."""

    def __init__(self, error: AgioError) -> None:
        self._error = error

    async def run_started(self, request: RunRequest) -> None:
        raise self._error


class _NoModel:
    """The driver of a run that ends before its first model call."""

    wire = "none"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        raise ModelError("model_unavailable", "This run has no model.")
        yield []

    async def aclose(self) -> None:
        """Nothing to close."""
