"""WorkerLink: what one worker may ask of this gateway. Every call is checked against the claim it comes with."""

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agio.core.file import FilePiece
from agio.core.link.link import Answer, Claim, Greeting, ToolReply, Welcome, Worker
from agio.core.store.repository import Append, Effect, ToolRecord
from agio.errors import StoreError
from agio.gateway.workers.connected_worker import ClaimedRun, ConnectedWorker, Permit
from agio.protocol.messages import Json

if TYPE_CHECKING:
    from agio.gateway.workers.pool import WorkerPool


class WorkerLink:
    """One worker's link, `core.link.Link`. Its transport calls `alive`, `revoked` and `closed`."""

    def __init__(self, pool: "WorkerPool", connection: Worker, permit: Permit) -> None:
        self._pool = pool
        self._connection = connection
        self._permit = permit
        self._worker: ConnectedWorker | None = None
        self._beats = False
        self._closed = False

    async def greet(self, greeting: Greeting) -> Welcome:
        """See `Link`."""
        self._worker, welcome = await self._pool.greeter.greet(self, self._connection, greeting, self._permit)
        self._worker.beats = self._beats
        if self._closed:
            self.closed()
        return welcome

    def append(self, claim: Claim, write: Append) -> asyncio.Future[Answer]:
        """See `Link`."""
        try:
            return self._pool.recorder.append(self._check(claim), write)
        except StoreError as refusal:
            refused: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            return refused

    def hurry(self, claim: Claim) -> None:
        """See `Link`."""
        with suppress(StoreError):
            self._pool.recorder.hurry(self._check(claim))

    async def begin_tool(
        self, claim: Claim, key: str, tool: str, effect: Effect, lane: str = ""
    ) -> ToolRecord | None:
        """See `Link`. The effect that counts is the one the tool was offered with."""
        return await self._pool.tools.begin(self._check(claim), key, tool, lane)

    async def end_tool(self, claim: Claim, key: str, record: ToolRecord) -> None:
        """See `Link`."""
        await self._pool.tools.end(self._check(claim), key, record)

    async def call_tool(
        self, claim: Claim, key: str, tool: str, arguments: dict[str, Json], lane: str = "", agent: str = ""
    ) -> ToolReply:
        """See `Link`."""
        return await self._pool.tools.call(self._check(claim), key, tool, arguments, lane, agent)

    async def read_file(self, claim: Claim, file_id: str, idx: int) -> FilePiece:
        """See `Link`. A run has the files of its session only."""
        return await self._pool.read_file(self._check(claim), file_id, idx)

    async def release(self, claim: Claim) -> None:
        """See `Link`."""
        await self._pool.release(self._check(claim))

    async def leave(self) -> None:
        """See `Link`."""
        if self._worker is not None:
            self._pool.leave(self._worker)

    async def linked(self) -> None:
        """See `Link`. A worker in this process is always linked."""

    def out_of_touch(self) -> bool:
        """See `Link`. A worker in this process is always linked."""
        return False

    def alive(self) -> bool:
        """Take a sign of life; from the first on, silence means something. False: the worker is not in the pool."""
        self._beats = True
        return self._worker is not None and self._pool.beat(self._worker.id, self._permit)

    def revoked(self) -> None:
        """Take everything from the worker at once: its key was revoked."""
        if self._worker is not None and self._worker.link is self:
            self._pool.give_up(self._worker)

    def closed(self) -> None:
        """Take note that the transport was closed."""
        self._closed = True
        if self._worker is not None:
            self._pool.closed(self._worker, self)

    def _check(self, claim: Claim) -> ClaimedRun:
        if self._worker is None:
            raise StoreError("stale_epoch", "A worker must greet before it asks for anything.")
        self._worker.seen = time.monotonic()
        return self._pool.check(claim, self._worker)
