"""Excerpts: the match of a search and some words around it, on one line."""

from msgspec import Struct

from agio.core.text import grapheme_at

AROUND = 200
"""How many characters before and after the match are read."""
_BEFORE = 36
_CHARS = 120


class Excerpt(Struct, frozen=True):
    """The matching text as it is written, and the text before and after it."""

    before: str
    match: str
    after: str


def excerpt(text: str, start: int, length: int, *, goes_on: tuple[bool, bool] = (False, False)) -> Excerpt:
    """Cut about 120 characters out of a text, at word boundaries where possible, never within a grapheme cluster.

    `goes_on` says whether there is more before and after `text`.
    """
    end = grapheme_at(text, start + length)[1]
    start = grapheme_at(text, start)[0]
    match = _on_one_line(text[start:end])
    before = _last_words(_on_one_line(text[:start]), _BEFORE, goes_on[0])
    room = max(_CHARS - len(before) - len(match), _BEFORE)
    return Excerpt(before, match, _first_words(_on_one_line(text[end:]), room, goes_on[1]))


def _first_words(text: str, chars: int, goes_on: bool) -> str:
    if len(text) <= chars:
        return f"{text}…" if goes_on else text
    end = text.rfind(" ", chars // 2, chars + 1)
    if end < 0:
        end = grapheme_at(text, chars)[0]
    return f"{text[:end]}…"


def _last_words(text: str, chars: int, goes_on: bool) -> str:
    if len(text) <= chars:
        return f"…{text}" if goes_on else text.lstrip()
    start = text.find(" ", len(text) - chars - 1, len(text) - chars // 2) + 1
    if start == 0:
        start = grapheme_at(text, len(text) - chars)[1]
    return f"…{text[start:]}"


def _on_one_line(text: str) -> str:
    """Collapse each run of white space to one space, also at the ends."""
    words = " ".join(text.split())
    if not words:
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}"
