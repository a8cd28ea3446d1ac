"""Text on its way to a model: cleaned, and measured without a tokenizer."""

import re

_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(text: str) -> str:
    """Remove control characters and broken surrogates, which no model needs and some services refuse."""
    return _UNWANTED.sub("", text)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its UTF-8 bytes, rounded up."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
