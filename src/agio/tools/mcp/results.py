"""What a server answers, as the model gets it: text, images and documents, the rest described."""

from base64 import b64decode
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import mcp_types as types
import msgspec

from agio.core.tool import ToolAnswer
from agio.protocol.messages import ContentPart, DocumentPart, FileSource, ImagePart, TextPart

KeepFile: TypeAlias = Callable[[bytes], Awaitable[FileSource | None]]
"""Keeps a file beside the run, and returns the reference to it; None: it is not taken."""

_FILES = 8
"""How many files of one result are kept."""


async def answer_of(result: types.CallToolResult, keep: KeepFile, hidden: Callable[[str], str]) -> ToolAnswer:
    """Return a result as a tool's answer, its text without secrets. Large text is cut where tools are run."""
    parts: list[ContentPart] = []
    kept = 0
    for block in result.content:
        data = _file_of(block)
        source = await keep(data) if data is not None and kept < _FILES else None
        if source is not None and source.mime_type == "application/pdf":
            parts.append(DocumentPart(source=source))
        elif source is not None:
            parts.append(ImagePart(source=source))
        else:
            parts.append(TextPart(text=hidden(_described(block))))
        kept += source is not None
    if not parts and result.structured_content is not None:
        parts.append(TextPart(text=hidden(msgspec.json.encode(result.structured_content).decode())))
    error = "upstream_error" if result.is_error else None
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts):
        return ToolAnswer("\n".join(texts) or "It answered without content.", error)
    return ToolAnswer(parts, error)


def _file_of(block: types.ContentBlock) -> bytes | None:
    """Return the bytes of an image or a document."""
    match block:
        case types.ImageContent(data=text):
            pass
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=text)):
            pass
        case _:
            return None
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return None


def _described(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type}, {block.mime_type}: it cannot be shown]"
        case types.ResourceLink():
            words = f" {block.description}" if block.description else ""
            return f"[resource {block.name}: {block.uri}]{words}"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case types.EmbeddedResource():
            return f"[resource {block.resource.uri}, {block.resource.mime_type}: it cannot be shown]"
