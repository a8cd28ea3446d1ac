"""Agent: the engine without a server. Its runs are kept in memory, or in a file."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import UNSET, Struct, structs

from agio.agent_memory import AgentMemory, Memory
from agio.core.config import AgentRunConfig, checked_config
from agio.core.engine.context import ContextSource, NoContext, PageContext, RememberedContext
from agio.core.engine.loop import Engine, run_loop
from agio.core.engine.runner import AgentRunner, RunHooks, RunResult, RunStream
from agio.core.engine.team import Member
from agio.core.handoff import Handoff, HandoffFilter, edges_of
from agio.core.model import ModelDriver
from agio.core.name import name_problem
from agio.core.passage import Recollection
from agio.core.run.fold import Fold
from agio.core.run.session_history import session_history
from agio.core.run.spec import AgentSpec, RunRequest, check_request, messages_of
from agio.core.schema.schema import OutputType
from agio.core.store.records import MemoryPolicy
from agio.core.store.repository import AgentRunRepository, RunInfo, RunLog
from agio.core.tool import AnyTool, Tool, offered_tools, tool
from agio.db.repository import open_store
from agio.db.sqlite.shared import acquire_store, release_store
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver, split_model
from agio.errors import UserError
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.events import AgentEvent
from agio.protocol.ids import new_id
from agio.protocol.messages import (
    Content,
    ContextEntry,
    Message,
    ResumeEntry,
    ToolDeclaration,
    ToolMessage,
    UserMessage,
    text_of,
)
from agio.settings import load_settings

Recalled: TypeAlias = Mapping[str, Sequence[Recollection]]
"""What the agents of a run remember, by their names."""
MEMORY = ":memory:"
"""The name of a store in memory, which is lost when the program ends."""


class Teammate(Struct, frozen=True):
    """Another agent that an agent may call or hand over to: see `handoff` and `Agent.as_tool`."""

    agent: "Agent"
    link: Handoff


def handoff(
    agent: "Agent",
    description: str = "",
    *,
    filter: HandoffFilter = "all",  # noqa: A002 (the word of the API)
    name: str = "",
) -> Teammate:
    """Let an agent hand the conversation over to another, in `Agent(handoffs=[...])`.

    `description` says when to, `filter` what the other agent sees of the conversation, `name` names the tool by
    which the model does it.
    """
    return Teammate(agent, Handoff(agent.spec.name, "handoff", description, filter, name))


class Agent:
    """An agent: its instructions, its model, its tools, and the store of its runs.

    `model` is `provider:model` (`openai`, `openai-chat`, `anthropic`, `gemini`, `demo`) or your own driver.
    `store` is a file, or `":memory:"`. Raises UserError for invalid arguments.
    """

    def __init__(
        self,
        name: str,
        instructions: str = "You are a helpful assistant.",
        *,
        model: str | ModelDriver = "demo:demo",
        tools: Sequence["AnyTool | Teammate | Callable[..., object]"] = (),
        handoffs: Sequence["Agent | Teammate"] = (),
        goal: str | None = None,
        output_type: object | None = None,
        config: AgentRunConfig | None = None,
        store: str | Path | AgentRunRepository = MEMORY,
        base_url: str | None = None,
        api_key: str | None = None,
        source: ContextSource | None = None,
        hooks: RunHooks | None = None,
        memory: "MemoryPolicy | Memory" = "off",
    ) -> None:
        _check_kinds(name=name, instructions=instructions, goal=goal, base_url=base_url, api_key=api_key)
        provider, model_name = _split(model)
        self.spec = AgentSpec(
            name=name,
            instructions=instructions,
            provider=provider,
            model=model_name,
            goal=goal,
            output=None if output_type is None else OutputType(output_type),
            config=checked_config(AgentRunConfig() if config is None else config),
        )
        self._called = [entry for entry in tools if isinstance(entry, Teammate)]
        functions = [entry for entry in tools if not isinstance(entry, Teammate)]
        self.tools: list[AnyTool] = [entry if isinstance(entry, Tool) else tool(entry) for entry in functions]
        self.handoffs: list[Agent | Teammate] = list(handoffs)
        """The agents that it may hand over to. Add to it to let two agents hand over to each other."""
        ToolExecutor(self.tools, self.spec.config)
        self._driver = None if isinstance(model, str) else model
        self._opened = isinstance(model, str)
        self._endpoint = Endpoint(base_url, api_key)
        self._store = store
        self._path = (
            Path(store).expanduser().resolve()
            if isinstance(store, (str, Path)) and str(store) != MEMORY
            else None
        )
        self._repository: AgentRunRepository | None = None
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self.source = source or NoContext()
        self.hooks = hooks
        self.memory = AgentMemory(self, memory)
        """What it remembers: add, find, delete memories, approve suggestions."""
        self.team()

    @property
    def memory_policy(self) -> MemoryPolicy:
        """Whether it remembers."""
        return self.memory.config.policy

    @property
    def memory_tools(self) -> Sequence[str]:
        """The names of the memory tools that it has."""
        return [tool.name for tool in self.memory.tools()]

    def as_tool(self, name: str = "", description: str = "") -> Teammate:
        """Return this agent as a tool for `Agent(tools=[...])`: it does a task and answers its caller."""
        return Teammate(self, Handoff(self.spec.name, "tool", description, tool=name))

    def links(self) -> "list[tuple[Agent, Handoff]]":
        """Return the agents that it may call or hand over to, with how."""
        given = [entry if isinstance(entry, Teammate) else handoff(entry) for entry in self.handoffs]
        return [(each.agent, each.link) for each in (*self._called, *given)]

    def arun_stream(
        self,
        message: str | Content | Sequence[Message] = (),
        *,
        thread_id: str | None = None,
        tool_results: Mapping[str, Content] | None = None,
        resume: Sequence[ResumeEntry] = (),
        tools: Sequence[ToolDeclaration] = (),
        context: Sequence[ContextEntry] = (),
    ) -> "Run":
        """Run the agent. Iterate over the returned run's events, or await its `.result()`.

        `thread_id` continues that conversation. `tool_results` answers the client-side calls that the last run ended
        with, and `resume` its questions. `tools` and `context` are the client's tools and context.
        """
        results = [
            ToolMessage(id=f"res_{call_id.partition('_')[2]}", content=content, tool_call_id=call_id)
            for call_id, content in (tool_results or {}).items()
        ]
        request = RunRequest(
            session_id=thread_id or new_id("thr"),
            messages=[*results, *messages_of(message)],
            resume=resume,
            tools=tools,
            context=context,
        )
        check_request(request)
        return Run(self, request, new_thread=thread_id is None)

    async def arun(self, message: str | Content, *, thread_id: str | None = None) -> str:
        """Run the agent and return the text of its answer. Raises the error of a failed run."""
        async with self.arun_stream(message, thread_id=thread_id) as run:
            result = await run.result()
        if result.error is not None:
            raise result.error
        if result.interrupts or result.pending_tool_call_ids:
            raise UserError(
                "needs_answer",
                f"Run {result.run_id} waits for an approval or a client-side tool: use arun_stream() and answer it.",
            )
        return result.text

    def resume_run(self, run_id: str) -> "Run":
        """Continue a run that another process left unfinished, from its log."""
        return Run(self, RunRequest(session_id="", run_id=run_id), resumed=True)

    async def get_run_history(self, run_id: str) -> list[AgentEvent]:
        """Return the events of a run, as they were streamed. Raises UserError `run_not_found`."""
        return await (await self.repository()).get_events(run_id)

    async def list_runs(
        self, *, thread_id: str | None = None, before: str | None = None, limit: int = 50
    ) -> list[RunInfo]:
        """Return this agent's runs, newest first; `before` is the last run id of the previous page."""
        repository = await self.repository()
        return await repository.list_runs(
            agent=self.spec.name, session_id=thread_id, before=before, limit=limit
        )

    async def repository(self) -> AgentRunRepository:
        """Return the store of the runs, opened on first use. Raises StoreError."""
        if self._repository is None:
            lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
            async with lock:
                self._repository = self._repository or await self._open()
        return self._repository

    async def _open(self) -> AgentRunRepository:
        if not isinstance(self._store, (str, Path)):
            return self._store
        return await (open_store(MEMORY) if self._path is None else acquire_store(self._path))

    async def aclose(self) -> None:
        """Close the connections of its models, and the store. A driver or repository passed in stays open."""
        for agent in self.team():
            await agent.memory.aclose()
            await agent.close_driver()
        repository, self._repository = self._repository, None
        if repository is None or repository is self._store:
            return
        if self._path is None:
            await repository.close()
        else:
            await release_store(self._path)

    async def close_driver(self) -> None:
        """Close the connections of its model, unless the driver was passed in."""
        if self._opened and self._driver is not None:
            driver, self._driver = self._driver, None
            await driver.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def begin(self, request: RunRequest, *, new_thread: bool) -> RunStream:
        """Start a run in its thread. Raises UserError `thread_busy` if the thread has an unfinished run."""
        repository = await self.repository()
        history = Fold()
        if not new_thread:
            newest = await repository.list_runs(session_id=request.session_id, limit=1)
            if newest and newest[0].status == "running":
                raise UserError(
                    "thread_busy",
                    f"Run {newest[0].run_id} of this thread is not finished. Wait for it, or continue it by "
                    f"resume_run({newest[0].run_id!r}).",
                )
            enough = self.spec.config.max_history_messages
            history = await session_history(repository, request.session_id, enough=enough)
            if newest:
                request = structs.replace(request, mark=newest[0].mark)
        recalled = await self._recall(request.messages)
        return self._runner(repository, request, recalled).run_stream(request, history)

    async def go_on(self, run_id: str) -> RunStream:
        """Claim an unfinished run and continue it. Raises UserError `run_not_found`, StoreError `run_ended`."""
        repository = await self.repository()
        info = await repository.claim_run(run_id)
        enough = self.spec.config.max_history_messages
        history = await session_history(repository, info.session_id, until=info, enough=enough)
        log = await repository.get_log(run_id)
        given = log.input()
        recalled = await self._recall([] if given is None else given.messages)
        return self._runner(repository, _request_of(log), recalled).resume(log, history)

    async def _recall(self, messages: Sequence[Message]) -> "Recalled":
        """Return what the agents of a run remember that fits its message."""
        said = [text_of(message.content) for message in messages if isinstance(message, UserMessage)]
        text = "\n".join(said)
        return {agent.spec.name: await agent.memory.recall(text) for agent in self.team()} if text else {}

    def driver(self) -> ModelDriver:
        """Return the model's driver, opened on first use. Raises UserError `missing_provider_key`."""
        if self._driver is None:
            endpoint = self._endpoint
            if endpoint.base_url is None or endpoint.api_key is None:
                found = load_settings().endpoint(self.spec.provider)
                # The key from the environment is sent only to the address from the environment.
                key = found.api_key if endpoint.base_url is None else None
                endpoint = Endpoint(endpoint.base_url or found.base_url, endpoint.api_key or key)
            self._driver = open_driver(self.spec.provider, endpoint)
        return self._driver

    def described(self, instructions: str, model: str) -> None:
        """Return nothing: the loop runs an agent as a session describes it."""

    def engine(self) -> Engine:
        """Return what drives its runs."""
        return run_loop

    def _runner(
        self, repository: AgentRunRepository, request: RunRequest, recalled: "Recalled"
    ) -> AgentRunner:
        own, *others = [
            agent.member(repository, request, recalled.get(agent.spec.name, ())) for agent in self.team()
        ]
        return AgentRunner(
            own.spec,
            own.driver,
            own.tools,
            repository,
            source=own.source,
            hooks=self.hooks if self.memory.config.policy == "off" else self.memory.hooks(self.hooks),
            edges=own.edges,
            team={each.spec.name: each for each in others},
        )

    def member(
        self, repository: AgentRunRepository, request: RunRequest, recalled: Sequence[Recollection] = ()
    ) -> Member:
        """Return the agent as one of a run's, with what it remembers."""
        tools = [*self.tools, *self.memory.tools(), *offered_tools(request.tools)]
        executor = ToolExecutor(tools, self.spec.config, repository)
        source = RememberedContext(self.source, (), recalled) if recalled else self.source
        source = PageContext(source, request.context) if request.context else source
        edges = edges_of([link for _, link in self.links()], [tool.name for tool in tools])
        return Member(self.spec, self.driver(), executor, source, edges)

    def team(self) -> "list[Agent]":
        """Return this agent and those that its runs may use. Raises UserError `duplicate_agent`, `invalid_handoff`."""
        team: dict[str, Agent] = {self.spec.name: self}
        waiting: list[Agent] = [self]
        while waiting:
            current = waiting.pop()
            for agent, link in current.links():
                if agent is current and link.mode == "handoff":
                    raise UserError("invalid_handoff", f"{current.spec.name} cannot hand over to itself.")
                if link.agent not in team:
                    team[link.agent] = agent
                    waiting.append(agent)
                elif team[link.agent] is not agent:
                    raise UserError("duplicate_agent", f"Two agents are named {link.agent}.")
        return list(team.values())


def _request_of(log: RunLog) -> RunRequest:
    """Return the client's request of a stored run, from its RUN_STARTED event."""
    started = log.input()
    request = RunRequest(session_id=log.info.session_id)
    if started is None:
        return request
    return structs.replace(
        request,
        tools=[] if started.tools is UNSET else started.tools,
        context=[] if started.context is UNSET else started.context,
    )


class Run(AsyncIterator[AgentEvent]):
    """A run of an agent: iterate over its events, `cancel()` it, or await its `result()`."""

    def __init__(
        self, agent: Agent, request: RunRequest, *, new_thread: bool = False, resumed: bool = False
    ) -> None:
        self.run_id = request.run_id
        self.thread_id = request.session_id
        self._agent = agent
        self._request = request
        self._new_thread = new_thread
        self._resumed = resumed
        self._stream: RunStream | None = None
        self._cancelled = False

    async def _begin(self) -> RunStream:
        if self._stream is None:
            if self._resumed:
                self._stream = await self._agent.go_on(self.run_id)
                self.thread_id = self._stream.session_id
            else:
                self._stream = await self._agent.begin(self._request, new_thread=self._new_thread)
            if self._cancelled:
                self._stream.cancel()
        return self._stream

    def cancel(self) -> None:
        """Cancel the run. Its log ends with the outcome `cancelled`."""
        self._cancelled = True
        if self._stream is not None:
            self._stream.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        stream = self._stream or await self._begin()
        return await stream.__anext__()

    async def result(self) -> RunResult:
        """Consume the run's events and return its result."""
        return await (await self._begin()).result()

    async def aclose(self) -> None:
        """Cancel the run unless it has ended, and wait until its log has ended."""
        if self._stream is not None:
            await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _check_kinds(**texts: object) -> None:
    for name, value in texts.items():
        if not isinstance(value, str) and (value is not None or name in ("name", "instructions")):
            raise UserError("invalid_agent", f"{name} must be text, not {type(value).__name__}.")
    if (problem := name_problem(str(texts["name"]))) is not None:
        raise UserError("invalid_agent", f"The name of an agent does not do: {problem}.")


def _split(model: str | ModelDriver) -> tuple[str, str]:
    if isinstance(model, str):
        return split_model(model)
    wire = getattr(model, "wire", None)
    if not isinstance(wire, str):
        raise UserError(
            "invalid_model",
            f"A {type(model).__name__} is no model: write provider:model, or give a ModelDriver.",
        )
    return wire, wire
