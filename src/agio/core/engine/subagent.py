"""Sub-agents: an agent that another one calls like a tool. Its loop runs in a lane of the same journal."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import UNSET

from agio.core.handoff import Edge
from agio.core.log_level import LANES
from agio.core.tool import ToolAnswer
from agio.errors import LimitExceeded, ModelError, UserError
from agio.protocol.events import SubagentFinished, SubagentStarted, SubagentSuccess, SubagentSuspended
from agio.protocol.ids import id_body
from agio.protocol.messages import ToolCall, decoded_object

if TYPE_CHECKING:
    from agio.core.engine.loop import LoopState

MAX_DEPTH = 3
"""How deep sub-agents may call each other."""
MAX_SUBAGENTS = 16
"""How many sub-agents a run may start."""
FAILED = ("Not run: the agent failed.", "not_run")
"""The result of a failed agent's open calls, and its error code."""


async def call_subagent(state: "LoopState", call: ToolCall, edge: Edge) -> ToolAnswer | None:
    """Run a sub-agent to its answer; None if it waits for a person or a client.

    What the log has of it is not repeated. A model that fails, or a limit, fails the sub-agent and not its caller.
    """
    lane = state.fold.lanes.get(f"sub_{id_body(call.id)}")
    if lane is None or lane.state == "waiting":
        task = decoded_object(call.function.arguments).get("input")
        if not isinstance(task, str) or not task.strip():
            return ToolAnswer(f"{call.function.name} needs the text of its task as input.", "bad_arguments")
        problem = open_lane(state, call, edge.agent, task)
        if problem is not None:
            return problem
        lane = state.fold.lanes[f"sub_{id_body(call.id)}"]
    child = state.child(state.team[edge.agent], lane)
    if lane.state == "open":
        try:
            async with timed(child):
                if not await child.follow():
                    await child.gather()
                await child.run()
        except (LimitExceeded, ModelError, UserError) as error:
            child.count_partial_usage()
            child.close(FAILED, (error.message, error.code), keep=False)
        else:
            finish_lane(child)
    if lane.state == "suspended":
        state.asked.extend(child.questions())
        return None
    if lane.state == "failed":
        return ToolAnswer(f"{lane.agent} failed: {lane.result}", lane.error_code)
    return ToolAnswer(lane.result)


@asynccontextmanager
async def timed(child: "LoopState") -> AsyncGenerator[None]:
    """Bound the time of a sub-agent. Raises LimitExceeded `time_budget`."""
    limit_s = child.config.run_timeout_s
    scope = asyncio.timeout(limit_s)
    try:
        async with scope:
            yield
    except TimeoutError:
        if not scope.expired():
            raise
        raise LimitExceeded(
            "time_budget", f"{child.agent.name} took longer than its {limit_s:g} s."
        ) from None


def open_lane(state: "LoopState", call: ToolCall, agent: str, task: str) -> ToolAnswer | None:
    """Open the lane of a sub-agent, or reopen it. Return the answer instead if it may not start."""
    lane = state.fold.lanes.get(f"sub_{id_body(call.id)}")
    if lane is None and state.depth >= MAX_DEPTH:
        return ToolAnswer(f"Agents may call each other {MAX_DEPTH} deep: do the task yourself.", "too_deep")
    if lane is None and state.fold.lanes_begun >= MAX_SUBAGENTS:
        return ToolAnswer(f"The run has started all of its {MAX_SUBAGENTS} agents.", "too_many_agents")
    event = SubagentStarted(f"sub_{id_body(call.id)}", agent, parent_tool_call_id=call.id)
    event.parent_subagent_run_id = state.lane.key or UNSET
    event.metadata = {"task": task}
    state.journal.raise_level(LANES)
    state.journal.emit(event)
    return None


def finish_lane(child: "LoopState") -> None:
    """Close the lane of a sub-agent that has answered, or suspend it."""
    child.end_step()
    event = SubagentFinished(child.lane.key)
    if child.lane.pending:
        event.outcome = SubagentSuspended([question.id for question in child.questions()] or UNSET)
    else:
        event.outcome = SubagentSuccess()
        event.result = child.answer()
    child.journal.emit(event)
