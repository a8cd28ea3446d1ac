"""What the bytes of a file are, whatever anybody says: a media type that is safe to repeat, and its ending.

Text is text: a page, a picture made of markup or a script is told as `text/plain`, and never as what it could do.
"""

import codecs
from typing import NamedTuple

HEAD_BYTES = 4096
"""How much of a file its type is looked for in."""


class MediaType(NamedTuple):
    """A media type and the ending of its files' names."""

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
"""What else is told by its name: nothing that a browser would run."""


class TextCheck:
    """Whether bytes that come in pieces are text: UTF-8 without a null character."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._is_text = True

    def take(self, data: bytes) -> None:
        """Look at the next piece."""
        if self._is_text:
            try:
                self._is_text = "\0" not in self._decode(data)
            except UnicodeDecodeError:
                self._is_text = False

    def result(self) -> bool:
        """Say whether all of it was text."""
        if self._is_text:
            try:
                self._decode(b"", True)
            except UnicodeDecodeError:
                self._is_text = False
        return self._is_text


def media_type_of(head: bytes, *, is_text: bool) -> MediaType:
    """Tell what a file is by its beginning; `is_text`: all of it is."""
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
