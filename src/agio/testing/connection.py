"""HTTP/1.1 on one connection, where the caller controls every TCP write."""

import asyncio
import socket
import struct
from collections.abc import Mapping
from http.client import responses
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct


class HttpRequest(Struct, frozen=True):
    """A request read from the connection; header names are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Connection:
    """One client. Writing or waiting after the client has disconnected raises ConnectionError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._gone = asyncio.Event()
        self._ahead = b""
        # drain() then waits until the kernel has all bytes, so a cut loses no written data
        writer.transport.set_write_buffer_limits(0)

    async def read_request(self) -> HttpRequest | None:
        """Read the next request; None at the end of the connection."""
        try:
            head = self._ahead + await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        self._ahead = b""
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _version = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        body = await self._read_body(headers)
        url = urlsplit(target)
        return HttpRequest(method, unquote(url.path), dict(parse_qsl(url.query)), headers, body)

    async def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" not in headers.get("transfer-encoding", ""):
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = bytearray()
        while size := int((await self._reader.readline()).split(b";")[0], 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return bytes(body)

    async def watch(self) -> None:
        """Detect a disconnect. Run it beside the response, and cancel it afterwards."""
        try:
            self._ahead = await self._reader.read(1)
        except ConnectionError:
            self._ahead = b""
        if not self._ahead:
            self._gone.set()

    async def wait_gone(self, timeout_s: float | None = None) -> None:
        """Wait until the client disconnects, for at most `timeout_s`."""
        try:
            await asyncio.wait_for(self._gone.wait(), timeout_s)
        except TimeoutError:
            return
        raise ConnectionResetError("The client left.")

    async def wait_open(self, gate: asyncio.Event, timeout_s: float) -> bool:
        """Wait until the gate opens, the client disconnects or the time is over; return whether it is open."""
        waits = [asyncio.ensure_future(event.wait()) for event in (gate, self._gone)]
        try:
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return gate.is_set()

    async def write(self, data: bytes) -> None:
        """Send the bytes in one TCP write and flush them."""
        if self._gone.is_set():
            raise ConnectionResetError("The client left.")
        self._writer.write(data)
        await self._writer.drain()
        await asyncio.sleep(0)

    async def write_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and the headers."""
        lines = [f"HTTP/1.1 {status} {responses.get(status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    async def write_document(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a complete response."""
        await self.write_head(status, {**headers, "content-length": str(len(body))})
        await self.write(body)

    def cut(self, *, reset: bool) -> None:
        """Drop the connection at once; the rest of a declared body is never sent."""
        if reset:
            raw: socket.socket = self._writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return
