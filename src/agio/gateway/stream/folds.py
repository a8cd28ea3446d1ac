"""Folding logs on the event loop: one slice in each iteration for all folds together, so that no long log blocks it.

A thread would not do: it takes the interpreter from the loop for milliseconds, and several of them for many.
"""

import asyncio
from collections.abc import Iterator

from msgspec import UNSET

from agio.core.run.fold import Fold, fold_slices
from agio.core.store.repository import RunLog
from agio.core.store.store import Store
from agio.protocol.codec import decode_event
from agio.protocol.events import RunStarted

_END = object()
_MOST = 64
"""How many messages are looked at for the call that was asked about."""


class Folds:
    """A lock: concurrent folds take turns, one slice each."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def finish(self, slices: Iterator[object]) -> None:
        """Do work that is divided into slices, to its end."""
        while True:
            async with self._turn:
                if next(slices, _END) is _END:
                    return
                await asyncio.sleep(0)

    async def fold_run(self, store: Store, log: RunLog) -> Fold:
        """Fold a run's log, after the runs before it that may have left calls that this one settles.

        Raises StoreError, `store_corrupt` if a log is not what agio writes.
        """
        info, fold = log.info, Fold()
        earlier, enough = await store.history(info, 1) if info.first_pos else [], 1
        while earlier and enough < _MOST and _answers(log) and _answers(earlier[0]):
            enough *= 2  # the tool that asked in the earlier run has asked before
            earlier = await store.history(info, enough)
        for part in (*earlier, log):
            await self.finish(fold_slices(fold, part))
        return fold


def _answers(log: RunLog) -> bool:
    """Whether a run answers questions of the run before it."""
    first = decode_event(log.payload.partition(b"\n")[0]) if log.payload else None
    return isinstance(first, RunStarted) and first.input is not UNSET and bool(first.input.resume)
