"""Runs a team's HTTP tool: arguments become a request through the guard, the response becomes a result.

http_template.py checks the definition; core/http_tool.py is its stored form.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Protocol, TypeAlias, cast
from urllib.parse import quote

import msgspec

from agio.core.http_tool import HttpTool
from agio.core.tool import AnyTool, Tool, ToolAnswer, ToolContext
from agio.core.trace_context import HEADER as TRACE_HEADER
from agio.egress import EgressRequest, EgressResponse
from agio.errors import AgioError, UpstreamError, UserError
from agio.protocol.messages import Json, json_object
from agio.tools.http_template import Template, check_headers, check_result_path, check_timeout
from agio.tools.web_text import describe_binary, text_of

Secrets: TypeAlias = Callable[[], Awaitable[Mapping[str, str]]]
"""Decrypts a tool's secrets, by field as `HttpTool.field_of` names them."""


class Sender(Protocol):
    """Sends a request: the guard, or a wrapper that records it."""

    async def request(self, request: EgressRequest) -> EgressResponse:
        """Send a request. Raises UserError `egress_refused`, UpstreamError."""
        ...


_CONTEXT = "agio context"
"""The context parameter. It contains a space, so no parameter of a template has this name; it is never shown."""
_TIMEOUT_S = 30.0
_GRACE_S = 5.0
_ERROR_CHARS = 2000
_SHORTEST_PART = 8
_MASK = "[secret]"
_URL_SAFE = str.maketrans("+/", "-_")
_AS_GO_WRITES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "&<>"})


def check_http_tool(name: str, definition: HttpTool) -> Sequence[str]:
    """Check a tool's definition; return the schema patterns that calls are not validated against.

    It may take tens of milliseconds. Raises UserError `invalid_tool`, `invalid_schema`.
    """
    made = _make(name, definition, _never)
    Template(name, definition)
    check_headers(name, definition.headers)
    check_result_path(name, definition.result_path)
    check_timeout(name, definition.timeout_s)
    return () if made.check is None else made.check.left_out


def make_http_tool(name: str, definition: HttpTool, secrets: Secrets, sender: Sender) -> AnyTool:
    """Make a tool from its definition. Raises UserError `invalid_tool`, `invalid_schema`.

    Its secrets are decrypted for each call that needs them, and masked in the response.
    """
    template = Template(name, definition)

    async def call(**given: object) -> ToolAnswer:
        context = cast(ToolContext, given.pop(_CONTEXT))
        opened: Mapping[str, str] = {}
        if any(header.secret for header in definition.headers):
            opened = await secrets()
        mask = Mask(opened.values())
        url, body = template.fill(given)
        headers = _headers(name, definition, opened, context, has_body=body is not None)
        timeout_s = definition.timeout_s or _TIMEOUT_S
        try:
            response = await sender.request(
                EgressRequest(definition.method, url, headers, body, timeout_s=timeout_s)
            )
        except AgioError as error:
            error.message = mask.text(error.message)
            if definition.effect == "once" and _may_have_acted(error):
                return ToolAnswer(
                    f"It is unknown whether {name} took effect: {error.message} Check before you call it again.",
                    "unknown",
                )
            raise
        try:
            return _answer(definition, response, mask)
        except AgioError as error:
            error.message = mask.text(error.message)
            raise

    return _make(name, definition, call)


def _may_have_acted(error: AgioError) -> bool:
    """Whether a failed request may still have taken effect."""
    if not isinstance(error, UpstreamError) or error.code == "too_many_redirects":
        return False
    return error.code != "upstream_unreachable" or error.details.get("sent") is True


def _make(name: str, definition: HttpTool, call: Callable[..., Awaitable[ToolAnswer]]) -> AnyTool:
    return Tool(
        name=name,
        description=definition.description,
        parameters=definition.parameters,
        function=call,
        context_parameter=_CONTEXT,
        effect=definition.effect,
        approval=definition.approval,
        # Longer than the request's own timeout, whose error says what was slow.
        timeout_s=(definition.timeout_s or _TIMEOUT_S) + _GRACE_S,
    )


async def _never(**_: object) -> ToolAnswer:
    raise NotImplementedError


def _headers(
    name: str, definition: HttpTool, secrets: Mapping[str, str], context: ToolContext, *, has_body: bool
) -> list[tuple[str, str]]:
    headers: dict[str, tuple[str, str]] = {
        "accept": ("Accept", "application/json, text/*;q=0.9, */*;q=0.1"),
        "user-agent": ("User-Agent", "agio"),
    }
    if has_body:
        headers["content-type"] = ("Content-Type", "application/json")
    if definition.effect != "read":
        headers["idempotency-key"] = ("Idempotency-Key", context.call_id)
    if context.traceparent:
        headers[TRACE_HEADER] = (TRACE_HEADER, context.traceparent)
    for header in definition.headers:
        value = secrets.get(definition.field_of(header)) if header.secret else header.value
        if value is None:
            raise UserError("invalid_tool", f"Tool {name} has no value for its secret header {header.name}.")
        headers[header.name.lower()] = (header.name, value)
    return list(headers.values())


def _answer(definition: HttpTool, response: EgressResponse, mask: "Mask") -> ToolAnswer:
    text = text_of(response)
    if response.status >= 400:
        shown = describe_binary(response) if text is None else _masked(text, mask)[:_ERROR_CHARS]
        return ToolAnswer(f"It answered {response.status}: {shown}", "upstream_error")
    if not response.body:
        return ToolAnswer(f"It answered {response.status}, without a body.")
    if text is None:
        return ToolAnswer(describe_binary(response))
    try:
        value = cast(Json, msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        if definition.result_path is not None:
            raise _nothing_at(definition.result_path, "it is not JSON") from None
        return ToolAnswer(mask.text(text))
    if definition.result_path is not None:
        value = _find(value, definition.result_path)
    value = mask.json(value)
    return ToolAnswer(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _masked(text: str, mask: "Mask") -> str:
    """Return a text without secrets, unchanged if it has none. JSON can encode a secret in many ways."""
    try:
        value = cast(Json, msgspec.json.decode(text))
        hidden = mask.json(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return mask.text(text)
    return text if hidden == value else msgspec.json.encode(hidden).decode()


def _find(value: Json, path: str) -> Json:
    for step in path.split("."):
        items = cast("list[Json]", value) if isinstance(value, list) else []
        if isinstance(value, dict) and step in value:
            value = json_object(cast(Json, value))[step]
        elif step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(items):
            value = items[int(step)]
        else:
            raise _nothing_at(path, f"there is no {step!r}")
    return value


def _nothing_at(path: str, why: str) -> UpstreamError:
    return UpstreamError("upstream_invalid", f"The answer has nothing at {path}: {why}.")


class Mask:
    """Masks secrets that an upstream echoes: plain, or encoded as in URLs, JSON, HTML or base64."""

    def __init__(self, secrets: Iterable[str]) -> None:
        words: set[str] = set()
        for secret in secrets:
            parts = [part for part in secret.split() if len(part) >= _SHORTEST_PART]
            for word in (secret.strip(), *parts, *_unpacked(secret)):
                words |= _spellings(word)
        longest_first = sorted(filter(None, words), key=len, reverse=True)
        self._words = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if words else None

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return text if self._words is None else self._words.sub(_MASK, text)

    def json(self, value: Json) -> Json:
        """Return a JSON value without the secrets."""
        if self._words is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(item) for item in cast("list[Json]", value)]
        if isinstance(value, dict):
            pairs = json_object(cast(Json, value)).items()
            return {self.text(key): self.json(item) for key, item in pairs}
        if isinstance(value, (int, float)) and self._words.fullmatch(msgspec.json.encode(value).decode()):
            return _MASK
        return value


def _spellings(word: str) -> set[str]:
    written = msgspec.json.encode(word).decode()[1:-1]
    packed = b64encode(word.encode()).decode().rstrip("=")
    return {
        *(word, quote(word, safe=""), quote(word), escape(word), packed, packed.translate(_URL_SAFE)),
        *(written, written.replace("/", "\\/"), written.translate(_AS_GO_WRITES)),
    }


def _unpacked(secret: str) -> list[str]:
    """Return the name and password of HTTP basic authentication, which services may echo decoded."""
    scheme, _, rest = secret.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = b64decode(rest, validate=True).decode()
    except ValueError:
        return []
    return [part for part in (pair, pair.partition(":")[2]) if len(part) >= _SHORTEST_PART]
