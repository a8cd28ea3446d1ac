"""What was said in a message, as a search reads it."""

import msgspec
from msgspec import Struct


class _Part(Struct, frozen=True):
    text: str | None = None


class _Message(Struct, frozen=True):
    content: str | list[_Part] = ""


_SIGMA = "\u03c3"
_EVEN = {"\0": "\ufffd", "İ": "i", "Σ": _SIGMA, "ς": _SIGMA}
"""What no store has in text, grows when it is folded, or is folded by what follows it."""
_decode = msgspec.json.Decoder(_Message).decode


def said(message: object) -> str | None:
    """The text of a stored message, its parts on lines of their own; None if it is none that is said."""
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
    """A text as a search compares it: of the same length, so that a place in one is the same place in the other."""
    for written, read in _EVEN.items():
        text = text.replace(written, read)
    return text.lower()
