"""Names that people give and others read: of agents, teams, keys, people and conversations.

Whoever takes a name asks here, so that none shows nothing and none looks like another that it is not.
"""

import re
import unicodedata
from collections.abc import Iterator

from agio.errors import UserError

_JOINERS = "\u200c\u200d"
"""What emoji and some scripts are spelled with."""
_JOINING = re.compile(
    "[\u0590-\u109f\u1700-\u18af\u1900-\u1aaf\u1b00-\u1c7f\u1cd0-\u1cff\ua800-\ua95f\ua980-\uaaff\uabc0-\uabff"
    "\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001eeff]"
)
"""Where the scripts are that use them: Hebrew, Arabic and their kin, and those of South and Southeast Asia."""
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""Which region's flag a black flag is, as that of Wales."""
_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
"""What Unicode counts as control of the digits after it, and is seen."""
_ABBREVIATED = "\u070f"
"""Is seen as a line above the letters of its script, and not at all above others."""
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that show nothing."""


def name_problem(text: str) -> str | None:
    """Return what is wrong with a name, in words that go after its field; None if nothing is."""
    if not text.isprintable():
        for at in _hiding(text):
            return f"it must not have the invisible character U+{ord(text[at]):04X}"
    return None if _shows(text) else "it must have something to see, not only blanks"


def checked_name(text: str) -> str:
    """Return a name without the blanks around it. Raises UserError `invalid_name`."""
    name = text.strip()
    if (problem := name_problem(name)) is not None:
        raise UserError("invalid_name", f"The name does not do: {problem}.")
    return name


def seen(text: str) -> str:
    """Return what can be seen of a text that nobody chose as a name; empty if that is nothing."""
    if not text.isprintable():
        hiding = set(_hiding(text))
        text = "".join(char for at, char in enumerate(text) if at not in hiding)
    return text.strip() if _shows(text) else ""


def _hiding(text: str) -> Iterator[int]:
    """Where characters of a text hide, or turn others around."""
    flags = {at for flag in _FLAG.finditer(text) for at in range(*flag.span())}
    base, open_to_join = "", False  # what the marks before stand on; whether it is seen, and not joined yet
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
    """Whether a joiner has something to do between two characters; `after` is empty at the end."""
    if _is_joining(base):
        return True
    if _is_joining(after):
        return bool(base) and unicodedata.category(base)[0] in "LNPS"
    return _is_emoji(base) and _is_emoji(after)


def _is_joining(char: str) -> bool:
    """Whether this is a letter of a script that uses joiners."""
    return _JOINING.match(char) is not None and unicodedata.category(char) in ("Lo", "Lm")


def _is_emoji(char: str) -> bool:
    """Whether this may be one, also one that is newer than the tables at hand."""
    if not char:
        return False
    symbol = char >= "\u2190" and unicodedata.category(char) in ("So", "Sk")
    return symbol or char == "\u2194" or "\U0001f000" <= char <= "\U0001faff"


def _shows(text: str) -> bool:
    kinds = (unicodedata.category(char) for char in text if char not in _BLANK)
    return any(kind[0] in "LNPS" or kind in ("Cn", "Co") for kind in kinds)
