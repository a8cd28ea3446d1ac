"""Drafts: what agents write for a user, to be read and used elsewhere. Every version is kept."""

from typing import Protocol

from msgspec import Struct

from agio.core.store.records import Page
from agio.protocol.messages import Json


class DraftWrite(Struct, frozen=True, kw_only=True):
    """A version to be written. The same `call_id` writes once, however often it is tried."""

    key: str
    """What the agent calls it: the same key is the same draft."""
    title: str
    kind: str
    content: Json
    session_id: str | None = None
    run_id: str | None = None
    call_id: str | None = None


class DraftRecord(Struct, frozen=True, kw_only=True):
    """A draft as it is listed."""

    id: str
    key: str
    kind: str
    title: str
    version: int
    """The newest."""
    created_at: int
    updated_at: int


class DraftVersionHead(Struct, frozen=True, kw_only=True):
    """One version of a draft as it is listed, without its content."""

    version: int
    title: str
    session_id: str | None
    run_id: str | None
    created_at: int


class DraftVersion(DraftVersionHead, frozen=True, kw_only=True):
    """One version of a draft."""

    content: Json


class DraftStore(Protocol):
    """A user's drafts."""

    async def write_draft(self, tenant: str, user: str, write: DraftWrite) -> DraftRecord:
        """Add a version to the draft with this key, which is made if need be.

        The same call writes once, and is told the version it wrote.
        """
        ...

    async def list_drafts(
        self, tenant: str, user: str, *, kind: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[DraftRecord]:
        """A user's drafts, those written last first. Raises UserError `invalid_cursor`."""
        ...

    async def get_draft(self, tenant: str, user: str, draft_id: str) -> tuple[DraftRecord, DraftVersion]:
        """A draft and its newest version. Raises UserError `draft_not_found`."""
        ...

    async def list_draft_versions(
        self, tenant: str, user: str, draft_id: str, *, after: str | None = None, limit: int = 50
    ) -> Page[DraftVersionHead]:
        """A draft's versions, newest first. Raises UserError `draft_not_found`, `invalid_cursor`."""
        ...

    async def get_draft_version(self, tenant: str, user: str, draft_id: str, version: int) -> DraftVersion:
        """Raises UserError `draft_not_found`, `version_not_found`."""
        ...

    async def delete_draft(self, tenant: str, user: str, draft_id: str) -> None:
        """Remove a draft and its versions. Raises UserError `draft_not_found`."""
        ...
