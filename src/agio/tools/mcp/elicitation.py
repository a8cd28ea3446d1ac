"""Questions of MCP servers of 2026 as questions to a person, within bounds, and answers as the protocol has them."""

from collections.abc import Mapping

import mcp_types as types
import msgspec

from agio.core.identity.oidc import is_safe_url
from agio.core.schema.schema import count_parts, validator
from agio.core.text import clean
from agio.core.tool import GivenInput, InputQuestion
from agio.errors import UserError
from agio.protocol.messages import Json, json_object

_MOST = 5
_MESSAGE_CHARS = 2000
_FORM_BYTES = 16 * 1024
_FORM_PARTS = 200
_PLAIN = frozenset({"string", "number", "integer", "boolean"})


def questions_of(asked: Mapping[str, types.InputRequest]) -> dict[str, InputQuestion] | None:
    """Return a server's questions by its keys; empty if one cannot be shown; None: it does not ask a person."""
    questions: dict[str, InputQuestion] = {}
    for key, request in asked.items():
        if not isinstance(request, types.ElicitRequest):
            return None
        question = _question(request.params)
        if question is not None:
            questions[key] = question
    return questions if len(questions) == len(asked) <= _MOST else {}


def declined(asked: Mapping[str, types.InputRequest]) -> types.InputResponses | None:
    """Return the answers that decline every question; None without questions."""
    return {key: types.ElicitResult(action="decline") for key in asked} or None


def elicit_result(given: GivenInput) -> types.ElicitResult:
    """Return a person's answer as the protocol has it."""
    return types.ElicitResult.model_validate({"action": given.action, "content": given.content})


def _question(params: types.ElicitRequestParams) -> InputQuestion | None:
    """Return a question; None: it is beyond bounds, or leads to an address that no person should open."""
    message = clean(params.message).strip()[:_MESSAGE_CHARS] or "The server asks for your input."
    if isinstance(params, types.ElicitRequestURLParams):
        return InputQuestion(message, url=params.url) if is_safe_url(params.url, query=True) else None
    form: dict[str, Json] = dict(params.requested_schema)
    return InputQuestion(message, form=form) if _is_form(form) else None


def _is_form(form: dict[str, Json]) -> bool:
    """Whether a schema is an object of plain fields, as the protocol has it."""
    encoded = msgspec.json.encode(form)
    if len(encoded) > _FORM_BYTES or count_parts(encoded) > _FORM_PARTS or form.get("type") != "object":
        return False
    try:
        validator(form, "The form")
    except UserError:
        return False
    return all(_is_plain(json_object(field)) for field in json_object(form.get("properties")).values())


def _is_plain(field: dict[str, Json]) -> bool:
    kind = field.get("type")
    return kind in _PLAIN or (
        kind == "array" and json_object(field.get("items")).get("type", "string") == "string"
    )
