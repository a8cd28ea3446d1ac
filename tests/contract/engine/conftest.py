"""An agent on each engine: agio's loop, the Agents SDK with a driver of ours, and the SDK with a model of its own."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import pytest
from agents import Agent, Model, ModelResponse, Usage, function_tool
from agents.items import TResponseInputItem
from msgspec import structs
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agio import AgentRunConfig, ModelError, ResumeEntry, ScriptedDriver, ScriptedTurn, tool
from agio.core.engine.runner import AgentRunner, RunResult, RunStream
from agio.core.model import ModelRequest
from agio.core.run.fold import Fold, fold_log
from agio.core.run.session_history import session_history
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.schema.schema import OutputType
from agio.core.tool import AnyTool, offered_tools
from agio.db.repository import Repository, open_store
from agio.engines.openai_agents.agent import SdkAgent
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.ids import new_id
from agio.protocol.messages import (
    AssistantMessage,
    Content,
    Message,
    ToolDeclaration,
    ToolMessage,
    UserMessage,
)

ENGINES = ["loop", "sdk", "sdk with its own model"]


class OwnModel(Model):
    """A model of the SDK that says the turn which the conversation has come to."""

    def __init__(self, turn: Callable[[int], ScriptedTurn]) -> None:
        self._turn = turn
        self.inputs: list[list[TResponseInputItem]] = []

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        assert isinstance(input, list)
        self.inputs.append(input)
        named = re.findall(r'"(?:msg|fc)_t(\d+)', str(input).replace("'", '"'))
        number = 1 + max(map(int, named), default=-1)
        turn = self._turn(number)
        if turn.waits is not None:
            await turn.waits.wait()
        if turn.fails is not None:
            raise turn.fails
        output: list[Any] = []
        if turn.text:
            text = ResponseOutputText(text=turn.text, type="output_text", annotations=[])
            output.append(
                ResponseOutputMessage(
                    id=f"msg_t{number}", content=[text], role="assistant", status="completed", type="message"
                )
            )
        driver = ScriptedDriver([turn])
        async for batch in driver.stream(ModelRequest("", "", ())):
            for event in batch:
                match event.__class__.__name__, event:
                    case "ToolCallBegin", begun:
                        output.append(
                            ResponseFunctionToolCall(
                                arguments="",
                                call_id=f"fc_t{number}_{cast(Any, begun).index}",
                                name=cast(Any, begun).name,
                                type="function_call",
                            )
                        )
                    case "ToolCallDelta", delta:
                        output[-1].arguments += cast(Any, delta).arguments
                    case _:
                        pass
        return ModelResponse(
            output, Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15), None
        )

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class Bench:
    """Runs agents on one engine, in one store."""

    def __init__(self, kind: str, store: Repository) -> None:
        self.kind = kind
        self.store = store
        self.turns: Sequence[ScriptedTurn] = ()
        self.failures: list[ModelError] = []
        """How the next calls of the model fail."""
        self.functions: Sequence[Callable[..., object]] = ()
        self.asking: Sequence[str] = ()
        """The names of the functions that ask a person."""
        self.client: Sequence[ToolDeclaration] = ()
        self.config = AgentRunConfig()
        self.output: type | None = None
        self.driver: ScriptedDriver | None = None
        self.model: OwnModel | None = None

    def runner(self) -> AgentRunner:
        """Return an agent, as another process would have it."""
        self.driver = ScriptedDriver(self._next)
        if self.kind == "loop":
            spec = AgentSpec(
                "tester",
                "Be brief.",
                "scripted",
                "scripted",
                output=None if self.output is None else OutputType(self.output),
                config=self.config,
            )
            tools: list[AnyTool] = [
                tool(effect="idempotent", approval="ask" if each.__name__ in self.asking else "never")(each)
                for each in self.functions
            ]
            return AgentRunner(spec, self.driver, self._executor(tools), self.store)
        self.model = OwnModel(self.turn)
        agent = SdkAgent(
            Agent[Any](
                "tester",
                instructions="Be brief.",
                tools=[
                    function_tool(each, needs_approval=each.__name__ in self.asking)
                    for each in self.functions
                ],
                model="scripted:scripted" if self.kind == "sdk" else self.model,
                output_type=self.output,
            ),
            config=self.config,
        )
        for each in agent.tools:
            each.effect = "idempotent"
        driver = agent.driver() or self.driver
        return AgentRunner(agent.spec, driver, self._executor(agent.tools), self.store, engine=agent.engine())

    def _executor(self, tools: Sequence[AnyTool]) -> ToolExecutor:
        return ToolExecutor([*tools, *offered_tools(self.client)], self.config, self.store)

    def _next(self, request: ModelRequest) -> ScriptedTurn:
        return self.turn(sum(isinstance(message, AssistantMessage) for message in request.messages))

    def turn(self, number: int) -> ScriptedTurn:
        """Return what the model says after so many turns."""
        turn = self.turns[number]
        return structs.replace(turn, fails=self.failures.pop()) if self.failures else turn

    async def begin(
        self,
        text: Content = "",
        resume: Sequence[ResumeEntry] = (),
        results: Sequence[ToolMessage] = (),
        run_id: str = "",
    ) -> RunStream:
        """Start a run in the thread."""
        history = await session_history(self.store, "thr_1", enough=1000)
        messages: list[Message] = [*results]
        if text:
            messages.append(UserMessage(id=f"usr_{len(history.messages)}", content=text))
        request = RunRequest(
            run_id=run_id or new_id("run"),
            session_id="thr_1",
            messages=messages,
            resume=resume,
            tools=self.client,
            mark="m" * 16,
        )
        return self.runner().run_stream(request, history)

    async def run(
        self, text: Content = "", resume: Sequence[ResumeEntry] = (), results: Sequence[ToolMessage] = ()
    ) -> RunResult:
        """Run to the end."""
        return await (await self.begin(text, resume, results)).result()

    async def again(self, run_id: str) -> RunStream:
        """Claim a run and go on with it, as another process."""
        await self.store.claim_run(run_id)
        log = await self.store.get_log(run_id)
        history = Fold()
        for earlier in await self.store.history(log.info, 1000):
            fold_log(history, earlier)
        return self.runner().resume(log, history)


@pytest.fixture(params=ENGINES)
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """An agent on each engine."""
    store = await open_store(":memory:")
    yield Bench(request.param, store)
    await store.close()
