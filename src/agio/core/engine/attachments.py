"""Attachments: turns the files that messages refer to into model input: images, documents, text, or a note.

A request carries a bounded number of file bytes. The newest files take precedence; a note replaces each omitted file.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from agio.core.config import AgentRunConfig
from agio.core.engine.untrusted import Delimiter
from agio.core.file import CHUNK_BYTES, FilePiece, files_in, is_ours
from agio.errors import UserError
from agio.protocol.messages import (
    ContentPart,
    DataSource,
    DocumentPart,
    ImagePart,
    Message,
    TextPart,
    ToolMessage,
    UserMessage,
)

ReadFile: TypeAlias = Callable[[str, int], Awaitable[FilePiece]]
"""Reads one chunk of a file by file id and chunk index. Raises UserError `file_not_found`."""

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PDF = "application/pdf"
_TEXT = "text/plain"


class _Shown(Struct, frozen=True):
    """The content part that represents a file, and the bytes it takes of the request's budget."""

    part: ContentPart
    size: int = 0


class Attachments:
    """The files of one run's conversation. Call `fetch` before each turn, then `shown` for each message."""

    def __init__(self, read: ReadFile, config: AgentRunConfig, delimiter: Delimiter) -> None:
        self._read = read
        self._config = config
        self._delimiter = delimiter
        self._shown: dict[str, _Shown] = {}
        """Cache by file id, of at most `max_attachment_bytes`."""
        self.left_out = 0
        """How many files the newest turn omits because of their size."""

    async def fetch(self, messages: Sequence[Message]) -> None:
        """Read the files that messages refer to and that are not cached yet. Propagates errors of the reader."""
        wanted = list(dict.fromkeys(reversed([*files_in(messages)])))
        if not wanted:
            return
        before, self._shown = self._shown, {}
        left, self.left_out = self._config.max_attachment_bytes, 0
        for file_id in wanted:
            shown = before.pop(file_id, None)
            if shown is None or shown.size > left:
                shown = await self._fetch(file_id, left)
            self._shown[file_id] = shown
            left -= shown.size

    def shown(self, message: Message) -> Message:
        """Return the message with each file reference replaced by the file's content or a note."""
        if not isinstance(message, (UserMessage, ToolMessage)) or isinstance(message.content, str):
            return message
        parts = [self._part(part) for part in message.content]
        return structs.replace(message, content=parts)

    def _part(self, part: ContentPart) -> ContentPart:
        if isinstance(part, TextPart) or not is_ours(part.source):
            return part
        found = self._shown.get(part.source.value)
        return _note("a file", "it is not there") if found is None else found.part

    async def _fetch(self, file_id: str, left: int) -> _Shown:
        try:
            first = await self._read(file_id, 0)
            return await self._show(file_id, first, left)
        except UserError as error:
            if error.code != "file_not_found":
                raise
            return _Shown(_note("a file", "it was deleted"))

    async def _show(self, file_id: str, first: FilePiece, left: int) -> _Shown:
        if first.media_type == _TEXT:
            return _Shown(await self._text(file_id, first))
        is_image = first.media_type in _IMAGES
        if not is_image and first.media_type != _PDF:
            return _Shown(_note(_name(first), "the model cannot take it"))
        limit = min(left, self._config.max_image_bytes) if is_image else left
        if first.size > limit:
            self.left_out += 1
            return _Shown(_note(_name(first), "it is too large, alone or with what came after it"))
        data = await self._bytes(file_id, first, first.size)
        source = DataSource(b64encode(data).decode(), first.media_type)
        part = ImagePart(source=source) if is_image else DocumentPart(source=source)
        return _Shown(part, len(data))

    async def _text(self, file_id: str, first: FilePiece) -> TextPart:
        limit = self._config.max_text_file_bytes
        data = await self._bytes(file_id, first, min(limit, first.size))
        text = data.decode("utf-8", "ignore" if first.size > limit else "replace")
        if first.size > limit:
            text += f"\n[... {first.size - limit} bytes left out]"
        return TextPart(text=self._delimiter.delimit(f"file {first.name}", text))

    async def _bytes(self, file_id: str, first: FilePiece, size: int) -> bytes:
        data = bytearray(first.data)
        while len(data) < size and (piece := await self._read(file_id, len(data) // CHUNK_BYTES)).data:
            data += piece.data
        return bytes(data[:size])


def _name(piece: FilePiece) -> str:
    return f"{piece.name}, {piece.media_type}, {piece.size} bytes"


def _note(what: str, why: str) -> TextPart:
    return TextPart(text=f"[{what}: left out, {why}]")
