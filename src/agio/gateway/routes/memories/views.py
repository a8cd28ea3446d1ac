"""Memories and suggestions as REST shows them. Times are milliseconds since 1970."""

from msgspec import Struct, convert

from agio.core.memory import MemoryRecord, MemoryScope, MemoryType, SuggestionRecord, SuggestionState


class MemoryView(Struct, frozen=True, kw_only=True):
    """A memory, and where it came from."""

    id: str
    agent_id: str | None
    """Null: every agent of the user."""
    scope: MemoryScope
    """`user_agent`: of the user with the agent; `user`: with every agent; `agent`: the agent's, for its whole team."""
    content: str
    memory_type: MemoryType
    importance: float
    access_count: int
    """In how many runs it was used."""
    accessed_at: int | None
    session_id: str | None
    """The session that it came from; it is deleted with it. Null: a person wrote it."""
    run_id: str | None
    message_id: str | None
    created_by: str | None
    """The user who wrote or approved it; null: the agent did, by itself."""
    observed_at: int
    superseded_by: str | None
    """The memory that replaced it: agents do not see it any more."""
    expires_at: int | None
    created_at: int
    updated_at: int
    score: float | None = None
    """In a search: how well it fits, more is better."""


class Memories(Struct, frozen=True):
    """A page of memories: newest first, in a search best first."""

    items: list[MemoryView]
    next: str | None


class SuggestionView(Struct, frozen=True, kw_only=True):
    """A suggested memory that waits for a decision. No agent sees it before."""

    id: str
    agent_id: str
    scope: MemoryScope
    content: str
    memory_type: MemoryType
    importance: float
    state: SuggestionState
    session_id: str | None
    run_id: str | None
    message_id: str | None
    supersedes: str | None
    """The memory that it would replace."""
    observed_at: int
    expires_at: int | None
    created_at: int
    updated_at: int


class Suggestions(Struct, frozen=True):
    """A page of suggestions, newest first."""

    items: list[SuggestionView]
    next: str | None


class Approved(Struct, frozen=True):
    """The memories that were made."""

    items: list[MemoryView]


class ClosedSession(Struct, frozen=True):
    """A closed session. A new message opens it again."""

    closed: bool
    """False: it was closed before."""
    suggestions: int
    """How many suggestions of the session wait now."""


class Forgotten(Struct, frozen=True):
    """How many memories were deleted."""

    memories: int


class MemoryExport(Struct, frozen=True, kw_only=True):
    """Everything that agents remember of a user."""

    exported_at: int
    user: str
    profile: dict[str, str]
    memories: list[MemoryView]
    suggestions: list[SuggestionView]


def memory_view(memory: MemoryRecord, score: float | None = None) -> MemoryView:
    """Show a memory."""
    names = (name for name in MemoryView.__struct_fields__ if name != "score")
    return MemoryView(**{name: getattr(memory, name) for name in names}, score=score)


def suggestion_view(suggestion: SuggestionRecord) -> SuggestionView:
    """Show a suggestion."""
    return convert(suggestion, SuggestionView, from_attributes=True)
