"""Logs of log level 1, written before lanes, fold to the messages and figures they had then."""

import msgspec
import pytest
from msgspec import Struct

from agio.core.log_level import PLAIN
from agio.core.model import Usage
from agio.core.run.fold import Fold, fold_log
from agio.core.store.repository import RunInfo, RunLog, RunStatus, TurnRecord
from agio.protocol.messages import Message
from tests.support.wire_examples import WIRE


class OldRun(Struct):
    """A run's log, and what the program that wrote it made of it."""

    info: RunInfo
    payload: str
    turns: list[TurnRecord]
    status: RunStatus
    text: str
    steps: int
    usage: dict[str, Usage]
    usage_unknown: bool
    kept: list[Message]
    pending: list[str]


class OldThread(Struct):
    """The runs of a thread, and its messages after them."""

    name: str
    runs: list[OldRun]
    messages: list[Message]


THREADS = msgspec.json.decode((WIRE / "logs_level_1.json").read_bytes(), type=list[OldThread])


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.name)
def test_an_old_log_folds_to_what_it_was(thread: OldThread) -> None:
    """L10: messages, calls, usage and outcome are those of the program that wrote the log."""
    fold = Fold()
    for run in thread.runs:
        assert run.info.log_level == PLAIN
        fold_log(fold, RunLog(run.info, run.payload.encode(), run.turns))
        assert (fold.status, fold.text, fold.last_step) == (run.status, run.text, run.steps)
        assert (fold.usage, fold.usage_unknown) == (run.usage, run.usage_unknown)
        assert fold.kept == run.kept
        assert [call.id for call in fold.open_calls] == run.pending
    assert fold.messages == thread.messages
