"""Checks answers to approval questions. An unclear answer is refused, never guessed."""

from msgspec import UNSET

from agio.core.schema.schema import validator
from agio.core.tool import INPUT_REQUIRED, InputQuestion
from agio.errors import UserError
from agio.protocol.events import Interrupt
from agio.protocol.ids import id_body
from agio.protocol.messages import Json, ResumeEntry, json_object


def answer_problem(entry: ResumeEntry) -> str | None:
    """Return the problem with an answer, or None. An ambiguous answer must not run the call."""
    if entry.status == "cancelled":
        return None
    payload = json_object(entry.payload)
    if not isinstance(payload.get("approved"), bool):
        return "the answer must be an object with approved: true or false"
    if unknown := set(payload) - {"approved", "reason", "editedArgs", "content"}:
        return f"the answer has unknown fields: {', '.join(sorted(unknown))}"
    if not isinstance(payload.get("reason", ""), str):
        return "the answer's reason must be text"
    for field in ("editedArgs", "content"):
        if not isinstance(payload.get(field, {}), dict):
            return f"the answer's {field} must be an object"
    return None


def input_id(call_id: str, run_id: str, at: int) -> str:
    """Return the id of a question that a call's tool asked in a run: a call may ask again in each."""
    return f"int_{id_body(call_id)}_{id_body(run_id)}_{at}"


def asked_input(interrupt: Interrupt) -> InputQuestion | None:
    """Return what a tool asks; None: whether a call may run."""
    if interrupt.reason != INPUT_REQUIRED:
        return None
    schema = json_object(interrupt.response_schema or None)
    form = json_object(schema.get("properties")).get("content")
    url = None if interrupt.metadata is UNSET else interrupt.metadata.get("url")
    return InputQuestion(
        message="" if interrupt.message is UNSET else interrupt.message,
        form=None if form is None else json_object(form),
        url=url if isinstance(url, str) else None,
    )


def edited_arguments(entry: ResumeEntry) -> Json:
    """Return the arguments with which a person replaced the model's, or None."""
    return json_object(entry.payload).get("editedArgs")


def check_edit(interrupt_id: str, tool: str, problem: str | None) -> None:
    """Refuse edited arguments that have a problem. Raises UserError `invalid_answer`."""
    if problem is None:
        return
    field, is_missing, place = problem.partition(" is a required property")
    raise UserError(
        "invalid_answer",
        f"{tool} is missing the required field {field}{place}."
        if is_missing
        else f"The arguments do not match {tool}: {problem}.",
        {"interrupt_id": interrupt_id, "tool": tool},
    )


def check_input_answer(interrupt_id: str, asked: InputQuestion | None, entry: ResumeEntry) -> None:
    """Refuse an answer of another kind than the question, or one that does not fit the form.

    Raises UserError `invalid_answer`.
    """
    payload = json_object(entry.payload)
    content = payload.get("content")
    problem = None
    if asked is None or asked.form is None:
        problem = "it asks for no content" if content is not None else None
    elif payload.get("approved") is True:
        problem = validator(asked.form, "The form")({} if content is None else content)
    if asked is not None and "editedArgs" in payload:
        problem = "it asks for content, not for other arguments"
    if problem is not None:
        raise UserError(
            "invalid_answer",
            f"The answer to {interrupt_id} does not fit: {problem}.",
            {"interrupt_id": interrupt_id},
        )
