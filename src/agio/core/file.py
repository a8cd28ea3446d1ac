"""Files of users: uploaded, referred to in messages by id, deleted with their session."""

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

CHUNK_BYTES = 256 * 1024
"""Files are kept in pieces of this size, so that nobody needs a whole one in memory."""


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file as it is listed. `name` is chosen by the server, `media_type` is what the bytes are."""

    id: str
    tenant: str
    user: str
    session_id: str | None
    """The session whose message refers to it; None: none yet, and it is deleted after a day."""
    name: str
    media_type: str
    size: int
    digest: bytes
    """SHA-256."""
    created_at: int


class FileStore(Protocol):
    """A user's files."""

    async def add_file(self, record: FileRecord, chunks: AsyncIterator[bytes] | list[bytes]) -> None:
        """Keep a file; it can be seen once all of it is there."""
        ...

    async def get_file(self, tenant: str, user: str, file_id: str) -> FileRecord:
        """Raises UserError `file_not_found`."""
        ...

    async def read_file(self, tenant: str, user: str, file_id: str, idx: int) -> bytes | None:
        """A piece of a file; None after the last."""
        ...

    async def delete_file(self, tenant: str, user: str, file_id: str) -> None:
        """Raises UserError `file_not_found`."""
        ...

    async def sweep_files(self, before: int, limit: int = 50) -> int:
        """Delete files uploaded before a time (ms) that no message refers to; returns how many."""
        ...
