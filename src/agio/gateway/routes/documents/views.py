"""Collections and documents as REST shows them. Times are milliseconds since 1970."""

from msgspec import Struct, convert

from agio.core.document import (
    CollectionRecord,
    DocumentPassage,
    DocumentRecord,
    DocumentSource,
    Format,
    OutlineEntry,
    VersionRecord,
    VersionState,
)


class CollectionView(Struct, frozen=True, kw_only=True):
    """A collection of documents."""

    id: str
    name: str
    description: str
    own: bool
    """True: only the caller sees it; false: it is the team's."""
    documents: int
    created_at: int
    updated_at: int


class Collections(Struct, frozen=True):
    """A page of collections, by name."""

    items: list[CollectionView]
    next: str | None


class VersionView(Struct, frozen=True, kw_only=True):
    """A version of a document."""

    id: str
    number: int
    state: VersionState
    """`waiting`, `extracting`, `indexing`, then `published`; `failed` and `cancelled` are ends; `superseded`: a newer
    version is published."""
    format: Format
    media_type: str
    size: int
    done: int
    """While it is extracted: the pages read, of `pages`. Then: the passages indexed."""
    pages: int | None
    tokens: int
    passages: int
    error_code: str | None
    error_message: str | None
    """Why it failed, and what to do."""
    created_by: str
    created_at: int
    ended_at: int | None


class DocumentView(Struct, frozen=True, kw_only=True):
    """A document."""

    id: str
    collection_id: str
    name: str
    source: DocumentSource
    url: str | None
    created_by: str
    created_at: int
    updated_at: int
    version: VersionView | None
    """The published version, which agents find; null: none yet."""
    newest: VersionView | None
    """The version that was added last."""


class Documents(Struct, frozen=True):
    """A page of documents, by name."""

    items: list[DocumentView]
    next: str | None


class AddedDocument(Struct, frozen=True):
    """A document to which bytes were added."""

    document: DocumentView
    is_new: bool
    """False: its newest version has these bytes, and nothing happened."""


class AddedSite(Struct, frozen=True):
    """A sitemap that will be read; its pages become documents."""

    job: str


class Versions(Struct, frozen=True):
    """The versions of a document, newest first."""

    items: list[VersionView]


class PassageView(Struct, frozen=True, kw_only=True):
    """A passage. `start` and `end` count characters of the version's text."""

    id: str
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
    score: float | None = None
    """In a search: how well it fits, more is better."""


class Passages(Struct, frozen=True):
    """Passages: of a search best first, of a document in its order."""

    items: list[PassageView]
    next: int | None = None
    """Of a document: the `first` of the next page; null on the last."""


class Outline(Struct, frozen=True):
    """The headings of a document, with the passages where they begin."""

    items: list[OutlineEntry]


def collection_view(collection: CollectionRecord) -> CollectionView:
    """Show a collection."""
    return CollectionView(
        id=collection.id,
        name=collection.name,
        description=collection.description,
        own=collection.user is not None,
        documents=collection.documents,
        created_at=collection.created_at,
        updated_at=collection.updated_at,
    )


def version_view(version: VersionRecord) -> VersionView:
    """Show a version."""
    return convert(version, VersionView, from_attributes=True)


def document_view(document: DocumentRecord) -> DocumentView:
    """Show a document."""
    return DocumentView(
        id=document.id,
        collection_id=document.collection_id,
        name=document.name,
        source=document.source,
        url=document.url,
        created_by=document.created_by,
        created_at=document.created_at,
        updated_at=document.updated_at,
        version=None if document.version is None else version_view(document.version),
        newest=None if document.newest is None else version_view(document.newest),
    )


def passage_view(passage: DocumentPassage, *, scored: bool = False) -> PassageView:
    """Show a passage."""
    names = (name for name in PassageView.__struct_fields__ if name != "score")
    values = {name: getattr(passage, name) for name in names}
    return PassageView(**values, score=passage.score if scored else None)
