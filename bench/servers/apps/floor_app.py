"""The floor: what the same bytes cost without an agent. Raw ASGI, msgspec, apsw, and nothing that could go wrong.

It asks the model twice over kept connections, decodes and encodes every token, and writes the run to SQLite once,
at its end. No authentication, no log, no fence, no resume, no second reader: agio cannot be cheaper than this.
"""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import apsw
import msgspec
import work

Scope = dict[str, object]
Receive = Callable[[], Awaitable[dict[str, object]]]
Send = Callable[[dict[str, object]], Awaitable[None]]

TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}
HEADERS = [(b"content-type", b"text/event-stream")]


class Message(msgspec.Struct):
    session_id: str
    message: str


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct):
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[Call] | None = None


class Choice(msgspec.Struct):
    delta: Delta


class ModelChunk(msgspec.Struct):
    choices: list[Choice]


class Arguments(msgspec.Struct):
    a: int
    b: int


class Text(msgspec.Struct, tag_field="type", tag="text"):
    delta: str


decode_message = msgspec.json.Decoder(Message).decode
decode_chunk = msgspec.json.Decoder(ModelChunk).decode
decode_arguments = msgspec.json.Decoder(Arguments).decode
encode = msgspec.json.Encoder().encode


class ModelConnection(asyncio.Protocol):
    """One connection to the model; `ask` queues the events of the answer, None after the last."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[list[bytes] | None] = asyncio.Queue()

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def ask(self, body: bytes) -> None:
        self.rest = b""
        head = (
            b"POST %s HTTP/1.1\r\nhost: model\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        )
        self.transport.write(head % (PATH, len(body)) + body)

    def data_received(self, data: bytes) -> None:
        """Events are found by their own marks, because each is a chunk of its own."""
        *whole, self.rest = (self.rest + data).split(b"\n\n")
        events = [part[part.index(b"data: {") + 6 :] for part in whole if b"data: {" in part]
        if events:
            self.events.put_nowait(events)
        if self.rest.endswith(b"0\r\n\r\n"):
            self.events.put_nowait(None)


address = urlsplit(work.BASE_URL)
PATH = f"{address.path}/chat/completions".encode()
idle: list[ModelConnection] = []
store = apsw.Connection(work.STORE)
store.execute("pragma journal_mode = wal")
store.execute("pragma synchronous = full")
store.execute(
    "create table if not exists runs (id integer primary key, session text, messages blob, log blob)"
)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    if body:
        await run(decode_message(body), send)
    await send({"type": "http.response.body", "body": b""})


async def run(message: Message, send: Send) -> None:
    messages: list[dict[str, object]] = [
        {"role": "system", "content": work.INSTRUCTIONS},
        {"role": "user", "content": message.message},
    ]
    log: list[bytes] = []
    connection = idle.pop() if idle else await connect()
    while True:
        body = {"model": work.MODEL, "stream": True, "messages": messages, "tools": [TOOL]}
        connection.ask(encode(body))
        call_id = arguments = text = ""
        while events := await connection.events.get():
            lines: list[bytes] = []
            for event in events:
                for choice in decode_chunk(event).choices:
                    if choice.delta.content:
                        text += choice.delta.content
                        lines.append(b"data: %s\n\n" % encode(Text(choice.delta.content)))
                    for call in choice.delta.tool_calls or ():
                        call_id = call.id or call_id
                        arguments += call.function.arguments if call.function else ""
            if lines:
                log += lines
                await send({"type": "http.response.body", "body": b"".join(lines), "more_body": True})
        if not call_id:
            break
        given = decode_arguments(arguments)
        asked = {"name": "add", "arguments": arguments}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": asked}]}
        )
        result = str(work.add(given.a, given.b))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": result})
    idle.append(connection)
    messages.append({"role": "assistant", "content": text})
    row = (message.session_id, encode(messages), b"".join(log))
    store.execute("insert into runs (session, messages, log) values (?, ?, ?)", row)
    await send({"type": "http.response.body", "body": b'data: {"type":"end"}\n\n', "more_body": True})


async def connect() -> ModelConnection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(ModelConnection, address.hostname, address.port)
    return connection
