"""Whether a person approved a call with exactly these arguments, according to the store, not to the worker."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from agio.core.identity.principal import Principal
from agio.core.link.link import ToolOffer
from agio.core.run.answers import check_edit, check_input_answer, edited_arguments
from agio.core.schema.schema import validator
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunInfo
from agio.core.store.store import Store
from agio.errors import ToolError, UserError
from agio.protocol.codec import decode_event
from agio.protocol.events import RunStarted
from agio.protocol.messages import Json, ResumeEntry, json_object


async def approved_arguments(
    store: Store, run: RunInfo, key: str, tool: str, arguments: dict[str, Json]
) -> dict[str, Json]:
    """Return the arguments a person approved for a call that asks first: those it must be run with.

    Raises ToolError `tool_not_allowed` if this run was not begun with an approval of these.
    """
    asked = await store.list_interrupts(run.tenant, run.user, run.session_id)
    question = next((entry for entry in asked if entry.tool_call_id == key and entry.tool == tool), None)
    if question is not None and question.state == "resolved":
        for answer in await answers_of(store, run.run_id):
            payload = json_object(answer.payload)
            if answer.interrupt_id != question.id or payload.get("approved") is not True:
                continue
            edited = payload.get("editedArgs")
            bound = _decoded(question.arguments) if edited is None else edited
            if arguments == bound:  # 1, 1.0 and true are equal here: run what was approved
                return json_object(bound)
    raise ToolError("tool_not_allowed", f"The call {key} of {tool} was not approved with these arguments.")


async def check_edits(
    store: Store,
    who: Principal,
    session_id: str,
    answers: Sequence[ResumeEntry],
    offers: Callable[[AgentRecord], Mapping[str, ToolOffer]],
) -> None:
    """Refuse what a person wrote if it does not fit what was asked, while the question is still open.

    Not checked: a tool that is not offered now, and an agent that was deleted. Raises UserError
    `invalid_answer`.
    """
    said = {entry.interrupt_id: entry for entry in answers}
    known: Mapping[str, ToolOffer] = {}
    try:
        asked = await store.list_interrupts(who.tenant, who.user, session_id)
        if any(edited_arguments(entry) is not None for entry in answers):
            session = await store.get_session(who.tenant, who.user, session_id)
            known = offers(await store.get_agent(who.tenant, session.agent_id))
    except UserError:  # the store says it better when it is asked to accept this
        return
    for question in asked:
        if question.state != "open" or question.id not in said:
            continue
        entry, offer, wanted = said[question.id], known.get(question.tool), question.question
        edited = edited_arguments(entry)
        check_input_answer(question.id, wanted, entry)
        if edited is not None and offer is not None:
            check_edit(question.id, question.tool, validator(offer.parameters, question.tool)(edited))


async def answers_of(store: Store, run_id: str) -> list[ResumeEntry]:
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
