"""Whether an answer to a question can be understood. Nobody else may decide what an unclear answer means."""

from agio.protocol.messages import ResumeEntry, json_object


def answer_problem(entry: ResumeEntry) -> str | None:
    """Say what is wrong with an answer. One that is half understood must not run the call as the model meant it."""
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
