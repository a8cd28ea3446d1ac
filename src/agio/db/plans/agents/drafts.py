"""Drafts agents write for users, with all their versions."""

import msgspec

from agio.core.draft import DraftRecord, DraftVersion, DraftVersionHead, DraftWrite
from agio.core.store.records import Page
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.records import encode_json, now_ms
from agio.db.rows import by_name, to_struct
from agio.errors import StoreError, UserError
from agio.protocol.ids import new_id
from agio.protocol.messages import Json


def write_draft(tenant: str, user: str, write: DraftWrite) -> Plan[DraftRecord]:
    """Add a version to the draft with this key, which is created if it does not exist.

    A repeated call writes nothing and gets the version it wrote first.
    """
    who = {"tenant": tenant, "user_id": user}
    content, now = encode_json("draft", write.content), now_ms()
    what = {"kind": write.kind, "title": write.title, "now": now}
    yield from ask("add_draft", draft_id=new_id("dft"), key=write.key, **who, **what)
    row = yield from ask_one("lock_draft", key=write.key, **who)
    if row is None:
        raise StoreError("not_storable", "The draft was deleted while it was written. Try again.")
    draft_id, version = msgspec.convert(row, tuple[str, int])
    if write.call_id is not None:
        known = yield from ask_one("has_draft_call", draft_id=draft_id, call_id=write.call_id, **who)
        if known is not None:
            draft = yield from _draft(tenant, user, draft_id)
            return msgspec.structs.replace(draft, version=msgspec.convert(known[0], int))
    yield from ask("move_draft", draft_id=draft_id, version=version + 1, **who, **what)
    yield from ask(
        "add_draft_version",
        draft_id=draft_id,
        version=version + 1,
        title=write.title,
        content=content,
        session_id=write.session_id,
        run_id=write.run_id,
        call_id=write.call_id,
        now=now,
    )
    return (yield from _draft(tenant, user, draft_id))


def list_drafts(
    tenant: str, user: str, *, kind: str | None = None, after: str | None = None, limit: int = 50
) -> Plan[Page[DraftRecord]]:
    """A user's drafts, last written first. Raises UserError `invalid_cursor`."""
    place = (BEYOND_ALL, "") if after is None else read_cursor(after, tuple[int, str])
    values = {
        "tenant": tenant,
        "user_id": user,
        "updated_at": place[0],
        "draft_id": place[1],
        "limit": page_size(limit) + 1,
    }
    if kind is None:
        rows = yield from ask("list_drafts", **values)
    else:
        rows = yield from ask("list_drafts_of_kind", kind=kind, **values)
    drafts = [to_struct(DraftRecord, row) for row in rows]
    return page_of(drafts, limit, lambda draft: draft, lambda draft: [draft.updated_at, draft.id])


def get_draft(tenant: str, user: str, draft_id: str) -> Plan[tuple[DraftRecord, DraftVersion]]:
    """A draft and its newest version. Raises UserError `draft_not_found`."""
    draft = yield from _draft(tenant, user, draft_id)
    return draft, (yield from get_draft_version(tenant, user, draft_id, draft.version))


def list_draft_versions(
    tenant: str, user: str, draft_id: str, *, after: str | None = None, limit: int = 50
) -> Plan[Page[DraftVersionHead]]:
    """A draft's versions, newest first. Raises UserError `draft_not_found`, `invalid_cursor`."""
    before = BEYOND_ALL if after is None else read_cursor(after, tuple[int])[0]
    yield from _draft(tenant, user, draft_id)
    rows = yield from ask(
        "list_draft_versions",
        tenant=tenant,
        user_id=user,
        draft_id=draft_id,
        before=before,
        limit=page_size(limit) + 1,
    )
    versions = [to_struct(DraftVersionHead, row) for row in rows]
    return page_of(versions, limit, lambda head: head, lambda head: [head.version])


def get_draft_version(tenant: str, user: str, draft_id: str, version: int) -> Plan[DraftVersion]:
    """Raises UserError `draft_not_found`, `version_not_found`."""
    yield from _draft(tenant, user, draft_id)
    row = yield from ask_one(
        "get_draft_version", tenant=tenant, user_id=user, draft_id=draft_id, version=version
    )
    if row is None:
        raise UserError("version_not_found", f"The draft has no version {version}.", {"draft_id": draft_id})
    return _version(row)


def delete_draft(tenant: str, user: str, draft_id: str) -> Plan[None]:
    """Remove a draft and its versions. Raises UserError `draft_not_found`."""
    row = yield from ask_one("delete_draft", tenant=tenant, user_id=user, draft_id=draft_id)
    if row is None:
        raise _not_found(draft_id)


def _draft(tenant: str, user: str, draft_id: str) -> Plan[DraftRecord]:
    row = yield from ask_one("get_draft", tenant=tenant, user_id=user, draft_id=draft_id)
    if row is None:
        raise _not_found(draft_id)
    return to_struct(DraftRecord, row)


def _version(row: Row) -> DraftVersion:
    values = by_name(DraftVersionHead, row, "content")
    content: Json = msgspec.json.decode(msgspec.convert(values["content"], bytes))
    return msgspec.convert({**values, "content": content}, DraftVersion)


def _not_found(draft_id: str) -> UserError:
    return UserError("draft_not_found", f"There is no draft {draft_id}.", {"draft_id": draft_id})
