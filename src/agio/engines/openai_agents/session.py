"""AgioSession: the Agents SDK's `Session` in a store of ours, for programs that run their agents by themselves."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast

import msgspec
from agents import SessionSettings
from agents.items import TResponseInputItem
from agents.memory.session import SessionABC

from agio.db.repository import open_store
from agio.db.sqlite.shared import acquire_store, release_store
from agio.engines.openai_agents.items import bytes_of

MEMORY = ":memory:"


class ItemStore(Protocol):
    """A store of conversations' items; `Repository` is one."""

    async def session_items(self, tenant: str, key: str, limit: int | None = None) -> list[bytes]:
        """Return a session's items, or its newest, oldest first."""
        ...

    async def add_session_items(self, tenant: str, key: str, items: Sequence[bytes]) -> None:
        """Add items to a session."""
        ...

    async def pop_session_item(self, tenant: str, key: str) -> bytes | None:
        """Remove the newest item of a session and return it."""
        ...

    async def clear_session_items(self, tenant: str, key: str) -> None:
        """Remove all items of a session."""
        ...

    async def close(self) -> None:
        """Close the store."""
        ...


class AgioSession(SessionABC):
    """A conversation that is kept between the runs of a program: `Runner.run(agent, text, session=AgioSession(...))`.

    `store` is a file, which the program's `agio.Agent`s may share, `":memory:"`, or an open store. Use it as a context
    manager, or call `aclose()`.
    """

    def __init__(
        self,
        session_id: str,
        *,
        store: str | Path | ItemStore = MEMORY,
        tenant: str = "default",
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._tenant = tenant
        self._store = store
        self._path = Path(store).expanduser().resolve() if isinstance(store, (str, Path)) else None
        self._opened: ItemStore | None = None
        self._lock = asyncio.Lock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the conversation, or its newest `limit` items, oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        lines = await (await self._open()).session_items(self._tenant, self.session_id, limit)
        return [cast(TResponseInputItem, msgspec.json.decode(line)) for line in lines]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the conversation, in one commit."""
        lines = [bytes_of(item) for item in items]
        if lines:
            await (await self._open()).add_session_items(self._tenant, self.session_id, lines)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; None if there is none."""
        line = await (await self._open()).pop_session_item(self._tenant, self.session_id)
        return None if line is None else cast(TResponseInputItem, msgspec.json.decode(line))

    async def clear_session(self) -> None:
        """Remove the conversation."""
        await (await self._open()).clear_session_items(self._tenant, self.session_id)

    async def aclose(self) -> None:
        """Close the store, unless it was passed in."""
        opened, self._opened = self._opened, None
        if opened is None or opened is self._store:
            return
        if self._store == MEMORY or self._path is None:
            await opened.close()
        else:
            await release_store(self._path)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _open(self) -> ItemStore:
        async with self._lock:
            if self._opened is None:
                if self._path is None:
                    self._opened = cast(ItemStore, self._store)
                elif self._store == MEMORY:
                    self._opened = await open_store(MEMORY)
                else:
                    self._opened = await acquire_store(self._path)
            return self._opened
