"""Checks answers to approval questions. An unclear answer is refused, never guessed."""

from agio.errors import UserError
from agio.protocol.messages import Json, ResumeEntry, json_object


def answer_problem(entry: ResumeEntry) -> str | None:
    """Return the problem with an answer, or None. An ambiguous answer must not run the call."""
    if entry.status == "cancelled":
        return None
    payload = json_object(entry.payload)
    if not isinstance(payload.get("approved"), bool):
        return "the answer must be an object with approved: true or false"
    if unknown := set(payload) - {"approved", "reason", "editedArgs"}:
        return f"the answer has unknown fields: {', '.join(sorted(unknown))}"
    if not isinstance(payload.get("reason", ""), str):
        return "the answer's reason must be text"
    if not isinstance(payload.get("editedArgs", {}), dict):
        return "the answer's editedArgs must be an object"
    return None


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
