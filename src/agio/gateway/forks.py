"""Copies of sessions that clients ask for: few at a time for each tenant, and one for a key."""

import asyncio
from collections import Counter

from msgspec import Struct

from agio.core.config import ServerLimits
from agio.core.identity import Principal
from agio.core.records import ForkLimits, SessionRecord
from agio.core.store import Store
from agio.errors import LimitExceeded, StoreError, UserError
from agio.protocol.ids import new_id

_RETRY_AFTER_S = 2


class ForkRequest(Struct, frozen=True, kw_only=True):
    """What somebody asks for. `key` is the caller's idempotency key."""

    session_id: str
    before: str
    title: str | None = None
    key: str | None = None


class _Under(Struct, frozen=True):
    """A copy that is being made."""

    asked: ForkRequest
    task: "asyncio.Task[SessionRecord]"


class Forks:
    """Makes copies for those who ask; one goes on if whoever asked does not wait. `close` stops what is under way."""

    def __init__(self, store: Store, limits: ServerLimits) -> None:
        self._store = store
        self._at_once = limits.forks_at_once
        self._limits = ForkLimits(limits.fork_events, limits.fork_bytes)
        self._running: dict[tuple[str, str, str, str], _Under] = {}
        self._counts: Counter[str] = Counter()

    async def make(self, who: Principal, asked: ForkRequest) -> SessionRecord:
        """Make a copy, or wait for the one with the same key.

        Raises LimitExceeded `too_many_forks`, what `Store.fork_session` raises, StoreError `store_closed` when the
        gateway stops.
        """
        name = (who.tenant, who.user, asked.session_id, asked.key or f" {new_id('')}")
        under = self._running.get(name)
        if under is None:
            under = self._begin(who, asked, name)
        elif under.asked != asked:
            raise UserError(
                "idempotency_conflict",
                "This key was used before for something else. Use a new one for each copy.",
            )
        await asyncio.wait([under.task])
        if under.task.cancelled():
            raise StoreError("store_closed", "The server stops. Ask again, with the same Idempotency-Key.")
        return under.task.result()

    async def close(self) -> None:
        """Stop every copy: what there is of them is seen by nobody, and swept."""
        tasks = [under.task for under in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, who: Principal, asked: ForkRequest, name: tuple[str, str, str, str]) -> _Under:
        if self._counts[who.tenant] >= self._at_once:
            raise LimitExceeded(
                "too_many_forks",
                f"{self._at_once} sessions of this team are being copied. Try again when one is done.",
                {"limit": self._at_once, "retry_after_s": _RETRY_AFTER_S},
            )
        self._counts[who.tenant] += 1
        task = asyncio.create_task(self._make(who, asked))
        under = self._running[name] = _Under(asked, task)

        def done(ended: "asyncio.Task[SessionRecord]") -> None:
            del self._running[name]
            self._counts[who.tenant] -= 1
            if not self._counts[who.tenant]:
                del self._counts[who.tenant]
            if not ended.cancelled():
                ended.exception()  # whoever asked may be gone

        task.add_done_callback(done)
        return under

    async def _make(self, who: Principal, asked: ForkRequest) -> SessionRecord:
        return await self._store.fork_session(
            who.tenant,
            who.user,
            asked.session_id,
            asked.before,
            title=asked.title,
            key=asked.key,
            limits=self._limits,
        )
