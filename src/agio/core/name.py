"""Names that people choose and others read: of agents, teams, keys, people and conversations.

A name must be visible, and must not imitate another by invisible characters.
"""

import re
import unicodedata
from collections.abc import Iterator

from agio.errors import UserError

_JOINERS = "\u200c\u200d"
"""Zero-width joiners, which emoji and some scripts need."""
_JOINING = re.compile(
    "[\u0590-\u109f\u1700-\u18af\u1900-\u1aaf\u1b00-\u1c7f\u1cd0-\u1cff\ua800-\ua95f\ua980-\uaaff\uabc0-\uabff"
    "\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001eeff]"
)
"""The ranges of scripts that use joiners: Hebrew, Arabic and related ones, and those of South and Southeast Asia."""
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""The tag sequence after a black flag that selects a region, such as Wales."""
_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Visible characters that Unicode classes as format characters because they control the digits after them."""
_ABBREVIATED = "\u070f"
"""The Syriac abbreviation mark: a visible line above Syriac letters, invisible above others."""
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols without a visible glyph."""


def name_problem(text: str) -> str | None:
    """Return the problem with a name, phrased to follow the field's label; None if the name is valid."""
    if not text.isprintable():
        for at in _hiding(text):
            return f"it must not have the invisible character U+{ord(text[at]):04X}"
    return None if _shows(text) else "it must have something to see, not only blanks"


def checked_name(text: str) -> str:
    """Return a name without surrounding blanks. Raises UserError `invalid_name`."""
    name = text.strip()
    if (problem := name_problem(name)) is not None:
        raise UserError("invalid_name", f"The name does not do: {problem}.")
    return name


def seen(text: str) -> str:
    """Return the visible part of a text that was not chosen as a name; empty if there is none."""
    if not text.isprintable():
        hiding = set(_hiding(text))
        text = "".join(char for at, char in enumerate(text) if at not in hiding)
    return text.strip() if _shows(text) else ""


def _hiding(text: str) -> Iterator[int]:
    """Yield the positions of characters that are invisible or reverse the text direction."""
    flags = {at for flag in _FLAG.finditer(text) for at in range(*flag.span())}
    base, open_to_join = "", False  # the base of the preceding marks; whether a joiner may follow
    for at, char in enumerate(text):
        kind, after = unicodedata.category(char), text[at + 1 : at + 2]
        if char in _JOINERS:
            hides = not (open_to_join and _joins(base, after))
        elif char == _ABBREVIATED:
            hides = not _is_joining(after)
        else:
            hides = kind in _UNSEEN and char not in _SIGNS and at not in flags
        if hides:
            yield at
        open_to_join = not hides and char not in _JOINERS
        if kind[0] != "M" and kind != "Cf":
            base = char


def _joins(base: str, after: str) -> bool:
    """Whether a joiner has an effect between two characters; `after` is empty at the end."""
    if _is_joining(base):
        return True
    if _is_joining(after):
        return bool(base) and unicodedata.category(base)[0] in "LNPS"
    return _is_emoji(base) and _is_emoji(after)


def _is_joining(char: str) -> bool:
    """Whether the character is a letter of a script that uses joiners."""
    return _JOINING.match(char) is not None and unicodedata.category(char) in ("Lo", "Lm")


def _is_emoji(char: str) -> bool:
    """Whether the character may be an emoji, including those newer than Python's Unicode tables."""
    if not char:
        return False
    symbol = char >= "\u2190" and unicodedata.category(char) in ("So", "Sk")
    return symbol or char == "\u2194" or "\U0001f000" <= char <= "\U0001faff"


def _shows(text: str) -> bool:
    kinds = (unicodedata.category(char) for char in text if char not in _BLANK)
    return any(kind[0] in "LNPS" or kind in ("Cn", "Co") for kind in kinds)
