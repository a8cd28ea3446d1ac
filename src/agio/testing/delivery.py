"""Delivers a reply: encodes events to bytes and TCP writes. Most faults are injected here."""

from collections.abc import Iterator, Sequence
from itertools import cycle

from agio.testing.connection import Connection
from agio.testing.faults import (
    Comments,
    CutAfterBytes,
    CutAfterEvents,
    Endless,
    Fault,
    HeadersOnly,
    InvalidJson,
    LineEnds,
    NoEnd,
    OneWrite,
    Split,
    SplitCharacters,
    Stall,
    StreamError,
)
from agio.testing.script import Reply
from agio.testing.wires.wire import ServerEvent, Wire

_END = b"0\r\n\r\n"
_HELD_S = 5.0
_NOISE = ": keep-alive{0}{0}retry: 3000{0}id: 7{0}{0}:{0}{0}{0}"


class Cut(Exception):
    """The connection was cut on purpose."""


async def deliver(connection: Connection, wire: Wire, events: list[ServerEvent], reply: Reply) -> None:
    """Send the body of a stream after its headers, with the reply's pace and fault. Raises Cut."""
    fault = reply.fault
    if isinstance(fault, HeadersOnly):
        await connection.wait_gone()
    line_end = fault.value if isinstance(fault, LineEnds) else wire.line_end
    events = _spoil(events, wire, fault)
    frames = [_frame(event, line_end, noisy=isinstance(fault, Comments)) for event in events]
    if isinstance(fault, CutAfterBytes):
        await _send_part(connection, frames, fault.count)
        raise Cut
    if isinstance(fault, CutAfterEvents):
        count = (
            sum(map(len, frames[: fault.count])) + len(b"".join(frames[fault.count : fault.count + 1])) // 2
        )
        await _send_part(connection, frames, count)
        raise Cut
    if isinstance(fault, Split | SplitCharacters | OneWrite):
        for piece in _pieces(b"".join(map(_chunk, frames)) + _END, fault):
            await connection.write(piece)
        return
    for number, frame in enumerate(frames):
        if isinstance(fault, Stall) and number == fault.after_events:
            await connection.wait_gone()
        if number and reply.pace_s:
            await connection.wait_gone(reply.pace_s)
        if reply.gate is not None and number == len(frames) // 2:
            # Send comments now and then, so that a held reply does not look like a silent model.
            while not await connection.wait_open(reply.gate, _HELD_S):
                await connection.write(_chunk(f": held{line_end * 2}".encode()))
        await connection.write(_chunk(frame))
        while isinstance(fault, Endless) and number == len(frames) // 2:
            await connection.write(_chunk(frame))
    await connection.write(_END)


def _spoil(events: list[ServerEvent], wire: Wire, fault: Fault | None) -> list[ServerEvent]:
    match fault:
        case NoEnd():
            return [event for event in events if not event.ending]
        case StreamError(kind, after, as_turn):
            return [*events[:after], wire.error_event(wire.problem(kind), as_turn=as_turn)]
        case InvalidJson(after):
            at = min(after, len(events) - 1)
            broken = ServerEvent(events[at].data[: len(events[at].data) // 2], events[at].name)
            return [*events[:at], broken, *events[at + 1 :]]
        case _:
            return events


def _frame(event: ServerEvent, line_end: str, *, noisy: bool) -> bytes:
    name = f"event: {event.name}{line_end}" if event.name else ""
    noise = _NOISE.format(line_end) if noisy else ""
    return (noise + name).encode() + b"data: " + event.data + line_end.encode() * 2


def _chunk(frame: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(frame), frame)


async def _send_part(connection: Connection, frames: Sequence[bytes], count: int) -> None:
    for frame in frames:
        if len(frame) > count:
            header = len(b"%x\r\n" % len(frame))
            await connection.write(_chunk(frame)[: header + count])
            return
        await connection.write(_chunk(frame))
        count -= len(frame)


def _pieces(data: bytes, fault: Split | SplitCharacters | OneWrite) -> Iterator[bytes]:
    start = 0
    match fault:
        case OneWrite():
            yield data
        case SplitCharacters():
            for at, byte in enumerate(data):
                if byte & 0xC0 == 0x80:
                    yield data[start:at]
                    start = at
            yield data[start:]
        case Split(sizes):
            sizes_left = cycle(sizes)
            while start < len(data):
                size = max(1, next(sizes_left))
                yield data[start : start + size]
                start += size
