"""The codec of stored logs: the events of ended runs are kept in compressed blocks, one row each.

A read of a range unpacks only the blocks that hold it. A row without a codec holds JSON lines as they are.
"""

import zlib
from collections.abc import Iterator
from typing import Literal

import msgspec

from agio.db.rows import Columns

BLOCK_BYTES = 64 * 1024
"""The size of a block before it is packed. An event that is longer is a block of its own."""
_LEVEL = 1
_SMALL_BYTES = 16 * 1024
"""Up to this size a smaller window finds as much. The library's own needs 256 KB of fresh pages for each block."""


class DamagedLog(Exception):
    """A log with a gap, or a block that cannot be unpacked."""


class LogRow(Columns, frozen=True):
    """Consecutive events of a run as they are stored."""

    first_seq: int
    last_seq: int
    payload: bytes
    codec: Literal["zlib"] | None = None
    plain_bytes: int | None = None
    """The size before packing; None for a plain row."""
    run_id: str = ""
    """Empty where the query does not select it."""

    @property
    def lines(self) -> bytes:
        """The events as JSON lines. Raises DamagedLog."""
        if self.codec is None:
            return self.payload
        try:
            return zlib.decompress(self.payload, bufsize=BLOCK_BYTES)
        except zlib.error as error:
            raise DamagedLog(f"events {self.first_seq} to {self.last_seq} of a log: {error}") from error


def pack(run_id: str, first_seq: int, last_seq: int, lines: bytes) -> list[dict[str, object]]:
    """The rows that hold a run's events from `first_seq` to `last_seq`, as values of `put_log`."""
    rows: list[LogRow] = []
    for block in _blocks(lines):
        is_all = len(block) == len(lines)
        last = last_seq if is_all else first_seq + block.count(b"\n") - 1
        rows.append(LogRow(first_seq, last, _compress(block), "zlib", len(block), run_id))
        first_seq = last + 1
    return [msgspec.structs.asdict(row) for row in rows]


def _compress(block: bytes) -> bytes:
    window_bits, memory_level = (14, 5) if len(block) <= _SMALL_BYTES else (15, 8)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, window_bits, memory_level)
    return packer.compress(block) + packer.flush()


def _blocks(lines: bytes) -> Iterator[bytes]:
    start = 0
    while len(lines) - start > BLOCK_BYTES:
        end = lines.rfind(b"\n", start, start + BLOCK_BYTES) + 1
        end = end or lines.index(b"\n", start + BLOCK_BYTES) + 1
        yield lines[start:end]
        start = end
    if start < len(lines):
        yield lines[start:]
