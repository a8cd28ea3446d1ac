"""The tool `fetch_project_context`: a conversation's session, page, profile and recent drafts, bounded."""

from typing import Protocol

from msgspec import Struct, field

from agio.core.draft import DraftRecord
from agio.core.profile import Profile
from agio.core.store.records import EventSlice, Page, SessionRecord
from agio.core.tool import AnyTool, ToolContext, tool
from agio.protocol.codec import decode_event
from agio.protocol.events import RunStarted
from agio.protocol.messages import ContextEntry

_DRAFTS = 10
_PAGE_CHARS = 16_000
_LABEL_CHARS = 200


class ProjectStore(Protocol):
    """The store that the tool reads."""

    async def get_session(self, tenant: str, user: str, session_id: str) -> SessionRecord:
        """Return a session. Raises UserError `session_not_found`."""
        ...

    async def read_run(self, run_id: str, after: int, limit_bytes: int) -> EventSlice:
        """Return a run's events after a seq."""
        ...

    async def get_profile(self, tenant: str, user: str) -> Profile:
        """Return a user's profile."""
        ...

    async def list_drafts(
        self, tenant: str, user: str, *, kind: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[DraftRecord]:
        """Return a user's drafts, newest first."""
        ...


class SessionPart(Struct, frozen=True, kw_only=True):
    """The conversation."""

    id: str
    title: str
    agent: str


class PagePart(Struct, frozen=True):
    """An entry of the client's page: untrusted text."""

    description: str
    value: str


class DraftPart(Struct, frozen=True, kw_only=True):
    """A draft, without its content."""

    id: str
    key: str
    kind: str
    title: str
    version: int
    updated_at: int


class ProjectContext(Struct, frozen=True, kw_only=True):
    """The tool's result."""

    session: SessionPart | None
    page: list[PagePart] = field(default_factory=list[PagePart])
    page_cut: bool = False
    """Whether the page was truncated."""
    profile: dict[str, str] = field(default_factory=dict[str, str])
    drafts: list[DraftPart] = field(default_factory=list[DraftPart])


def make_project_context_tool(store: ProjectStore) -> AnyTool:
    """Make the tool `fetch_project_context`."""

    @tool(effect="read")
    async def fetch_project_context(context: ToolContext) -> ProjectContext:
        """Tell what this conversation is about: its title, what the user's page shows, their profile, recent drafts."""
        session = None
        if context.session:
            found = await store.get_session(context.tenant, context.user, context.session)
            session = SessionPart(id=found.id, title=found.title, agent=found.agent_name)
        page, page_cut = _bounded(await _page_of(store, context.run) if context.run else [])
        profile = await store.get_profile(context.tenant, context.user)
        drafts = await store.list_drafts(context.tenant, context.user, limit=_DRAFTS)
        return ProjectContext(
            session=session,
            page=page,
            page_cut=page_cut,
            profile=profile.fields,
            drafts=[_draft(record) for record in drafts.items],
        )

    return fetch_project_context


async def _page_of(store: ProjectStore, run_id: str) -> list[ContextEntry]:
    """Return the page at the start of the run, from its first event."""
    first = decode_event((await store.read_run(run_id, 0, 1)).payload.partition(b"\n")[0])
    return (first.input.context or []) if isinstance(first, RunStarted) and first.input else []


def _bounded(entries: list[ContextEntry]) -> tuple[list[PagePart], bool]:
    shown: list[PagePart] = []
    room = _PAGE_CHARS
    for entry in entries:
        part = PagePart(entry.description[: min(_LABEL_CHARS, room)], entry.value)
        room -= len(part.description)
        if len(part.value) > room:
            return [*shown, PagePart(part.description, part.value[:room])], True
        room -= len(part.value)
        shown.append(part)
    return shown, False


def _draft(record: DraftRecord) -> DraftPart:
    return DraftPart(
        id=record.id,
        key=record.key,
        kind=record.kind,
        title=record.title,
        version=record.version,
        updated_at=record.updated_at,
    )
