"""The queue of ended runs whose traces are sent elsewhere, and what became of those that were sent.

A run is queued for each service in the commit that ends it, so no end is missed and their order does not matter.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from agio.core.identity.team import TenantRecord, TracesSent
from agio.core.store.repository import RunLog

Sink: TypeAlias = Literal["openai", "otlp"]
"""A service that takes traces."""


class QueuedTrace(Struct, frozen=True):
    """A run that waits to be sent."""

    run_id: str
    tenant: str
    queued_at: int


class TraceAccount(Struct, frozen=True, kw_only=True):
    """The account at a service that a team's traces go to: the operator's, or the team's `own`."""

    sink: Sink
    tenant: str
    own: bool = False


class TraceExport(Struct, frozen=True, kw_only=True):
    """What became of a team's traces at one account. Times are milliseconds since 1970."""

    sink: Sink
    own: bool
    sent: int
    """Runs."""
    refused: int
    """Runs that the service refused for good: they are not sent again."""
    failures: int
    """How many attempts have failed in a row."""
    retry_at: int
    sent_at: int | None
    error_code: str | None
    error_message: str | None
    """The newest problem; `error_at` is when."""
    error_at: int | None


class TraceStore(Protocol):
    """The store of the queue. Raises StoreError when the store fails."""

    async def queued_traces(
        self, sink: Sink, after: QueuedTrace | None = None, limit: int = 100, *, waiting: bool = False
    ) -> list[QueuedTrace]:
        """Return the runs that wait for a service, oldest first.

        Those whose account waits to be tried again are left out, unless `waiting`.
        """
        ...

    async def trace_logs(self, run_ids: Sequence[str], limit_bytes: int) -> list[RunLog]:
        """Return the logs of runs, in their order, without those that were deleted.

        It stops after about so many bytes, and returns at least one log if there is one.
        """
        ...

    async def settle_traces(
        self,
        account: TraceAccount,
        run_ids: Sequence[str],
        *,
        refused: bool = False,
        error: tuple[str, str] | None = None,
    ) -> int:
        """Take runs out of the queue and count them: as sent, or as refused for good. Returns their number."""
        ...

    async def drop_traces(self, sink: Sink, run_ids: Sequence[str]) -> None:
        """Take runs out of the queue that are not to be sent."""
        ...

    async def pause_traces(self, account: TraceAccount, error: tuple[str, str], retry_ms: int) -> None:
        """Record a failed attempt. The account's runs wait for `retry_ms`."""
        ...

    async def trace_failures(self, account: TraceAccount) -> int:
        """Return how many attempts of an account have failed in a row."""
        ...

    async def trace_exports(self, tenant: str) -> list[TraceExport]:
        """Return what became of a team's traces."""
        ...

    async def trace_backlog(self, sink: Sink, tenant: str | None = None) -> tuple[int, int | None]:
        """Return how many runs wait for a service, of a team or of all, and since when the oldest does."""
        ...

    async def set_traces(self, tenant: str, sent: TracesSent) -> TenantRecord:
        """Set what of a team's runs is sent. Raises UserError `tenant_not_found`."""
        ...
