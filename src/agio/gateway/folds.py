"""Folding logs on the event loop: one slice in each of its rounds, whoever folds, so that no long log holds up others.

A thread would not do: it takes the interpreter from the loop for milliseconds, and several of them for many.
"""

import asyncio
from collections.abc import Iterator

_END = object()


class Folds:
    """Whose turn it is: those who fold take turns, a slice each."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def finish(self, slices: Iterator[object]) -> None:
        """Do work that is divided into slices, to its end."""
        while True:
            async with self._turn:
                if next(slices, _END) is _END:
                    return
                await asyncio.sleep(0)
