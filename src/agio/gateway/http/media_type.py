"""The media type of a file, detected from its bytes and safe to send back, with its file name suffix.

HTML, SVG and scripts are reported as `text/plain`, so that no browser runs them.
"""

import codecs
from typing import NamedTuple

HEAD_BYTES = 4096
"""How many bytes at the start of a file are inspected."""


class MediaType(NamedTuple):
    """A media type and its file name suffix."""

    name: str
    ending: str


TEXT = MediaType("text/plain", "txt")
BYTES = MediaType("application/octet-stream", "bin")

_MARKS: tuple[tuple[bytes, MediaType], ...] = (
    (b"\x89PNG\r\n\x1a\n", MediaType("image/png", "png")),
    (b"\xff\xd8\xff", MediaType("image/jpeg", "jpg")),
    (b"GIF87a", MediaType("image/gif", "gif")),
    (b"GIF89a", MediaType("image/gif", "gif")),
    (b"%PDF-", MediaType("application/pdf", "pdf")),
    (b"PK\x03\x04", MediaType("application/zip", "zip")),
)
_OTHERS = {
    "application/gzip": "gz",
    "audio/flac": "flac",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "image/bmp": "bmp",
    "image/tiff": "tif",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "webm",
}
"""The other types that are reported, with their suffix: none that a browser would run."""


class TextCheck:
    """Checks chunk by chunk whether bytes are text: UTF-8 without a null character."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._is_text = True

    def take(self, data: bytes) -> None:
        """Check the next chunk."""
        if self._is_text:
            try:
                self._is_text = "\0" not in self._decode(data)
            except UnicodeDecodeError:
                self._is_text = False

    def result(self) -> bool:
        """Return whether everything was text."""
        if self._is_text:
            try:
                self._decode(b"", True)
            except UnicodeDecodeError:
                self._is_text = False
        return self._is_text


def media_type_of(head: bytes, *, is_text: bool) -> MediaType:
    """Return the type of a file from its first bytes; `is_text` covers the whole file."""
    for mark, known in _MARKS:
        if head.startswith(mark):
            return known
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return MediaType("image/webp", "webp")
    return TEXT if is_text else _by_signature(head)


def _by_signature(head: bytes) -> MediaType:
    import puremagic

    try:
        name = str(puremagic.from_string(head, mime=True))  # pyright: ignore[reportUnknownMemberType]
    except (puremagic.PureError, ValueError):
        return BYTES
    ending = _OTHERS.get(name)
    return BYTES if ending is None else MediaType(name, ending)
