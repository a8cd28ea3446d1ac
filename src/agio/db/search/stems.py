"""The words of a text as the index has them: folded, stemmed, without words that are in every text.

Indexed text and search go through the same function, on both databases.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Protocol, cast

_WORD = re.compile(r"(?P<date>\d{4}-\d\d-\d\d)|\d+(?:[.,]\d+)+|[^\W_]+(?:['\u2019][^\W_]+)?")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts that are written without spaces, and Korean, whose words take endings: indexed by pairs of characters."""
_MAX_STEMS = 20_000
_MAX_STEM_CHARS = 40
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
}
_SAME = {
    "no": "not", "never": "not", "cannot": "not", "without": "not", "nor": "not", "none": "not", "jan": "january",
    "feb": "february", "apr": "april", "jun": "june", "jul": "july", "aug": "august", "sep": "september",
    "sept": "september", "oct": "october", "nov": "november", "dec": "december",
}  # fmt: skip
_COMMON = frozenset({
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "did", "do", "does", "doing", "for", "from", "had", "has", "have", "having", "he", "her",
    "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "me", "my", "of",
    "on", "or", "our", "ours", "out", "own", "she", "should", "so", "some", "such", "than", "that", "the",
    "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us", "very",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "you", "your", "yours", "s", "t", "d", "ll", "re", "ve", "m", "let", "please", "tell",
    "user", "person"
})  # fmt: skip
"""Words that say nothing of what a text is about. Negations and time words are not among them."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 (its name)


class _Stemmers(Protocol):
    def stemmer(self, lang: str) -> _Stemmer: ...


_stemmer = cast("_Stemmers", import_module("snowballstemmer")).stemmer("english")


def stems_of(text: str) -> list[str]:
    """Return the stems of a text, in its order."""
    found: list[str] = []
    for stem in _stems(_folded(text)):
        found.append(stem[:_MAX_STEM_CHARS])
        if len(found) >= _MAX_STEMS:
            break
    return found


def _folded(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(char for char in parts if unicodedata.category(char) != "Mn"))


def _stems(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0]
        if match["date"]:
            year, month, day = word.split("-")
            yield year
            if 1 <= int(month) <= 12:
                yield _stem(MONTHS[int(month) - 1])
            yield day.lstrip("0") or "0"
        elif word[0].isdigit():
            ordinal = _ORDINAL.fullmatch(word)
            yield ordinal[1] if ordinal else re.sub(r"[.,]", "", word)
        elif _UNSPACED.search(word):
            yield from _pairs(word)
        else:
            yield from _plain(word)


def _plain(word: str) -> Iterator[str]:
    stem, _, ending = word.replace("\u2019", "'").partition("'")
    if ending == "t" and stem.endswith("n"):
        yield "not"
        stem = stem[:-1]
    stem = _SAME.get(stem, _NUMBERS.get(stem, stem))
    if stem and stem not in _COMMON:
        yield _stem(stem)


def _pairs(word: str) -> Iterator[str]:
    if len(word) == 1:
        yield word
    for at in range(len(word) - 1):
        yield word[at : at + 2]


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return _stemmer.stemWord(word)
