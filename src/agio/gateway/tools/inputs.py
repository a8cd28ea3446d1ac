"""What tools ask people during a call: kept as the call's record, checked, and given back with the answers.

A call that asks ends its run with questions. The answer's run makes the call again, with the arguments and the state of
the first time.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from agio.core.run.answers import asked_input
from agio.core.store.records import InterruptRecord
from agio.core.store.repository import Question, RunInfo, ToolRecord
from agio.core.store.store import Store
from agio.core.tool import INPUT_REQUIRED, GivenInput, InputQuestion, Resumed, ToolAnswer
from agio.errors import StoreError, ToolError
from agio.gateway.tools.approvals import answers_of
from agio.protocol.ids import id_body
from agio.protocol.messages import Json, ResumeEntry, json_object


class AskingCall(Struct, frozen=True):
    """A call that waits for answers."""

    asks: list[InputQuestion]
    state: str
    arguments: dict[str, Json]


class ResumedCall(Struct, frozen=True):
    """A call that goes on with answers, and the arguments with which it began."""

    arguments: dict[str, Json]
    resumed: Resumed


def asking_record(answer: ToolAnswer, arguments: dict[str, Json]) -> ToolRecord:
    """Return the record of a call that asks."""
    kept = AskingCall(list(answer.asks), answer.state, arguments)
    return ToolRecord(msgspec.json.encode(kept).decode(), INPUT_REQUIRED)


def asking_call(record: ToolRecord | None) -> AskingCall | None:
    """Return what a call's record says it asks; None: nothing."""
    if record is None or record.error != INPUT_REQUIRED or not isinstance(record.content, str):
        return None
    return msgspec.json.decode(record.content, type=AskingCall)


async def resumed_call(store: Store, run: RunInfo, key: str, tool: str) -> ResumedCall | None:
    """Return a call that asked, with the answers with which this run began; None: it asked nothing.

    Raises ToolError `tool_not_allowed`.
    """
    if key.startswith(f"call_{id_body(run.run_id)}_"):
        return None
    given = {entry.interrupt_id: entry for entry in await answers_of(store, run.run_id)}
    asked = sorted(
        (
            entry
            for entry in await store.list_interrupts(run.tenant, run.user, run.session_id)
            if entry.id in given
            and (entry.tool_call_id, entry.tool) == (key, tool)
            and entry.input is not None
        ),
        key=_place,
    )
    if not asked:
        return None
    call = asking_call(await store.find_tool(asked[0].run_id, key))
    if call is None or len(call.asks) != len(asked):
        raise ToolError("tool_not_allowed", f"The call {key} of {tool} did not ask for these answers.")
    return ResumedCall(call.arguments, Resumed(call.state, [_given(given[entry.id]) for entry in asked]))


async def check_asked(store: Store, run: RunInfo, questions: Sequence[Question]) -> None:
    """Refuse a question of a tool that it did not ask in this run. Raises StoreError `invalid_append`."""
    claimed: dict[str, list[InputQuestion]] = {}
    for question in questions:
        asked = asked_input(question.interrupt)
        if asked is not None:
            claimed.setdefault(str(question.interrupt.tool_call_id), []).append(asked)
    for key, asks in claimed.items():
        call = asking_call(await store.find_tool(run.run_id, key))
        if call is None or call.asks != asks:
            raise StoreError("invalid_append", f"No tool of run {run.run_id} asked this about {key}.")


def _place(asked: InterruptRecord) -> int:
    return int(asked.id.rpartition("_")[2])


def _given(entry: ResumeEntry) -> GivenInput:
    if entry.status == "cancelled":
        return GivenInput("cancel")
    said = json_object(entry.payload)
    if said.get("approved") is not True:
        return GivenInput("decline")
    content = said.get("content")
    return GivenInput("accept", None if content is None else json_object(content))
