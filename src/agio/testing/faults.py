"""Faults of a model's response: one struct per fault, each usable with every wire format."""

from typing import Literal, TypeAlias

from msgspec import Struct

ProblemKind: TypeAlias = Literal[
    "rate_limited",
    "quota_exceeded",
    "unavailable",
    "overloaded",
    "invalid_api_key",
    "permission_denied",
    "model_not_found",
    "bad_request",
    "context_too_long",
    "request_too_large",
]
"""Kinds of vendor errors; each wire format has its own status, type and message for them."""


class VendorError(Struct, frozen=True):
    """The vendor's own error response: its status, headers and error body."""

    kind: ProblemKind
    retry_after_s: float | None = None


class HttpStatus(Struct, frozen=True):
    """Any status, with an error body in the vendor's shape."""

    status: int
    message: str = "The server had an error while processing your request."
    retry_after_s: float | None = None


class StreamError(Struct, frozen=True):
    """An error object in the middle of a stream that began well.

    With `as_turn` it is the event of a failed turn, where the format has one (OpenAI Responses).
    """

    kind: ProblemKind = "overloaded"
    after_events: int = 2
    as_turn: bool = False


class CutAfterBytes(Struct, frozen=True):
    """The connection is cut after some bytes of the body, at any position; with `reset`, by a TCP reset."""

    count: int
    reset: bool = False


class CutAfterEvents(Struct, frozen=True):
    """The connection is cut in the middle of the event after the first `count` ones."""

    count: int
    reset: bool = False


class NoEnd(Struct, frozen=True):
    """The body ends properly, without the events that end the turn."""


class Split(Struct, frozen=True):
    """The response is sent in TCP writes of these sizes, repeated; `(1,)` is one write per byte."""

    sizes: tuple[int, ...] = (1,)


class SplitCharacters(Struct, frozen=True):
    """Every UTF-8 character of more than one byte is split across writes."""


class OneWrite(Struct, frozen=True):
    """The whole response is sent in a single write."""


class LineEnds(Struct, frozen=True):
    """Lines end with this instead of the vendor's own line end."""

    value: Literal["\n", "\r\n", "\r"] = "\r\n"


class Comments(Struct, frozen=True):
    """Comments, empty lines and unknown fields between the events."""


class HugeDelta(Struct, frozen=True):
    """The text is padded to this many characters and sent as a single delta."""

    chars: int = 1_000_000


class Endless(Struct, frozen=True):
    """The event in the middle of the stream is repeated until the client disconnects."""


class NeverAnswer(Struct, frozen=True):
    """The request is read and nothing is ever sent."""


class HeadersOnly(Struct, frozen=True):
    """The status line and headers are sent, the body never."""


class Stall(Struct, frozen=True):
    """The stream stalls after some events, until the client disconnects or the server closes."""

    after_events: int = 2


class InvalidJson(Struct, frozen=True):
    """The event after some valid ones is not JSON."""

    after_events: int = 2


class SameIds(Struct, frozen=True):
    """All tool calls of the turn have the same id."""


class NoIds(Struct, frozen=True):
    """Tool calls have no id."""


class HtmlPage(Struct, frozen=True):
    """An HTML page instead of a model's response, as from a captive portal."""

    status: int = 200


Fault: TypeAlias = (
    VendorError
    | HttpStatus
    | StreamError
    | CutAfterBytes
    | CutAfterEvents
    | NoEnd
    | Split
    | SplitCharacters
    | OneWrite
    | LineEnds
    | Comments
    | HugeDelta
    | Endless
    | NeverAnswer
    | HeadersOnly
    | Stall
    | InvalidJson
    | SameIds
    | NoIds
    | HtmlPage
)
