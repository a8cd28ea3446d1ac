"""A raw HTTP server that speaks just enough of MCP to misbehave: by the path it is called at."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tests.support.mcp_server import listen

PLAIN: dict[str, Any] = {"type": "object", "properties": {}}


class Hostile:
    """Good as a server of 2025, but for what its path says. `elsewhere` is where `/redirect` leads."""

    def __init__(self) -> None:
        self.url = ""
        self.elsewhere = ""
        self.calls = 0
        self.description = "Do it."
        self.gone = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        kind = scope["path"].strip("/")
        if request.method != "POST":
            await _send(send, 405, b"")
            return
        if kind == "silent":
            await self._wait(receive)
        elif kind == "redirect":
            await _send(send, 307, b"", location=self.elsewhere.encode())
        elif kind == "moved":
            await _send(send, 307, b"", location=b"/good")
        elif kind == "html":
            await _send(send, 200, b"<h1>Hello</h1>", kind=b"text/html")
        elif kind == "refused":
            await _send(send, 401, b"")
        elif kind == "zipped":
            await _send(send, 200, b"x", encoding=b"gzip")
        else:
            message = json.loads(await request.body())
            await self._answer(kind, message, receive, send)

    async def _answer(self, kind: str, message: dict[str, Any], receive: Receive, send: Send) -> None:
        method, number = message.get("method"), message.get("id")
        if number is None:
            await _send(send, 202, b"")
        elif method == "initialize":
            await _reply(send, number, _welcome())
        elif method == "tools/list":
            await self._list(kind, message, send)
        elif method == "tools/call":
            self.calls += 1
            await self._call(kind, number, receive, send)
        else:
            error = {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}}
            await _send(send, 200, json.dumps(error).encode())

    async def _list(self, kind: str, message: dict[str, Any], send: Send) -> None:
        tools: list[dict[str, Any]] = [{"name": "do", "description": self.description, "inputSchema": PLAIN}]
        more: dict[str, Any] = {}
        if kind == "endless-list":
            more = {"nextCursor": "again"}
        elif kind == "bounds":
            tools += [
                {"name": "long", "description": "x" * 20_000, "inputSchema": PLAIN},
                {
                    "name": "wide",
                    "inputSchema": {"type": "object", "properties": {f"p{n}": {} for n in range(5000)}},
                },
                {
                    "name": "wrong",
                    "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}},
                },
                {"name": "do", "description": "the second of the name", "inputSchema": PLAIN},
                {"name": "we ird/näme\u202e", "inputSchema": PLAIN},
                {"name": "x" * 500, "inputSchema": PLAIN},
            ]
        elif kind == "deep":
            tools = [{"name": "deep", "inputSchema": _deep(100)}]
        elif kind == "many":
            tools = [{"name": f"t{n}", "description": "y" * 4000, "inputSchema": PLAIN} for n in range(2000)]
        elif kind == "nonsense":
            await _reply(send, message["id"], {"tools": "all of them"})
            return
        await _reply(send, message["id"], {"tools": tools, **more})

    async def _call(self, kind: str, number: object, receive: Receive, send: Send) -> None:
        done: dict[str, Any] = {"content": [{"type": "text", "text": "done"}]}
        match kind:
            case "slow":
                await self._wait(receive)
            case "huge":
                await _reply(send, number, {"content": [{"type": "text", "text": "x" * 10_000_000}]})
            case "huge-event":
                await _start(send)
                await send(
                    {"type": "http.response.body", "body": b"data: " + b"x" * 20_000_000, "more_body": True}
                )
                await self._wait(receive)
            case "flood":
                await _start(send)
                note = {"jsonrpc": "2.0", "method": "notifications/progress"}
                params = {"progressToken": number, "progress": 1, "message": "z" * 100}
                line = f"data: {json.dumps({**note, 'params': params})}\n\n".encode() * 100
                while not self.gone.is_set():
                    await send({"type": "http.response.body", "body": line, "more_body": True})
                    await asyncio.sleep(0)
            case "wrong-id":
                await _reply(send, 4711, done)
            case "liar":
                await _reply(send, number, {"content": [{"type": "text"}, 7]})
            case "error":
                error = {"code": -32602, "message": "no\u0000 such thing", "data": {"agio": "faked"}}
                await _send(send, 200, json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode())
            case "dies":
                await _start(send)
                await send({"type": "http.response.body", "body": b'data: {"jsonrpc"', "more_body": True})
                raise ConnectionResetError  # the server closes the connection in the middle
            case "crash":
                await _send(send, 500, b"a stack trace")
            case _:
                await _reply(send, number, done)

    async def _wait(self, receive: Receive) -> None:
        """Answer nothing until the caller has gone."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone.set()


def _welcome() -> dict[str, Any]:
    info = {"name": "hostile", "version": "6"}
    return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}


def _deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = PLAIN
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


async def _start(send: Send) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send(
    send: Send,
    status: int,
    body: bytes,
    *,
    kind: bytes = b"application/json",
    location: bytes = b"",
    encoding: bytes = b"",
) -> None:
    named = ((b"content-type", kind), (b"location", location), (b"content-encoding", encoding))
    headers = [pair for pair in named if pair[1]]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _reply(send: Send, number: object, result: dict[str, Any]) -> None:
    await _send(send, 200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())


@asynccontextmanager
async def hostile_server() -> AsyncGenerator[Hostile]:
    """Serve it until the block ends."""
    hostile = Hostile()
    async with listen(hostile) as url:
        hostile.url = url
        yield hostile
