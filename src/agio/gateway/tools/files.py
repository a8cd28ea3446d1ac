"""Files that tools return, kept beside the run's session like a person's uploads."""

import hashlib
import time
from collections.abc import AsyncIterator

from agio.core.config import ServerLimits
from agio.core.file import CHUNK_BYTES, FileQuota, FileRecord, FileStore
from agio.core.tool import ToolContext
from agio.errors import LimitExceeded, UserError
from agio.gateway.http.media_type import HEAD_BYTES, media_type_of
from agio.protocol.ids import new_id
from agio.protocol.messages import FileSource

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
"""The types that models accept. The type is read from the bytes, not from the tool's answer."""


async def keep_tool_file(
    store: FileStore, limits: ServerLimits, context: ToolContext, data: bytes
) -> FileSource | None:
    """Keep a file of a call; None if models do not take it, or there is no session or no room for it."""
    kind = media_type_of(data[:HEAD_BYTES], is_text=False)
    if kind.name not in _SHOWN or not context.session or len(data) > limits.file_bytes:
        return None
    file_id = new_id("file")
    record = FileRecord(
        id=file_id,
        tenant=context.tenant,
        user=context.user,
        session_id=context.session,
        name=f"{file_id}.{kind.ending}",
        media_type=kind.name,
        size=len(data),
        digest=hashlib.sha256(data).digest(),
        created_at=time.time_ns() // 1_000_000,
    )
    try:
        await store.add_file(record, _chunks(data), FileQuota(limits.unused_files, limits.unused_file_bytes))
    except (LimitExceeded, UserError):
        return None
    return FileSource(file_id, mime_type=kind.name)


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]
