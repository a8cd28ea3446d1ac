"""A client that never gives up: sends each message until it is accepted, and reads its session across crashes."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self, cast

import aiohttp

from tests.acceptance.checker import Transcript

RETRY_S = 0.05
_LOST = (aiohttp.ClientError, ConnectionError, TimeoutError, asyncio.IncompleteReadError)


class Client:
    """One session of a user with the agent, its transcript, and the task that reads its stream."""

    def __init__(self, url: str, api_key: str) -> None:
        self.transcript = Transcript()
        self.url = url
        self.rejoins = 0
        self._http = aiohttp.ClientSession(
            headers={"authorization": f"Bearer {api_key}"}, timeout=aiohttp.ClientTimeout(10)
        )
        self._reading: asyncio.Task[None] | None = None
        self._seen = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading
        await self._http.close()

    async def start(self, agent_name: str) -> None:
        """Start a session with the agent, and begin to read its stream from its first event."""
        agents = await self._ask("GET", "/api/agents", params={"search": agent_name})
        agent = cast("list[dict[str, str]]", agents["items"])[0]["id"]
        session = await self._ask("POST", f"/api/agents/{agent}/sessions", json={})
        self.transcript.session_id = str(session["id"])
        self._reading = asyncio.create_task(self._read())

    async def send(self, word: str) -> None:
        """Send a message, again and again with the same key, until the server says that it has it."""
        path = f"/api/agent-sessions/{self.transcript.session_id}/message"
        accepted = await self._ask("POST", path, json={"content": word}, headers={"idempotency-key": word})
        self.transcript.accepted[word] = str(accepted["run_id"])

    async def wait_for_end(self, run_id: str) -> None:
        """Wait until the stream has brought the end of a run."""
        mark = f'"run":"{run_id}"'.encode()
        while not any(
            mark in line and line.startswith((b'{"type":"RUN_FINISHED"', b'{"type":"RUN_ERROR"'))
            for _, line in self.transcript.events
        ):
            self._seen.clear()
            await self._seen.wait()

    async def _ask(self, method: str, path: str, **given: object) -> dict[str, object]:
        while True:
            try:
                async with self._http.request(method, self.url + path, **given) as answer:  # pyright: ignore[reportArgumentType]
                    if answer.status < 300:
                        return cast("dict[str, object]", await answer.json())
                    if answer.status < 500 and answer.status != 429:
                        raise AssertionError(f"{method} {path}: {answer.status} {await answer.text()}")
            except _LOST:
                pass
            await asyncio.sleep(RETRY_S)

    async def _read(self) -> None:
        path = f"/api/agent-sessions/{self.transcript.session_id}/stream"
        while True:
            last = self.transcript.events[-1][0] if self.transcript.events else 0
            try:
                async with self._http.get(
                    self.url + path, headers={"last-event-id": str(last)}, timeout=aiohttp.ClientTimeout(None)
                ) as answer:
                    if answer.status == 200:
                        await self._take(answer)
            except _LOST:
                pass
            self.rejoins += 1
            await asyncio.sleep(RETRY_S)

    async def _take(self, answer: aiohttp.ClientResponse) -> None:
        rest = b""
        async for data in answer.content.iter_any():
            *frames, rest = (rest + data).split(b"\n\n")
            for frame in frames:
                fields = dict(
                    line.split(b": ", 1) for line in frame.split(b"\n") if not line.startswith(b":")
                )
                if b"id" in fields:
                    self.transcript.events.append((int(fields[b"id"]), fields[b"data"] + b"\n"))
            self._seen.set()
