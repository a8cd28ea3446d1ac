"""Forks of sessions: few at a time for each tenant, and one for each idempotency key."""

from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from agio.core.config import ServerLimits
from agio.core.identity.principal import Principal
from agio.core.store.records import ForkLimits, SessionRecord
from agio.core.store.store import Store
from agio.errors import LimitExceeded
from agio.gateway.shared_tasks import SharedTasks

_RETRY_AFTER_S = 2


class ForkRequest(Struct, frozen=True, kw_only=True):
    """A request for a copy. `key` is the caller's idempotency key."""

    session_id: str
    before: str
    title: str | None = None
    key: str | None = None


class Forks:
    """Makes copies of sessions. A copy continues if the caller disconnects. `close` stops those that run."""

    def __init__(self, store: Store, limits: ServerLimits) -> None:
        self._store = store
        self._at_once = limits.forks_at_once
        self._limits = ForkLimits(limits.fork_events, limits.fork_bytes)
        self._tasks = SharedTasks[SessionRecord]("copy")

    async def make(self, who: Principal, asked: ForkRequest) -> SessionRecord:
        """Make a copy, or wait for the one with the same key.

        Raises LimitExceeded `too_many_forks`, what `Store.fork_session` raises, StoreError `store_closed` when the
        gateway stops.
        """
        owner = (who.tenant, who.user, asked.session_id)
        return await self._tasks.join(owner, asked.key, asked, lambda: self._begin(who, asked))

    async def close(self) -> None:
        """Stop every copy. An unfinished one is hidden, and the store sweeps it."""
        await self._tasks.close()

    def _begin(self, who: Principal, asked: ForkRequest) -> Coroutine[Any, Any, SessionRecord]:
        if sum(tenant == who.tenant for tenant, *_ in self._tasks.owners) >= self._at_once:
            raise LimitExceeded(
                "too_many_forks",
                f"{self._at_once} sessions of this team are being copied. Try again when one is done.",
                {"limit": self._at_once, "retry_after_s": _RETRY_AFTER_S},
            )
        return self._store.fork_session(
            who.tenant,
            who.user,
            asked.session_id,
            asked.before,
            title=asked.title,
            key=asked.key,
            limits=self._limits,
        )
