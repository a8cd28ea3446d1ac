"""The three ways to talk to a server, behind one face: WebSocket, SSE with REST, and stock AG-UI.

Each returns the bytes of the log's lines as they came over the wire, run by run.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias, cast

import aiohttp

from agio.protocol.frames import ends_run
from agio.protocol.ids import new_id
from tests.flows.server.home import Home

Json: TypeAlias = "dict[str, object]"
WAIT_S = 60.0


class Talk(Protocol):
    """A conversation of one session over one transport."""

    session_id: str
    agui: bool
    """Whether the first and last event of a run carry the client's own ids."""

    async def say(self, content: object, **more: object) -> list[bytes]:
        """Say something and read the run it becomes to its end: its lines."""
        ...

    async def answer(self, answers: Sequence[Mapping[str, object]]) -> list[bytes]:
        """Answer the open questions and read the next run."""
        ...

    async def give(self, results: Mapping[str, str]) -> list[bytes]:
        """Give results of client-side tools and read the next run."""
        ...

    async def begin(self, content: str) -> "asyncio.Task[list[bytes]]":
        """Say something and go on while the run is read."""
        ...

    async def cancel(self) -> None:
        """Stop what is going on."""
        ...

    async def close(self) -> None:
        """Leave."""
        ...


async def open_talk(kind: str, home: Home, agent_id: str, tools: Sequence[Json] = ()) -> Talk:
    """Open a conversation with an agent. `tools` are the client's own (AG-UI alone can declare them)."""
    if kind == "ag-ui":
        return AgUiTalk(home, agent_id, tools)
    session_id = await home.start_session(agent_id)
    if kind == "sse":
        return SseTalk(home, session_id)
    socket = await home.http.ws_connect(home.url.replace("http", "ws") + "/realtime")
    talk = SocketTalk(home, session_id, socket)
    await talk.command("subscribe", session_id=session_id, after=0)
    return talk


def sse_frames(text: bytes) -> list[tuple[int, bytes]]:
    """The positions and lines of whole SSE frames."""
    found: list[tuple[int, bytes]] = []
    for frame in text.split(b"\n\n"):
        fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if line and line[:1] != b":")
        if b"data" in fields:
            found.append((int(fields.get(b"id", b"0")), fields[b"data"] + b"\n"))
    return found


class SseTalk:
    """Messages by POST, events by `GET .../stream`."""

    agui = False

    def __init__(self, home: Home, session_id: str) -> None:
        self.session_id = session_id
        self.last_pos = 0
        self._home = home
        self._path = f"/api/agent-sessions/{session_id}"

    async def say(self, content: object, **more: object) -> list[bytes]:
        answer = await self._home.ask(
            "POST", f"{self._path}/message", {"content": content, **more}, expect=202
        )
        return await self.read(str(answer["run_id"]))

    async def answer(self, answers: Sequence[Mapping[str, object]]) -> list[bytes]:
        body = {"answers": list(answers)}
        answer = await self._home.ask("POST", f"{self._path}/answer", body, expect=202)
        return await self.read(str(answer["run_id"]))

    async def give(self, results: Mapping[str, str]) -> list[bytes]:
        body = {"results": dict(results)}
        answer = await self._home.ask("POST", f"{self._path}/tool-results", body, expect=202)
        return await self.read(str(answer["run_id"]))

    async def begin(self, content: str) -> "asyncio.Task[list[bytes]]":
        answer = await self._home.ask("POST", f"{self._path}/message", {"content": content}, expect=202)
        return asyncio.create_task(self.read(str(answer["run_id"])))

    async def cancel(self) -> None:
        await self._home.ask("POST", f"{self._path}/cancel", expect=202)

    async def close(self) -> None:
        return

    async def read(self, run_id: str) -> list[bytes]:
        """Read the stream until the run has ended; the lines of that run."""
        at = self.last_pos
        headers = {"last-event-id": str(at)}
        mine = f'"run":"{run_id}"'.encode()
        lines: list[bytes] = []
        url = f"{self._home.url}{self._path}/stream"
        async with asyncio.timeout(WAIT_S), self._home.http.get(url, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            rest = b""
            async for data in answer.content.iter_any():
                rest += data
                whole, cut, rest = rest.rpartition(b"\n\n")
                for pos, line in sse_frames(whole + cut):
                    assert pos == at + 1
                    at = pos
                    if mine in line:
                        lines.append(line)
                        if ends_run(line):
                            self.last_pos = max(self.last_pos, at)
                            return lines
        raise AssertionError(f"the stream ended before run {run_id} did")


class SocketTalk:
    """Everything over one WebSocket."""

    agui = False

    def __init__(self, home: Home, session_id: str, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.session_id = session_id
        self.last_pos = 0
        self.lines: dict[int, bytes] = {}
        self._home = home
        self._socket = socket
        self._acks: dict[str, asyncio.Future[Json]] = {}
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def command(self, kind: str, **fields: object) -> Json:
        """Send a command and return its acknowledgement."""
        number = new_id("cmd")
        answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._acks[number] = answered
        await self._socket.send_str(json.dumps({"id": number, "type": kind, **fields}))
        async with asyncio.timeout(WAIT_S):
            answer = await answered
        assert answer["type"] != "error", answer
        return answer

    async def say(self, content: object, **more: object) -> list[bytes]:
        ack = await self.command("message", session_id=self.session_id, content=content, **more)
        return await self.read(str(ack["run_id"]))

    async def answer(self, answers: Sequence[Mapping[str, object]]) -> list[bytes]:
        ack = await self.command("approve", session_id=self.session_id, answers=list(answers))
        return await self.read(str(ack["run_id"]))

    async def give(self, results: Mapping[str, str]) -> list[bytes]:
        path = f"/api/agent-sessions/{self.session_id}/tool-results"
        answer = await self._home.ask("POST", path, {"results": dict(results)}, expect=202)
        return await self.read(str(answer["run_id"]))

    async def begin(self, content: str) -> "asyncio.Task[list[bytes]]":
        ack = await self.command("message", session_id=self.session_id, content=content)
        return asyncio.create_task(self.read(str(ack["run_id"])))

    async def cancel(self) -> None:
        await self.command("cancel", session_id=self.session_id)

    async def close(self) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        await self._socket.close()

    async def read(self, run_id: str) -> list[bytes]:
        """Wait until the run has ended; its lines."""
        mine = f'"run":"{run_id}"'.encode()
        async with asyncio.timeout(WAIT_S):
            while True:
                lines = [line for line in self.lines.values() if mine in line]
                if lines and ends_run(lines[-1]):
                    return lines
                self._changed.clear()
                await self._changed.wait()

    async def _read(self) -> None:
        async for message in self._socket:
            text = cast(str, message.data)
            told = cast(Json, json.loads(text))
            if told["type"] == "events":
                for line in _event_lines(text):
                    self.last_pos += 1
                    self.lines[self.last_pos] = line
                first = cast(int, told["pos"])
                assert first + len(cast("list[object]", told["events"])) == self.last_pos + 1
                self._changed.set()
            elif str(told.get("id")) in self._acks:
                self._acks.pop(str(told["id"])).set_result(told)


def _event_lines(text: str) -> list[bytes]:
    """The events of a message as the bytes that came, not as a decoder would write them again."""
    decoder = json.JSONDecoder()
    at = text.index('"events":[') + len('"events":[')
    lines: list[bytes] = []
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        lines.append(text[at:end].encode() + b"\n")
        at = end + 1 if text[end] == "," else end
    return lines


class AgUiTalk:
    """What a stock AG-UI client sends: the whole history each time, of which only the end counts."""

    agui = True

    def __init__(self, home: Home, agent_id: str, tools: Sequence[Json]) -> None:
        self.session_id = ""
        self.thread_id = new_id("thread")
        self.messages: list[Json] = []
        self._home = home
        self._url = f"{home.url}/api/agents/{agent_id}/ag-ui"
        self._tools = list(tools)
        self._run_id = ""

    async def say(self, content: object, **more: object) -> list[bytes]:
        self.messages.append({"id": new_id("m"), "role": "user", "content": content})
        return await self.post()

    async def answer(self, answers: Sequence[Mapping[str, object]]) -> list[bytes]:
        resume: list[Json] = []
        for entry in answers:
            payload: Json = {"approved": entry["approved"]}
            if "reason" in entry:
                payload["reason"] = entry["reason"]
            if "edited_args" in entry:
                payload["editedArgs"] = entry["edited_args"]
            resume.append({"interruptId": entry["interrupt_id"], "status": "resolved", "payload": payload})
        return await self.post(resume=resume)

    async def give(self, results: Mapping[str, str]) -> list[bytes]:
        for call, content in results.items():
            self.messages.append({"id": new_id("m"), "role": "tool", "toolCallId": call, "content": content})
        return await self.post()

    async def begin(self, content: str) -> "asyncio.Task[list[bytes]]":
        self.messages.append({"id": new_id("m"), "role": "user", "content": content})
        begun = asyncio.Event()
        reading = asyncio.create_task(self.post(begun=begun))
        async with asyncio.timeout(WAIT_S):
            await begun.wait()
        return reading

    async def cancel(self) -> None:
        await self._home.ask("POST", f"/api/runs/{self._run_id}/cancel", expect=202)

    async def close(self) -> None:
        return

    async def post(self, begun: asyncio.Event | None = None, **more: object) -> list[bytes]:
        """Post a run input and read the answer to its end."""
        body: Json = {
            "threadId": self.thread_id,
            "runId": new_id("r"),
            "state": {},
            "messages": self.messages,
            "tools": self._tools,
            "context": [],
            "forwardedProps": {},
            **more,
        }
        async with asyncio.timeout(WAIT_S), self._home.http.post(self._url, json=body) as answer:
            assert answer.status == 200, await answer.text()
            self.session_id = answer.headers["agio-session-id"]
            self._run_id = answer.headers["agio-run-id"]
            if begun is not None:
                begun.set()
            return [line for _, line in sse_frames(await answer.read())]
