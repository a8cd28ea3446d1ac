"""Carries a run's writes from the engine to the gateway, and keeps each until it is stored.

The engine has one append in flight. The link repeats calls that a lost connection dropped; the outbox retries
transient store errors for a limited time, so that a full disk does not end a run.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from agio.core.engine.runner import LET_GO
from agio.core.link.link import Answer, Claim, Link
from agio.core.store.repository import Append, Effect, RunStatus, ToolRecord
from agio.errors import AgioError, StoreError
from agio.protocol.frames import TOOL_RESULT
from agio.telemetry.logging import write_often

_log = logging.getLogger("agio.worker")

PASSING = frozenset({"store_full", "store_unavailable", "store_failed", "store_locked"})
"""Transient errors of the store."""
PATIENCE_S = 60.0
_FIRST_DELAY_S = 0.05
_MAX_DELAY_S = 2.0

T = TypeVar("T")


class Outbox:
    """The engine's `LogWriter` and `ToolRecords`, over a link.

    `on_cancel` is called when an answer carries the cancel flag, `on_doubt` when the gateway may have given the run to
    another worker. `on_rest`, if set, is called when the run is between two turns and no once-only call is running
    here.
    """

    def __init__(
        self,
        link: Link,
        claim: Claim,
        on_cancel: Callable[[], None],
        on_doubt: Callable[[], None],
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.ended = False
        """Whether the run's end is stored."""
        self._began = time.perf_counter()
        self.lost = False
        """Whether the claim is known to be invalid: there is nothing to release."""
        self.on_rest: Callable[[], None] | None = None
        self._link = link
        self._claim = claim
        self._on_cancel = on_cancel
        self._on_doubt = on_doubt
        self._patience_s = patience_s
        self._acting: set[str] = set()
        """Running calls that must execute at most once."""

    def forget(self) -> None:
        """Stop all callbacks: the run is over here."""
        self._on_cancel = self._on_doubt = _nothing
        self.on_rest = None

    async def ready(self) -> None:
        """Wait for the link: a reconnect settles whether the claim is valid."""
        await self._link.linked()

    def holds(self) -> bool:
        """Whether the claim is valid, as far as this worker knows."""
        return not (self.lost or self._link.out_of_touch())

    async def fall(self) -> None:
        """Report that the claim may be invalid, and wait to be stopped."""
        self._on_doubt()
        await asyncio.Event().wait()

    def append(self, write: Append) -> Awaitable[None]:
        """Send a frame. The awaitable completes when the frame is stored, or raises the error."""
        written = asyncio.get_running_loop().create_future()
        self._send(write, written, None)
        return written

    def hurry(self, run_id: str) -> None:
        """See `LogWriter`."""
        self._link.hurry(self._claim)

    def _send(self, write: Append, written: asyncio.Future[None], troubles: "_Troubles | None") -> None:
        try:
            answered = asyncio.ensure_future(self._link.append(self._claim, write))
        except AgioError as error:
            self._refused(write, written, troubles, error)
        else:
            answered.add_done_callback(partial(self._answered, write, written, troubles))

    def _answered(
        self,
        write: Append,
        written: asyncio.Future[None],
        troubles: "_Troubles | None",
        done: asyncio.Future[Answer],
    ) -> None:
        if done.cancelled():
            self._refused(write, written, troubles, StoreError("link_lost", "The link was closed."))
            return
        error = done.exception()
        if error is not None:
            wrapped = (
                error if isinstance(error, AgioError) else StoreError("store_failed", type(error).__name__)
            )
            self._refused(write, written, troubles, wrapped)
            return
        if write.end is not None:
            self.ended = True
            self._note_end(write.end, write.error_code)
        elif done.result().cancel:
            self._on_cancel()  # before the engine sees the commit: no tool starts after a cancel
        if not written.done():
            written.set_result(None)
        if write.begins or write.ends:
            self._acting.update(begin.key for begin in write.begins if begin.effect == "once")
            self._acting.difference_update(end.key for end in write.ends)
        if self.on_rest is not None and write.end is None and _rests(write) and not self._acting:
            self.on_rest()

    def _note_end(self, status: RunStatus, code: str | None) -> None:
        ms = round((time.perf_counter() - self._began) * 1000, 1)
        if _log.isEnabledFor(logging.INFO):
            write_often(_log, f"run ended: {status}", {"status": status, "code": code, "ms": ms})

    def _refused(
        self,
        write: Append,
        written: asyncio.Future[None],
        troubles: "_Troubles | None",
        error: AgioError,
    ) -> None:
        if error.code in LET_GO:
            self.lost = True
        if written.done():
            return
        if error.code in PASSING:
            troubles = troubles or _Troubles(self._patience_s)
            delay_s = troubles.delay_s()
            if delay_s is not None:
                _log.warning("run %s waits for the store and retries: %s", self._claim.run_id, error)
                asyncio.get_running_loop().call_later(delay_s, self._again, write, written, troubles)
                return
        written.set_exception(error)

    def _again(self, write: Append, written: asyncio.Future[None], troubles: "_Troubles") -> None:
        if not written.done():
            self._send(write, written, troubles)

    async def begin_tool(
        self,
        run_id: str,
        key: str,
        *,
        tool: str = "",
        effect: Effect = "once",
        epoch: int | None = None,
        lane: str = "",
    ) -> ToolRecord | None:
        """Record the start of a call that no append carries."""
        record = await self.persist(lambda: self._link.begin_tool(self._claim, key, tool, effect, lane))
        if record is None and effect == "once":
            self._acting.add(key)
        return record

    async def end_tool(self, run_id: str, key: str, record: ToolRecord) -> None:
        """Record a call's result."""
        await self.persist(lambda: self._link.end_tool(self._claim, key, record))
        self._acting.discard(key)

    async def persist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Call the gateway, and retry transient errors of its store."""
        troubles = _Troubles(self._patience_s)
        while True:
            try:
                return await ask()
            except AgioError as error:
                if error.code in LET_GO:
                    self.lost = True
                delay_s = troubles.delay_s() if error.code in PASSING else None
                if delay_s is None:
                    raise
                _log.warning("run %s waits for the store and retries: %s", self._claim.run_id, error)
            await asyncio.sleep(delay_s)


class _Troubles:
    """A growing, bounded backoff while the store fails."""

    def __init__(self, patience_s: float) -> None:
        self._until = asyncio.get_running_loop().time() + patience_s
        self._delay_s = _FIRST_DELAY_S

    def delay_s(self) -> float | None:
        """Return the pause before the next attempt, None to give up."""
        if asyncio.get_running_loop().time() + self._delay_s > self._until:
            return None
        delay_s, self._delay_s = self._delay_s, min(_MAX_DELAY_S, self._delay_s * 2)
        return delay_s


def _nothing() -> None: ...


def _rests(write: Append) -> bool:
    """Whether this append leaves the run between two turns: it completes a turn or has a call's result."""
    return bool(write.turns) or TOOL_RESULT in write.frame.payload
