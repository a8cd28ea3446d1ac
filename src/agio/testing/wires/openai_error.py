"""OpenAI's errors, the same in both of its formats."""

from agio.protocol.messages import Json
from agio.testing.faults import ProblemKind
from agio.testing.wires.wire import Problem

_PROBLEMS: dict[ProblemKind, Problem] = {
    "rate_limited": Problem(
        429,
        "tokens",
        "Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000.",
        "rate_limit_exceeded",
    ),
    "quota_exceeded": Problem(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
    ),
    "unavailable": Problem(500, "server_error", "The server had an error while processing your request."),
    "overloaded": Problem(
        503,
        "service_unavailable_error",
        "The engine is currently overloaded, please try again later.",
        "server_is_overloaded",
    ),
    "invalid_api_key": Problem(
        401, "invalid_request_error", "Incorrect API key provided: bad.", "invalid_api_key"
    ),
    "permission_denied": Problem(
        403,
        "invalid_request_error",
        "You do not have access to this resource.",
        "unsupported_country_region_territory",
    ),
    "model_not_found": Problem(
        404,
        "invalid_request_error",
        "The model `nope` does not exist or you do not have access to it.",
        "model_not_found",
    ),
    "bad_request": Problem(400, "invalid_request_error", "Invalid value.", "invalid_value"),
    "context_too_long": Problem(
        400,
        "invalid_request_error",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
    ),
    "request_too_large": Problem(413, "invalid_request_error", "The request is too large."),
}


def problem(kind: ProblemKind, message: str | None) -> Problem:
    """Return OpenAI's error for a kind of problem."""
    known = _PROBLEMS[kind]
    return known if message is None else Problem(known.status, known.type, message, known.code)


def error_table(found: Problem) -> dict[str, Json]:
    """Return the error object."""
    return {"message": found.message, "type": found.type, "param": None, "code": found.code}
