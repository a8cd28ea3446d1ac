"""Excerpts: the match of a search and some words around it, on one line."""

import unicodedata

from msgspec import Struct

AROUND = 200
"""How many characters before and after the match are read."""
_BEFORE = 36
_CHARS = 120
_JOINER = "\u200d"


class Excerpt(Struct, frozen=True):
    """The matching text as it is written, and the text before and after it."""

    before: str
    match: str
    after: str


def excerpt(text: str, start: int, length: int, *, goes_on: tuple[bool, bool] = (False, False)) -> Excerpt:
    """Cut about 120 characters out of a text, at word boundaries where possible, never within a grapheme cluster.

    `goes_on` says whether there is more before and after `text`.
    """
    end = start + length
    while not _is_between(text, start):
        start -= 1
    while not _is_between(text, end):
        end += 1
    match = _on_one_line(text[start:end])
    before = _last_words(_on_one_line(text[:start]), _BEFORE, goes_on[0])
    room = max(_CHARS - len(before) - len(match), _BEFORE)
    return Excerpt(before, match, _first_words(_on_one_line(text[end:]), room, goes_on[1]))


def _first_words(text: str, chars: int, goes_on: bool) -> str:
    if len(text) <= chars:
        return f"{text}…" if goes_on else text
    end = text.rfind(" ", chars // 2, chars + 1)
    if end < 0:
        end = chars
        while not _is_between(text, end):
            end -= 1
    return f"{text[:end]}…"


def _last_words(text: str, chars: int, goes_on: bool) -> str:
    if len(text) <= chars:
        return f"…{text}" if goes_on else text.lstrip()
    start = text.find(" ", len(text) - chars - 1, len(text) - chars // 2) + 1
    if start == 0:
        start = len(text) - chars
        while not _is_between(text, start):
            start += 1
    return f"…{text[start:]}"


def _on_one_line(text: str) -> str:
    """Collapse each run of white space to one space, also at the ends."""
    words = " ".join(text.split())
    if not words:
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}"


def _is_between(text: str, at: int) -> bool:
    """Whether a grapheme cluster boundary is here."""
    if not 0 < at < len(text):
        return True
    last, following = text[at - 1], text[at]
    if _extends(following) or last == _JOINER:
        return False
    if not (_is_flag_letter(last) and _is_flag_letter(following)):
        return True
    flags = at
    while flags > 0 and _is_flag_letter(text[flags - 1]):
        flags -= 1
    return (at - flags) % 2 == 0


def _extends(char: str) -> bool:
    """Whether a character extends the one before: marks, joiners, skin tones, flag tags, later Hangul jamo."""
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in (_JOINER, "\u200c")
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
