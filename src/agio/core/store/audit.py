"""The audit log: who did what, when, to which object. An entry is written in the transaction of what it tells of.

Whoever lets a request in says who acts, in `ACTOR`; the repository adds the entry to every change that is audited.
"""

from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from agio.core.store.records import Page
from agio.protocol.messages import Json


class Actor(Struct, frozen=True, kw_only=True):
    """Who is acting. `user` is empty for the operator at the command line."""

    tenant: str
    user: str
    credential: str
    address: str = ""
    request_id: str = ""


ACTOR: ContextVar[Actor | None] = ContextVar("agio_actor", default=None)
OPERATOR = Actor(tenant="", user="", credential="cli")
"""Whoever has the store's file or address, at the command line."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    number: int
    at: int
    user: str
    credential: str
    address: str
    request_id: str
    action: str
    """Such as `agent.create`."""
    object: str
    """The id of what was changed."""
    details: dict[str, Json]
    """What changed, without secrets and content."""


class AuditStore(Protocol):
    """The audit log's reader."""

    async def list_audit(
        self,
        tenant: str,
        *,
        action: str | None = None,
        user: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[AuditEntry]:
        """A tenant's entries, newest first. Raises UserError `invalid_cursor`."""
        ...

    async def note_failed_sign_in(self, account_id: str) -> None:
        """Tell the teams of an account that somebody failed to sign in to it."""
        ...
