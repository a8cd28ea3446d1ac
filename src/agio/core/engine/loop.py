"""The agent loop: call the model, run the tools it requests, and repeat until it has answered.

`run_loop` decides only from the fold of the log. A run that another process resumes takes the same code path as a
run that never stopped.
"""

from collections.abc import Mapping

from msgspec import UNSET

from agio.core.engine.calls import call_tools, interrupts_of
from agio.core.engine.context import ContextBuilder
from agio.core.engine.goal import goal_tool
from agio.core.engine.journal import Journal
from agio.core.engine.turn import take_back, take_turn
from agio.core.model import ModelDriver, ModelEvent, ModelRequest, ToolSpec, Usage
from agio.core.run.boundary import run_finished
from agio.core.run.metrics import Stopwatch, cost, now_s, report, run_cost
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.schema.schema import to_json
from agio.core.tool import ToolRunner
from agio.errors import LimitExceeded
from agio.protocol.events import (
    ERROR,
    METRICS,
    NOTICE,
    Custom,
    InterruptOutcome,
    RunFinished,
    StepFinished,
    StepStarted,
    SuccessOutcome,
)
from agio.protocol.messages import Json

__all__ = ["LoopState", "ModelDriver", "ModelEvent", "ModelRequest", "run_loop"]


async def run_loop(state: "LoopState") -> RunFinished:
    """Drive a run to its end and return the terminal event. Raises AgioError if the run fails."""
    take_back(state)
    while True:
        if state.fold.pending:
            await call_tools(state)
        if state.fold.pending or state.fold.goal is not None:
            return state.finish()
        if state.fold.answered and state.output_fits():
            return state.finish()
        if state.fold.turn_done:
            state.end_step()
        state.begin_step()
        await take_turn(state)


class LoopState:
    """The loop's state of a run: its definition, the log so far, and the components it uses."""

    def __init__(
        self,
        agent: AgentSpec,
        request: RunRequest,
        driver: ModelDriver,
        tools: ToolRunner,
        context: ContextBuilder,
        journal: Journal,
    ) -> None:
        self.agent = agent
        self.request = request
        self.config = agent.config
        self.driver = driver
        self.tools = tools
        self.context = context
        self.journal = journal
        self.fold = journal.fold
        """The state of the thread and the run, folded from the log."""
        self.watch = Stopwatch()
        self.total = Stopwatch()
        self.output: object = UNSET
        self.fresh: set[str] = set()
        """Calls of a turn that this process received: no other process can have started them."""
        self.begun: set[str] = set()
        """Calls that this process has started."""
        self.calling = False
        """Whether a model call is in progress or broke off, so that its token usage is incomplete."""
        self.partial_usage = Usage()
        """The usage reported so far by a model call that is in progress or broke off."""
        self.started_s = now_s()

    @property
    def usage_unknown(self) -> bool:
        """Whether a model call of the run did not report its token usage."""
        return self.fold.usage_unknown or self.calling

    @property
    def steps(self) -> int:
        """How many steps the run has begun."""
        return self.fold.step

    @property
    def tokens(self) -> int:
        """The input and output tokens that the run's model calls have reported so far."""
        return self.fold.total_usage.total + self.partial_usage.total

    @property
    def tokens_left(self) -> int | None:
        """The run's remaining token budget, None without a limit."""
        return None if self.config.max_tokens is None else self.config.max_tokens - self.tokens

    @property
    def cost(self) -> float | None:
        """The run's cost so far, None without a price."""
        return run_cost(self.fold.usage, self.agent.model_id, self.config.prices)

    @property
    def tool_specs(self) -> list[ToolSpec]:
        """Every tool the model may call, including `complete_goal` if the agent has a goal."""
        specs = list(self.tools.specs)
        return [*specs, goal_tool(self.agent.output)] if self.agent.goal else specs

    def count_partial_usage(self) -> None:
        """Count the partial usage of a model call that broke off; its full usage is unknown."""
        if self.partial_usage.total:
            self.fold.count(self.agent.model_id, self.partial_usage)
            self.partial_usage = Usage()

    def check_limits(self) -> None:
        """Raise LimitExceeded if another step would exceed a limit."""
        if self.fold.step >= self.config.max_steps:
            raise LimitExceeded("step_limit", f"The run has taken all of its {self.config.max_steps} steps.")
        if self.fold.bad_arguments > self.config.max_bad_arguments:
            raise LimitExceeded(
                "bad_tool_arguments",
                f"The model called tools with arguments that do not fit {self.fold.bad_arguments} times.",
            )
        if self.config.max_tokens is not None and self.tokens >= self.config.max_tokens:
            raise self.over_token_budget(0)

    def over_token_budget(self, prompt: int) -> LimitExceeded:
        """Return the error for a model call that exceeds the remaining token budget."""
        return LimitExceeded(
            "token_budget",
            f"The run has used {self.tokens} of its {self.config.max_tokens} tokens"
            + (
                f": {self.tokens_left} are left, and the prompt of the next call takes about {prompt}."
                if prompt
                else "."
            ),
        )

    def begin_step(self) -> None:
        """Begin the next step, unless one is open in a resumed run. Raises LimitExceeded."""
        if not self.fold.step_open:
            self.check_limits()
            self.journal.emit(StepStarted(f"step-{self.fold.step + 1}"))

    def end_step(self) -> None:
        """Emit the open step's metrics and end the step."""
        if not self.fold.step_open:
            return
        self.total.add(self.watch)
        usage = self.fold.step_usage
        usage_unknown = self.calling or self.fold.step_usage_unknown
        figures = report(
            usage, self.watch, cost(usage, self.agent.model_id, self.config.prices), usage_unknown
        )
        self.tell(METRICS, {"scope": "step", "step": self.fold.step, "model": self.agent.model_id, **figures})
        self.journal.emit(StepFinished(f"step-{self.fold.step}"))
        self.watch = Stopwatch()

    def end_metrics(self) -> None:
        """Emit the metrics of the whole run."""
        elapsed = now_s() - self.started_s
        figures = report(self.fold.total_usage, self.total, self.cost, self.usage_unknown)
        self.tell(
            METRICS, {"scope": "run", "steps": self.fold.step, "run_ms": round(elapsed * 1000), **figures}
        )

    def output_fits(self) -> bool:
        """Return whether the answer fits the output type. If not, emit a correction for the model.

        Raises LimitExceeded `output_invalid` after `max_output_corrections` corrections.
        """
        expected = self.agent.output
        if expected is None:
            return True
        try:
            self.output = expected.parse(self.fold.text)
            return True
        except ValueError as error:
            problem = str(error)
        if self.fold.corrections >= self.config.max_output_corrections:
            raise LimitExceeded("output_invalid", f"The answer does not fit the output type: {problem}.")
        correction = (
            f"Your answer does not fit the required JSON schema: {problem}. "
            "Answer again with JSON that fits, and nothing else."
        )
        self.tell(ERROR, {"code": "output_invalid", "message": problem, "tell_model": correction})
        return False

    def finish(self) -> RunFinished:
        """Close the step and build the terminal event of a run that did not fail."""
        self.end_step()
        self.end_metrics()
        result, interrupts = self._result(), interrupts_of(self)
        if interrupts:
            return run_finished(self.fold, InterruptOutcome(interrupts), result)
        pending = [call.id for call in self.fold.pending]
        return run_finished(self.fold, SuccessOutcome(pending or UNSET), result)

    def _result(self) -> Json:
        goal = self.fold.goal
        if goal is not None and self.agent.output is not None:
            self.output = self.agent.output.accept(goal.get("output"))
        output = UNSET if self.output is UNSET else to_json(self.output)
        if self.agent.goal is None:
            return UNSET if output is None else output
        result: dict[str, Json] = {"goal_met": goal is not None}
        if goal is not None:
            result["summary"] = goal["summary"]
        if output is not UNSET:
            result["output"] = output
        return result

    def tell(self, name: str, value: Mapping[str, Json]) -> None:
        """Emit a custom event."""
        self.journal.emit(Custom(name, dict(value)))

    def notice(self, code: str, message: str) -> None:
        """Emit a notice: information for viewers that is not an error."""
        self.tell(NOTICE, {"code": code, "message": message})
