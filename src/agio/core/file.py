"""Users' files: uploaded, referred to in messages by id, deleted with their session."""

from collections.abc import AsyncIterable, Iterator, Sequence
from typing import Protocol

from msgspec import UNSET, Struct

from agio.protocol.messages import FileSource, Message, TextPart, ToolMessage, UserMessage

CHUNK_BYTES = 256 * 1024
"""The size of a stored chunk. Files are read and written in chunks, never whole in memory."""
UNUSED_MS = 24 * 3600 * 1000
"""How long a file is kept that no message refers to."""


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file's metadata. `name` is the person's, or the server's; `media_type` is detected from the bytes."""

    id: str
    tenant: str
    user: str
    session_id: str | None
    """The session with the message that refers to it. None: no message does yet, and it is deleted after a day."""
    name: str
    media_type: str
    size: int
    digest: bytes
    """The SHA-256 of the content."""
    created_at: int


class FileQuota(Struct, frozen=True):
    """A user's quota of files that no message refers to."""

    files: int = 200
    size: int = 500 * 1024 * 1024


class FilePiece(Struct, frozen=True):
    """A chunk of a session's file; `data` is empty after the last."""

    name: str
    media_type: str
    size: int
    """The size of the whole file."""
    data: bytes


class FileStore(Protocol):
    """The store of users' files."""

    async def add_file(self, record: FileRecord, chunks: AsyncIterable[bytes], quota: FileQuota) -> None:
        """Store a file, which is visible once it is complete. Every chunk but the last has CHUNK_BYTES.

        Raises LimitExceeded `too_many_files`, UserError `session_not_found`.
        """
        ...

    async def put_file_text(self, tenant: str, user: str, file_id: str, text: bytes) -> None:
        """Set what models get of a file instead of its bytes: at most CHUNK_BYTES. Raises as `get_file`."""
        ...

    async def get_file(self, tenant: str, user: str, file_id: str) -> FileRecord:
        """Raises UserError `file_not_found`."""
        ...

    async def read_file(self, tenant: str, user: str, file_id: str, idx: int) -> bytes | None:
        """Return a chunk of a file; None after the last."""
        ...

    async def read_session_file(
        self, tenant: str, user: str, session_id: str, file_id: str, idx: int
    ) -> FilePiece:
        """Return a chunk of a file that a message of this session refers to. Raises UserError `file_not_found`."""
        ...

    async def delete_file(self, tenant: str, user: str, file_id: str) -> None:
        """Raises UserError `file_not_found`."""
        ...

    async def sweep_files(self, before: int, limit: int = 50) -> int:
        """Delete files uploaded before a time (ms) that no message refers to. Returns their number."""
        ...


def files_in(messages: Sequence[Message]) -> Iterator[str]:
    """Return the ids of the files in messages that are stored here, not at a model's provider."""
    return (source.value for source in _sources(messages) if is_ours(source))


def handles_in(messages: Sequence[Message]) -> Iterator[str]:
    """Return the ids of all files in messages, including handles issued by a provider.

    The operator's key could open any tenant's file by such a handle, so a server rejects them.
    """
    return (source.value for source in _sources(messages))


def _sources(messages: Sequence[Message]) -> Iterator[FileSource]:
    for message in messages:
        if isinstance(message, (UserMessage, ToolMessage)) and not isinstance(message.content, str):
            for part in message.content:
                if not isinstance(part, TextPart) and isinstance(part.source, FileSource):
                    yield part.source


def is_ours(source: object) -> bool:
    """Whether a part refers to a file stored here."""
    return isinstance(source, FileSource) and source.provider is UNSET
