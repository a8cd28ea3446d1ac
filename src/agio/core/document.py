"""Documents: collections of a team or a person, versions with their passages, and the port of their store.

A **collection** is given to agents. A **document** has versions; one is published, as a whole, and only that is found.
A **passage** is a part of a version with its place: what a search finds, a model reads and an answer cites.
"""

from collections.abc import AsyncIterable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from agio.core.passage import PassageQuery
from agio.core.store.jobs import Completion
from agio.core.store.records import Page

VersionState: TypeAlias = Literal[
    "receiving", "waiting", "extracting", "indexing", "published", "superseded", "failed", "cancelled"
]
OPEN_STATES: frozenset[VersionState] = frozenset({"receiving", "waiting", "extracting", "indexing"})
"""The states of a version that is being ingested."""
DocumentSource: TypeAlias = Literal["upload", "paste", "url"]
Format: TypeAlias = Literal[
    "text", "markdown", "html", "csv", "code", "pdf", "docx", "xlsx", "pptx", "epub", "unknown"
]

INGESTION = "ingest_document"
"""The kind of a version's job that extracts and publishes it."""
SITE = "read_sitemap"
"""The kind of a job that adds the pages that a sitemap names."""
NAME_CHARS = 255
MAX_FOUND = 50
"""The most passages of one search."""


class CollectionRecord(Struct, frozen=True, kw_only=True):
    """A collection. Times are milliseconds since 1970."""

    id: str
    tenant: str
    user: str | None
    """The person it belongs to; None: the team."""
    name: str
    description: str
    documents: int
    """How many documents it has."""
    created_at: int
    updated_at: int


class VersionRecord(Struct, frozen=True, kw_only=True):
    """A version of a document."""

    id: str
    document_id: str
    number: int
    state: VersionState
    format: Format
    media_type: str
    size: int
    digest: bytes
    """The SHA-256 of its bytes."""
    done: int
    """How many passages are indexed, of `passages`; while it is extracted, how many pages were read, of `pages`."""
    pages: int | None
    """None: its format has none."""
    chars: int
    tokens: int
    passages: int
    error_code: str | None
    error_message: str | None
    created_by: str
    created_at: int
    ended_at: int | None


class DocumentRecord(Struct, frozen=True, kw_only=True):
    """A document. `version` is the published one; `newest` is the one added last."""

    id: str
    tenant: str
    collection_id: str
    name: str
    source: DocumentSource
    url: str | None
    created_by: str
    created_at: int
    updated_at: int
    version: VersionRecord | None
    newest: VersionRecord | None


class NewVersion(Struct, frozen=True, kw_only=True):
    """Bytes to add to a collection: of a new document, or a new version of the one with this name."""

    collection_id: str
    name: str
    source: DocumentSource
    format: Format
    media_type: str
    size: int
    digest: bytes
    url: str | None = None


class Added(Struct, frozen=True):
    """A document with what was added. `is_new` False: these bytes are its newest version."""

    document: DocumentRecord
    is_new: bool


class PassageFields(Struct, frozen=True, kw_only=True):
    """A passage as extraction makes it. `start` and `end` count characters of the version's text."""

    idx: int
    text: str
    start: int
    end: int
    page: int | None = None
    line: int | None = None
    heading: str = ""
    """The headings that it stands under, outermost first, separated by ` > `."""


class DocumentPassage(Struct, frozen=True, kw_only=True):
    """A passage of a version, with the document that it is from."""

    document_id: str
    version_id: str
    name: str
    """The document's."""
    idx: int
    text: str
    start: int
    end: int
    page: int | None
    line: int | None
    heading: str
    number: int = 0
    """What an answer cites it by, in its session; 0: it has no number."""
    score: float = 0.0

    @property
    def id(self) -> str:
        """The passage's id."""
        return passage_id(self.version_id, self.idx)

    @property
    def label(self) -> str:
        """The place of the passage, for people and models."""
        where = f", page {self.page}" if self.page is not None else ""
        if not where and self.line is not None:
            where = f", line {self.line}"
        return f"{self.name}{where}" + (f", {self.heading}" if self.heading else "")


class Citation(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a `[n]` of an answer stands for: a span of a document's version."""

    number: int
    document_id: str
    version_id: str
    name: str
    start: int
    end: int
    page: int | None = None
    line: int | None = None
    heading: str = ""


def citation_of(passage: DocumentPassage) -> Citation:
    """Return what the number of a passage stands for."""
    return Citation(
        number=passage.number,
        document_id=passage.document_id,
        version_id=passage.version_id,
        name=passage.name,
        start=passage.start,
        end=passage.end,
        page=passage.page,
        line=passage.line,
        heading=passage.heading,
    )


def passage_id(version_id: str, idx: int) -> str:
    """Return the id of a passage. Ids of one version are in the order of its text."""
    return f"{version_id}/{idx:07d}"


class Library(Struct, frozen=True):
    """What the collections of an agent hold for a user."""

    documents: int
    tokens: int


class OutlineEntry(Struct, frozen=True):
    """A heading of a document, and the first passage under it."""

    heading: str
    idx: int
    page: int | None


class DocumentStore(Protocol):
    """The store of documents. Every method sees the team's collections, and the user's own.

    `team` says whether the user may change the team's collections. Raises UserError `collection_not_found`,
    `document_not_found`, `forbidden`.
    """

    async def create_collection(
        self, tenant: str, user: str, name: str, description: str, *, own: bool, team: bool = False
    ) -> CollectionRecord:
        """Add a collection of the team, or the user's own. Raises UserError `collection_exists`."""
        ...

    async def list_collections(
        self, tenant: str, user: str, *, after: str | None = None, limit: int = 50
    ) -> Page[CollectionRecord]:
        """List the collections that a user may see, by name. Raises UserError `invalid_cursor`."""
        ...

    async def get_collection(self, tenant: str, user: str, collection_id: str) -> CollectionRecord:
        """Return a collection."""
        ...

    async def change_collection(
        self,
        tenant: str,
        user: str,
        collection_id: str,
        name: str | None,
        description: str | None,
        *,
        team: bool = False,
    ) -> CollectionRecord:
        """Rename a collection. Raises UserError `collection_exists`."""
        ...

    async def delete_collection(
        self, tenant: str, user: str, collection_id: str, *, team: bool = False
    ) -> None:
        """Delete a collection with its documents."""
        ...

    async def add_site(
        self, tenant: str, user: str, collection_id: str, url: str, limit: int, *, team: bool = False
    ) -> str:
        """Add the job that reads a sitemap and adds at most so many of its pages."""
        ...

    async def add_document(
        self, tenant: str, user: str, new: NewVersion, chunks: AsyncIterable[bytes], *, team: bool = False
    ) -> Added:
        """Add a version and the job that ingests it. Nothing happens if its newest version has the same bytes.

        A version of a URL has no bytes yet. Raises LimitExceeded `too_many_documents`.
        """
        ...

    async def list_documents(
        self,
        tenant: str,
        user: str,
        collection_id: str | None,
        *,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[DocumentRecord]:
        """List documents, by name. Raises UserError `invalid_cursor`."""
        ...

    async def get_document(self, tenant: str, user: str, document_id: str) -> DocumentRecord:
        """Return a document."""
        ...

    async def list_versions(self, tenant: str, user: str, document_id: str) -> list[VersionRecord]:
        """Return the versions of a document, newest first."""
        ...

    async def read_document_bytes(
        self, tenant: str, user: str, document_id: str, version_id: str, idx: int
    ) -> bytes | None:
        """Return a chunk of a version's bytes; None after the last."""
        ...

    async def read_passages(
        self, tenant: str, user: str, document_id: str, version_id: str, first: int, limit: int
    ) -> list[DocumentPassage]:
        """Return the passages of a version in their order, from one on."""
        ...

    async def outline(
        self, tenant: str, user: str, document_id: str, version_id: str, limit: int
    ) -> list[OutlineEntry]:
        """Return the headings of a version in their order."""
        ...

    async def cancel_ingestion(
        self, tenant: str, user: str, document_id: str, *, team: bool = False
    ) -> DocumentRecord:
        """Cancel the versions that are being ingested. What is published stays."""
        ...

    async def delete_document(self, tenant: str, user: str, document_id: str, *, team: bool = False) -> None:
        """Delete a document with its versions, passages and vectors."""
        ...

    async def find_documents(
        self, tenant: str, user: str, collection_ids: Sequence[str], query: PassageQuery
    ) -> list[DocumentPassage]:
        """Search the published versions of collections, best first."""
        ...

    async def library(self, tenant: str, user: str, collection_ids: Sequence[str]) -> Library:
        """Return how much the published versions of collections hold."""
        ...

    async def whole_library(
        self, tenant: str, user: str, collection_ids: Sequence[str]
    ) -> list[DocumentPassage]:
        """Return every passage of the published versions of collections, in their order."""
        ...

    async def library_documents(
        self, tenant: str, user: str, collection_ids: Sequence[str], limit: int
    ) -> list[DocumentRecord]:
        """Return the published documents of collections, by name."""
        ...

    async def number_passages(
        self, tenant: str, session_id: str, run_id: str, passages: Sequence[DocumentPassage]
    ) -> list[DocumentPassage]:
        """Give passages the numbers by which answers of a session cite them. A passage keeps its number."""
        ...

    async def passages_of_run(self, run_id: str) -> list[DocumentPassage]:
        """Return the passages that a run began with, which may be published no more. The caller has checked it."""
        ...

    # Ingestion, by the job of a version

    async def version_to_ingest(self, version_id: str) -> "Ingestion | None":
        """Return what to ingest; None if it was deleted, cancelled, or ended before. Published: clean up only."""
        ...

    async def read_version_chunk(
        self, version_id: str, tenant: str, document_id: str, idx: int
    ) -> bytes | None:
        """Return a chunk of its bytes; None after the last."""
        ...

    async def put_version_bytes(
        self, version_id: str, media_type: str, given_format: Format, digest: bytes, chunks: Sequence[bytes]
    ) -> bool:
        """Set the bytes of a version that was fetched. False: the published version has the same, or it ended."""
        ...

    async def note_progress(self, version_id: str, state: VersionState, done: int, pages: int | None) -> bool:
        """Record how far a version is. False: it was cancelled or deleted."""
        ...

    async def put_document_passages(
        self, version: "Ingestion", passages: Sequence[PassageFields], at: int
    ) -> bool:
        """Add passages to a version and to the index, where no search returns them yet. False: as above."""
        ...

    async def publish_version(self, version_id: str, counts: "Counts") -> bool:
        """Make a version the one that is found, unless a newer one is. False: as above."""
        ...

    async def clean_index(self, tenant: str, document_id: str) -> None:
        """Remove from the index what no search of a document needs: versions that ended and are not published."""
        ...

    async def end_ingestion(
        self, version_id: str, error: tuple[str, str] | None = None, *, job: Completion | None = None
    ) -> None:
        """Complete the job of a version; with an error (code, message), the version failed."""
        ...

    async def drop_version(self, tenant: str, document_id: str, version_id: str) -> None:
        """Remove a version that has nothing new."""
        ...

    async def sweep_documents(self, before: int, limit: int = 50) -> int:
        """Remove what deletions and uploads that broke off left behind. Returns how many."""
        ...


class Counts(Struct, frozen=True):
    """What extraction found in a version."""

    pages: int | None
    chars: int
    tokens: int
    passages: int


class Ingestion(Struct, frozen=True, kw_only=True):
    """A version to ingest."""

    tenant: str
    user: str
    """Who added it."""
    collection_id: str
    document_id: str
    name: str
    source: DocumentSource
    url: str | None
    version_id: str
    state: VersionState
    format: Format
    media_type: str
    size: int
    digest: bytes
