"""Documents: begun, written chunk by chunk, given to ingestion; listed, read, deleted step by step."""

from collections.abc import Iterable, Sequence

import msgspec

from agio.core.document import (
    INGESTION,
    SITE,
    Added,
    DocumentPassage,
    DocumentRecord,
    NewVersion,
    OutlineEntry,
    VersionRecord,
    VersionState,
    passage_id,
)
from agio.core.store.jobs import NewJob
from agio.core.store.records import Page
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.documents.collections import collection_to_change
from agio.db.plans.jobs.jobs import add_job
from agio.db.records import now_ms
from agio.db.refusals import document_not_found
from agio.db.rows import Columns, as_row, to_struct
from agio.errors import LimitExceeded
from agio.protocol.ids import new_id

MAX_DOCUMENTS = 100_000
"""The most documents of a tenant."""
_KEPT: frozenset[VersionState] = frozenset({"waiting", "extracting", "indexing", "published"})
"""The states of a version whose bytes are not added again."""
_IN_STEP = 500
"""How many passages one commit removes."""


class _DocumentRow(Columns, frozen=True):
    """`document_columns`."""

    id: str
    tenant: str
    collection_id: str
    name: str
    source: str
    url: str | None
    created_by: str
    created_at: int
    updated_at: int


def begin_version(
    tenant: str, user: str, new: NewVersion, *, team: bool = False
) -> Plan[tuple[str, str | None]]:
    """Begin a version. Returns the document's id and the version's; no version if its newest has these bytes."""
    yield from ask("lock_tenant", tenant=tenant)
    yield from collection_to_change(tenant, user, new.collection_id, team=team)
    who = {"tenant": tenant, "user_id": user}
    place = {"collection_id": new.collection_id, "name": new.name}
    row = yield from ask_one("document_by_name", tenant=tenant, **place)
    now = now_ms()
    number = 1
    if row is None:
        count = msgspec.convert((yield from ask("count_documents", tenant=tenant))[0][0], int)
        if count >= MAX_DOCUMENTS:
            raise LimitExceeded(
                "too_many_documents",
                f"A team may have {MAX_DOCUMENTS} documents. Delete some first.",
                {"documents": MAX_DOCUMENTS},
            )
        document_id = new_id("doc")
        yield from ask(
            "add_document", document_id=document_id, source=new.source, url=new.url, now=now, **place, **who
        )
    else:
        document_id = as_row(_DocumentRow, row).id
        newest = yield from ask_one("newest_version", tenant=tenant, document_id=document_id)
        if newest is not None:
            known = to_struct(VersionRecord, newest)
            number = known.number + 1
            if known.digest == new.digest and known.state in _KEPT:
                return document_id, None
        yield from ask(
            "touch_document",
            tenant=tenant,
            document_id=document_id,
            source=new.source,
            url=new.url,
            now=now,
        )
    version_id = new_id("ver")
    yield from ask(
        "begin_version",
        version_id=version_id,
        document_id=document_id,
        number=number,
        format=new.format,
        media_type=new.media_type,
        size=new.size,
        digest=new.digest,
        now=now,
        **who,
    )
    return document_id, version_id


def add_chunks(version_id: str, first: int, chunks: Iterable[bytes]) -> Plan[None]:
    """Write the next chunks of a version."""
    for idx, chunk in enumerate(chunks, first):
        yield from ask("add_document_chunk", version_id=version_id, idx=idx, data=chunk)


def finish_version(
    tenant: str, user: str, document_id: str, version_id: str, first: int, chunks: Iterable[bytes]
) -> Plan[Added]:
    """Write the last chunks and add the job that ingests the version, in one commit.

    Raises UserError `document_not_found` if it was deleted meanwhile.
    """
    yield from add_chunks(version_id, first, chunks)
    if (yield from ask_one("finish_version", version_id=version_id)) is None:
        raise document_not_found(document_id)
    yield from add_job(NewJob(kind=INGESTION, key=version_id, tenant=tenant))
    return Added((yield from get_document(tenant, user, document_id)), is_new=True)


def add_site(
    tenant: str, user: str, collection_id: str, url: str, limit: int, *, team: bool = False
) -> Plan[str]:
    """Add the job that reads a sitemap. Returns its key."""
    yield from collection_to_change(tenant, user, collection_id, team=team)
    key = new_id("site")
    given = {"collection_id": collection_id, "user": user, "url": url, "limit": limit}
    yield from add_job(NewJob(kind=SITE, key=key, tenant=tenant, payload=msgspec.json.encode(given)))
    return key


def list_documents(
    tenant: str, user: str, collection_id: str | None, *, after: str | None = None, limit: int = 50
) -> Plan[Page[DocumentRecord]]:
    """The documents that a user may see, by name. Raises UserError `invalid_cursor`."""
    name, document_id = ("", "") if after is None else read_cursor(after, tuple[str, str])
    rows = yield from ask(
        "list_documents",
        tenant=tenant,
        user_id=user,
        collection_id=collection_id,
        name=name,
        document_id=document_id,
        limit=page_size(limit) + 1,
    )
    found = yield from with_versions(tenant, rows)
    return page_of(found, limit, lambda each: each, lambda each: [each.name, each.id])


def get_document(tenant: str, user: str, document_id: str) -> Plan[DocumentRecord]:
    """Raises UserError `document_not_found`."""
    row = yield from ask_one("get_document", tenant=tenant, user_id=user, document_id=document_id)
    if row is None:
        raise document_not_found(document_id)
    return (yield from with_versions(tenant, [row]))[0]


def list_versions(tenant: str, user: str, document_id: str) -> Plan[list[VersionRecord]]:
    """The versions of a document, newest first. Raises UserError `document_not_found`."""
    yield from get_document(tenant, user, document_id)
    rows = yield from ask("list_document_versions", tenant=tenant, document_id=document_id)
    return [to_struct(VersionRecord, row) for row in rows]


def read_document_bytes(
    tenant: str, user: str, document_id: str, version_id: str, idx: int
) -> Plan[bytes | None]:
    """A chunk of a version's bytes; None after the last."""
    yield from get_document(tenant, user, document_id)
    place = {"tenant": tenant, "document_id": document_id, "version_id": version_id}
    row = yield from ask_one("read_document_chunk", idx=idx, **place)
    return None if row is None else msgspec.convert(row[0], bytes)


def read_passages(
    tenant: str, user: str, document_id: str, version_id: str, first: int, limit: int
) -> Plan[list[DocumentPassage]]:
    """Passages of a version in their order, from one on."""
    yield from get_document(tenant, user, document_id)
    place = {"tenant": tenant, "document_id": document_id, "version_id": version_id}
    rows = yield from ask("read_passages", idx=first, limit=limit, **place)
    return [passage_of(row) for row in rows]


def outline(
    tenant: str, user: str, document_id: str, version_id: str, limit: int
) -> Plan[list[OutlineEntry]]:
    """The headings of a version in their order."""
    yield from get_document(tenant, user, document_id)
    place = {"tenant": tenant, "document_id": document_id, "version_id": version_id}
    rows = yield from ask("outline", limit=limit, **place)
    return [to_struct(OutlineEntry, row) for row in rows]


def cancel_ingestion(tenant: str, user: str, document_id: str, *, team: bool = False) -> Plan[DocumentRecord]:
    """Cancel what is being ingested. Raises UserError `document_not_found`, `forbidden`."""
    document = yield from get_document(tenant, user, document_id)
    yield from collection_to_change(tenant, user, document.collection_id, team=team)
    yield from ask("cancel_versions", tenant=tenant, document_id=document_id, now=now_ms())
    return (yield from get_document(tenant, user, document_id))


# Deletion: hidden at once, then removed in short commits.


def hide_document(tenant: str, user: str, document_id: str, *, team: bool = False) -> Plan[None]:
    """The first step of a deletion: nothing finds the document after it, and its ingestion stops."""
    document = yield from get_document(tenant, user, document_id)
    yield from collection_to_change(tenant, user, document.collection_id, team=team)
    yield from hide(tenant, document_id)


def hide(tenant: str, document_id: str) -> Plan[None]:
    """Hide a document and stop its ingestion."""
    yield from ask("hide_document", tenant=tenant, document_id=document_id, now=now_ms())
    yield from ask("cancel_versions", tenant=tenant, document_id=document_id, now=now_ms())


def versions_of(tenant: str, document_id: str) -> Plan[list[str]]:
    """The ids of a document's versions."""
    rows = yield from ask("versions_of_document", tenant=tenant, document_id=document_id)
    return [str(row[0]) for row in rows]


def drop_indexed(tenant: str, version_id: str) -> Plan[bool]:
    """Remove some passages of a version from the index, the last first. Returns whether there are more."""
    bounds = {"tenant": tenant, "first": f"{version_id}/", "upto": f"{version_id}0"}
    found = (yield from ask("last_indexed", **bounds))[0][0]
    if found is None:
        return False
    first = max(int(str(found).rpartition("/")[2]) - _IN_STEP + 1, 0)
    yield from ask("drop_indexed", **{**bounds, "first": passage_id(version_id, first)})
    return True


def drop_passages(tenant: str, version_id: str) -> Plan[bool]:
    """Remove some passages of a version, the last first. Returns whether there are more."""
    version = {"tenant": tenant, "version_id": version_id}
    end = (yield from ask("last_passage", **version))[0][0]
    if end is None:
        return False
    upto = msgspec.convert(end, int)
    yield from ask("drop_document_passages", first=max(upto - _IN_STEP, 0), upto=upto, **version)
    return True


def drop_document(tenant: str, document_id: str) -> Plan[None]:
    """The last step of a deletion."""
    yield from ask("drop_document", tenant=tenant, document_id=document_id)


def drop_version(tenant: str, document_id: str, version_id: str) -> Plan[None]:
    """Remove a version that was not received whole, and its document if it has no other."""
    yield from ask("drop_version", tenant=tenant, version_id=version_id)
    yield from ask("forget_empty_document", tenant=tenant, document_id=document_id)


class Leftover(Columns, frozen=True):
    """What a deletion or an upload that broke off left."""

    id: str
    tenant: str
    document_id: str


def left_behind(before: int, limit: int) -> Plan[tuple[list[Leftover], list[Leftover], list[Leftover]]]:
    """Documents, collections and versions that a deletion or an upload left."""
    documents = yield from ask("deleted_documents", before=before, limit=limit)
    collections = yield from ask("deleted_collections", before=before, limit=limit)
    versions = yield from ask("unfinished_versions", before=before, limit=limit)
    hidden, emptied, unfinished = (
        [as_row(Leftover, row) for row in rows] for rows in (documents, collections, versions)
    )
    return hidden, emptied, unfinished


def passage_of(row: Sequence[object]) -> DocumentPassage:
    """A row of `passage_columns`, with its number if it is selected."""
    names = DocumentPassage.__struct_fields__[: len(row)]
    return msgspec.convert(dict(zip(names, row, strict=True)), DocumentPassage)


def with_versions(tenant: str, rows: Sequence[Row]) -> Plan[list[DocumentRecord]]:
    """Rows of `document_columns` with their versions."""
    documents = [as_row(_DocumentRow, row) for row in rows]
    if not documents:
        return []
    found = yield from ask("versions_of_documents", tenant=tenant, ids=[each.id for each in documents])
    published: dict[str, VersionRecord] = {}
    newest: dict[str, VersionRecord] = {}
    for *fields, pointer in found:
        version = to_struct(VersionRecord, fields)
        if version.id == pointer:
            published[version.document_id] = version
        known = newest.get(version.document_id)
        if known is None or known.number < version.number:
            newest[version.document_id] = version
    return [_record(each, published.get(each.id), newest.get(each.id)) for each in documents]


def _record(row: _DocumentRow, version: VersionRecord | None, newest: VersionRecord | None) -> DocumentRecord:
    values = {**msgspec.structs.asdict(row), "version": version, "newest": newest}
    return msgspec.convert(values, DocumentRecord)
