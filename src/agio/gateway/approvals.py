"""Whether a person approved a call, and with exactly these arguments: what the store says, not what a worker says."""

import msgspec

from agio.core.repository import RunInfo
from agio.core.store import Store
from agio.errors import ToolError
from agio.protocol.codec import decode_event
from agio.protocol.events import RunStarted
from agio.protocol.messages import Json, ResumeEntry, json_object


async def check_approval(store: Store, run: RunInfo, key: str, arguments: dict[str, Json]) -> None:
    """Refuse a call that asks first unless this run was begun with its approval. ToolError `tool_not_allowed`."""
    asked = await store.list_interrupts(run.tenant, run.user, run.thread_id)
    question = next((entry for entry in asked if entry.tool_call_id == key), None)
    if question is not None and question.state == "resolved":
        for answer in await _answers(store, run.run_id):
            payload = json_object(answer.payload)
            if answer.interrupt_id != question.id or payload.get("approved") is not True:
                continue
            edited = payload.get("editedArgs")
            if arguments == (_decoded(question.arguments) if edited is None else edited):
                return
    raise ToolError("tool_not_allowed", f"Nobody approved the call {key} with these arguments.")


async def _answers(store: Store, run_id: str) -> list[ResumeEntry]:
    """Return the answers a run was begun with: its first event has them."""
    first = (await store.read_run(run_id, 0, 1)).payload.partition(b"\n")[0]
    event = decode_event(first)
    if not isinstance(event, RunStarted) or not event.input or not event.input.resume:
        return []
    return event.input.resume


def _decoded(arguments: str) -> Json:
    try:
        return msgspec.json.decode(arguments or "{}")
    except msgspec.DecodeError:
        return None
