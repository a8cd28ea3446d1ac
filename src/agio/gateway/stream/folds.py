"""Folding logs on the event loop: one slice in each iteration for all folds together, so that no long log blocks it.

A thread would not do: it takes the interpreter from the loop for milliseconds, and several of them for many.
"""

import asyncio
from collections.abc import Iterator

from agio.core.run.fold import Fold, fold_slices
from agio.core.store.repository import RunLog
from agio.core.store.store import Store

_END = object()


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
        """Fold a run's log, after the run before it, which may have left calls that this one settles.

        Raises StoreError, `store_corrupt` if a log is not what agio writes.
        """
        info, fold = log.info, Fold()
        earlier = await store.history(info, 1) if info.first_pos else []
        for part in (*earlier, log):
            await self.finish(fold_slices(fold, part))
        return fold
