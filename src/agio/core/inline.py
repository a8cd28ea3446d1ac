"""Inline agents: made for one session by whoever began it, and gone with it. No list and no name finds them."""

from typing import Protocol

from msgspec import Struct

from agio.core.store.records import AgentFields, AgentRecord, SessionRecord


class InlineSession(Struct, frozen=True):
    """A session and the agent that was made for it. `key` is what its client calls it."""

    key: str
    session: SessionRecord
    agent: AgentRecord


class InlineStore(Protocol):
    """Sessions with agents of their own."""

    async def find_agent(self, tenant: str, name: str) -> AgentRecord | None:
        """The agent a tenant knows by this name."""
        ...

    async def start_inline_session(
        self, tenant: str, user: str, key: str | None, fields: AgentFields
    ) -> InlineSession:
        """Begin a session with an agent of its own; with a key that the user has used, the one there is.

        Without a key it is called by its id. Raises UserError `session_deleted`.
        """
        ...

    async def find_inline_session(self, tenant: str, user: str, key: str) -> InlineSession:
        """Raises UserError `session_not_found`."""
        ...

    async def change_inline_agent(
        self, tenant: str, user: str, key: str, fields: AgentFields
    ) -> InlineSession:
        """Replace what is said of a session's own agent, for its next runs. Raises UserError `session_not_found`."""
        ...
