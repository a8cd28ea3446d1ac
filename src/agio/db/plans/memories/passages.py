"""The index of passages: put a text in a place, search places."""

import hashlib
from collections.abc import Sequence

from agio.core.passage import FoundPassage, Passage, PassageQuery, PassageToEmbed
from agio.db.plan import Plan, ask
from agio.db.rows import Columns, as_row, to_struct
from agio.db.search.ranking import Candidate, Ranking, by_words, fuse, in_order, word_weights
from agio.db.search.stems import stems_of
from agio.db.search.times import span_of

CANDIDATES = 200
"""How many passages each way of searching contributes."""
_MAX_WORDS = 32


class _WordRow(Columns, frozen=True):
    """`find_words`: a passage (`number`), or how many passages have a word (`number` 0)."""

    number: int
    item: str
    at: int
    stems: str


def place_of(*names: str | None) -> str:
    """The place of texts that belong together: a word that no text has."""
    said = "\0".join("" if name is None else f"={name}" for name in names)
    return "_" + hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def put_passage(tenant: str, passage: Passage) -> Plan[None]:
    """Add a text, or replace it. One without words is found by time and meaning."""
    yield from ask(
        "put_passage",
        tenant=tenant,
        place=passage.place,
        kind=passage.kind,
        item_id=passage.item_id,
        at=passage.at,
        text=passage.text,
        stems=" ".join(stems_of(passage.text)),
    )


def put_passages(tenant: str, passages: Sequence[Passage]) -> Plan[None]:
    """Add texts, or replace them."""
    for passage in passages:
        yield from put_passage(tenant, passage)


def passages_to_embed(model: str, after: int, limit: int) -> Plan[list[PassageToEmbed]]:
    """Passages after one that have no vector of this model."""
    rows = yield from ask("passages_to_embed", model=model, after=after, limit=limit)
    return [to_struct(PassageToEmbed, row) for row in rows]


def put_vectors(model: str, vectors: Sequence[tuple[PassageToEmbed, Sequence[float]]]) -> Plan[None]:
    """Set the vectors of passages that are as they were."""
    for passage, vector in vectors:
        given = {"number": passage.number, "model": model}
        yield from ask("put_vector", size=len(vector), vector=list(vector), **given)
        yield from ask("mark_embedded", text=passage.text, **given)


def find_passages(tenant: str, places: Sequence[str], query: PassageQuery) -> Plan[list[FoundPassage]]:
    """Search places: by words, by time and by meaning, fused. Best first."""
    where = {"tenant": tenant, "places": list(places)}
    rankings = [(yield from _find_words(tenant, places, query.text))]
    if (span := span_of(query.text, query.now)) is not None:
        rows = yield from ask("find_times", since=span[0], until=span[1], limit=CANDIDATES // 4, **where)
        rankings.append(in_order([_candidate(as_row(_WordRow, row)) for row in rows]))
    if query.vector is not None:
        rows = yield from ask(
            "find_vectors",
            model=query.model,
            size=len(query.vector),
            vector=list(query.vector),
            limit=CANDIDATES // 4,
            **where,
        )
        rankings.append(in_order([_candidate(as_row(_WordRow, row)) for row in rows]))
    return [FoundPassage(each.item_id, score) for each, score in fuse(rankings)[: query.limit]]


def _find_words(tenant: str, places: Sequence[str], text: str) -> Plan[Ranking]:
    words = stems_of(text)
    asked = list(dict.fromkeys(words))[:_MAX_WORDS]
    if not asked:
        return []
    total = (yield from ask("count_passages", tenant=tenant, places=list(places)))[0][0]
    rows = yield from ask(
        "find_words",
        tenant=tenant,
        words=asked,
        places=list(places),
        total=total,
        limit=CANDIDATES,
    )
    found = [as_row(_WordRow, row) for row in rows]
    counts = {row.item: row.at for row in found if not row.number}
    weights = word_weights(counts, int(str(total)))
    return by_words([_candidate(row) for row in found if row.number], words, weights)


def _candidate(row: _WordRow) -> Candidate:
    return Candidate(row.number, row.item, row.at, row.stems)
