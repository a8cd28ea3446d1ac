"""A way to a server that breaks once, after so many bytes: what clients on the pages must survive."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class BreakingProxy:
    """Passes bytes between clients and a server; the first connection ends after `cut_after` bytes of answers."""

    def __init__(self, port: int, cut_after: int) -> None:
        self._port = port
        self._left: int | None = cut_after
        self.connections = 0
        self.address = ""
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["BreakingProxy"]:
        """Listen on a free port of this machine."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        fragile = self.connections == 1
        try:
            answers, requests = await asyncio.open_connection("127.0.0.1", self._port)
            up = asyncio.ensure_future(self._pass(reader, requests, fragile=False))
            try:
                await self._pass(answers, writer, fragile=fragile)
            finally:
                up.cancel()
                requests.close()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, fragile: bool
    ) -> None:
        while data := await reader.read(64 if fragile else 65536):
            if fragile and self._left is not None:
                data = data[: self._left]
                self._left -= len(data)
                if not data:
                    return
            writer.write(data)
            await writer.drain()
