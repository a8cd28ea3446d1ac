"""Drafts agents wrote for the caller: list, read, versions, delete."""

from typing import Annotated, TypeAlias

from fastapi import Path
from fastapi.responses import Response
from msgspec import Struct, convert

from agio.core.draft import DraftRecord
from agio.gateway.http.query import MAX_POS, After, Filter, Id, Limit
from agio.gateway.http.route import Call, answer
from agio.protocol.messages import Json

Version: TypeAlias = Annotated[int, Path(ge=1, le=MAX_POS)]


class DraftView(Struct, frozen=True, kw_only=True):
    """A draft, identified by `key`. `version` is its newest version."""

    id: str
    key: str
    kind: str
    title: str
    version: int
    created_at: int
    updated_at: int


class Drafts(Struct, frozen=True):
    """A page of drafts, most recently written first."""

    items: list[DraftView]
    next: str | None


class DraftVersionView(Struct, frozen=True, kw_only=True):
    """A version, and where it was written."""

    version: int
    title: str
    session_id: str | None
    run_id: str | None
    created_at: int


class DraftContent(DraftVersionView, frozen=True, kw_only=True):
    """A version with its content: text, or JSON."""

    content: Json


class DraftVersions(Struct, frozen=True):
    """A page of a draft's versions, newest first, without their contents."""

    items: list[DraftVersionView]
    next: str | None


class DraftWithContent(DraftView, frozen=True, kw_only=True):
    """A draft with the content of its newest version."""

    content: Json
    session_id: str | None
    run_id: str | None


async def list_drafts(call: Call, kind: Filter = None, after: After = None, limit: Limit = 50) -> Response:
    """List the caller's drafts."""
    store, who = call.gateway.store, call.who
    page = await store.list_drafts(who.tenant, who.user, kind=kind, after=after, limit=limit)
    return answer(Drafts([_view(draft) for draft in page.items], page.next))


async def get_draft(call: Call, draft_id: Id) -> Response:
    """Get a draft with its newest content."""
    draft, newest = await call.gateway.store.get_draft(call.who.tenant, call.who.user, draft_id)
    shown = _view(draft)
    return answer(
        DraftWithContent(
            **{name: getattr(shown, name) for name in shown.__struct_fields__},
            content=newest.content,
            session_id=newest.session_id,
            run_id=newest.run_id,
        )
    )


async def list_draft_versions(call: Call, draft_id: Id, after: After = None, limit: Limit = 50) -> Response:
    """List the versions of a draft."""
    page = await call.gateway.store.list_draft_versions(
        call.who.tenant, call.who.user, draft_id, after=after, limit=limit
    )
    items = [convert(version, DraftVersionView, from_attributes=True) for version in page.items]
    return answer(DraftVersions(items, page.next))


async def get_draft_version(call: Call, draft_id: Id, version: Version) -> Response:
    """Get a version of a draft."""
    found = await call.gateway.store.get_draft_version(call.who.tenant, call.who.user, draft_id, version)
    return answer(convert(found, DraftContent, from_attributes=True))


async def delete_draft(call: Call, draft_id: Id) -> Response:
    """Delete a draft with all its versions."""
    await call.gateway.store.delete_draft(call.who.tenant, call.who.user, draft_id)
    return Response(status_code=204)


def _view(draft: DraftRecord) -> DraftView:
    return convert(draft, DraftView, from_attributes=True)
