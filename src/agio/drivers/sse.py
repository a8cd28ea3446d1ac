"""Parses a server-sent event stream: bytes in, event data out. Between the socket and a driver."""

import re

from agio.errors import ModelError

_BOM = b"\xef\xbb\xbf"
_DATA_LINE = re.compile(rb"\ndata: ([^\n]*)(?:\n\n|\Z)")


class SSEReader:
    """Parses one event stream. It drops comments, events without data, and all fields but `data`."""

    def __init__(self, limit_bytes: int = 16 * 1024 * 1024) -> None:
        self._limit = limit_bytes
        self._pending = bytearray()
        self._scanned = 0
        self._head: bytes | None = b""
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Feed the next bytes, split anywhere, and return the data of each completed event.

        Raises ModelError `invalid_response` if an event exceeds the limit.
        """
        if self._head is not None:
            chunk = self._strip_bom(chunk)
        if self._after_cr or b"\r" in chunk:
            chunk = self._unify_line_ends(chunk)
        if self._pending:
            self._pending += chunk
            end = self._pending.rfind(b"\n\n", self._scanned)
            if end < 0:
                self._scanned = len(self._pending) - 1
                self._check(len(self._pending))
                return []
            block, rest = bytes(self._pending[:end]), bytes(self._pending[end + 2 :])
            self._pending.clear()
            self._scanned = 0
        else:
            end = chunk.rfind(b"\n\n")
            if end < 0:
                block, rest = b"", chunk
            else:
                block, rest = chunk[:end], chunk[end + 2 :]
        if rest:
            self._pending += rest
            self._check(len(rest))
        return self._split(block) if block else []

    def close(self) -> list[bytes]:
        """Return the data of a last event whose blank line is missing; an unfinished line is dropped."""
        rest = bytes(self._pending)
        self._pending.clear()
        return self._split(rest.removesuffix(b"\n")) if rest.endswith(b"\n") else []

    def _split(self, block: bytes) -> list[bytes]:
        items = _split_plain(block) or [_data_of(event) for event in block.split(b"\n\n")]
        if len(block) > self._limit:
            self._check(max(map(len, items)))
        return [item for item in items if item] if b"" in items else items

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise ModelError(
                "invalid_response",
                f"The model's service sent a single event of more than {self._limit} bytes.",
                retryable=True,
            )

    def _strip_bom(self, chunk: bytes) -> bytes:
        head = (self._head or b"") + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _unify_line_ends(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        # A CR ends its line at once; if its LF arrives in the next chunk, it is dropped there.
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _split_plain(block: bytes) -> list[bytes] | None:
    """Split a block whose events all are a data line, or an event line and a data line; else None."""
    if block.startswith(b"data: "):
        items = block[6:].split(b"\n\ndata: ")
        return items if block.count(b"\n") == 2 * len(items) - 2 else None
    if block.startswith(b"event:"):
        items = _DATA_LINE.findall(block)
        count = len(items)
        if block.count(b"\n\nevent:") == count - 1 and block.count(b"\n") == 3 * count - 2:
            return items
    return None


def _data_of(event: bytes) -> bytes:
    fields = [line.partition(b":") for line in event.split(b"\n")]
    return b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
