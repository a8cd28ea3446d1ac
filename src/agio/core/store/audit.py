"""The audit log: who changed which object, and when. An entry commits in the transaction of its change.

The code that authenticates a request sets `ACTOR`; the repository adds an entry to every audited change.
"""

from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from agio.core.store.records import Page
from agio.protocol.messages import Json


class Actor(Struct, frozen=True, kw_only=True):
    """The author of a change. `user` is empty for the operator at the command line."""

    tenant: str
    user: str
    credential: str
    address: str = ""
    request_id: str = ""


ACTOR: ContextVar[Actor | None] = ContextVar("agio_actor", default=None)
OPERATOR = Actor(tenant="", user="", credential="cli")
"""The operator at the command line, who has the store's file or address."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One entry of the audit log."""

    number: int
    at: int
    user: str
    credential: str
    address: str
    request_id: str
    action: str
    """The kind of change, such as `agent.create`."""
    object: str
    """The id of the changed object."""
    details: dict[str, Json]
    """The change, without secrets and content."""


class AuditStore(Protocol):
    """Read access to the audit log."""

    async def list_audit(
        self,
        tenant: str,
        *,
        action: str | None = None,
        user: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[AuditEntry]:
        """List a tenant's entries, newest first. Raises UserError `invalid_cursor`."""
        ...

    async def note_failed_sign_in(self, account_id: str) -> None:
        """Record a failed sign-in to an account in the audit logs of its teams."""
        ...
