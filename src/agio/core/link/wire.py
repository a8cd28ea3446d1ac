"""The link's encoding: each call of `core.link` is a tagged msgpack frame, and a message is a list of frames.

Pure: both ends of the WebSocket (worker/link_socket.py, gateway/doors/link_socket.py) use it and it imports neither.
Calls and answers carry a number. The worker numbers its calls, the gateway its tasks.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct

from agio.core.file import FilePiece
from agio.core.link.link import Answer, Claim, Greeting, Job, Task, TaskResult, ToolReply, Welcome
from agio.core.store.repository import Append, Effect, RunInput, ToolRecord
from agio.errors import (
    AgioError,
    BusError,
    LimitExceeded,
    ModelError,
    StoreError,
    ToolError,
    UpstreamError,
    UserError,
)
from agio.protocol.messages import Json

MESSAGE_BYTES = 1024 * 1024
"""The target size of a message that batches frames. A larger frame is sent as its own message."""
MAX_UP_BYTES = 16 * 1024 * 1024
"""The largest message a gateway accepts from a worker."""
MAX_DOWN_BYTES = 256 * 1024 * 1024
"""The largest message a worker accepts from its gateway: a job carries its session's history."""
_HEAD_BYTES = 3
REFUSED = 4401
"""Close code: the gateway does not know the worker's key."""
GARBAGE = 4400
"""Close code: the bytes were not a message of the link."""
SLOW = 4408
"""Close code: the peer does not read, or did not greet in time."""


class _Frame(Struct, frozen=True, array_like=True, tag=str.lower):
    pass


class Greet(_Frame, frozen=True):
    """Worker: connect, or reconnect. The first frame of a connection."""

    id: int
    greeting: Greeting


class Write(_Frame, frozen=True):
    """Worker: append."""

    id: int
    claim: Claim
    write: Append


class Begin(_Frame, frozen=True):
    """Worker: begin_tool."""

    id: int
    claim: Claim
    key: str
    tool: str
    effect: Effect
    lane: str = ""


class End(_Frame, frozen=True):
    """Worker: end_tool."""

    id: int
    claim: Claim
    key: str
    record: ToolRecord


class Use(_Frame, frozen=True):
    """Worker: call_tool. The arguments are JSON text, since msgpack limits the size of integers."""

    id: int
    claim: Claim
    key: str
    tool: str
    arguments: bytes
    lane: str = ""
    agent: str = ""

    def decoded(self) -> dict[str, Json]:
        """Decode the arguments. Raises msgspec.DecodeError if they are not a JSON object."""
        return msgspec.json.decode(self.arguments, type=dict[str, Json])


class Read(_Frame, frozen=True):
    """Worker: read_file."""

    id: int
    claim: Claim
    file_id: str
    idx: int


class Release(_Frame, frozen=True):
    """Worker: release."""

    id: int
    claim: Claim


class Leave(_Frame, frozen=True):
    """Worker: leave."""

    id: int


class Performed(_Frame, frozen=True):
    """Worker: the result of a task."""

    id: int
    result: TaskResult


class Failed(_Frame, frozen=True):
    """Either side: a call or a task failed. `kind` is the error's class."""

    id: int
    kind: str
    code: str
    message: str
    details: dict[str, Json]
    retryable: bool = False
    retry_after_s: float | None = None

    def error(self) -> AgioError:
        """Return the error that the other side raised."""
        if self.kind == ModelError.__name__:
            return ModelError(
                self.code,
                self.message,
                self.details,
                retryable=self.retryable,
                retry_after_s=self.retry_after_s,
            )
        return _KINDS.get(self.kind, AgioError)(self.code, self.message, self.details)


class Welcomed(_Frame, frozen=True):
    """Gateway: the answer to Greet."""

    id: int
    welcome: Welcome


class Written(_Frame, frozen=True):
    """Gateway: the answer to Write."""

    id: int
    answer: Answer


class Begun(_Frame, frozen=True):
    """Gateway: the answer to Begin."""

    id: int
    record: ToolRecord | None


class Used(_Frame, frozen=True):
    """Gateway: the answer to Use."""

    id: int
    reply: ToolReply


class Piece(_Frame, frozen=True):
    """Gateway: the answer to Read."""

    id: int
    piece: FilePiece


class Done(_Frame, frozen=True):
    """Gateway: the answer to End, Release and Leave."""

    id: int


class Start(_Frame, frozen=True):
    """Gateway: a job to run."""

    job: Job


class Cancel(_Frame, frozen=True):
    """Gateway: cancel a run."""

    run_id: str
    epoch: int


class Give(_Frame, frozen=True):
    """Gateway: the user's messages for a run that has begun."""

    run_id: str
    epoch: int
    inputs: list[RunInput]


class Drop(_Frame, frozen=True):
    """Gateway: stop a run without writing."""

    run_id: str
    epoch: int


class Report(_Frame, frozen=True):
    """Gateway: the progress of a call, as JSON text."""

    run_id: str
    epoch: int
    key: str
    progress: bytes


class Perform(_Frame, frozen=True):
    """Gateway: a task to perform."""

    id: int
    task: Task


class Drain(_Frame, frozen=True):
    """Gateway: finish the turns in progress and give back the unfinished runs."""

    within_s: float


UpFrame: TypeAlias = Greet | Write | Begin | End | Use | Read | Release | Leave | Performed | Failed
DownFrame: TypeAlias = (
    Welcomed
    | Written
    | Begun
    | Used
    | Piece
    | Done
    | Failed
    | Start
    | Cancel
    | Give
    | Drop
    | Report
    | Perform
    | Drain
)

_KINDS: dict[str, type[AgioError]] = {
    kind.__name__: kind for kind in (UserError, ToolError, UpstreamError, StoreError, BusError, LimitExceeded)
}
_encoder = msgspec.msgpack.Encoder(enc_hook=str)
_up = msgspec.msgpack.Decoder(list[UpFrame])
_down = msgspec.msgpack.Decoder(list[DownFrame])


def encode_frame(frame: UpFrame | DownFrame, limit_bytes: int = MAX_DOWN_BYTES) -> bytes:
    """Encode one frame. Raises StoreError `not_storable` if msgpack cannot encode it or it is too large."""
    try:
        data = _encoder.encode(frame)
    except (OverflowError, UnicodeEncodeError, RecursionError, TypeError) as error:
        raise StoreError("not_storable", f"The link cannot carry this: {error}.") from error
    if len(data) > limit_bytes - _HEAD_BYTES:
        raise StoreError("not_storable", f"The link cannot carry {len(data)} bytes at once.")
    return data


def messages_of(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Batch encoded frames into messages, in order."""
    batch: list[bytes] = []
    size = 0
    for frame in frames:
        if batch and (size + len(frame) > MESSAGE_BYTES or len(batch) == 0xFFFF):
            yield _message(batch)
            batch, size = [], 0
        batch.append(frame)
        size += len(frame)
    if batch:
        yield _message(batch)


def decode_up(message: bytes) -> list[UpFrame]:
    """Decode a worker's message. Raises UserError `invalid_link_message`."""
    try:
        return _up.decode(message)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _garbage(error) from error


def decode_down(message: bytes) -> list[DownFrame]:
    """Decode a gateway's message. Raises UserError `invalid_link_message`."""
    try:
        return _down.decode(message)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _garbage(error) from error


def failed(call: int, error: AgioError) -> Failed:
    """Return the frame that carries an error to the other side."""
    return Failed(
        call,
        next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _NAMES), ""),
        error.code,
        error.message,
        cast("dict[str, Json]", msgspec.to_builtins(error.details, enc_hook=str)),
        error.retryable if isinstance(error, ModelError) else False,
        error.retry_after_s if isinstance(error, ModelError) else None,
    )


_NAMES = {*_KINDS, ModelError.__name__}


def _message(batch: list[bytes]) -> bytes:
    count = len(batch)
    head = bytes([0x90 | count]) if count < 16 else b"\xdc" + count.to_bytes(2)
    return head + b"".join(batch)


def _garbage(error: Exception) -> UserError:
    return UserError("invalid_link_message", f"Not a message of the link: {error}.")
