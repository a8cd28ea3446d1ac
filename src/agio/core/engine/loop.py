"""The agent loop: call the model, run the tools it requests, and repeat until it has answered.

`run_loop` decides only from the fold of the log. A run that another process resumes takes the same code path as a
run that never stopped.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET

from agio.core.config import Price
from agio.core.engine.attachments import ReadFile
from agio.core.engine.calls import call_tools, interrupts_of
from agio.core.engine.context import ContextBuilder
from agio.core.engine.finder import shown_tools
from agio.core.engine.goal import goal_tool
from agio.core.engine.journal import Journal
from agio.core.engine.team import Member, Team
from agio.core.engine.turn import take_turn
from agio.core.log_level import HANDOFFS, INPUTS
from agio.core.model import ModelDriver, ModelEvent, ModelRequest, ToolSpec, Usage
from agio.core.run.boundary import run_finished
from agio.core.run.closing import Why, close_events, take_back_events
from agio.core.run.lane import Lane
from agio.core.run.metrics import Stopwatch, cost, now_s, report, run_cost
from agio.core.run.spec import RunRequest
from agio.core.schema.schema import to_json
from agio.core.store.repository import Effect, RunInput
from agio.core.tool import InputQuestion
from agio.errors import LimitExceeded
from agio.protocol.codec import encode
from agio.protocol.events import (
    ERROR,
    HANDOFF,
    INPUT,
    METRICS,
    NOTICE,
    Custom,
    Interrupt,
    InterruptOutcome,
    RunFinished,
    StepFinished,
    StepStarted,
    SuccessOutcome,
)
from agio.protocol.messages import Json, UserMessage, text_of

__all__ = ["Engine", "LoopState", "ModelDriver", "ModelEvent", "ModelRequest", "run_loop"]


Engine: TypeAlias = Callable[["LoopState"], Awaitable[RunFinished]]
"""What drives a run from its log to its terminal event. `run_loop` is agio's own."""


async def run_loop(state: "LoopState") -> RunFinished:
    """Drive a run to its end and return the terminal event. Raises AgioError if the run fails."""
    for event in take_back_events(state.fold):
        state.journal.emit(event)
    await run_lane(state)
    return state.finish()


async def run_lane(state: "LoopState") -> None:
    """Drive one lane until it has answered, met its goal, or waits for a person or a client. Raises AgioError."""
    lane = state.lane
    while True:
        if lane.agent:
            await state.follow()
        if lane.pending:
            await call_tools(state)
            if lane.agent:
                await state.follow()
        if lane.pending or lane.goal is not None:
            return
        state.take_inputs()
        if lane.answered and state.output_fits():
            return
        if lane.turn_done:
            state.end_step()
        state.begin_step()
        await take_turn(state)


class LoopState:
    """The loop's state of a lane: its active agent, the log so far, and the components it uses."""

    def __init__(
        self,
        member: Member,
        team: Team,
        request: RunRequest,
        journal: Journal,
        prices: dict[str, Price],
        files: ReadFile | None = None,
        caller: "LoopState | None" = None,
        lane: Lane | None = None,
    ) -> None:
        self.first = member
        """The agent with which the lane began."""
        self.team = team
        self.request = request
        self.journal = journal
        self.prices = prices
        """The prices of all models that the run uses."""
        self.files = files
        self.mark: str = request.mark if caller is None else caller.mark
        self._become(member)
        self.fold = journal.fold
        """The state of the thread and the run, folded from the log."""
        self.lane = lane or self.fold
        """The state of the conversation that this loop drives."""
        self.caller = caller
        self.depth = 0 if caller is None else caller.depth + 1
        """How many sub-agents deep the lane is."""
        self.watch = Stopwatch()
        self.output: object = UNSET
        self.fresh: set[str] = set()
        """Calls of a turn that this process received: no other process can have started them."""
        self.asking: dict[str, Sequence[InputQuestion]] = {}
        """What the tools of pending calls ask a person."""
        if caller is None:
            self.total = Stopwatch()
            self.begun: dict[str, Effect | None] = {}
            """The calls of all lanes that this process has started, each with its effect."""
            self.asked: list[Interrupt] = []
            """The questions of suspended sub-agents."""
            self.inputs: deque[RunInput] = deque()
            """The user's messages for this run that its log does not have yet."""
            self.states: list[LoopState] = []
            """The states of the run's sub-agents that have started in this process."""
        else:
            self.total, self.begun, self.asked = self.root.total, self.root.begun, self.root.asked
            self.inputs = deque()
            self.states = self.root.states
            self.states.append(self)
        self.compaction_failed = False
        """Whether older messages could not be summarised in this run."""
        self.calling = False
        """Whether a model call is in progress or broke off, so that its token usage is incomplete."""
        self.partial_usage = Usage()
        """The usage reported so far by a model call that is in progress or broke off."""
        self.started_s = now_s()

    def _become(self, member: Member) -> None:
        """Let an agent drive the lane."""
        self.agent, self.config = member.spec, member.spec.config
        self.driver, self.tools = member.driver, member.tools
        self.edges = {name: edge for name, edge in member.edges.items() if edge.agent in self.team}
        self.missing = sorted({edge.agent for edge in member.edges.values()} - self.team.keys())
        """The agents that it names and the run does not have."""
        self.context = ContextBuilder(self.agent, member.source, self.mark, self.files)
        self.mark = self.context.mark
        self.prices.update(self.config.prices)

    async def follow(self) -> bool:
        """Let the agent drive the lane to which it was handed over. Return whether that is another than before.

        An agent that is not in the team any more is replaced by the one with which the lane began.
        """
        name = self.lane.agent or self.first.spec.name
        if name == self.agent.name:
            return False
        member = self.team.get(name)
        if member is None:
            member = self.first
            words = f"{name} is not available any more: {member.spec.name} continues."
            self.notice("agent_unavailable", words)
            self.hand_over({"from": name, "to": member.spec.name, "filter": "all"})
            if member.spec.name == self.agent.name:
                return False
        self._become(member)
        await self.gather()
        return True

    def hand_over(self, value: dict[str, Json]) -> None:
        """Emit a handoff of the lane."""
        self.journal.raise_level(HANDOFFS)
        self.tell(HANDOFF, value)

    async def gather(self) -> None:
        """Fetch the context of the active agent, and say which agents it must do without."""
        said = [note.content.get("message") for _, note in self.lane.notes]
        for name in self.missing:
            words = f"{self.agent.name} goes on without {name}, which is not available."
            if words not in said:
                self.notice("agent_unavailable", words)
        asked = (text_of(m.content) for m in reversed(self.lane.messages) if isinstance(m, UserMessage))
        for what in await self.context.gather(next(asked, "")):
            message = f"The {what} could not be fetched; the run continues without it."
            self.tell(ERROR, {"code": "context_unavailable", "message": message})

    @property
    def root(self) -> "LoopState":
        """The state of the run's agent."""
        return self if self.caller is None else self.caller.root

    @property
    def usage_unknown(self) -> bool:
        """Whether a model call of the run did not report its token usage."""
        return self.fold.usage_unknown or self.calling or any(state.calling for state in self.states)

    @property
    def tokens(self) -> int:
        """The tokens that the model calls of the lane, and of the sub-agents within it, have reported in this run."""
        if self.caller is None:
            used, within = self.fold.total_usage.total, self.states
        else:
            lanes = self.fold.lanes_within(self.lane)
            used = sum(lane.tokens for lane in lanes)
            within = [state for state in self.states if state is not self and state.lane in lanes]
        return used + self.partial_usage.total + sum(state.partial_usage.total for state in within)

    @property
    def budget(self) -> "tuple[int, LoopState] | None":
        """The tokens that are left, and the agent whose limit this is; None without a limit.

        The limit of each agent in the chain of callers applies, to what was used for it.
        """
        limit = self.config.max_tokens
        own = None if limit is None else (limit - self.tokens, self)
        outer = None if self.caller is None else self.caller.budget
        if own is None or outer is None:
            return own or outer
        return own if own[0] <= outer[0] else outer

    @property
    def tokens_left(self) -> int | None:
        """The remaining token budget, None without a limit."""
        budget = self.budget
        return None if budget is None else budget[0]

    @property
    def cost(self) -> float | None:
        """The run's cost so far, None without a price."""
        return run_cost(self.fold.usage, self.agent.model_id, self.prices)

    @property
    def tool_specs(self) -> list[ToolSpec]:
        """Every tool the model may call, including sub-agents, and `complete_goal` if the agent has a goal."""
        specs = shown_tools(self.tools.specs, self.lane.messages, self.config.max_tool_tokens)
        if self.edges:
            specs += [edge.tool for edge in self.edges.values()]
        return [*specs, goal_tool(self.agent.output)] if self.agent.goal else specs

    def count_partial_usage(self) -> None:
        """Count the partial usage of the model calls that broke off; their full usage is unknown."""
        for state in (self, *self.states):
            if state.partial_usage.total:
                self.fold.count(state.agent.model_id, state.partial_usage, state.lane)
                state.partial_usage = Usage()

    def check_limits(self) -> None:
        """Raise LimitExceeded if another step would exceed a limit."""
        if self.lane.steps >= self.config.max_steps:
            raise LimitExceeded("step_limit", f"The run has taken all of its {self.config.max_steps} steps.")
        if self.lane.bad_arguments > self.config.max_bad_arguments:
            raise LimitExceeded(
                "bad_tool_arguments",
                f"The model called tools with arguments that do not fit {self.lane.bad_arguments} times.",
            )
        self.check_budget(0)

    def check_budget(self, prompt: int) -> int | None:
        """Return the tokens that a prompt of this size leaves, None without a limit. Raises LimitExceeded if none."""
        budget = self.budget
        if budget is None:
            return None
        left, of = budget
        if left > prompt:
            return left - prompt
        used = f"has used {of.tokens} of its {of.config.max_tokens} tokens"
        need = f": {left} are left, and the prompt of the next call takes about {prompt}." if prompt else "."
        who = "The run" if of.caller is None else of.agent.name
        raise LimitExceeded("token_budget", f"{who} {used}{need}")

    def begin_step(self) -> None:
        """Begin the next step, unless one is open in a resumed run. Raises LimitExceeded."""
        if not self.lane.step_open:
            self.check_limits()
            self.journal.emit(self.lane.own(StepStarted(f"step-{self.fold.last_step + 1}")))

    def end_step(self) -> None:
        """Emit the open step's metrics and end the step."""
        if not self.lane.step_open:
            return
        self.total.add(self.watch)
        usage = self.lane.step_usage
        usage_unknown = self.calling or self.lane.step_usage_unknown
        figures = report(usage, self.watch, cost(usage, self.agent.model_id, self.prices), usage_unknown)
        self.tell(METRICS, {"scope": "step", "step": self.lane.step, "model": self.agent.model_id, **figures})
        self.journal.emit(self.lane.own(StepFinished(f"step-{self.lane.step}")))
        self.watch = Stopwatch()

    def end_metrics(self) -> None:
        """Emit the metrics of the whole run."""
        elapsed = now_s() - self.started_s
        figures = report(self.fold.total_usage, self.total, self.cost, self.usage_unknown)
        self.tell(
            METRICS,
            {"scope": "run", "steps": self.fold.last_step, "run_ms": round(elapsed * 1000), **figures},
        )

    def take_inputs(self) -> None:
        """Put the user's messages that have arrived into the conversation: the next turn sees them."""
        while self.inputs:
            given = self.inputs.popleft()
            if given.idx > self.fold.inputs:
                self.journal.raise_level(INPUTS)
                self.tell(INPUT, {"idx": given.idx, "message": given.message})
                self.journal.consume(given.idx)

    def output_fits(self) -> bool:
        """Return whether the answer fits the output type. If not, emit a correction for the model.

        Raises LimitExceeded `output_invalid` after `max_output_corrections` corrections.
        """
        expected = self.agent.output
        if expected is None:
            return True
        try:
            self.output = expected.parse(self.lane.text)
            return True
        except ValueError as error:
            problem = str(error)
        if self.lane.corrections >= self.config.max_output_corrections:
            raise LimitExceeded("output_invalid", f"The answer does not fit the output type: {problem}.")
        correction = (
            f"Your answer does not fit the required JSON schema: {problem}. "
            "Answer again with JSON that fits, and nothing else."
        )
        self.tell(ERROR, {"code": "output_invalid", "message": problem, "tell_model": correction})
        return False

    def child(self, member: Member, lane: Lane) -> "LoopState":
        """Return the state of a sub-agent that this lane's agent has called."""
        return LoopState(member, self.team, self.request, self.journal, self.prices, None, self, lane)

    async def run(self) -> None:
        """Drive the lane: see `run_lane`."""
        await run_lane(self)

    def questions(self) -> list[Interrupt]:
        """Return the questions that the lane waits for."""
        return interrupts_of(self)

    def answer(self) -> str:
        """Return the text with which a sub-agent answers its caller."""
        if self.lane.goal is None:
            return self.lane.text
        return encode(self.lane.goal).decode() if self.agent.output else str(self.lane.goal["summary"])

    def close(self, why: Why, error: Why | None = None, *, keep: bool) -> None:
        """Close the lane and those within it. A call's result says if the call may have taken effect."""
        acted = {call_id for call_id, effect in self.begun.items() if effect == "once"}
        for event in close_events(self.fold, self.lane, why, acted, keep=keep, error=error):
            self.journal.emit(event)

    def finish(self) -> RunFinished:
        """Close the step and build the terminal event of a run that did not fail."""
        self.end_step()
        self.end_metrics()
        result, interrupts = self._result(), [*interrupts_of(self), *self.asked]
        if interrupts:
            return run_finished(self.fold, InterruptOutcome(interrupts), result)
        pending = [call.id for call in self.fold.open_calls]
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
        self.journal.emit(self.lane.own(Custom(name, dict(value))))

    def notice(self, code: str, message: str) -> None:
        """Emit a notice: information for viewers that is not an error."""
        self.tell(NOTICE, {"code": code, "message": message})
