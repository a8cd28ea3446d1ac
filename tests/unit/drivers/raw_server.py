"""A raw HTTP server for driver tests: answers each request with the bytes it was given, and keeps the requests."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import msgspec


class RawServer:
    """Answers requests in turn with the prepared bytes; `bodies` are the JSON bodies it received."""

    def __init__(self, answers: Sequence[bytes], *, hold: bool = False) -> None:
        self._answers = list(answers)
        self._hold = hold
        self.heads: list[bytes] = []
        self.bodies: list[dict[str, object]] = []
        self.connections = 0
        self.hung_up = asyncio.Event()
        self.base_url = ""
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self._answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.partition(b":")[2])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                )
                self.heads.append(head)
                self.bodies.append(msgspec.json.decode(await reader.readexactly(length)))
                answer = self._answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if self._hold:
                    await reader.read()
                    self.hung_up.set()
                    break
                if b"chunked" not in answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up.set()
        finally:
            writer.close()


@asynccontextmanager
async def raw_server(*answers: bytes, hold: bool = False, port: int = 0) -> AsyncGenerator[RawServer]:
    """Serve the answers on a port of the loopback interface, a free one unless told."""
    raw = RawServer(answers, hold=hold)
    server = await asyncio.start_server(raw.serve, "127.0.0.1", port)
    raw.port = server.sockets[0].getsockname()[1]
    raw.base_url = f"http://127.0.0.1:{raw.port}"
    try:
        yield raw
    finally:
        server.close()
        await server.wait_closed()


def sse(*events: object, done: bool = False, chunked: bool = True) -> bytes:
    """Make an answer that streams the events as JSON data."""
    lines = [event if isinstance(event, bytes) else msgspec.json.encode(event) for event in events]
    body = b"".join(b"data: " + line + b"\n\n" for line in lines)
    if done:
        body += b"data: [DONE]\n\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    if not chunked:
        return head + b"Connection: close\r\n\r\n" + body
    chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n"


def failure(status: int, body: bytes, *headers: str) -> bytes:
    """Make an answer with an error status."""
    extra = "".join(f"{header}\r\n" for header in headers).encode()
    head = f"HTTP/1.1 {status} Nope\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + extra + b"Connection: close\r\n\r\n" + body
