"""Files of users: uploaded, referred to in messages by id, deleted with their session."""

from collections.abc import AsyncIterable, Iterator, Sequence
from typing import Protocol

from msgspec import UNSET, Struct

from agio.protocol.messages import FileSource, Message, TextPart, ToolMessage, UserMessage

CHUNK_BYTES = 256 * 1024
"""Files are kept in pieces of this size, so that nobody needs a whole one in memory."""
UNUSED_MS = 24 * 3600 * 1000
"""How long a file stays that no message refers to."""


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


class FileQuota(Struct, frozen=True):
    """What a user may have lying about that no message refers to."""

    files: int = 200
    size: int = 500 * 1024 * 1024


class FilePiece(Struct, frozen=True):
    """A piece of a session's file; no data after the last."""

    name: str
    media_type: str
    size: int
    """Of the whole file."""
    data: bytes


class FileStore(Protocol):
    """A user's files."""

    async def add_file(self, record: FileRecord, chunks: AsyncIterable[bytes], quota: FileQuota) -> None:
        """Keep a file; it can be seen once all of it is there. All chunks but the last have CHUNK_BYTES.

        Raises LimitExceeded `too_many_files`, UserError `session_not_found`.
        """
        ...

    async def get_file(self, tenant: str, user: str, file_id: str) -> FileRecord:
        """Raises UserError `file_not_found`."""
        ...

    async def read_file(self, tenant: str, user: str, file_id: str, idx: int) -> bytes | None:
        """A piece of a file; None after the last."""
        ...

    async def read_session_file(
        self, tenant: str, user: str, session_id: str, file_id: str, idx: int
    ) -> FilePiece:
        """A piece of a file that a message of this session refers to. Raises UserError `file_not_found`."""
        ...

    async def delete_file(self, tenant: str, user: str, file_id: str) -> None:
        """Raises UserError `file_not_found`."""
        ...

    async def sweep_files(self, before: int, limit: int = 50) -> int:
        """Delete files uploaded before a time (ms) that no message refers to; returns how many."""
        ...


def files_in(messages: Sequence[Message]) -> Iterator[str]:
    """The ids of the files that messages refer to: those kept here, not at a model's provider."""
    return (source.value for source in _sources(messages) if is_ours(source))


def handles_in(messages: Sequence[Message]) -> Iterator[str]:
    """The ids of all files that messages refer to, also those under a handle that a provider gave.

    With the operator's key such a handle would open anybody's file: on a server it is nobody's.
    """
    return (source.value for source in _sources(messages))


def _sources(messages: Sequence[Message]) -> Iterator[FileSource]:
    for message in messages:
        if isinstance(message, (UserMessage, ToolMessage)) and not isinstance(message.content, str):
            for part in message.content:
                if not isinstance(part, TextPart) and isinstance(part.source, FileSource):
                    yield part.source


def is_ours(source: object) -> bool:
    """Whether a part's bytes are in a file kept here."""
    return isinstance(source, FileSource) and source.provider is UNSET
