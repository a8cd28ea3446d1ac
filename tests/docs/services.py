"""What the pages need around them: a model's service for their providers, and a stream in the documented framing."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web

from agio import Agent
from agio.agents.demo import INSTRUCTIONS, TOOLS
from agio.core.store.repository import RunLog
from agio.testing import ModelServer

_KEYS = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "gemini": "GEMINI"}


@contextmanager
def models_in_a_thread() -> Generator[dict[str, str]]:
    """Serve a model that echoes, in a thread of its own; yields the environment that leads to it."""
    started, stop = threading.Event(), asyncio.Event()
    environment: dict[str, str] = {}
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with ModelServer() as server:
            for wire, prefix in _KEYS.items():
                environment[f"{prefix}_BASE_URL"] = server.base_url(wire)
                environment[f"{prefix}_API_KEY"] = "test-key"
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert started.wait(60)
        yield environment
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()


async def two_runs(store: Path) -> list[RunLog]:
    """Store a conversation of two runs of the demo agent, the second of which takes an answer back."""
    async with Agent("demo", INSTRUCTIONS, tools=TOOLS, store=store) as agent:
        first = await agent.arun_stream("what is 6 * 7?").result()
        second = await agent.arun_stream("be flaky", thread_id=first.thread_id).result()
        assert (first.error, second.error) == (None, None)
        repository = await agent.repository()
        return [await repository.get_log(run_id) for run_id in (first.run_id, second.run_id)]


class SseServer:
    """Serves a stored run as docs/streaming_protocol.md says, and hangs up in the middle the first time.

    `asked` holds the Last-Event-ID of each request, None where there was none.
    """

    def __init__(self, log: RunLog, cut_after: int) -> None:
        lines = log.payload.split(b"\n")[:-1]
        first = log.info.first_pos + 1
        self._frames = {pos: b"id: %d\ndata: %s\n\n" % (pos, line) for pos, line in enumerate(lines, first)}
        self._cut_at = first + cut_after
        self.asked: list[str | None] = []
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["SseServer"]:
        """Serve on a free port of this machine."""
        app = web.Application()
        app.router.add_get("/api/agent-sessions/{id}/stream", self._stream)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            self.url = f"http://127.0.0.1:{port}/api/agent-sessions/thr_1/stream"
            yield self
        finally:
            await runner.cleanup()

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        last = request.headers.get("Last-Event-ID")
        self.asked.append(last)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b": keep-alive\n\n")
        for pos, frame in self._frames.items():
            if last is not None and pos <= int(last):
                continue
            # A frame may arrive in pieces, and a connection may break inside one.
            await response.write(frame[:11])
            if pos == self._cut_at and len(self.asked) == 1:
                assert request.transport is not None
                request.transport.close()
                return response
            await response.write(frame[11:])
        return response
