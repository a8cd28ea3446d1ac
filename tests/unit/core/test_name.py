"""What a name may be made of."""

# ruff: noqa: RUF001

import pytest

from agio.core.name import checked_name, name_problem, seen
from agio.errors import UserError

GOOD = [
    "Ada",
    "a b",
    "Ärger",
    "e\u0301",
    "7",
    "·",
    "研究",
    "ไทย",
    "ביל",
    "می\u200cشد",
    "श्री\u200dमती",
    "👩\u200d👧",
    "👩🏽\u200d🚀",
    "❤\ufe0f\u200d🔥",
    "\ue000",
    "راهنمای API\u200cها",
    "گروه ۲۰\u200cنفره",
    "اتاق 2\u200cنفره",
    "«کتاب»\u200cها",
    "👍\u200cها",
    "هـ\u200cها",
    "خانه\u200cی من",
    "ده\u200c",
    "ده\u200c من",
    "۱۴۰۲ ه\u200d.ق",
    "م\u064f\u200cم",
    "മോഹന\u0d4d\u200d",
    "മോഹന\u0d4d\u200d നായര\u0d4d\u200d",
    "രാജന\u0d4d\u200d.",
    "র\u200d\u09cdয",
    "ರ\u200d\u0ccdಯ",
    "ශ\u0dca\u200dරී ලංකා",
    "वाक\u094d\u200c",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f Team",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f!",
    "🏴\u200d☠\ufe0f",
    "🇦🇹",
    "1\ufe0f\u20e3",
    "🙂\u200d↔\ufe0f",
    "🧑\u200d🐦\u200d⬛",
    "👨\u200d👩\u200d👧\u200d👦",
    "🧑\u200d\U0001faff",
    *(f"{sign}١" for sign in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2"),
    "\U000110bd१",
    "\U000110cd१",
    "\u070fܐܒ",
]
BLANK = [
    "",
    " ",
    "\u00a0",
    "\u3000",
    "\u0301",
    "\u0301\u0302",
    "\u115f",
    "\u3164",
    "\u2800",
    "\ufe0f",
    "\u034f",
    "\u0600",
]
HIDING = [
    *("\u200b", "\u200d", "\u200d\u200d", "\ufeff", "\u2060", "\u00ad", "\u180e", "\U000e0041", "\u2028"),
    *(
        "a\u200bb",
        "Ada\u200d",
        "\u200dAda",
        "A\u200dda",
        "A\u200cda",
        "\u202eadA",
        "a\u2066b\u2069",
        "a\u200f",
    ),
    *("a\nb", "a\tb", "a\x00", "\x7f", "\x9b1m", "\x1b[31mred", "\ud800", "a\u061c", "a\ufff9b"),
    *(
        "ad\u200cmin",
        "ad\u200dmin",
        "аd\u200cмин",
        "α\u200cβ",
        "1\u200c2",
        "«\u200c»",
        "^\u200d^",
        "ᴬ\u200cᴰ",
    ),
    *("研\u200d究", "한\u200c글", "ꓮ\u200cꓓ", "∑\u200d∏"),
    *("e\u0301\u200ca", "e\u0301\u200c\u0301", "a\ufe0f\u200db", "a\u064e\u200cb", "a\u200c\ufe0f"),
    *("ه\u200c\u200cه", "ه\u200d\u200cه", "API\u200c\u200cها", "👨\u200d\u200d👩", "ه\u200c\u200e\u200cه"),
    *(
        "\u200cه",
        "من \u200cه",
        "\u094d\u200dक",
        "\u200d👩",
        "👩\u200d",
        "👩\u200d a",
        "👩\u200da",
        "🇦🇹\u200d",
    ),
    *(
        "\U0001f3f4\U000e0067\U000e0062",
        "\U0001f3f4\U000e007f",
        "\U0001f3f4a\U000e0067\U000e0062\U000e0065\U000e007f",
    ),
    "\U0001f3f4" + "\U000e0061" * 7 + "\U000e007f",
    "🙂\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    *("ad\u070fmin", "\u070f", "ܐ\u070f"),
]


@pytest.mark.parametrize("name", GOOD)
def test_a_name_that_can_be_seen_is_taken(name: str) -> None:
    """C2: of any script, with the joiners that scripts and emoji are spelled with; blanks around it go."""
    assert name_problem(name) is None
    assert checked_name(f" {name}\u3000") == name
    assert seen(name) == name


@pytest.mark.parametrize("name", BLANK)
def test_a_name_that_shows_nothing_is_refused(name: str) -> None:
    """C2: blanks, marks without a letter, and letters that are blank."""
    assert name_problem(name) == "it must have something to see, not only blanks"
    assert seen(name) == ""


@pytest.mark.parametrize("name", HIDING)
def test_a_name_that_hides_or_turns_around_is_refused(name: str) -> None:
    """S14: nobody can be named like somebody else by what is not seen."""
    assert "invisible character U+" in (name_problem(name) or "")
    with pytest.raises(UserError, match="invalid_name"):
        checked_name(name)
    assert name_problem(seen(f"x{name}x")) is None
    assert name_problem(seen(f"{name} x")) is None
