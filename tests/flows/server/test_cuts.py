"""A reader that is cut off after any event and comes back has missed nothing and sees nothing twice."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

import pytest

from agio.protocol.codec import decode_lines
from agio.testing import Call, Reply
from tests.flows.server.home import Home, every_home
from tests.flows.server.talk import open_talk, sse_frames
from tests.support.official import OfficialVerifier, check_flow

Reader: TypeAlias = Callable[[Home, str, int, int], Awaitable[list[tuple[int, bytes]]]]


@pytest.fixture
def link() -> str:
    """The link makes no difference to readers: one is enough here."""
    return "direct"


async def _read(home: Home, session: str, after: int, count: int) -> list[tuple[int, bytes]]:
    """Read so many events over SSE, then cut the connection."""
    got: list[tuple[int, bytes]] = []
    url = f"{home.url}/api/agent-sessions/{session}/stream"
    async with asyncio.timeout(60), home.http.get(url, headers={"last-event-id": str(after)}) as answer:
        rest = b""
        while len(got) < count:
            rest += await answer.content.readany()
            whole, cut, rest = rest.rpartition(b"\n\n")
            got += sse_frames(whole + cut)
        answer.close()
    return got[:count]


async def _read_socket(home: Home, session: str, after: int, count: int) -> list[tuple[int, bytes]]:
    """Read so many events over the WebSocket, then cut the connection."""
    got: list[tuple[int, bytes]] = []
    async with (
        asyncio.timeout(60),
        home.http.ws_connect(home.url.replace("http", "ws") + "/realtime") as socket,
    ):
        await socket.send_str(
            json.dumps({"id": "s", "type": "subscribe", "session_id": session, "after": after})
        )
        while len(got) < count:
            told = cast("dict[str, object]", json.loads(await socket.receive_str()))
            if told["type"] == "events":
                events = cast("list[dict[str, object]]", told["events"])
                pos = cast(int, told["pos"])
                got += [
                    (
                        pos + index,
                        json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode() + b"\n",
                    )
                    for index, event in enumerate(events)
                ]
    return got[:count]


@every_home
@pytest.mark.parametrize("read", [_read, _read_socket], ids=["sse", "websocket"])
async def test_cut_after_every_event_while_runs_are_queued_and_cancelled(home: Home, read: Reader) -> None:
    """C7: with a run going on, one queued, and one cancelled while queued, every cut is mended to the byte."""
    home.model.script(
        Reply("Let me.", tool_calls=[Call("add", {"a": 1, "b": 2})]),
        Reply("é 🙂 three. " * 3),
        Reply("Second."),
    )
    agent = await home.create_agent(tools=["add"])
    session = await home.start_session(agent)
    path = f"/api/agent-sessions/{session}"
    runs = [
        str((await home.ask("POST", f"{path}/message", {"content": text}, expect=202))["run_id"])
        for text in ("One", "Two", "Three")
    ]
    await home.ask("POST", f"/api/runs/{runs[2]}/cancel", expect=202)
    live = asyncio.create_task(_until_idle(home, path))
    # While the runs are going on: one event at a time, each over a connection of its own.
    pieces: list[tuple[int, bytes]] = []
    while not live.done() or len(pieces) < live.result():
        reading = asyncio.ensure_future(read(home, session, len(pieces), 1))
        await asyncio.wait([reading, live], return_when="FIRST_COMPLETED")
        if not reading.done() and len(pieces) == await live:
            reading.cancel()
            await asyncio.wait([reading])
        else:
            pieces += await reading
    total = live.result()
    async with home.http.get(f"{home.url}{path}/events?after=0") as answer:
        log = (await answer.read()).splitlines(keepends=True)
    assert pieces == list(enumerate(log, 1))
    # And afterwards: cut after every index.
    for cut in range(1, total, 3):
        before = await read(home, session, 0, cut)
        after = await read(home, session, cut, total - cut)
        assert before + after == pieces
    ends = [json.loads(line) for line in log if b'"type":"RUN_FINISHED"' in line]
    assert [end["outcome"]["type"] for end in ends] == ["success", "success", "cancelled"]


async def _until_idle(home: Home, path: str) -> int:
    async with asyncio.timeout(60):
        while True:
            status = await home.ask("GET", f"{path}/status")
            if status["state"] == "idle":
                return cast(int, status["last_pos"])
            await asyncio.sleep(0.02)


@every_home
async def test_a_stock_client_rejoins_at_any_event(home: Home, official: OfficialVerifier) -> None:
    """B8: the same runId again is no new run: RUN_STARTED, a snapshot with the partial text, and the rest."""
    home.model.script(
        Reply("Let me.", tool_calls=[Call("add", {"a": 1, "b": 2})]), Reply("Word by word. " * 8, pace_s=0.01)
    )
    agent = await home.create_agent(tools=["add"])
    talk = await open_talk("ag-ui", home, agent)
    url = f"{home.url}/api/agents/{agent}/ag-ui"
    body: dict[str, object] = {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "m1", "role": "user", "content": "Hi"}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    whole: list[bytes] = []
    for _ in range(30):  # leaves sooner or later each time, while the run goes on
        async with asyncio.timeout(60), home.http.post(url, json=body) as answer:
            assert answer.status == 200, await answer.text()
            text = b""
            while b"\n\n" not in text[len(text) // 2 :] and not answer.content.at_eof():
                text += await answer.content.readany()
            if answer.content.at_eof() and b"RUN_FINISHED" in text:
                whole = [line for _, line in sse_frames(text)]
                break
            answer.close()
    async with home.http.post(url, json=body) as answer:
        whole = [line for _, line in sse_frames(await answer.read())]
    check_flow(decode_lines(b"".join(whole)), official)
    verdict = official.judge(whole, messages=True)
    assert verdict.messages is not None
    assert [message["role"] for message in verdict.messages] == ["user", "assistant", "tool", "assistant"]
    assert len(home.model.calls) == 2
    await talk.close()
