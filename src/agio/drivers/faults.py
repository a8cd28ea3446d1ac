"""Turns a model service's failures into ModelErrors: a code, one sentence, and when to retry."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import cast

import msgspec

from agio.errors import ModelError
from agio.protocol.messages import Json

_WORDS_LIMIT = 500

_LEADS = {
    "connection_failed": "{host} cannot be reached",
    "too_many_open_files": "{host} cannot be called: this machine has no file descriptors left",
    "rate_limited": "{host} limits the rate of calls",
    "quota_exceeded": "The quota or credit at {host} is used up",
    "model_unavailable": "{host} failed to answer",
    "model_overloaded": "The model at {host} is overloaded",
    "invalid_api_key": "{host} does not accept the API key",
    "permission_denied": "{host} does not permit this call",
    "model_not_found": "{host} does not know this model or address",
    "bad_request": "{host} does not accept the request",
    "context_too_long": "The conversation is longer than the model at {host} takes",
    "request_too_large": "The request is larger than {host} takes",
    "stream_broken": "The answer of {host} broke off",
    "invalid_response": "{host} sent an answer that cannot be read",
}
_RETRYABLE = frozenset(
    (
        *("connection_failed", "rate_limited", "model_unavailable", "model_overloaded"),
        *("stream_broken", "invalid_response", "too_many_open_files"),
    )
)
_BY_STATUS = {
    400: "bad_request",
    401: "invalid_api_key",
    402: "quota_exceeded",
    403: "permission_denied",
    404: "model_not_found",
    413: "request_too_large",
    408: "model_unavailable",
    422: "bad_request",
    429: "rate_limited",
    503: "model_overloaded",
    529: "model_overloaded",
}
_QUOTA = ("insufficient_quota", "billing", "credit balance", "insufficient balance", "insufficient credits")
_CONTEXT = (
    *("context_length", "context length", "context window", "context limit", "maximum context"),
    *("prompt is too long", "input token count", "exceeds the maximum number of tokens"),
)
_KINDS = (
    ("rate_limit", "rate_limited"),
    ("resource_exhausted", "rate_limited"),
    ("too_many_requests", "rate_limited"),
    ("overloaded", "model_overloaded"),
    ("unavailable", "model_overloaded"),
    ("slow_down", "model_overloaded"),
    ("api_key", "invalid_api_key"),
    ("authentication", "invalid_api_key"),
    ("unauthenticated", "invalid_api_key"),
    ("permission", "permission_denied"),
    ("not_found", "model_not_found"),
    ("too_large", "request_too_large"),
    ("invalid", "bad_request"),
    ("bad_request", "bad_request"),
    ("failed_precondition", "bad_request"),
    ("unsupported", "bad_request"),
    ("policy", "bad_request"),
)


class VendorError(msgspec.Struct, frozen=True):
    """An error object of any vendor: its kind, its message, and how long to wait."""

    kind: str
    words: str
    status: int | None = None
    retry_after_s: float | None = None


class Faults:
    """Makes the errors of one service. They name its host and never contain its key."""

    def __init__(self, host: str, secrets: list[str]) -> None:
        self._host = host
        self._secrets = [secret for secret in secrets if len(secret) >= 6]

    def holds_secret(self, text: str) -> bool:
        """Whether a text contains the key; such a text is never shown."""
        return any(secret in text for secret in self._secrets)

    def make(
        self, code: str, words: str = "", status: int | None = None, retry_after_s: float | None = None
    ) -> ModelError:
        """Make an error with this code, and the vendor's message if there is one."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        words = " ".join(words.split())
        if len(words) > _WORDS_LIMIT:
            words = words[:_WORDS_LIMIT] + "..."
        sentence = _LEADS[code].format(host=self._host)
        if status is not None:
            sentence += f" (status {status})"
        details: dict[str, object] = {"host": self._host}
        if status is not None:
            details["status"] = status
        return ModelError(
            code,
            f"{sentence}: {words}" if words else f"{sentence}.",
            details,
            retryable=code in _RETRYABLE,
            retry_after_s=retry_after_s,
        )

    def from_answer(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        """Make the error for a response without a success status."""
        error = read_error(body) or VendorError("", body.decode(errors="replace").strip())
        retry_after_s = _retry_after(headers)
        if retry_after_s is None:
            retry_after_s = error.retry_after_s
        return self.make(_code_of(status, error, body), error.words, status, retry_after_s)

    def from_stream(self, error: Json) -> ModelError:
        """Make the error for an error object inside a stream."""
        return self.from_error(_error_of(error) or VendorError("", str(error)))

    def from_error(self, error: VendorError) -> ModelError:
        """Make the error for a vendor error without an HTTP status."""
        code = _code_of(error.status, error, error.words.encode())
        return self.make(code, error.words, retry_after_s=error.retry_after_s)


def read_error(body: bytes) -> VendorError | None:
    """Find the error object in a JSON body; None if there is none."""
    try:
        decoded: Json = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(decoded, list) and decoded:
        decoded = cast(list[Json], decoded)[0]
    if not isinstance(decoded, dict):
        return None
    outer = cast(dict[str, Json], decoded)
    if outer.get("error"):
        return _error_of(outer["error"])
    return _error_of(outer) if "message" in outer or "detail" in outer else None


def _error_of(error: Json) -> VendorError | None:
    if isinstance(error, str):
        return VendorError("", error)
    if not isinstance(error, dict):
        return None
    fields = cast(dict[str, Json], error)
    code = fields.get("code")
    kind = " ".join(str(fields[key]) for key in ("type", "code", "status") if fields.get(key))
    words = fields.get("message") or fields.get("detail") or ""
    if not isinstance(words, str):
        words = msgspec.json.encode(words).decode()
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return VendorError(kind.lower(), words, status, _retry_delay(fields.get("details")))


def _code_of(status: int | None, error: VendorError, body: bytes) -> str:
    said = f"{error.kind} {error.words}".lower()
    if status != 429 and any(mark in said for mark in _CONTEXT):
        return "context_too_long"
    if "resource_exhausted" in error.kind:
        # Gemini uses one message for a per-minute limit and a spent quota; only the quota's name differs.
        return "quota_exceeded" if b"PerDay" in body else "rate_limited"
    if status in (None, 400, 402, 403, 429) and any(mark in said for mark in _QUOTA):
        return "quota_exceeded"
    if "overloaded" in said and (status is None or status >= 500):
        return "model_overloaded"
    if status == 400 and ("api key not valid" in said or "api_key_invalid" in said):
        return "invalid_api_key"
    if "payload size" in said:
        return "request_too_large"
    if "model_not_found" in error.kind:
        return "model_not_found"
    if status is None:
        return next((code for mark, code in _KINDS if mark in error.kind), "model_unavailable")
    return _BY_STATUS.get(status, "model_unavailable" if status >= 500 else "bad_request")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.strip().replace(".", "", 1).isdigit():
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (ValueError, OverflowError):
        return None


def _retry_delay(details: Json) -> float | None:
    """Read Gemini's RetryInfo: `{"retryDelay": "34s"}` among the details of its error."""
    if not isinstance(details, list):
        return None
    for detail in cast(list[Json], details):
        delay = cast(dict[str, Json], detail).get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.removesuffix("s").replace(".", "", 1).isdigit():
            return float(delay.removesuffix("s"))
    return None
