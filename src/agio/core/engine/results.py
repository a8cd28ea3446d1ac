"""Results of tool calls, as events of the log."""

from typing import TYPE_CHECKING

from agio.core.run.closing import result_event
from agio.core.store.repository import ToolEnd
from agio.core.tool import ToolAnswer

if TYPE_CHECKING:
    from agio.core.engine.loop import LoopState


def emit_result(state: "LoopState", call_id: str, answer: ToolAnswer) -> None:
    """Append a call's result to the log. Also finish the call's record if this process started the call."""
    state.journal.emit(state.lane.own(result_event(call_id, answer.content, answer.error)))
    if call_id in state.begun:
        state.journal.finish(ToolEnd(call_id, answer.error))
