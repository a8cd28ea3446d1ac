"""Drafts: documents that agents write for a user. Every version is kept."""

from typing import Protocol

from msgspec import Struct

from agio.core.store.records import Page
from agio.protocol.messages import Json


class DraftWrite(Struct, frozen=True, kw_only=True):
    """A version to write. Repeating a `call_id` writes nothing new."""

    key: str
    """The agent's name for the draft. One key is one draft."""
    title: str
    kind: str
    content: Json
    session_id: str | None = None
    run_id: str | None = None
    call_id: str | None = None


class DraftRecord(Struct, frozen=True, kw_only=True):
    """A draft in a list."""

    id: str
    key: str
    kind: str
    title: str
    version: int
    """The newest version's number."""
    created_at: int
    updated_at: int


class DraftVersionHead(Struct, frozen=True, kw_only=True):
    """One version of a draft in a list, without its content."""

    version: int
    title: str
    session_id: str | None
    run_id: str | None
    created_at: int


class DraftVersion(DraftVersionHead, frozen=True, kw_only=True):
    """One version of a draft."""

    content: Json


class DraftStore(Protocol):
    """The store of users' drafts."""

    async def write_draft(self, tenant: str, user: str, write: DraftWrite) -> DraftRecord:
        """Add a version to the draft with this key; the draft is created if it does not exist.

        A repeated `call_id` writes nothing and returns the version it wrote first.
        """
        ...

    async def list_drafts(
        self, tenant: str, user: str, *, kind: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[DraftRecord]:
        """List a user's drafts, the last written first. Raises UserError `invalid_cursor`."""
        ...

    async def get_draft(self, tenant: str, user: str, draft_id: str) -> tuple[DraftRecord, DraftVersion]:
        """Return a draft and its newest version. Raises UserError `draft_not_found`."""
        ...

    async def list_draft_versions(
        self, tenant: str, user: str, draft_id: str, *, after: str | None = None, limit: int = 50
    ) -> Page[DraftVersionHead]:
        """List a draft's versions, newest first. Raises UserError `draft_not_found`, `invalid_cursor`."""
        ...

    async def get_draft_version(self, tenant: str, user: str, draft_id: str, version: int) -> DraftVersion:
        """Return one version. Raises UserError `draft_not_found`, `version_not_found`."""
        ...

    async def delete_draft(self, tenant: str, user: str, draft_id: str) -> None:
        """Delete a draft and its versions. Raises UserError `draft_not_found`."""
        ...
