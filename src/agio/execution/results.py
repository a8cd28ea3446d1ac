"""Converts a tool's return value to tool message content: text, JSON or parts, truncated if too large."""

import base64
import json
from typing import cast

import msgspec
from msgspec import Struct

from agio.core.schema.schema import to_json
from agio.core.text import clean
from agio.core.tool import ToolAnswer
from agio.protocol.messages import (
    AudioPart,
    Content,
    ContentPart,
    DataSource,
    DocumentPart,
    ImagePart,
    Json,
    TextPart,
    VideoPart,
)

_PARTS = (TextPart, ImagePart, AudioPart, VideoPart, DocumentPart)


class Image(Struct, frozen=True):
    """An image that a tool returns as bytes."""

    data: bytes
    mime_type: str = "image/png"

    def part(self) -> ImagePart:
        """Return the image as a content part."""
        return ImagePart(DataSource(base64.b64encode(self.data).decode(), self.mime_type))


def answer_of(value: object, limit_bytes: int, event_bytes: int | None = None) -> ToolAnswer:
    """Convert a return value to an answer: text within `limit_bytes`, the whole within `event_bytes`."""
    error = None
    if isinstance(value, ToolAnswer):
        if value.asks:
            return value
        value, error = value.content, value.error
    try:
        content = _content(value, limit_bytes)
        size = 0 if isinstance(content, str) else len(msgspec.json.encode(content))
        if event_bytes is not None and size > event_bytes:
            text = f"The tool ran, but its result of {size} bytes is larger than the {event_bytes} allowed."
            return ToolAnswer(text, "result_too_large")
        return ToolAnswer(content, error)
    except Exception as error:  # serialising the value may run the tool's code
        text = cut(f"The tool ran, but its result cannot be shown: {error}.", limit_bytes)
        return ToolAnswer(text, "unserialisable_result")


def _content(value: object, limit_bytes: int) -> Content:
    if isinstance(value, Image):
        return [value.part()]
    if isinstance(value, _PARTS):
        return _cut_parts([value], limit_bytes)
    if isinstance(value, list):
        items = cast(list[object], value)
        parts = [_part(item) for item in items if isinstance(item, (*_PARTS, Image, str))]
        if len(parts) == len(items) and any(not isinstance(item, str) for item in items):
            return _cut_parts(parts, limit_bytes)
    if isinstance(value, str):
        return cut(value, limit_bytes)
    if value is None:
        return "Done."
    return cut(_json_text(to_json(cast(object, value))), limit_bytes)


def _json_text(value: Json) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate, for example in a file name: `cut` removes it
        return json.dumps(value, ensure_ascii=False)


def _part(item: "ContentPart | Image | str") -> ContentPart:
    if isinstance(item, Image):
        return item.part()
    return TextPart(item) if isinstance(item, str) else item


def _cut_parts(parts: list[ContentPart], limit_bytes: int) -> list[ContentPart]:
    """Truncate the text of the parts so that their sum stays within the limit."""
    kept: list[ContentPart] = []
    for part in parts:
        if isinstance(part, TextPart):
            text = cut(part.text, limit_bytes)
            limit_bytes = max(0, limit_bytes - len(text.encode()))
            part = TextPart(text)
        kept.append(part)
    return kept


def cut(text: str, limit_bytes: int) -> str:
    """Clean a text and truncate it to the limit, with a note that says so."""
    text = clean(text)
    raw = text.encode()
    if len(raw) <= limit_bytes:
        return text
    head = raw[: max(0, limit_bytes - 120)].decode(errors="ignore")
    return f"{head}\n[... cut: {len(raw) - len(head.encode())} of {len(raw)} bytes left out]"
