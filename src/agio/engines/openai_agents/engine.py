"""Drives a run with the SDK's Runner, which comes to where it stopped by what the log has."""

import asyncio
import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Unpack, cast

from agents import (
    Agent,
    ModelProvider,
    ModelResponse,
    RunConfig,
    RunResult,
    ToolExecutionConfig,
)
from agents.items import TResponseInputItem
from agents.models.interface import Model
from agents.run import AgentRunner, Runner, get_default_agent_runner, set_default_agent_runner
from agents.run_config import RunOptions
from msgspec import UNSET

from agio.core.engine.loop import LoopState
from agio.core.run.closing import take_back_events
from agio.core.schema.schema import to_json
from agio.engines.openai_agents.lane import ENTERING, PLACE, SdkLane, cause_of, here
from agio.engines.openai_agents.models import ModelCall
from agio.engines.openai_agents.tools import RunFacts
from agio.errors import AgioError, UserError
from agio.protocol.events import RunFinished, TextMessageChunk
from agio.protocol.ids import id_body

_log = logging.getLogger("agio.engines")


class SdkRun:
    """One run: the error that ends it, and the calls that are under way."""

    def __init__(self) -> None:
        self.failure: AgioError | None = None
        self._acting: set[asyncio.Task[Any]] = set()

    def check(self) -> None:
        """Raise the error that ends the run, if there is one."""
        if self.failure is not None:
            raise self.failure

    @contextmanager
    def acting(self) -> Generator[None]:
        """Count the current task among the calls that are under way."""
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._acting.add(task)
        try:
            yield
        finally:
            self._acting.discard(task)

    async def settled(self) -> None:
        """Wait for calls that the Runner cancelled and left: they end within the cancel grace."""
        for task in self._acting:
            task.cancel()
        if self._acting:
            await asyncio.wait(self._acting)


class Engine:
    """The engine of an agent and those that it may use. `copies` are the recorded ones, by name."""

    def __init__(self, name: str, copies: Mapping[str, Agent[Any]], context: object) -> None:
        self._name = name
        self._copies = copies
        self._context = context

    async def __call__(self, state: LoopState) -> RunFinished:
        """Drive a run to its end and return the terminal event. Raises AgioError if the run fails."""
        for event in take_back_events(state.fold):
            state.journal.emit(event)
        run = SdkRun()
        try:
            while await self._exchange(run, state):
                state.take_inputs()
                if not state.lane.corrected:
                    break
        finally:
            await run.settled()
        return state.finish()

    async def _exchange(self, run: SdkRun, state: LoopState) -> bool:
        """Answer the user's newest messages. Return whether it is done, and does not wait for a person or a client."""
        lane = SdkLane(run, state)
        PLACE.set(lane)
        request = state.request
        facts = RunFacts(request.tenant, request.user, state.fold.session_id, state.fold.run_id)
        context = self._context(facts) if callable(self._context) else facts
        config = RunConfig(
            model_provider=_NO_PROVIDER,
            tracing_disabled=True,
            group_id=state.fold.session_id,
            tool_execution=ToolExecutionConfig(max_function_tool_concurrency=state.config.tool_concurrency),
            tool_not_found_behavior="return_error_to_model",
        )
        try:
            result = await Runner.run(
                self._copies.get(state.lane.asked) or self._copies[self._name],
                cast("list[TResponseInputItem]", lane.input()),
                context=context,
                max_turns=None,
                run_config=config,
            )
        except asyncio.CancelledError:
            if run.failure is None:
                raise
            raise run.failure from None
        except Exception as error:  # the Runner, and the program's own code in it
            run.check()
            cause = cause_of(error)
            if cause.code == "agent_failed":
                _log.info("the agent of run %s failed", state.fold.run_id, exc_info=error)
            raise cause from error
        run.check()
        if result.interruptions or state.lane.pending:
            return False
        _conclude(state, result.final_output)
        return True


def _conclude(state: LoopState, output: object) -> None:
    """Take the Runner's answer as the run's. One that no model gave, but a tool, is said as text."""
    if not isinstance(output, str):
        state.output = UNSET if output is None else to_json(output)
    elif not state.lane.answered:
        text_id = f"msg_{id_body(state.fold.run_id)}_{state.lane.step}_tool"
        state.journal.emit(state.lane.own(TextMessageChunk(text_id, delta=output)))


class RecordedModel(Model):
    """The model of a recorded agent: its lane answers."""

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        """Answer from the log, or ask the agent's model. See `Model`."""
        return await here().ask(_call_of(*given, **named))

    def stream_response(self, *given: Any, **named: Any) -> Any:
        """Not used: a run's events come from its log."""
        raise UserError(
            "sdk_unsupported", "A streamed run inside a run cannot be recorded: leave out on_stream."
        )


def _call_of(
    system_instructions: str | None,
    input: str | list[TResponseInputItem],  # noqa: A002 (the SDK's word)
    model_settings: Any,
    tools: Any,
    output_schema: Any,
    handoffs: Any,
    tracing: Any,
    **_: Any,
) -> ModelCall:
    items = [{"role": "user", "content": input}] if isinstance(input, str) else input
    return ModelCall(
        system_instructions,
        cast("list[TResponseInputItem]", items),
        model_settings,
        tools,
        output_schema,
        handoffs,
    )


class _NoProvider(ModelProvider):
    """Recorded agents have their models."""

    def get_model(self, model_name: str | None) -> Model:
        return RecordedModel()


_NO_PROVIDER = _NoProvider()


class LaneRunner(AgentRunner):
    """The SDK's default runner, which lets a recorded sub-agent begin in its lane."""

    async def run(
        self,
        starting_agent: Agent[Any],
        input: Any,  # noqa: A002 (the SDK's word)
        **kwargs: Unpack[RunOptions[Any]],
    ) -> RunResult:
        """Run an agent. A sub-agent of a recorded run is replaced by its recorded copy."""
        lane = ENTERING.get()
        if lane is None:
            return await super().run(starting_agent, input, **kwargs)
        ENTERING.set(None)
        outer = PLACE.set(lane)
        try:
            _check_entry(lane, starting_agent, kwargs)
            copy = cast("Agent[Any]", vars(starting_agent)[COPY])
            return await super().run(copy, input, **kwargs)
        except Exception as error:
            lane.fail(error)
            raise
        finally:
            PLACE.reset(outer)


def _check_entry(lane: SdkLane, agent: Agent[Any], given: RunOptions[Any]) -> None:
    """Refuse options of a sub-agent that cannot be recorded. Raises UserError `sdk_unsupported`."""
    for name in ("session", "previous_response_id", "conversation_id"):
        if given.get(name):
            words = f"Agent.as_tool({name}=...) of {agent.name} cannot be recorded: leave it out."
            lane.run.failure = UserError("sdk_unsupported", words)
            raise lane.run.failure


COPY = "_agio_copy"
"""The attribute of a program's agent that holds its recorded copy."""


def install() -> None:
    """Make the SDK's default runner one that knows lanes."""
    if not isinstance(get_default_agent_runner(), LaneRunner):
        set_default_agent_runner(LaneRunner())
