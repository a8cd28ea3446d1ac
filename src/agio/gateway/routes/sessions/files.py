"""Files: upload, get, download, delete. An upload is plain ASGI, because FastAPI would hold it in memory."""

import time
from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import parse_qs, quote

import msgspec
from fastapi import Query
from fastapi.responses import Response
from msgspec import Struct

from agio.core.document import NAME_CHARS, Format
from agio.core.file import CHUNK_BYTES, FileQuota, FileRecord
from agio.documents.formats import format_of, is_office
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.query import ID_CHARS, Id
from agio.gateway.http.route import PRIVATE, Call, Route, admit_call, answer, authenticate_again, refused
from agio.gateway.http.upload import Spool, receive_file
from agio.gateway.routes.documents.documents import checked_name, has_name
from agio.gateway.routes.runs.log import Download
from agio.protocol.ids import new_id

UPLOAD_BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {
                    "file": {"type": "string", "format": "binary"},
                    "session_id": {"type": "string", "maxLength": ID_CHARS},
                },
                "required": ["file"],
                "additionalProperties": False,
            }
        },
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
"""What `POST /api/files` takes, for the description."""
_READ_S = 30.0
"""How long reading an office file may take."""
_READABLE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"})
"""The media types that models take as they are."""
_DOWNLOAD = {
    **PRIVATE,
    "cache-control": "private, no-store",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
}


class FileView(Struct, frozen=True):
    """A file. Messages refer to it by its id."""

    id: str
    name: str
    media_type: str
    size: int
    created_at: int


class UploadedFile(FileView, frozen=True):
    """A file that was uploaded."""

    readable: bool
    """Whether models can read it; false: they only learn its name."""


async def upload_file(
    call: Call,
    session_id: Annotated[str | None, Query(min_length=1, max_length=ID_CHARS)] = None,
    name: Annotated[str | None, Query(min_length=1, max_length=NAME_CHARS)] = None,
) -> Response:
    """Upload a file, as the form part `file` or as the request body.

    Of Word, Excel, PowerPoint and EPUB files models get the text. It is read now: a file without any is refused.
    """
    limits, who = call.gateway.limits, call.who
    call.gateway.rates.take("file", who.credential, f"{who.tenant}/{who.user}")
    with Spool(limits.file_bytes) as spool:
        form = await receive_file(call.receive, call.scope["headers"], spool, limits.file_bytes)
        named = form.session_id
        if session_id and named and named != session_id:
            raise UserError("invalid_body", "The query and the form name different sessions. Name one.")
        await authenticate_again(call, _ROUTE)
        kind = spool.media_type()
        file_id = new_id("file")
        called = (name or form.file_name or "").replace("\\", "/").rpartition("/")[2]
        called = checked_name(called[-NAME_CHARS:]) if has_name(called) else f"{file_id}.{kind.ending}"
        given = format_of(called, spool.head)
        text = await _text(call, spool, given)
        record = FileRecord(
            id=file_id,
            tenant=who.tenant,
            user=who.user,
            session_id=session_id or named or None,
            name=called,
            media_type=kind.name,
            size=spool.size,
            digest=spool.digest,
            created_at=time.time_ns() // 1_000_000,
        )
        quota = FileQuota(limits.unused_files, limits.unused_file_bytes)
        async with call.gateway.storing:
            await call.gateway.store.add_file(record, spool.chunks(), quota)
            if text is not None:
                await call.gateway.store.put_file_text(who.tenant, who.user, file_id, text)
    readable = text is not None or record.media_type in _READABLE
    return answer(UploadedFile(**msgspec.structs.asdict(_view(record)), readable=readable), 201)


async def get_file(call: Call, file_id: Id) -> Response:
    """Get a file's name, type and size."""
    return answer(_view(await _record(call, file_id)))


async def download_file(call: Call, file_id: Id) -> Response:
    """Download a file as an attachment."""
    record = await _record(call, file_id)
    headers = {
        **_DOWNLOAD,
        "content-length": str(record.size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(record.name, safe='')}",
    }
    return Download(call, _pieces(call, record), headers, record.media_type)


async def delete_file(call: Call, file_id: Id) -> Response:
    """Delete a file. Messages that refer to it are kept."""
    await call.gateway.store.delete_file(call.who.tenant, call.who.user, file_id)
    return Response(status_code=204)


_ROUTE = Route("POST", "/api/files", upload_file, 201, UploadedFile)


def file_door(gateway: Gateway) -> Application:
    """Make the application of `POST /api/files`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        scope["gateway"] = gateway
        try:
            call = await admit_call(scope, receive, _ROUTE, body=False)
            response = await upload_file(call, _query(scope, "session_id"), _query(scope, "name"))
        except Exception as error:
            response = refused(error)
        await response(scope, receive, send)

    return serve


def _query(scope: Scope, name: str) -> str | None:
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get(name)
    if given is None:
        return None
    if len(given) > 1 or not 0 < len(given[0]) <= ID_CHARS:
        raise UserError("invalid_query", f"{name} must have 1 to {ID_CHARS} characters.")
    return given[0]


async def _text(call: Call, spool: Spool, given: Format) -> bytes | None:
    """Return what models get of an office file; None: they get its bytes. Raises UserError if it cannot be read."""
    locked = given == "pdf" and spool.mentions(b"/Encrypt")
    if not (is_office(given) or locked):
        return None
    text = await call.gateway.extractor.text_of(spool.chunks(), given, CHUNK_BYTES, _READ_S)
    return None if given == "pdf" else text


async def _record(call: Call, file_id: str) -> FileRecord:
    return await call.gateway.store.get_file(call.who.tenant, call.who.user, file_id)


async def _pieces(call: Call, record: FileRecord) -> AsyncIterator[bytes]:
    idx = 0
    while data := await call.gateway.store.read_file(record.tenant, record.user, record.id, idx):
        yield data
        idx += 1


def _view(record: FileRecord) -> FileView:
    return FileView(record.id, record.name, record.media_type, record.size, record.created_at)
