"""Store files that parts of one process share: locked for them together, closed with the last."""

import asyncio
from pathlib import Path

from agio.db.repository import SqliteRepository, open_store
from agio.errors import AgioError


class _Shared:
    """An open store, or one that is being opened, and how many use it."""

    def __init__(self, path: Path) -> None:
        self.opening = asyncio.ensure_future(open_store(path))
        self.users = 0


_shared: dict[Path, _Shared] = {}


async def acquire_store(path: Path) -> SqliteRepository:
    """Open a store file, or join those who have it open. Raises what `open_store` raises."""
    entry = _shared.get(path)
    if entry is None:
        entry = _shared[path] = _Shared(path)
    try:
        repository = (
            await asyncio.shield(entry.opening) if not entry.opening.done() else entry.opening.result()
        )
    except AgioError:
        _shared.pop(path, None)
        raise
    entry.users += 1
    return repository


async def release_store(path: Path) -> None:
    """Let go of a store file; the last one closes it."""
    entry = _shared[path]
    entry.users -= 1
    if entry.users == 0:
        del _shared[path]
        await entry.opening.result().close()
