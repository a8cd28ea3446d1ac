"""A request's history as vendor-neutral turns: results complete and in order, ids unique and rewritten.

The four drivers convert these turns into their own items; only this file maps ids to calls.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from copy import deepcopy
from hashlib import sha256
from itertools import chain, count
from typing import Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agio.core.model import ModelRequest, VendorTurn
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    Content,
    ContentPart,
    DataSource,
    DeveloperMessage,
    DocumentPart,
    FileSource,
    Json,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)

NO_RESULT = "There is no result: the call was not finished."
LEFT_OUT = "[The beginning of this conversation was left out.]"

_FIT_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PartT = TypeVar("_PartT")
_decode_object = msgspec.json.Decoder(dict[str, Json]).decode


class SystemTurn(Struct, frozen=True):
    """Instructions inside the history."""

    role: Literal["system", "developer"]
    text: str


class UserTurn(Struct, frozen=True):
    """A user message: at least one part, no empty text."""

    parts: list[ContentPart]


class Call(Struct, frozen=True):
    """A tool call with its id on the wire."""

    id: str
    name: str
    arguments: dict[str, Json]


class Result(Struct, frozen=True):
    """The result of a call; `id` and `name` are the call's."""

    id: str
    name: str
    parts: list[ContentPart]
    failed: bool


class AssistantTurn(Struct, frozen=True):
    """A model's turn. `items` is its vendor turn if the same wire produced it, else None.

    A turn with calls has one result for each, in the order of the calls; they directly follow the turn.
    """

    text: str
    calls: list[Call]
    results: list[Result]
    items: list[Json] | None


Turn: TypeAlias = SystemTurn | UserTurn | AssistantTurn


class VendorIds(Struct, frozen=True):
    """How a wire identifies its calls: where they are in a vendor turn, and the key of each id."""

    wire: str
    key: str
    find: Callable[[list[Json]], list[dict[str, Json]]]


def turns_of(request: ModelRequest, ids: VendorIds) -> list[Turn]:
    """Return a request's history as turns for the wire that `ids` describes."""
    return _History(request, ids).turns()


class _History:
    def __init__(self, request: ModelRequest, ids: VendorIds) -> None:
        self._request = request
        self._ids = ids
        self._used: set[str] = set()
        self._results: dict[str, list[ToolMessage]] = {}
        for message in request.messages:
            if isinstance(message, ToolMessage):
                self._results.setdefault(message.tool_call_id, []).append(message)

    def turns(self) -> list[Turn]:
        called = {
            call.id
            for message in self._request.messages
            if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET
            for call in message.tool_calls
        }
        turns: list[Turn] = []
        for message in self._request.messages:
            turn = self._turn(message, called)
            if turn is not None:
                turns.append(turn)
        return turns

    def _turn(self, message: Message, called: set[str]) -> Turn | None:
        match message:
            case UserMessage():
                parts = parts_of(message.content)
                return UserTurn(parts) if parts else None
            case SystemMessage():
                return SystemTurn("system", message.content) if message.content else None
            case DeveloperMessage():
                return SystemTurn("developer", message.content) if message.content else None
            case AssistantMessage():
                return self._assistant(message)
            case ToolMessage():
                if message.tool_call_id in called:
                    return None
                parts = parts_of(message.content)
                return UserTurn([TextPart(text="Result of an earlier tool call:"), *parts]) if parts else None
            case ReasoningMessage() | ActivityMessage():
                return None

    def _assistant(self, message: AssistantMessage) -> AssistantTurn | None:
        text = "" if message.content is UNSET else message.content
        tool_calls = [] if message.tool_calls is UNSET else message.tool_calls
        names = [call.function.name for call in tool_calls]
        items = self._vendor_items(self._request.vendor.get(message.id), len(tool_calls))
        if items is None:
            wire_ids = [self._unique("", call.id) for call in tool_calls]
        else:
            items, wire_ids = self._rewire(items, [call.id for call in tool_calls])
        if not text and not tool_calls and not items:
            return None
        calls = [
            Call(wire_id, call.function.name, object_of(call.function.arguments))
            for wire_id, call in zip(wire_ids, tool_calls, strict=True)
        ]
        results = [
            self._result(call.id, wire_id, name)
            for call, wire_id, name in zip(tool_calls, wire_ids, names, strict=True)
        ]
        return AssistantTurn(text, calls, results, items)

    def _vendor_items(self, vendor: VendorTurn | None, call_count: int) -> list[Json] | None:
        if vendor is None or vendor.wire != self._ids.wire or not vendor.items:
            return None
        if vendor.model and vendor.model.partition(":")[2] != self._request.model:
            return None
        # A message whose calls were edited no longer matches its vendor turn.
        return vendor.items if len(self._ids.find(vendor.items)) == call_count else None

    def _rewire(self, items: list[Json], own_ids: list[str]) -> tuple[list[Json], list[str]]:
        key = self._ids.key
        found = [call.get(key) for call in self._ids.find(items)]
        theirs = [value if isinstance(value, str) else "" for value in found]
        wire_ids = [self._unique(their, own) for their, own in zip(theirs, own_ids, strict=True)]
        if wire_ids != theirs:
            items = deepcopy(items)
            for call, wire_id in zip(self._ids.find(items), wire_ids, strict=True):
                call[key] = wire_id
        return items, wire_ids

    def _unique(self, their: str, own: str) -> str:
        wire_id = their
        if not their or their in self._used:
            # A client may supply ids that no vendor accepts.
            own = own if _FIT_ID.fullmatch(own) else f"call_{sha256(own.encode()).hexdigest()[:24]}"
            candidates = chain([own], (f"{own[:36]}_{number}" for number in count(2)))
            wire_id = next(each for each in candidates if each not in self._used)
        self._used.add(wire_id)
        return wire_id

    def _result(self, own_id: str, wire_id: str, name: str) -> Result:
        waiting = self._results.get(own_id)
        if not waiting:
            return Result(wire_id, name, [TextPart(text=NO_RESULT)], failed=True)
        message = waiting.pop(0)
        parts: list[ContentPart] = parts_of(message.content)
        error = "" if message.error is UNSET else message.error
        if error and not parts:
            parts = [TextPart(text=error)]
        return Result(wire_id, name, parts, failed=bool(error))


def parts_of(content: Content) -> list[ContentPart]:
    """Return a message body as parts, without empty text."""
    if isinstance(content, str):
        return [TextPart(text=content)] if content else []
    return [part for part in content if not isinstance(part, TextPart) or part.text]


def text_of_parts(parts: Sequence[ContentPart]) -> str:
    """Return the concatenated text of the parts."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def object_of(arguments: str) -> dict[str, Json]:
    """Decode a call's arguments. Anything but a JSON object, such as a truncated call, becomes an empty one."""
    try:
        return _decode_object(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}


def whole_arguments(arguments: str) -> str:
    """Return a call's arguments unchanged if they are a JSON object, else an empty object."""
    return arguments if object_of(arguments) else "{}"


def mime_of(part: ContentPart) -> str:
    """Return the media type of a part, or an empty string if it has none."""
    if isinstance(part, TextPart):
        return "text/plain"
    mime: str | UnsetType = part.source.mime_type
    return "" if mime is UNSET else mime


def data_url(source: DataSource) -> str:
    """Return inline bytes as a data URL."""
    return f"data:{source.mime_type};base64,{source.value}"


def file_id(part: ContentPart, provider: str) -> str | None:
    """Return the provider's id of a file it stores, if any."""
    if isinstance(part, TextPart) or not isinstance(part.source, FileSource):
        return None
    return part.source.value if part.source.provider in (UNSET, provider) else None


def as_text(part: ContentPart) -> str:
    """Return a part as text: a text document's content, else a note that the part was omitted."""
    if isinstance(part, TextPart):
        return part.text
    mime = mime_of(part)
    kind = type(part).__name__.removesuffix("Part").lower()
    if isinstance(part, DocumentPart) and isinstance(part.source, DataSource) and _is_text(mime):
        try:
            text = b64decode(part.source.value).decode()
        except ValueError:
            pass
        else:
            return f"[document, {mime}]\n{text}"
    return f"[{kind}{f', {mime}' if mime else ''}: left out, the model cannot take it]"


def _is_text(mime: str) -> bool:
    return mime.startswith("text/") or mime in ("application/json", "application/xml", "application/yaml")


def alternate(
    turns: Sequence[tuple[str, list[_PartT]]], user: str, opening: _PartT
) -> list[tuple[str, list[_PartT]]]:
    """Merge adjacent turns of one role; prepend `opening` if the first role is not the user."""
    joined: list[tuple[str, list[_PartT]]] = []
    for role, parts in turns:
        if not parts:
            continue
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(parts)
        else:
            joined.append((role, list(parts)))
    if joined and joined[0][0] != user:
        joined.insert(0, (user, [opening]))
    return joined
