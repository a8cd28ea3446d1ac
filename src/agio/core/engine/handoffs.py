"""Handing a lane's conversation over to another agent. It is the last thing that a turn's calls do."""

from typing import TYPE_CHECKING

from agio.core.engine.results import emit_result
from agio.core.handoff import Edge, filtered
from agio.core.tool import ToolAnswer
from agio.protocol.messages import ToolCall, decoded_object

if TYPE_CHECKING:
    from agio.core.engine.loop import LoopState

MAX_HANDOFFS = 16
"""How often a run may hand over."""


def handoff_calls(state: "LoopState") -> list[ToolCall]:
    """Return the pending calls that hand over."""
    edges = state.edges
    return [
        call
        for call in state.lane.pending
        if (edge := edges.get(call.function.name)) and edge.mode == "handoff"
    ]


def hand_over(state: "LoopState") -> None:
    """Carry out the first handoff that the turn requested, and refuse the others.

    The event comes before the call's result. A run that stopped between the two continues as the next agent, which
    only writes the result.
    """
    calls = handoff_calls(state)
    waiting = len(state.lane.pending) > len(calls)
    chosen: tuple[ToolCall, Edge] | None = None
    for call in calls:
        edge = state.edges[call.function.name]
        if chosen is not None:
            refusal = ToolAnswer(f"Not run: the conversation goes to {chosen[1].agent}.", "not_run")
        elif waiting:
            refusal = ToolAnswer(
                "Not run: other calls still wait for an answer. Hand over after that.", "not_run"
            )
        else:
            refusal = _refusal(state, edge)
        if refusal is None:
            chosen = call, edge
        else:
            emit_result(state, call.id, refusal)
    if chosen is not None:
        call, edge = chosen
        reason = decoded_object(call.function.arguments).get("reason")
        value = {"from": state.agent.name, "to": edge.agent, "filter": edge.filter, "call": call.id}
        state.hand_over({**value, "reason": reason} if isinstance(reason, str) and reason else dict(value))
        finish_handoff(state)


def finish_handoff(state: "LoopState") -> None:
    """Write the result of the handoff's call, unless the log has it."""
    lane = state.lane
    if any(call.id == lane.handed_by for call in lane.pending):
        emit_result(state, lane.handed_by, ToolAnswer(f"{lane.agent} continues the conversation."))


def _refusal(state: "LoopState", edge: Edge) -> ToolAnswer | None:
    if state.fold.handoffs >= MAX_HANDOFFS:
        return ToolAnswer(
            f"The run has handed over {MAX_HANDOFFS} times: answer yourself.", "too_many_handoffs"
        )
    if not filtered(state.lane.shown, edge.filter):
        return ToolAnswer(
            f"{edge.agent} would see nothing of the conversation: answer yourself.", "handoff_empty"
        )
    return None
