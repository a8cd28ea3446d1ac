"""The text of a message, as a search compares it."""

import msgspec
from msgspec import Struct


class _Part(Struct, frozen=True):
    text: str | None = None


class _Message(Struct, frozen=True):
    content: str | list[_Part] = ""


_SIGMA = "\u03c3"
_EVEN = {"\0": "\ufffd", "İ": "i", "Σ": _SIGMA, "ς": _SIGMA}
"""Characters that a store cannot hold, that change length when folded, or that fold by context."""
_decode = msgspec.json.Decoder(_Message).decode


def said(message: object) -> str | None:
    """The text of a stored message, one line a part; None if it cannot be decoded."""
    if not isinstance(message, bytes):
        return None
    try:
        content = _decode(message).content
    except msgspec.DecodeError:
        return None
    if isinstance(content, list):
        content = "\n".join(part.text for part in content if part.text is not None)
    return content.replace("\0", "\ufffd")


def fold_case(text: str) -> str:
    """Fold case without changing the length, so that offsets stay valid."""
    for written, read in _EVEN.items():
        text = text.replace(written, read)
    return text.lower()
