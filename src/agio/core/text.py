"""Text: cleaned for models, measured without a tokenizer, cut between grapheme clusters."""

import re

_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(text: str) -> str:
    """Remove control characters and lone surrogates, which some services refuse."""
    return _UNWANTED.sub("", text)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its UTF-8 bytes, rounded up."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def grapheme_at(text: str, at: int) -> tuple[int, int]:
    """Return the start and end of the grapheme cluster around a position; at a boundary both equal the position.

    A cluster is one user-perceived character: a letter with its marks, an emoji sequence, a flag.
    """
    import regex

    for cluster in regex.finditer(r"\X", text):
        if cluster.end() >= at:
            return (at, at) if at in cluster.span() else cluster.span()
    return at, at
