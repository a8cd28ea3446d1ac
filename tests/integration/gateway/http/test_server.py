"""The application behind a real uvicorn: cookies, streams and sockets as clients on the network have them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.support.engine import soon
from tests.support.house import code_of
from tests.support.served import Served, served


async def _session(client: httpx.AsyncClient) -> str:
    agent = (await client.get("/api/agents?search=demo")).json()["items"][0]
    return (await client.post(f"/api/agents/{agent['id']}/sessions")).json()["id"]


def _socket_url(server: Served, path: str = "/realtime") -> str:
    return server.url.replace("http://", "ws://") + path


async def test_a_message_sent_over_rest_comes_back_over_sse_and_is_the_log(tmp_path: Path) -> None:
    """C5, C7, L9: the stream's data are the lines of the log."""
    async with (
        served(tmp_path) as server,
        httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
        aiohttp.ClientSession(server.url, headers=server.headers) as reader,
    ):
        session_id = await _session(client)
        async with reader.get(f"/api/agent-sessions/{session_id}/stream") as stream:
            sent = await client.post(
                f"/api/agent-sessions/{session_id}/message", json={"content": "What is 6 * 7?"}
            )
            assert sent.status_code == 202
            lines: list[bytes] = []
            while not lines or b'"RUN_FINISHED"' not in lines[-1]:
                line = await soon(stream.content.readline())
                if line.startswith(b"data: "):
                    lines.append(line.removeprefix(b"data: "))
        log = await client.get(f"/api/agent-sessions/{session_id}/events")
        assert log.content == b"".join(lines)
        assert b"42" in log.content


async def test_a_browser_signs_in_and_talks_with_its_cookie(tmp_path: Path) -> None:
    """R1, R2: the cookie opens REST and the WebSocket, from our own origin only."""
    async with served(tmp_path) as server, httpx.AsyncClient(base_url=server.url, timeout=60) as browser:
        signed_in = await browser.get(server.link)
        cookie = signed_in.headers["set-cookie"].partition(";")[0]
        headers = {"cookie": cookie, "origin": server.url}
        assert (await browser.get("/api/me", headers=headers)).json()["user"] == "local"
        agent = (await browser.get("/api/agents", headers=headers)).json()["items"][0]
        session = (await browser.post(f"/api/agents/{agent['id']}/sessions", headers=headers)).json()
        async with connect(_socket_url(server), additional_headers=headers, open_timeout=60) as socket:
            for command in (
                {"type": "subscribe", "id": "1", "session_id": session["id"]},
                {"type": "message", "id": "2", "session_id": session["id"], "content": "Hello"},
            ):
                await socket.send(msgspec.json.encode(command).decode())
            seen: list[Any] = []
            while not any("RUN_FINISHED" in message for message in seen):
                seen.append(await soon(socket.recv()))
        for wrong in (
            {"cookie": cookie},
            {"cookie": cookie, "origin": "http://evil.example"},
            {"origin": server.url},
        ):
            with pytest.raises(InvalidStatus) as refused:
                await connect(_socket_url(server), additional_headers=wrong, open_timeout=60)
            assert refused.value.response.status_code in (401, 403)
            assert msgspec.json.decode(refused.value.response.body)["error"]["code"] in (
                "unauthenticated", "forbidden_origin",
            )  # fmt: skip


async def test_a_socket_to_nowhere_is_refused_with_a_code(tmp_path: Path) -> None:
    """R1: 404 before the handshake is complete, and 403 for a foreign name."""
    async with served(tmp_path) as server:
        with pytest.raises(InvalidStatus) as nowhere:
            await connect(_socket_url(server, "/nowhere"), additional_headers=server.headers, open_timeout=60)
        assert nowhere.value.response.status_code == 404
        assert msgspec.json.decode(nowhere.value.response.body)["error"]["code"] == "not_found"


async def test_large_bodies_are_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    """C2: with and without a length; the next request is served."""
    async with (
        served(tmp_path) as server,
        httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
    ):
        session_id = await _session(client)

        async def parts() -> AsyncIterator[bytes]:
            for _ in range(40):
                yield b" " * 65536

        for path in (f"/api/agent-sessions/{session_id}/message", "/api/agents"):
            for content in (b" " * (2 * 1024 * 1024), parts()):
                refused = await client.post(path, content=content)
                assert (refused.status_code, code_of(refused)) == (413, "body_too_large")
            assert (await client.get("/api/me")).status_code == 200


async def test_requests_by_the_hundred_are_all_answered(tmp_path: Path) -> None:
    """C5: many clients at once, each answered for itself."""
    async with (
        served(tmp_path) as server,
        aiohttp.ClientSession(server.url, headers=server.headers) as client,
    ):

        async def ask() -> int:
            async with client.get("/api/agents?limit=1") as answer:
                await answer.read()
                return answer.status

        assert await soon(asyncio.gather(*(ask() for _ in range(300)))) == [200] * 300
