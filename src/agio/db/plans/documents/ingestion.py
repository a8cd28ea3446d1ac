"""Ingestion: progress, passages, and the switch that publishes a version as a whole."""

from collections.abc import Iterable, Sequence

import msgspec

from agio.core.document import (
    Counts,
    Format,
    Ingestion,
    PassageFields,
    VersionState,
    passage_id,
)
from agio.core.passage import Passage
from agio.core.store.jobs import Completion
from agio.db.plan import Each, Plan, ask, ask_one
from agio.db.plans.documents.documents import add_chunks
from agio.db.plans.documents.search import document_place
from agio.db.plans.jobs.jobs import finish_job
from agio.db.plans.memories.passages import put_passage
from agio.db.records import now_ms

_ENDED: frozenset[VersionState] = frozenset({"superseded", "failed", "cancelled", "receiving"})


def version_to_ingest(version_id: str) -> Plan[Ingestion | None]:
    """What to ingest; None if nothing remains to do."""
    row = yield from ask_one("version_to_ingest", version_id=version_id)
    if row is None:
        return None
    names = Ingestion.__struct_fields__
    values: dict[str, object] = dict(zip(names, row, strict=False))
    if values["state"] in _ENDED:
        return None
    return msgspec.convert(values, Ingestion)


def read_version_chunk(version_id: str, tenant: str, document_id: str, idx: int) -> Plan[bytes | None]:
    """A chunk of the version that a job ingests; None after the last."""
    row = yield from ask_one(
        "read_document_chunk", version_id=version_id, tenant=tenant, document_id=document_id, idx=idx
    )
    return None if row is None else msgspec.convert(row[0], bytes)


def put_version_bytes(
    version_id: str, media_type: str, given_format: Format, digest: bytes, chunks: Iterable[bytes]
) -> Plan[bool]:
    """Set the bytes of a version that was fetched. False: the published version has the same, or it ended."""
    published = yield from ask_one("published_digest", version_id=version_id)
    if published is not None and published[0] == digest:
        return False
    given = list(chunks)
    changed = yield from ask_one(
        "set_version_content",
        version_id=version_id,
        media_type=media_type,
        format=given_format,
        digest=digest,
        size=sum(map(len, given)),
    )
    if changed is None:
        return False
    yield from ask("clear_chunks", version_id=version_id)
    yield from add_chunks(version_id, 0, given)
    return True


def note_progress(version_id: str, state: VersionState, done: int, pages: int | None) -> Plan[bool]:
    """Record how far a version is. False: it was cancelled or deleted."""
    noted = yield from ask_one("note_progress", version_id=version_id, state=state, done=done, pages=pages)
    return noted is not None


def put_document_passages(version: Ingestion, passages: Sequence[PassageFields], at: int) -> Plan[bool]:
    """Add passages to a version and the index. False: it was cancelled or deleted, and nothing was added.

    The change of the version's row comes first: a deletion waits for it, or is seen by it.
    """
    if not passages:
        return True
    done = passages[-1].idx + 1
    noted = yield from ask_one(
        "note_progress", version_id=version.version_id, state="indexing", done=done, pages=None
    )
    if noted is None:
        return False
    yield Each(
        "add_document_passage",
        [
            {
                "id": passage_id(version.version_id, each.idx),
                "tenant": version.tenant,
                "version_id": version.version_id,
                "idx": each.idx,
                "text": each.text,
                "start_at": each.start,
                "end_at": each.end,
                "page": each.page,
                "line": each.line,
                "heading": each.heading,
            }
            for each in passages
        ],
    )
    place = document_place(version.collection_id)
    for each in passages:
        text = f"{version.name} {each.heading}\n{each.text}"
        passage = Passage(
            place=place,
            kind="document",
            item_id=passage_id(version.version_id, each.idx),
            text=text,
            at=at,
        )
        yield from put_passage(version.tenant, passage)
    return True


def publish_version(version_id: str, counts: Counts) -> Plan[bool]:
    """Make a version the one that is found, unless a newer one is. False: it was cancelled or deleted."""
    now = now_ms()
    published = yield from ask_one(
        "publish_version", version_id=version_id, now=now, **msgspec.structs.asdict(counts)
    )
    if published is None:
        return False
    document_id, number = published
    place = {"document_id": document_id, "version_id": version_id}
    if (yield from ask_one("point_to_version", number=number, now=now, **place)) is None:
        yield from ask("supersede_version", version_id=version_id)
    else:
        yield from ask("supersede_versions", **place)
    return True


def unneeded_versions(tenant: str, document_id: str) -> Plan[list[str]]:
    """Versions of a document that ended and are not published: no search needs their passages in the index."""
    rows = yield from ask("unneeded_versions", tenant=tenant, document_id=document_id)
    return [str(row[0]) for row in rows]


def fail_version(version_id: str, code: str, message: str) -> Plan[None]:
    """Record why a version failed, unless it ended."""
    yield from ask("fail_version", version_id=version_id, code=code, message=message, now=now_ms())


def end_ingestion(
    version_id: str, error: tuple[str, str] | None = None, *, job: Completion | None = None
) -> Plan[None]:
    """Complete the job of a version; with an error the version failed."""
    if error is not None:
        yield from fail_version(version_id, *error)
    yield from finish_job(job)
