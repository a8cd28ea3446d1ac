"""What the tests of the streams share: a server with a worker in this process, and clients that speak ASGI to it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from agio import AgentRunConfig, ScriptedDriver
from agio.core.config import ServerLimits
from agio.core.store.records import AgentFields, AgentTool, SessionRecord
from agio.core.tool import AnyTool
from agio.drivers.scripted import Script
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.gateway.doors.ag_ui import run_agent
from agio.gateway.doors.realtime import realtime
from agio.gateway.doors.sse import session_stream
from agio.gateway.http.asgi import Application
from agio.protocol.ids import new_id
from agio.worker.service import WorkerService
from tests.support.engine import ANN, PATIENCE_S, QUICK, Engine, engine, soon

Json = dict[str, Any]


class Server:
    """A gateway and a worker whose model says what a script says. Everybody is Ann, but for Bob."""

    def __init__(self, room: Engine, model: ScriptedDriver, keys: Mapping[str, str]) -> None:
        self.room = room
        self.store = room.store
        self.hub = room.hub
        self.gateway = room.gateway
        self.model = model
        self.keys = keys
        self.who = ANN

    async def agent(self, *tools: str) -> str:
        """Add an agent and return its id."""
        fields = AgentFields(
            name=new_id("run"),
            system_prompt="Be brief.",
            model_provider="demo",
            model_name="demo",
            tools=[AgentTool(name) for name in tools],
        )
        return (await self.store.create_agent(ANN.tenant, fields)).id

    async def session(self, *tools: str) -> SessionRecord:
        """Start a session with a new agent."""
        return await self.store.start_session(ANN.tenant, ANN.user, await self.agent(*tools))

    async def say(self, session: SessionRecord, text: str) -> str:
        """Send a message and return its run."""
        return (await self.room.say(session, text)).run_id

    async def ended(self, session: SessionRecord, run_id: str) -> list[bytes]:
        """Wait for a run's end and return the lines of the session's log."""
        await self.room.ended(session, run_id)
        return await self.log(session.id)

    async def log(self, session_id: str) -> list[bytes]:
        """Return the lines of a session's log."""
        chunks = await self.store.read_session(session_id, 0, 2**30)
        return [line for chunk in chunks for line in chunk.payload.split(b"\n")[:-1]]

    def read(
        self, session_id: str, *, last: int | str | None = None, query: str = "", key: str = "ann"
    ) -> "Reading":
        """Open a session's SSE stream."""
        headers = {} if last is None else {"last-event-id": str(last)}
        path = f"/api/agent-sessions/{session_id}/stream"
        return Reading(session_stream(self.gateway), self._scope("GET", path, headers, query, key))

    def post(
        self, agent_id: str, given: Json | bytes, *, last: int | None = None, key: str = "ann"
    ) -> "Reading":
        """Send a RunAgentInput to an agent."""
        headers = {"content-type": "application/json"}
        if last is not None:
            headers["last-event-id"] = str(last)
        path = f"/api/agents/{agent_id}/ag-ui"
        body = given if isinstance(given, bytes) else msgspec.json.encode(given)
        return Reading(run_agent(self.gateway), self._scope("POST", path, headers, "", key), body)

    def socket(self, *, key: str = "ann", headers: Mapping[str, str] | None = None) -> "Talking":
        """Open the WebSocket."""
        scope = self._scope("GET", "/realtime", headers or {}, "", key) | {"type": "websocket"}
        return Talking(realtime(self.gateway), scope)

    def _scope(self, method: str, path: str, headers: Mapping[str, str], query: str, key: str) -> Json:
        known = {"host": "127.0.0.1"} | ({"authorization": f"Bearer {self.keys[key]}"} if key else {})
        return {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in {**known, **headers}.items()],
            "extensions": {"websocket.http.response": {}},
        }


@asynccontextmanager
async def server(
    script: Script = (), *, limits: ServerLimits = QUICK, tools: Sequence[AnyTool] = (), room: int = 10
) -> AsyncGenerator[Server]:
    """Start a server whose model says these turns."""
    async with engine(limits, tools={tool.name: tool for tool in tools}) as parts:
        keys: dict[str, str] = {}
        for user in ("ann", "bob"):
            await parts.store.add_user("default", user, user, "member")
            keys[user] = new_api_key()
            key = describe_key(keys[user], "default", user, "test")
            await parts.store.add_api_key(key, hash_secret(keys[user]))
        model = ScriptedDriver(script)
        worker = WorkerService(
            "w1",
            room=room,
            endpoints={},
            config=AgentRunConfig(backoff_s=0),
            open_driver=lambda provider, endpoint: model,
        )
        await worker.join(parts.pool.connect(worker))
        yield Server(parts, model, keys)
        parts.hub.close()


class _Client:
    """One end of an ASGI conversation. Waits are bounded."""

    def __init__(self, app: Application, scope: Json) -> None:
        self._incoming: asyncio.Queue[Json] = asyncio.Queue()
        self._changed = asyncio.Event()
        self.open = asyncio.Event()
        """Cleared: the client has stopped reading, and whoever sends to it waits."""
        self.open.set()
        self.sent: list[Json] = []
        self.task = asyncio.ensure_future(app(scope, self._incoming.get, self._send))

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        self._take(message)
        self._changed.set()
        await self.open.wait()

    def _take(self, message: Json) -> None:
        raise NotImplementedError

    async def until(self, enough: Callable[[], object]) -> None:
        """Wait until something is true, looking whenever something came."""
        async with asyncio.timeout(PATIENCE_S):
            while not enough():
                if self.task.done():
                    self.task.result()
                    assert enough(), self.sent[-3:]
                    return
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait((changed, self.task), return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()

    async def done(self) -> None:
        """Wait until the application is done with this client."""
        await soon(self.task)


class Reading(_Client):
    """A request and its response of server-sent events."""

    def __init__(self, app: Application, scope: Json, body: bytes = b"") -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        super().__init__(app, scope)
        self._incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})

    def _take(self, message: Json) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")

    @property
    def frames(self) -> list[tuple[int | None, bytes]]:
        """The id and data of each frame that came; comments are left out."""
        frames: list[tuple[int | None, bytes]] = []
        for text in self.body.split(b"\n\n")[:-1]:
            fields = dict(line.split(b": ", 1) for line in text.split(b"\n") if not line.startswith(b":"))
            if fields:
                frames.append((int(fields[b"id"]) if b"id" in fields else None, fields[b"data"]))
        return frames

    @property
    def lines(self) -> list[bytes]:
        """The events that came."""
        return [data for _, data in self.frames]

    @property
    def error(self) -> str:
        """The code of an error answer."""
        return msgspec.json.decode(self.body)["error"]["code"]

    async def count(self, events: int) -> None:
        """Wait until so many events have come."""
        await self.until(lambda: len(self.frames) >= events)

    async def leave(self) -> None:
        """Go away."""
        self._incoming.put_nowait({"type": "http.disconnect"})
        self.open.set()
        await self.done()


class Talking(_Client):
    """A WebSocket."""

    def __init__(self, app: Application, scope: Json) -> None:
        self.messages: list[Json] = []
        self.closed: int | None = None
        self.status = 0
        self._ids = 0
        super().__init__(app, scope)
        self._incoming.put_nowait({"type": "websocket.connect"})

    def _take(self, message: Json) -> None:
        match message["type"]:
            case "websocket.send":
                self.messages.append(msgspec.json.decode(message["text"]) | {"text": message["text"]})
            case "websocket.close":
                self.closed = message["code"]
            case "websocket.http.response.start":
                self.status = message["status"]
            case _:
                pass

    async def command(self, kind: str, **fields: object) -> Json:
        """Give a command and return its answer."""
        self._ids += 1
        name = f"c{self._ids}"
        self.put(msgspec.json.encode({"id": name, "type": kind} | fields).decode())
        return await self.answer(name)

    async def answer(self, name: str | None) -> Json:
        """Wait for the answer to a command."""

        def found() -> list[Json]:
            return [m for m in self.messages if m["type"] in ("ack", "error", "pong") and m.get("id") == name]

        await self.until(found)
        return found()[-1]

    def put(self, text: str | bytes) -> None:
        """Send a message."""
        kind = "text" if isinstance(text, str) else "bytes"
        self._incoming.put_nowait({"type": "websocket.receive", kind: text})

    def events(self, session_id: str) -> dict[int, Json]:
        """The events of a session that came, by position; each came once."""
        found: dict[int, Json] = {}
        for message in self.messages:
            if message["type"] == "events" and message["session_id"] == session_id:
                for pos, event in enumerate(message["events"], message["pos"]):
                    assert pos not in found
                    found[pos] = event
        return found

    async def count(self, session_id: str, events: int) -> None:
        """Wait until so many events of a session have come."""
        await self.until(lambda: len(self.events(session_id)) >= events)

    async def leave(self) -> None:
        """Go away."""
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})
        self.open.set()
        await self.done()
