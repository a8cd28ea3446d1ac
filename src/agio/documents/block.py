"""Blocks: what parsers yield, in the order of the text."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from agio.errors import UserError


class Block(Struct, frozen=True):
    """A paragraph, a row, a heading."""

    text: str
    level: int = 0
    """1 to 6: a heading; 0: text."""
    page: int | None = None
    line: int | None = None


class Source(Struct, frozen=True):
    """A file to parse. `progress` takes how many of how many pages were read."""

    path: str
    limits: "ExtractLimits"
    progress: Callable[[int, int], None]


class ExtractLimits(Struct, frozen=True, kw_only=True):
    """What extraction of one document may use."""

    seconds: float = 300.0
    memory_bytes: int = 1024 * 1024 * 1024
    unpacked_bytes: int = 512 * 1024 * 1024
    """How much a zipped document may unpack to."""
    entries: int = 20_000
    """How many files it may have inside."""
    chars: int = 20_000_000
    """The most text."""
    pages: int = 20_000
    passage_chars: int = 1200


Blocks: TypeAlias = Iterator[Block]
Parser: TypeAlias = Callable[[Source], Blocks]


def encrypted() -> UserError:
    """The document has a password."""
    return UserError(
        "document_encrypted", "The document is protected by a password. Save it without one and add it again."
    )


def too_large(what: str) -> UserError:
    """The document exceeds a limit."""
    return UserError("document_too_large", f"The document is too large: {what}. Split it and add the parts.")


def unreadable(why: str) -> UserError:
    """The document cannot be parsed."""
    return UserError(
        "document_unreadable",
        f"The document cannot be read: {why}. Open it, save it again and add that file.",
    )
