"""Names that people give and others read: of agents, teams, keys, people and conversations.

Whoever takes a name asks here, so that none shows nothing and none looks like another that it is not.
"""

import unicodedata

from agio.errors import UserError

_JOINERS = "\u200c\u200d"
"""What emoji and some scripts are spelled with."""
_JOINED = {"So", "Sk", "Lo", "Mn", "Mc"}
"""What may be joined: symbols, marks, and letters of scripts without capitals."""
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that show nothing."""


def name_problem(text: str) -> str | None:
    """Return what is wrong with a name, in words that go after its field; None if nothing is."""
    if not text.isprintable():
        for at, char in enumerate(text):
            if _hides(text, at):
                return f"it must not have the invisible character U+{ord(char):04X}"
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
        text = "".join(char for at, char in enumerate(text) if not _hides(text, at))
    return text.strip() if _shows(text) else ""


def _hides(text: str, at: int) -> bool:
    """Whether a character of a text hides, or turns others around."""
    if text[at] not in _JOINERS:
        return unicodedata.category(text[at]) in _UNSEEN
    around = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
    return len(around) < 2 or not {unicodedata.category(each) for each in around} <= _JOINED


def _shows(text: str) -> bool:
    kinds = (unicodedata.category(char) for char in text if char not in _BLANK)
    return any(kind[0] in "LNPS" or kind in ("Cn", "Co") for kind in kinds)
