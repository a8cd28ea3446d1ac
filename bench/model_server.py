"""A model server that costs next to nothing: prebuilt bytes, one event per HTTP chunk per write.

It prints its port. `POST /control {"tokens": 200, "pace_ms": 0}` sets the next answers and returns the turns
served since the last one. What a real run would not send (no streaming, no `add`, a wrong result) gets a 400.
"""

import asyncio
import functools
import json

from model_answers import chat_answer, chat_tool_call, responses_answer, responses_tool_call

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\nx-request-id: req_bench\r\n\r\n"
)
END = b"0\r\n\r\n"
LANES = 20
"""Paced streams are spread over this many evenly spaced phases, so their tokens do not come in step."""


class Script:
    """What the server answers now, and what it has answered."""

    def __init__(self) -> None:
        self.tokens = 1
        self.pace_s = 0.0
        self.streams = 0
        self.served = {"tool_turns": 0, "answers": 0, "refused": 0}

    def control(self, command: dict[str, float]) -> dict[str, int]:
        self.tokens = int(command["tokens"])
        self.pace_s = command["pace_ms"] / 1000
        served, self.served = self.served, dict.fromkeys(self.served, 0)
        return served

    def next_phase_s(self) -> float:
        self.streams += 1
        return self.pace_s * (self.streams % LANES) / LANES


@functools.cache
def chunks_of(wire: str, has_result: bool, tokens: int) -> list[bytes]:
    """The response as the writes to make: head, a chunk an event, end."""
    match wire, has_result:
        case "chat", False:
            events = chat_tool_call()
        case "chat", True:
            events = chat_answer(tokens)
        case "responses", False:
            events = responses_tool_call()
        case _:
            events = responses_answer(tokens)
    return [HEAD, *(b"%x\r\n%s\r\n" % (len(event), event) for event in events), END]


@functools.cache
def paced_writes(wire: str, tokens: int) -> tuple[bytes, ...]:
    """The answer as one write before the pace begins, one a token, and the rest."""
    chunks = chunks_of(wire, True, tokens)
    first = next(index for index, chunk in enumerate(chunks) if b" word0" in chunk)
    last = first + tokens
    return (b"".join(chunks[:first]), *chunks[first:last], b"".join(chunks[last:]))


def tool_result(wire: str, body: dict[str, object]) -> object:
    """The content of the tool result in a request, None if it has none."""
    items = body["messages" if wire == "chat" else "input"]
    if isinstance(items, str):
        return None
    if wire == "chat":
        return next((item["content"] for item in items if item["role"] == "tool"), None)
    return next((item["output"] for item in items if item.get("type") == "function_call_output"), None)


def refusal(body: dict[str, object], result: object) -> str | None:
    if body.get("stream") is not True:
        return "this model only streams"
    names = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]
    if names != ["add"]:
        return f"the tools must be add alone, not {names}"
    if result is not None and "5" not in json.dumps(result):
        return f"the result of add(2, 3) must be 5, not {result!r}"
    return None


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, kept alive, one request at a time."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.loop = asyncio.get_running_loop()
        self.buffer = b""
        self.busy = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.take_request()

    def take_request(self) -> None:
        head, blank, rest = self.buffer.partition(b"\r\n\r\n")
        if self.busy or not blank:
            return
        lines = head.lower().split(b"\r\n")
        lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        if not lengths:
            self.transport.close()
        elif len(rest) >= lengths[0]:
            self.buffer = rest[lengths[0] :]
            self.answer(lines[0].split(b" ")[1], json.loads(rest[: lengths[0]]))

    def answer(self, path: bytes, body: dict[str, object]) -> None:
        if path == b"/control":
            self.reply(200, self.script.control(body))
            return
        if path.endswith((b"/traces/ingest", b"/v1/traces", b"/v1/metrics")):
            self.reply(200, {})
            return
        wire = "chat" if path.endswith(b"/chat/completions") else "responses"
        result = tool_result(wire, body)
        reason = refusal(body, result)
        if reason:
            self.script.served["refused"] += 1
            self.reply(400, {"error": {"message": reason, "type": "invalid_request_error"}})
            return
        self.script.served["tool_turns" if result is None else "answers"] += 1
        self.busy = True
        if result is not None and self.script.pace_s:
            writes = paced_writes(wire, self.script.tokens)
            self.transport.write(writes[0])
            due = self.loop.time() + self.script.pace_s + self.script.next_phase_s()
            self.loop.call_at(due, self.write_paced, writes, 1, due)
        else:
            self.write_burst(chunks_of(wire, result is not None, self.script.tokens), 0)

    def reply(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        head = b"HTTP/1.1 %d -\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(head % (status, len(text)) + text)

    def write_burst(self, chunks: list[bytes], index: int) -> None:
        self.transport.write(chunks[index])
        if index + 1 < len(chunks):
            self.loop.call_soon(self.write_burst, chunks, index + 1)
        else:
            self.finish()

    def write_paced(self, writes: tuple[bytes, ...], index: int, due: float) -> None:
        self.transport.write(writes[index])
        if index + 2 < len(writes):
            due += self.script.pace_s
            self.loop.call_at(due, self.write_paced, writes, index + 1, due)
        else:
            self.transport.write(writes[-1])
            self.finish()

    def finish(self) -> None:
        self.busy = False
        self.take_request()


async def serve() -> None:
    script = Script()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(script), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        from uvloop import run
    except ImportError:
        from asyncio import run
    run(serve())
