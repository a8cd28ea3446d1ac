"""Searches published documents, and numbers the passages that a session's answers may cite."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from agio.core.document import MAX_FOUND, DocumentPassage, DocumentRecord, Library
from agio.core.passage import PassageQuery
from agio.db.plan import Plan, ask
from agio.db.plans.documents.collections import visible_collections
from agio.db.plans.documents.documents import passage_of, with_versions
from agio.db.plans.memories.passages import CANDIDATES, find_passages, place_of
from agio.db.rows import Columns, as_row


class _NumberRow(Columns, frozen=True):
    """`numbers_of_passages`."""

    passage_id: str
    number: int


def document_place(collection_id: str) -> str:
    """The place of a collection's passages in the index."""
    return place_of("documents", collection_id)


def find_documents(
    tenant: str, user: str, collection_ids: Sequence[str], query: PassageQuery
) -> Plan[list[DocumentPassage]]:
    """The passages of published versions that fit, best first.

    The index also has passages of versions that are being ingested or replaced: they are dropped here.
    """
    seen = yield from visible_collections(tenant, user, collection_ids)
    if not seen:
        return []
    wider = structs.replace(query, limit=2 * CANDIDATES)
    found = yield from find_passages(tenant, [document_place(each) for each in seen], wider)
    if not found:
        return []
    rows = yield from ask("found_passages", tenant=tenant, user_id=user, ids=[each.item_id for each in found])
    passages = {passage.id: passage for passage in map(passage_of, rows)}
    limit = max(1, min(query.limit, MAX_FOUND))
    kept = [each for each in found if each.item_id in passages][:limit]
    return [structs.replace(passages[each.item_id], score=each.score) for each in kept]


def library(tenant: str, user: str, collection_ids: Sequence[str]) -> Plan[Library]:
    """How much the published versions of collections hold."""
    rows = yield from ask("size_of_library", tenant=tenant, user_id=user, ids=list(collection_ids))
    documents, tokens = rows[0]
    return Library(msgspec.convert(documents, int), msgspec.convert(tokens, int))


def whole_library(tenant: str, user: str, collection_ids: Sequence[str]) -> Plan[list[DocumentPassage]]:
    """Every passage of the published versions of collections."""
    rows = yield from ask("whole_library", tenant=tenant, user_id=user, ids=list(collection_ids))
    return [passage_of(row) for row in rows]


def library_documents(
    tenant: str, user: str, collection_ids: Sequence[str], limit: int
) -> Plan[list[DocumentRecord]]:
    """The published documents of collections, by name."""
    rows = yield from ask(
        "library_documents", tenant=tenant, user_id=user, ids=list(collection_ids), limit=limit
    )
    return (yield from with_versions(tenant, rows))


def number_passages(
    tenant: str, session_id: str, run_id: str, passages: Sequence[DocumentPassage]
) -> Plan[list[DocumentPassage]]:
    """Give passages their numbers in a session; those whose version was deleted meanwhile are left out.

    With `run_id` they are what the run begins with.
    """
    if not passages:
        return []
    yield from ask("lock_owner", session_id=session_id)
    place = {"tenant": tenant, "session_id": session_id}
    ids = [passage.id for passage in passages]
    numbers = yield from _numbers(tenant, session_id, ids)
    last = msgspec.convert((yield from ask("newest_number", **place))[0][0], int)
    for each in dict.fromkeys(ids):
        if each not in numbers:
            last += 1
            yield from ask("number_passage", number=last, passage_id=each, **place)
    numbers = yield from _numbers(tenant, session_id, ids)
    if run_id:
        for number in sorted(numbers.values()):
            yield from ask("begin_with_passage", run_id=run_id, number=number, **place)
    return [
        structs.replace(passage, number=numbers[passage.id]) for passage in passages if passage.id in numbers
    ]


def passages_of_run(run_id: str) -> Plan[list[DocumentPassage]]:
    """The passages that a run began with."""
    return [passage_of(row) for row in (yield from ask("passages_of_run", run_id=run_id))]


def _numbers(tenant: str, session_id: str, ids: Sequence[str]) -> Plan[dict[str, int]]:
    rows = yield from ask("numbers_of_passages", tenant=tenant, session_id=session_id, ids=list(ids))
    return {each.passage_id: each.number for each in (as_row(_NumberRow, row) for row in rows)}
