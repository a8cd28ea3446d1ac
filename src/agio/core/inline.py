"""Inline agents: each is made for one session by the session's client and deleted with it. They are in no list."""

from typing import Protocol

from msgspec import Struct

from agio.core.store.records import AgentFields, AgentRecord, SessionRecord


class InlineSession(Struct, frozen=True):
    """A session and its own agent. `key` is the client's name for the session."""

    key: str
    session: SessionRecord
    agent: AgentRecord


class InlineStore(Protocol):
    """The store of sessions with their own agents."""

    async def find_agent(self, tenant: str, name: str) -> AgentRecord | None:
        """Return the tenant's agent with this name, or None."""
        ...

    async def start_inline_session(
        self, tenant: str, user: str, key: str | None, fields: AgentFields
    ) -> InlineSession:
        """Create a session with its own agent, or return the session of a key the user has used before.

        Without a key the session's id is its key. Raises UserError `session_deleted`.
        """
        ...

    async def find_inline_session(self, tenant: str, user: str, key: str) -> InlineSession:
        """Return the session of a key. Raises UserError `session_not_found`."""
        ...

    async def change_inline_agent(
        self, tenant: str, user: str, key: str, fields: AgentFields
    ) -> InlineSession:
        """Replace a session's own agent, for its next runs. Raises UserError `session_not_found`."""
        ...
