"""Long-term memory: what agents remember of people, and the suggestions that wait for a person (law 14).

A **memory** belongs to a person with an agent, to a person, or to an agent for the whole team. A **suggestion** is
what a model would like to remember; until a person approves it, it is no memory and reaches no prompt.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from agio.core.passage import FoundText, Passage, PassageQuery, Recollection
from agio.core.store.jobs import Completion
from agio.core.store.records import AgentRecord, Page

MemoryType: TypeAlias = Literal["fact", "preference", "episode", "instruction"]
MemoryScope: TypeAlias = Literal["user_agent", "user", "agent"]
"""Whose memory it is: of a person with an agent, of a person with every agent, of an agent with everybody."""
SuggestionState: TypeAlias = Literal["pending", "approved", "rejected"]

MAX_CHARS = 4000
"""The longest memory."""
MAX_QUERY_CHARS = 2000
DEFAULT_IMPORTANCE = 0.5
EXTRACTION = "extract_memories"
"""The kind of a session's job that suggests memories and indexes its messages."""
INDEXING = "index_conversations"
"""The kind of an agent's job that indexes the messages of its sessions."""


_REMEMBER = re.compile(
    r"\b(remember (that|this|my|i\b|we\b|to\b)|keep in mind|don't forget|merk(e)? dir|vergiss nicht|souviens-toi|"
    r"n'oublie pas|recuerda|no olvides|ricorda|non dimenticare)",
    re.IGNORECASE,
)


def asks_to_remember(text: str) -> bool:
    """Whether a message asks to remember something: then nothing waits for its session to be idle."""
    return _REMEMBER.search(text) is not None


class MemoryFields(Struct, frozen=True, kw_only=True):
    """What a person or a model says of a memory."""

    content: str
    memory_type: MemoryType = "fact"
    importance: float = DEFAULT_IMPORTANCE
    """From 0 to 1."""
    scope: MemoryScope = "user_agent"
    observed_at: int | None = None
    """When it was so; None: now."""
    expires_at: int | None = None
    supersedes: str | None = None
    """The memory that it replaces."""


class MemorySource(Struct, frozen=True, kw_only=True):
    """Where a memory comes from. Without a session a person wrote it down."""

    session_id: str | None = None
    run_id: str | None = None
    """None: that of the message, which must be the user's own."""
    message_id: str | None = None
    call_id: str | None = None
    """The tool call that made it: the same call makes one."""


class MemoryChange(Struct, frozen=True, kw_only=True):
    """The fields of a memory or suggestion to change; None: as it is."""

    content: str | None = None
    memory_type: MemoryType | None = None
    importance: float | None = None
    scope: MemoryScope | None = None
    observed_at: int | None = None
    expires_at: int | None = None


class MemoryRecord(Struct, frozen=True, kw_only=True):
    """A memory. Times are milliseconds since 1970."""

    id: str
    agent_id: str | None
    """None: every agent."""
    user: str | None
    """None: everybody in the team."""
    content: str
    memory_type: MemoryType
    importance: float
    access_count: int
    """In how many runs it was used."""
    accessed_at: int | None
    session_id: str | None
    run_id: str | None
    message_id: str | None
    created_by: str | None
    """The person who wrote or approved it; None: its agent's policy is `automatic`."""
    observed_at: int
    superseded_by: str | None
    expires_at: int | None
    created_at: int
    updated_at: int

    @property
    def scope(self) -> MemoryScope:
        """Whose memory it is."""
        return "user" if self.agent_id is None else "agent" if self.user is None else "user_agent"


class SuggestionRecord(Struct, frozen=True, kw_only=True):
    """A suggestion to a person. One that was decided has no content any more."""

    id: str
    agent_id: str
    user: str
    content: str
    memory_type: MemoryType
    importance: float
    scope: MemoryScope
    state: SuggestionState
    session_id: str | None
    run_id: str | None
    message_id: str | None
    supersedes: str | None
    observed_at: int
    expires_at: int | None
    created_at: int
    updated_at: int


def recollection(memory: MemoryRecord) -> Recollection:
    """Return a memory as a run gets it."""
    day = datetime.fromtimestamp(memory.observed_at / 1000, UTC)
    return Recollection(memory.id, f"{memory.memory_type}, {day:%Y-%m-%d}", memory.content)


class FoundMemory(Struct, frozen=True):
    """A memory that a search found, and how well it fits: more is better."""

    memory: MemoryRecord
    score: float


class Reach(Struct, frozen=True):
    """The memories that a run may use: those of a user with an agent, of the user, and of the agent."""

    tenant: str
    user: str
    agent_id: str
    """Empty: all of the user's, and none of an agent's."""


class SaidMessage(Struct, frozen=True, kw_only=True):
    """The text of a message of a user or an agent."""

    id: str
    role: str
    text: str
    run_id: str
    created_at: int


class SessionToExtract(Struct, frozen=True, kw_only=True):
    """What is new in a session since its memories were extracted."""

    session_id: str
    tenant: str
    user: str
    agent: AgentRecord
    run_ids: list[str]
    """The new runs."""
    messages: list[SaidMessage]
    """What user and agent said in the whole session, oldest first, if a run is new."""
    observed_at: int
    idle_ms: int
    """How long ago its last run ended."""
    is_ended: bool
    """Whether it was closed, its goal was met or it was cancelled: then nothing waits for it to be idle."""
    spent_tokens: int
    """What the tenant spent on extraction today."""
    spent_cost: float


class Extracted(Struct, frozen=True, kw_only=True):
    """The result of an extraction, for one commit."""

    tenant: str
    session_id: str
    run_ids: list[str]
    proposals: Sequence[tuple[MemoryFields, MemorySource]] = ()
    automatic: bool = False
    tokens: int = 0
    cost: float = 0.0


class MemoryStore(Protocol):
    """The store of memories. Each method sees only what the tenant's user may see.

    A memory of an agent for its team may be read by every user of the tenant, and changed with `team` only.
    """

    async def list_memories(
        self,
        tenant: str,
        user: str,
        *,
        agent_id: str | None = None,
        memory_type: MemoryType | None = None,
        scope: MemoryScope | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[MemoryRecord]:
        """List the memories that apply to a user with an agent, newest first; without an agent all of the user's.

        Raises UserError `invalid_cursor`.
        """
        ...

    async def get_memory(self, tenant: str, user: str, memory_id: str) -> MemoryRecord:
        """Return a memory. Raises UserError `memory_not_found`."""
        ...

    async def find_memories(self, reach: Reach, query: PassageQuery) -> list[FoundMemory]:
        """Search the memories that a run may use, best first."""
        ...

    async def has_memories(self, reach: Reach) -> bool:
        """Whether a run may use any memory."""
        ...

    async def add_memory(
        self,
        tenant: str,
        user: str,
        agent_id: str,
        fields: MemoryFields,
        source: MemorySource,
        *,
        automatic: bool = False,
    ) -> MemoryRecord:
        """Add a memory. The same text in the same scope returns the one that is there, with the new type, importance
        and times unless it is `automatic`; the same call returns it as it is.

        Raises UserError `agent_not_found`, `memory_not_found` (it supersedes none), `message_not_found`,
        `memory_too_large`, `memory_empty`, LimitExceeded `too_many_memories`.
        """
        ...

    async def change_memory(
        self, tenant: str, user: str, memory_id: str, change: MemoryChange, *, team: bool = False
    ) -> MemoryRecord:
        """Change a memory. Raises UserError `memory_not_found`, `memory_too_large`, `memory_empty`, `forbidden`."""
        ...

    async def delete_memory(self, tenant: str, user: str, memory_id: str, *, team: bool = False) -> None:
        """Delete a memory with all that came of it. Raises UserError `memory_not_found`, `forbidden`."""
        ...

    async def forget_user(self, tenant: str, user: str) -> int:
        """Delete all memories of a user, and the suggestions. Returns the number of memories."""
        ...

    async def use_memories(self, run_id: str, ids: Sequence[str]) -> None:
        """Count memories as used in a run, once a run."""
        ...

    async def suggest_memory(
        self, tenant: str, user: str, agent_id: str, fields: MemoryFields, source: MemorySource
    ) -> SuggestionRecord | None:
        """Add a suggestion. None if it was suggested before, or is a memory. Raises as `add_memory`."""
        ...

    async def list_suggestions(
        self,
        tenant: str,
        user: str,
        *,
        agent_id: str | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[SuggestionRecord]:
        """List the suggestions to a user that wait, newest first. Raises UserError `invalid_cursor`."""
        ...

    async def approve_suggestion(
        self, tenant: str, user: str, suggestion_id: str, *, team: bool = False
    ) -> MemoryRecord:
        """Make a suggestion a memory. Raises UserError `suggestion_not_found`, `suggestion_closed`, `forbidden`."""
        ...

    async def approve_suggestions(
        self, tenant: str, user: str, session_id: str, *, team: bool = False
    ) -> list[MemoryRecord]:
        """Approve all suggestions of a session that wait. Raises UserError `session_not_found`, `forbidden`."""
        ...

    async def reject_suggestion(self, tenant: str, user: str, suggestion_id: str) -> None:
        """Reject a suggestion. Raises UserError `suggestion_not_found`, `suggestion_closed`."""
        ...

    async def change_suggestion(
        self, tenant: str, user: str, suggestion_id: str, change: MemoryChange
    ) -> SuggestionRecord:
        """Edit a suggestion that waits. Raises as `reject_suggestion`, and UserError `memory_too_large`."""
        ...

    async def new_suggestions(self, session_id: str, before: int) -> list[SuggestionRecord]:
        """Return the waiting suggestions of a session that none of its runs has announced, made before a time."""
        ...

    async def close_session(self, tenant: str, user: str, session_id: str) -> bool:
        """Close a session: its memories are extracted now; a new message reopens it. False: it was closed.

        Raises UserError `session_not_found`, `session_busy`.
        """
        ...

    async def session_to_extract(self, session_id: str) -> SessionToExtract | None:
        """Return what is new in a session; None if it is gone."""
        ...

    async def find_session_agent(self, session_id: str) -> AgentRecord | None:
        """Return the agent of a session. The caller has checked the tenant."""
        ...

    async def waits_for_extraction(self, session_id: str) -> bool:
        """Whether an ended run of a session was not extracted yet. The caller has checked the tenant."""
        ...

    async def keep_extraction(self, given: Extracted, *, job: Completion | None = None) -> int:
        """Add proposals, mark the runs and complete the job, in one commit. Returns the number of new proposals.

        If the session is gone, or its runs were marked before, only the job is completed.
        """
        ...

    async def spend_extraction(self, tenant: str, tokens: int, cost: float) -> None:
        """Add to what the tenant spent on extraction today: a call whose answer could not be used."""
        ...

    async def find_said(
        self, tenant: str, user: str, query: PassageQuery, without: str = ""
    ) -> list[FoundText]:
        """Search the indexed messages of a user, best first, without those of one session."""
        ...

    async def sessions_of_agent(self, tenant: str, agent_id: str, after: str, limit: int) -> list[str]:
        """Return the ids of an agent's sessions after one, in their order."""
        ...

    async def session_passages(self, session_id: str) -> list[Passage]:
        """Return what was said in a session, to index it."""
        ...

    async def put_passages(self, tenant: str, passages: Sequence[Passage]) -> None:
        """Add texts to the index of passages, or replace them."""
        ...
