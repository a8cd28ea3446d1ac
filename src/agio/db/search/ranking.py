"""Ranks found passages: by their words (BM25), and several rankings fused into one (reciprocal rank fusion)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

_K1 = 1.2
_B = 0.4
_NEXT_TO = 0.25
"""What two words of the search that stand together add, as a share of their weights."""
_RANK_OFFSET = 60


Ranking: TypeAlias = "Sequence[tuple[Candidate, int]]"
"""Candidates with their places, from 0, best first."""


class Candidate(Struct, frozen=True):
    """A passage that has a word of the search, or is near it in time or meaning."""

    number: int
    item_id: str
    at: int
    stems: str


def word_weights(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Return how much each word says: the fewer passages have it, the more."""
    return {word: math.log(1 + (max(total - n, 0) + 0.5) / (n + 0.5)) for word, n in counts.items()}


def by_words(candidates: Sequence[Candidate], words: Sequence[str], weights: Mapping[str, float]) -> Ranking:
    """Rank candidates by the words that they share with a search, best first. Equal ones share a place."""
    if not candidates:
        return []
    texts = {each.number: each.stems.split(" ") for each in candidates}
    average = sum(map(len, texts.values())) / len(texts)
    pairs = {*pairwise(words)}
    asked = Counter(words)

    def score(each: Candidate) -> float:
        text = texts[each.number]
        length = _K1 * (1 - _B + _B * len(text) / average)
        has = Counter(word for word in text if word in weights)
        found = sum(
            min(asked[word], 2) * weights[word] * n * (_K1 + 1) / (n + length) for word, n in has.items()
        )
        together = {pair for pair in pairwise(text) if pair in pairs}
        return found + _NEXT_TO * sum(weights.get(a, 0) + weights.get(b, 0) for a, b in together)

    scored = sorted(
        ((score(each), each) for each in candidates), key=lambda one: (-one[0], -one[1].at, one[1].number)
    )
    ranking: list[tuple[Candidate, int]] = []
    for place, (value, each) in enumerate(scored):
        same = place > 0 and math.isclose(value, scored[place - 1][0])
        ranking.append((each, ranking[-1][1] if same else place))
    return ranking


def in_order(candidates: Sequence[Candidate]) -> Ranking:
    """Rank candidates in their order."""
    return [(each, place) for place, each in enumerate(candidates)]


def fuse(rankings: Iterable[Ranking]) -> list[tuple[Candidate, float]]:
    """Fuse rankings over their union: what several rank high comes first. Returns scores between 0 and 1."""
    found: dict[int, Candidate] = {}
    scores: Counter[int] = Counter()
    given = [ranking for ranking in rankings if ranking]
    for ranking in given:
        for each, place in ranking:
            found[each.number] = each
            scores[each.number] += (_RANK_OFFSET + 1) / (_RANK_OFFSET + 1 + place) / len(given)  # pyright: ignore[reportArgumentType]
    return [
        (found[number], score) for number, score in sorted(scores.items(), key=lambda one: (-one[1], -one[0]))
    ]
