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
from agio.protocol.messages import Json, RunAgentInput


def run_started(session_id: str, run_id: str, given: RunAgentInput | None) -> RunStarted:
    """Build RUN_STARTED. `given` is the run's input, None if the stored input cannot be read."""
    return RunStarted(session_id, run_id, PROTOCOL_VERSION, input=given or UNSET)


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
