"""What a name may be made of."""

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
        checked_name(f"x{name}x")
    assert name_problem(seen(f"x{name}x")) is None
