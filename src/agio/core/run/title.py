"""The title of a run or a session: the beginning of the user's message."""

from collections.abc import Iterable

from agio.core.name import seen
from agio.core.text import grapheme_at
from agio.protocol.messages import Message, UserMessage, text_of

TITLE_CHARS = 80


def title_of(messages: Iterable[Message]) -> str:
    """Return the start of the newest user message, as a title in lists of runs."""
    texts = [text_of(message.content) for message in messages if isinstance(message, UserMessage)]
    return _beginning(seen(" ".join(texts[-1].split())[: 4 * TITLE_CHARS])) if texts else ""


def _beginning(text: str) -> str:
    """Cut text to TITLE_CHARS at the end of a word, or inside a word if less than half would remain."""
    if len(text) <= TITLE_CHARS:
        return text
    cut = text[: TITLE_CHARS - 1]
    if text[len(cut)] != " ":
        end = cut.rfind(" ")
        cut = cut[:end] if end >= TITLE_CHARS // 2 else cut[: grapheme_at(text, len(cut))[0]] or cut
    return seen(cut) + "…"
