"""Input for a running run: kept when it is accepted, consumed by an append, requeued if the run ends without it."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from agio.core.log_level import INPUTS
from agio.core.run.title import title_of
from agio.core.store.repository import RunInfo, RunInput
from agio.db.plan import Plan, ask, ask_one
from agio.db.plans.runs.arrivals import Arrival
from agio.db.records import encode_json, encode_message
from agio.errors import LimitExceeded
from agio.protocol.ids import new_id
from agio.protocol.messages import Message, RunAgentInput, UserMessage

_decode = msgspec.json.Decoder(UserMessage).decode


def add_inputs(sent: Arrival, run: RunInfo, messages: Sequence[Message], limit: int) -> Plan[None]:
    """Keep messages for a running run. The caller has locked the session, so that the run cannot end meanwhile.

    Raises LimitExceeded `queue_full` if more than `limit` would wait.
    """
    row = yield from ask_one("newest_input", run_id=run.run_id)
    number, newest, waiting = msgspec.convert(row, tuple[int, int, int])
    if waiting + len(messages) > limit:
        raise LimitExceeded(
            "queue_full",
            f"{waiting} messages wait for the run, and {limit} may. Try again later.",
            {"limit": limit, "name": "queued_per_user"},
        )
    yield from ask("raise_level", run_id=run.run_id, level=INPUTS)
    for idx, message in enumerate(messages, newest + 1):
        yield from ask(
            "put_message",
            session_id=run.session_id,
            id=message.id,
            run_id=run.run_id,
            run_number=number,
            idx=idx,
            pos=None,
            role=message.role,
            message=encode_message(message),
            now=sent.now,
        )
        yield from ask("add_input", run_id=run.run_id, idx=idx, message_id=message.id)


def run_inputs(run_id: str) -> Plan[list[RunInput]]:
    """The input that no append has consumed, in order."""
    rows = yield from ask("waiting_inputs", run_id=run_id)
    found: list[RunInput] = []
    for idx, blob in msgspec.convert(rows, list[tuple[int, bytes]]):
        found.append(RunInput(idx, _decode(blob)))
    return found


def requeue_inputs(run_id: str, session_id: str, now: int) -> Plan[None]:
    """Queue a run with the input that an ending run has not consumed."""
    waiting = yield from run_inputs(run_id)
    if not waiting:
        return
    made, messages = new_id("run"), [given.message for given in waiting]
    given = RunAgentInput(session_id, made, list(messages))
    given.tools = given.context = given.resume = UNSET
    row = yield from ask_one(
        "requeue_run",
        run_id=run_id,
        made=made,
        title=title_of(messages),
        input=encode_json("input", given),
        now=now,
    )
    number = msgspec.convert(row, tuple[int])[0]
    for idx, message in enumerate(messages):
        yield from ask(
            "move_message", session_id=session_id, id=message.id, run_id=made, run_number=number, idx=idx
        )
    yield from ask("drop_inputs", run_id=run_id)
