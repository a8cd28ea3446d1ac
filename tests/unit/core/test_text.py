"""Where text is cut."""

import pytest

from agio.core.run.title import TITLE_CHARS, title_of
from agio.core.text import grapheme_at
from agio.protocol.messages import UserMessage

CLUSTERS = ["e\u0301", "👩🏽\u200d🚀", "🇩🇪", "❤\ufe0f", "\u1112\u1161\u11ab"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_title_ends_with_a_whole_character(cluster: str) -> None:
    """C5: a letter with its marks, an emoji and a flag are cut off whole."""
    for shift in range(len(cluster)):
        title = title_of([UserMessage(id="m", content="x" * shift + cluster * TITLE_CHARS)])
        kept = title.removesuffix("…")[shift:]
        assert kept == cluster * (len(kept) // len(cluster))
        assert TITLE_CHARS - len(cluster) - 1 < len(title) <= TITLE_CHARS


def test_a_boundary_is_where_it_is() -> None:
    """C5: also at both ends of a text, and of none."""
    assert [grapheme_at("a🇩🇪b", at) for at in range(5)] == [(0, 0), (1, 1), (1, 3), (3, 3), (4, 4)]
    assert grapheme_at("", 0) == (0, 0)
