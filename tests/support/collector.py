"""A service that takes traces, in the test's process: it keeps what it gets, and answers as a test says."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from aiohttp import web
from msgspec import Struct, field, json

from agio.protocol.messages import Json
from tests.support.engine import soon

Item = dict[str, Json]


class Posted(Struct, frozen=True):
    """A request that came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Json]


class Collector(Struct):
    """Keeps requests. `answers` are used first, one each: a status, or None for no answer at all."""

    url: str = ""
    posts: list[Posted] = field(default_factory=list[Posted])
    refused: list[Posted] = field(default_factory=list[Posted])
    answers: list[int | None] = field(default_factory=list[int | None])
    status: int = 200
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def items(self) -> list[Item]:
        """The traces and spans of OpenAI's format, in the order they came."""
        return [item for post in self.posts for item in cast("list[Item]", post.body.get("data", []))]

    async def take(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        posted = Posted(request.path, headers, json.decode(await request.read()))
        status = self.answers.pop(0) if self.answers else self.status
        async with self.changed:
            (self.posts if status == 200 else self.refused).append(posted)
            self.changed.notify_all()
        if status is None:
            await asyncio.Event().wait()
        if status == 200:
            return web.json_response({})
        return web.json_response({"error": {"message": "Not today."}}, status=status or 500)

    async def wait_for(self, posts: int = 0, refused: int = 0) -> None:
        """Wait until so many requests were taken, and so many refused."""

        async def enough() -> None:
            async with self.changed:
                await self.changed.wait_for(lambda: len(self.posts) >= posts and len(self.refused) >= refused)

        await soon(enough())


@asynccontextmanager
async def collecting() -> AsyncGenerator[Collector]:
    """Take traces on a free port until the test ends."""
    collector = Collector()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/{path:.*}", collector.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    collector.url = f"http://{host}:{port}"
    try:
        yield collector
    finally:
        await runner.cleanup()
