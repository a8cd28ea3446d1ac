"""What can go wrong on the way from a model: one struct a fault, each usable on every wire format."""

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
"""What a vendor may complain about; each wire format has its own status, type and words for it."""


class VendorError(Struct, frozen=True):
    """The vendor's own answer to a problem: its status, headers and error body."""

    kind: ProblemKind
    retry_after_s: float | None = None


class HttpStatus(Struct, frozen=True):
    """Any status, with an error body in the vendor's shape."""

    status: int
    message: str = "The server had an error while processing your request."
    retry_after_s: float | None = None


class StreamError(Struct, frozen=True):
    """An error object in the middle of a stream that began well.

    `as_turn` says it with the event of a failed turn where the format has one (OpenAI Responses).
    """

    kind: ProblemKind = "overloaded"
    after_events: int = 2
    as_turn: bool = False


class CutAfterBytes(Struct, frozen=True):
    """The connection is cut after some bytes of the body, wherever that is; with `reset`, by a TCP reset."""

    count: int
    reset: bool = False


class CutAfterEvents(Struct, frozen=True):
    """The connection is cut in the middle of the event after the first `count` ones."""

    count: int
    reset: bool = False


class NoEnd(Struct, frozen=True):
    """The body ends properly but the events that end the turn never come."""


class Split(Struct, frozen=True):
    """The answer leaves in TCP writes of these sizes, over and over; `(1,)` is one write a byte."""

    sizes: tuple[int, ...] = (1,)


class SplitCharacters(Struct, frozen=True):
    """Every UTF-8 character of more than one byte is split across writes."""


class OneWrite(Struct, frozen=True):
    """The whole answer leaves in a single write."""


class LineEnds(Struct, frozen=True):
    """Lines end with this instead of the vendor's own line end."""

    value: Literal["\n", "\r\n", "\r"] = "\r\n"


class Comments(Struct, frozen=True):
    """Comments, empty lines and fields nobody asked for between the events."""


class HugeDelta(Struct, frozen=True):
    """The text is padded to this many characters and comes as a single delta."""

    chars: int = 1_000_000


class Endless(Struct, frozen=True):
    """The event in the middle of the stream is sent again and again until the client leaves."""


class NeverAnswer(Struct, frozen=True):
    """The request is read and nothing is ever sent."""


class HeadersOnly(Struct, frozen=True):
    """The status line and headers come, the body never does."""


class Stall(Struct, frozen=True):
    """Nothing more comes after some events, until the client leaves or the server closes."""

    after_events: int = 2


class InvalidJson(Struct, frozen=True):
    """The event after some good ones is not JSON."""

    after_events: int = 2


class SameIds(Struct, frozen=True):
    """All tool calls of the turn carry one and the same id."""


class NoIds(Struct, frozen=True):
    """Tool calls carry no id."""


class HtmlPage(Struct, frozen=True):
    """A web page instead of a model's answer, as a captive proxy sends it."""

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
