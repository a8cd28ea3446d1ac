"""Store files that are shared within a process: locked once, closed by the last user."""

import asyncio
from pathlib import Path

from agio.db.repository import Repository, open_store


class _Shared:
    """A store that is open, opening or closing, and the number of its users."""

    def __init__(self, path: Path) -> None:
        self.opening = asyncio.ensure_future(open_store(path))
        self.closing: asyncio.Future[None] | None = None
        self.users = 0

    @property
    def lost(self) -> bool:
        """Whether the event loop that was opening or closing it has ended."""
        under_way = self.closing or self.opening
        return self.opening.cancelled() or (under_way.get_loop().is_closed() and not under_way.done())


_shared: dict[Path, _Shared] = {}


async def acquire_store(path: Path) -> Repository:
    """Open a store file, or share the open one. Raises what `open_store` raises."""
    while (entry := _shared.get(path)) is not None and entry.closing is not None and not entry.lost:
        await asyncio.wait([entry.closing])
    if entry is None or entry.lost:
        entry = _shared[path] = _Shared(path)
    entry.users += 1
    try:
        return entry.opening.result() if entry.opening.done() else await asyncio.shield(entry.opening)
    except BaseException:
        await _leave(path, entry)
        raise


async def release_store(path: Path) -> None:
    """Release a store file; the last user closes it."""
    entry = _shared.get(path)
    if entry is not None:
        await _leave(path, entry)


async def _leave(path: Path, entry: _Shared) -> None:
    entry.users -= 1
    if entry.users == 0 and entry.closing is None:
        entry.closing = asyncio.ensure_future(_close(path, entry))
        await asyncio.shield(entry.closing)


async def _close(path: Path, entry: _Shared) -> None:
    try:
        await asyncio.wait([entry.opening])
        if not entry.opening.cancelled() and entry.opening.exception() is None:
            await entry.opening.result().close()
    finally:
        if _shared.get(path) is entry:
            del _shared[path]
