"""Builds the first and the last event of a run, for the runner, the store and the gateway."""

from msgspec import UNSET

from agio.core.run.fold import Fold
from agio.core.run.metrics import token_usage
from agio.protocol.events import (
    PROTOCOL_VERSION,
    CancelledOutcome,
    InterruptOutcome,
    RunError,
    RunFinished,
    RunStarted,
    SuccessOutcome,
)
from agio.protocol.messages import Json, Metadata, RunAgentInput


def run_started(
    session_id: str,
    run_id: str,
    given: RunAgentInput | None,
    parent: tuple[str | None, int | None] = (None, None),
    *,
    is_branch: bool = False,
    agent: str = "",
) -> RunStarted:
    """Build RUN_STARTED. `given` is the run's input, None if the stored input cannot be read.

    `parent` is the run that it continues and that run's last event. A branch does not continue the newest run.
    `agent` is the agent that the conversation was handed to before, if it was.
    """
    event = RunStarted(session_id, run_id, PROTOCOL_VERSION, input=given or UNSET)
    parent_run_id, parent_seq = parent
    metadata: Metadata = (
        {} if parent_run_id is None else {"parent": {"run": parent_run_id, "seq": parent_seq}}
    )
    if is_branch:
        metadata["branch"] = True
    if agent:
        metadata["agent"] = agent
    event.metadata = metadata or UNSET
    return event


def run_finished(
    fold: Fold, outcome: SuccessOutcome | InterruptOutcome | CancelledOutcome, result: Json = UNSET
) -> RunFinished:
    """Build RUN_FINISHED, the terminal event of a run that did not fail."""
    event = RunFinished(fold.session_id, fold.run_id, outcome=outcome)
    event.usage = token_usage(fold.usage) or UNSET
    event.result = result
    return event


def run_failed(fold: Fold, code: str, message: str) -> RunError:
    """Build RUN_ERROR, the terminal event of a failed run."""
    event = RunError(message, code)
    event.usage = token_usage(fold.usage) or UNSET
    return event
