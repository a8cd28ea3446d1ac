"""Documents: add by upload, text or URL; list, get, read, search, cancel, delete."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Self
from urllib.parse import parse_qs, quote

from fastapi import Query
from fastapi.responses import Response
from pydantic import Field, model_validator

from agio.core.document import NAME_CHARS, Added, NewVersion, VersionRecord
from agio.core.file import CHUNK_BYTES
from agio.core.memory import MAX_QUERY_CHARS
from agio.core.text import clean
from agio.documents.formats import format_of, media_type_of
from agio.egress.target import parse_target
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.query import After, Filter, Id, Limit
from agio.gateway.http.route import PRIVATE, Call, Route, admit_call, answer, authenticate_again, refused
from agio.gateway.http.upload import Spool, receive_file
from agio.gateway.routes.body import AS_WHOLE, Body, Identifier
from agio.gateway.routes.documents.collections import may_build
from agio.gateway.routes.documents.views import (
    AddedDocument,
    AddedSite,
    Documents,
    Outline,
    Passages,
    Versions,
    document_view,
    passage_view,
    version_view,
)
from agio.gateway.routes.runs.log import Download

MAX_SITE_PAGES = 500
_TEXT_CHARS = 1_000_000
_HEADINGS = 1000
UPLOAD_BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {"file": {"type": "string", "format": "binary"}},
                "required": ["file"],
                "additionalProperties": False,
            }
        },
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
"""What `POST /api/collections/{collection_id}/files` takes, for the description."""
_SANDBOXED = {
    **PRIVATE,
    "cache-control": "private, no-store",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_SHOWN = frozenset({"application/pdf"})
"""The media types that are sent as they are; others as bytes, so that no browser runs them."""


class DocumentBody(Body):
    """A text to add with its name, or the URL of a page."""

    collection_id: Identifier
    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARS)] | None = None
    """What people and agents call it, with an ending that says its format, such as `.md`; of a URL: the URL."""
    text: Annotated[str, Field(min_length=1, max_length=_TEXT_CHARS)] | None = None
    url: Annotated[str, Field(min_length=1, max_length=NAME_CHARS)] | None = None
    """A public http or https address."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.text is None) == (self.url is None):
            raise ValueError("send either text or url")
        if self.text is not None and self.name is None:
            raise ValueError("a text needs a name")
        return self


class SitemapBody(Body):
    """A sitemap whose pages to add."""

    collection_id: Identifier
    url: Annotated[str, Field(min_length=1, max_length=2000)]
    max_pages: Annotated[int, Field(ge=1, le=MAX_SITE_PAGES), AS_WHOLE] = 100


async def upload_document(
    call: Call,
    collection_id: Id,
    name: Annotated[str | None, Query(min_length=1, max_length=NAME_CHARS)] = None,
) -> Response:
    """Upload a document, as the form part `file` or as the request body.

    The same name in the same collection is a new version; the same bytes change nothing.
    """
    gateway, who = call.gateway, call.who
    gateway.rates.take("file", who.credential, f"{who.tenant}/{who.user}")
    await gateway.store.get_collection(who.tenant, who.user, collection_id)
    with Spool(gateway.limits.document_bytes) as spool:
        form = await receive_file(call.receive, call.scope["headers"], spool, gateway.limits.document_bytes)
        await authenticate_again(call, _ROUTE)
        who = call.who
        called = checked_name(name or form.file_name or "")
        new = NewVersion(
            collection_id=collection_id,
            name=called,
            source="upload",
            format=(given := format_of(called, spool.head)),
            media_type=media_type_of(given),
            size=spool.size,
            digest=spool.digest,
        )
        async with gateway.storing:
            added = await gateway.store.add_document(
                who.tenant, who.user, new, spool.chunks(), team=may_build(call)
            )
    return _added(call, added)


async def add_document(call: Call, body: DocumentBody) -> Response:
    """Add a text, or what is at a URL. Agents find it once it is published."""
    gateway, who = call.gateway, call.who
    team = may_build(call)
    if body.url is not None:
        parse_target(body.url)
        new = NewVersion(
            collection_id=body.collection_id,
            name=checked_name(body.name or body.url),
            source="url",
            url=body.url,
            format="unknown",
            media_type="",
            size=0,
            digest=b"",
        )
        added = await gateway.store.add_document(who.tenant, who.user, new, _chunks(b""), team=team)
        return _added(call, added)
    data = (body.text or "").encode("utf-8", "replace")
    name = checked_name(body.name or "")
    given = format_of(name, b"")
    new = NewVersion(
        collection_id=body.collection_id,
        name=name,
        source="paste",
        format=given if given in ("markdown", "html", "csv", "code") else "text",
        media_type="text/plain",
        size=len(data),
        digest=hashlib.sha256(data).digest(),
    )
    added = await gateway.store.add_document(who.tenant, who.user, new, _chunks(data), team=team)
    return _added(call, added)


async def add_sitemap(call: Call, body: SitemapBody) -> Response:
    """Add the pages that a sitemap names: each is a document."""
    gateway, who = call.gateway, call.who
    parse_target(body.url)
    job = await gateway.store.add_site(
        who.tenant, who.user, body.collection_id, body.url, body.max_pages, team=may_build(call)
    )
    gateway.jobs.ring()
    return answer(AddedSite(job), 202)


async def list_documents(
    call: Call, collection_id: Filter = None, after: After = None, limit: Limit = 50
) -> Response:
    """List documents, by name."""
    who, store = call.who, call.gateway.store
    if collection_id is not None:
        await store.get_collection(who.tenant, who.user, collection_id)
    page = await store.list_documents(who.tenant, who.user, collection_id, after=after, limit=limit)
    return answer(Documents([document_view(each) for each in page.items], page.next))


async def search_documents(
    call: Call,
    q: Annotated[str, Query(min_length=1, max_length=MAX_QUERY_CHARS)],
    collection_id: Filter = None,
    agent_id: Filter = None,
    limit: Limit = 10,
) -> Response:
    """Show what an agent would find: passages with their scores, best first.

    In the collections of an agent, in one collection, or in all that the caller may see.
    """
    who, store = call.who, call.gateway.store
    if agent_id is not None:
        ids: Sequence[str] = (await store.get_agent(who.tenant, agent_id)).collections
    elif collection_id is not None:
        ids = [(await store.get_collection(who.tenant, who.user, collection_id)).id]
    else:
        ids = [each.id for each in (await store.list_collections(who.tenant, who.user, limit=200)).items]
    async with call.gateway.searches.turn(who):
        found = await call.gateway.shelf.search(who.tenant, who.user, ids, q, limit)
    return answer(Passages([passage_view(each, scored=True) for each in found]))


async def get_document(call: Call, document_id: Id) -> Response:
    """Get a document with its published and its newest version."""
    found = await call.gateway.store.get_document(call.who.tenant, call.who.user, document_id)
    return answer(document_view(found))


async def list_versions(call: Call, document_id: Id) -> Response:
    """List the versions of a document, newest first."""
    found = await call.gateway.store.list_versions(call.who.tenant, call.who.user, document_id)
    return answer(Versions([version_view(each) for each in found]))


async def download_document(call: Call, document_id: Id, version_id: Filter = None) -> Response:
    """Download the bytes of a version: of the published one, else the newest, if none is named."""
    document = await call.gateway.store.get_document(call.who.tenant, call.who.user, document_id)
    version = await _version(call, document_id, version_id)
    media_type = version.media_type if version.media_type in _SHOWN else "application/octet-stream"
    headers = {
        **_SANDBOXED,
        "content-length": str(version.size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(document.name.rpartition('/')[2], safe='')}",
    }
    return Download(call, _pieces(call, version), headers, media_type)


async def read_document(
    call: Call,
    document_id: Id,
    version_id: Filter = None,
    first: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Limit = 50,
) -> Response:
    """Read the passages of a version in their order: of the published one if none is named."""
    version = await _version(call, document_id, version_id)
    found = await call.gateway.store.read_passages(
        call.who.tenant, call.who.user, document_id, version.id, first, limit + 1
    )
    shown = [passage_view(each) for each in found[:limit]]
    return answer(Passages(shown, found[limit].idx if len(found) > limit else None))


async def outline_document(call: Call, document_id: Id, version_id: Filter = None) -> Response:
    """List the headings of a version."""
    version = await _version(call, document_id, version_id)
    entries = await call.gateway.store.outline(
        call.who.tenant, call.who.user, document_id, version.id, _HEADINGS
    )
    return answer(Outline(entries))


async def cancel_document(call: Call, document_id: Id) -> Response:
    """Cancel the ingestion of a document. What is published stays."""
    who = call.who
    document = await call.gateway.store.cancel_ingestion(
        who.tenant, who.user, document_id, team=may_build(call)
    )
    return answer(document_view(document))


async def delete_document(call: Call, document_id: Id) -> Response:
    """Delete a document with its versions, passages and vectors. Nothing finds it any more."""
    who = call.who
    await call.gateway.store.delete_document(who.tenant, who.user, document_id, team=may_build(call))
    return Response(status_code=204)


_ROUTE = Route("POST", "/api/collections/{collection_id}/files", upload_document, 202, AddedDocument)


def document_door(gateway: Gateway) -> Application:
    """Make the application of the upload."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        scope["gateway"] = gateway
        try:
            call = await admit_call(scope, receive, _ROUTE, body=False)
            collection_id = scope["path"].split("/")[3]
            response = await upload_document(call, collection_id, _name_in(scope))
        except Exception as error:
            response = refused(error)
        await response(scope, receive, send)

    return serve


def has_name(name: str) -> bool:
    """Whether anything of a name can be shown."""
    return any(each.isprintable() and each not in " ./" for each in clean(name))


def checked_name(name: str) -> str:
    """Return the name of a document, or of a file, as it is stored. Raises UserError `invalid_document_name`."""
    cleaned = " ".join("".join(each if each.isprintable() else " " for each in clean(name)).split())
    cleaned = "/".join(part for part in cleaned.replace("\\", "/").split("/") if part not in (".", "..", ""))
    if "://" in name:
        cleaned = name.strip()
    if not cleaned:
        raise UserError(
            "invalid_document_name", "Say what the document is called: the file's name, or ?name=."
        )
    if len(cleaned) > NAME_CHARS:
        raise UserError("invalid_document_name", f"The name has more than {NAME_CHARS} characters.")
    return cleaned


def _name_in(scope: Scope) -> str | None:
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("name")
    if given is None:
        return None
    if len(given) > 1 or not 0 < len(given[0]) <= NAME_CHARS:
        raise UserError("invalid_query", f"name must have 1 to {NAME_CHARS} characters.")
    return given[0]


def _added(call: Call, added: Added) -> Response:
    if added.is_new:
        call.gateway.jobs.ring()
    return answer(AddedDocument(document_view(added.document), added.is_new), 202 if added.is_new else 200)


async def _version(call: Call, document_id: str, version_id: str | None) -> VersionRecord:
    """Return a version of a document. Raises UserError `document_not_found`, `version_not_found`."""
    store, who = call.gateway.store, call.who
    if version_id is None:
        document = await store.get_document(who.tenant, who.user, document_id)
        if (found := document.version or document.newest) is not None:
            return found
    for each in await store.list_versions(who.tenant, who.user, document_id):
        if each.id == version_id:
            return each
    shown = (version_id or "")[:100]
    raise UserError("version_not_found", f"There is no version {shown}.", {"version_id": shown})


async def _pieces(call: Call, version: VersionRecord) -> AsyncIterator[bytes]:
    who, idx = call.who, 0
    place = (who.tenant, who.user, version.document_id, version.id)
    while data := await call.gateway.store.read_document_bytes(*place, idx):
        yield data
        idx += 1


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), CHUNK_BYTES):
        yield data[at : at + CHUNK_BYTES]
