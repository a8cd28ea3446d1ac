"""The place of a search in a text: what is shown of it, and where it is cut."""

import sys

import pytest

from agio.db.search.excerpt import excerpt
from agio.db.search.message_text import fold_case, said


def test_folding_keeps_the_length_of_every_character() -> None:
    """C5: a place in the folded text is the same place in the text."""
    assert [code for code in range(sys.maxunicode + 1) if len(fold_case(chr(code))) != 1] == []
    assert fold_case("İÄΣ\0 ẞ") == "iä\u03c3\ufffd ß"


def test_an_excerpt_begins_and_ends_with_whole_words() -> None:
    """C5: about 120 characters, with dots where there is more."""
    text = "word " * 60 + "here" + " word" * 60
    cut = excerpt(text, 300, 4)
    assert cut.match == "here"
    assert cut.before == "…" + "word " * 7
    assert cut.after == " word" * 16 + "…"
    assert len(cut.before + cut.match + cut.after) <= 122


def test_what_fits_is_shown_whole() -> None:
    """C5: on one line, and with dots only if there is more than was given."""
    cut = excerpt("  \n Say\n\nit ", 7, 4)
    assert (cut.before, cut.match, cut.after) == ("Say", " it", " ")
    cut = excerpt("a b c", 2, 1, goes_on=(True, True))
    assert (cut.before, cut.match, cut.after) == ("…a ", "b", " c…")


@pytest.mark.parametrize(
    "character", ["e\u0301", "👩🏽‍🚀", "🇩🇪", "🏴\U000e0067\U000e0062\U000e007f", "❤️", "\u1112\u1161\u11ab"]
)
def test_no_character_is_cut_through(character: str) -> None:
    """C5: neither by the ends nor by the match."""
    text = character * 80
    for start in range(len(text) - 3):
        cut = excerpt(text, start, 1)
        for part in (cut.before.lstrip("…"), cut.match, cut.after.rstrip("…")):
            assert part == character * (len(part) // len(character)), (start, part)
        assert cut.match == character


def test_long_words_leave_the_match_where_it_is_seen() -> None:
    """C5: a text without spaces is cut between its characters."""
    cut = excerpt("x" * 190 + "Y" + "x" * 190, 190, 1)
    assert (len(cut.before), cut.match, len(cut.after)) == (37, "Y", 83)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (b'{"content":"a\\u0000b"}', "a\ufffdb"),
        (b'{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}', "a\nb"),
        (b"{}", ""),
        (b'{"content":{"a":1}}', None),
        (b"nonsense", None),
        (None, None),
    ],
)
def test_only_the_text_of_a_message_is_searched(message: bytes | None, text: str | None) -> None:
    """C5: what has none is passed over."""
    assert said(message) == text
