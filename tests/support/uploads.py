"""Short ways to put files into a store."""

import hashlib
from collections.abc import AsyncIterator

from agio.core.file import CHUNK_BYTES, FileQuota, FileRecord
from agio.db.records import now_ms
from agio.protocol.ids import new_id
from agio.protocol.messages import FileSource, ImagePart, UserMessage
from tests.support.scenes import Person

QUOTA = FileQuota()


def file_record(
    owner: Person, data: bytes = b"", session_id: str | None = None, created_at: int = 0
) -> FileRecord:
    """A file of somebody's."""
    file_id = new_id("file")
    return FileRecord(
        id=file_id,
        tenant=owner.tenant,
        user=owner.user,
        session_id=session_id,
        name=f"{file_id}.bin",
        media_type="application/octet-stream",
        size=len(data),
        digest=hashlib.sha256(data).digest(),
        created_at=created_at or now_ms(),
    )


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    """The pieces of a file."""
    for at in range(0, len(data), CHUNK_BYTES):
        yield data[at : at + CHUNK_BYTES]


async def upload(
    owner: Person,
    data: bytes = b"bytes",
    *,
    session_id: str | None = None,
    created_at: int = 0,
    quota: FileQuota = QUOTA,
) -> FileRecord:
    """Put a file into the store."""
    record = file_record(owner, data, session_id, created_at)
    await owner.store.add_file(record, pieces(data), quota)
    return record


async def download(owner: Person, file_id: str) -> bytes:
    """Read a file piece by piece."""
    found: list[bytes] = []
    while (data := await owner.store.read_file(owner.tenant, owner.user, file_id, len(found))) is not None:
        found.append(data)
    return b"".join(found)


def showing(*file_ids: str) -> UserMessage:
    """A message that refers to files."""
    parts = [ImagePart(source=FileSource(value=file_id)) for file_id in file_ids]
    return UserMessage(id=new_id("msg"), content=[*parts])
