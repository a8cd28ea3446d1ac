"""The writer's memory of running runs: claim, last seq, and the frames not yet in `logs`."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from agio.db.packing import DamagedLog
from agio.db.sqlite.connector import Connection
from agio.protocol.frames import Frame, cut_lines


class LiveRun(Struct, frozen=True):
    """A running run as of one commit. Versions share `frames`; the first `held` of them are this one's."""

    epoch: int
    last_seq: int
    logged_seq: int
    """The last event in `logs`."""
    frames: list[Frame]
    held: int
    size_bytes: int
    tail_from: int
    """The first tail row with a frame of `frames`; undefined while `held` is 0."""

    def grow(self, frame: Frame, tail_id: int) -> "LiveRun":
        """Add a frame of tail row `tail_id`."""
        self.frames.append(frame)
        return LiveRun(
            self.epoch,
            frame.last_seq,
            self.logged_seq,
            self.frames,
            self.held + 1,
            self.size_bytes + len(frame.payload),
            self.tail_from if self.held else tail_id,
        )

    def forget_uncommitted(self) -> None:
        """Drop frames that later versions added and that were not committed."""
        del self.frames[self.held :]

    def payload_after(self, after: int) -> bytes:
        """The events after `after` that are not in `logs`."""
        return b"".join(
            cut_lines(frame.payload, frame.first_seq, frame.last_seq, after, self.last_seq)
            for frame in self.frames[: self.held]
            if frame.last_seq > after
        )


def new_live_run(epoch: int, last_seq: int = 0) -> LiveRun:
    """A running run all of whose events are in `logs`."""
    return LiveRun(epoch, last_seq, last_seq, [], 0, 0, 0)


class LiveRuns(Struct):
    """All running runs, and the range of tail rows they need."""

    runs: dict[str, LiveRun]
    first_tail: int
    next_tail: int


def load_live_runs(connection: Connection, queries: Mapping[str, str]) -> LiveRuns:
    """Rebuild the writer's memory from the run rows and the tail. Raises DamagedLog, msgspec.DecodeError."""
    runs = {
        run_id: new_live_run(epoch, last_seq)
        for run_id, epoch, last_seq in msgspec.convert(
            connection.execute(queries["live_runs"]).fetchall(), list[tuple[str, int, int]]
        )
    }
    first, last = 0, 0
    for tail_id, blob in msgspec.convert(
        connection.execute(queries["read_tail"]).fetchall(), list[tuple[int, bytes]]
    ):
        first, last = first or tail_id, tail_id
        for run_id, first_seq, count, payload in unpack_frames(blob):
            run = runs.get(run_id)
            if run is None or first_seq <= run.last_seq:
                continue  # the run has ended, or the frame moved to `logs`
            if first_seq != run.last_seq + 1:
                raise DamagedLog(f"run {run_id} lacks events {run.last_seq + 1} to {first_seq - 1}")
            runs[run_id] = run.grow(Frame(run_id, run.epoch, first_seq, count, payload), tail_id)
    return LiveRuns(runs, first or last + 1, last + 1)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[str, int, int, bytes]]).decode


def pack_frames(frames: list[Frame]) -> bytes:
    """The frames of one commit as a tail row."""
    return _encode([(frame.run_id, frame.first_seq, frame.count, frame.payload) for frame in frames])


def unpack_frames(blob: bytes) -> list[tuple[str, int, int, bytes]]:
    """A tail row's frames: run, first seq, count, payload. Raises msgspec.DecodeError."""
    return _decode(blob)
