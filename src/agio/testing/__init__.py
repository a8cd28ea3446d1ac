"""Test doubles, for agio's tests and yours: a model server in every wire format, faults, and an in-process server."""

from typing import TYPE_CHECKING, Any

from agio.testing.capture import ModelCall, ToolResult
from agio.testing.faults import (
    Comments,
    CutAfterBytes,
    CutAfterEvents,
    Endless,
    Fault,
    HeadersOnly,
    HtmlPage,
    HttpStatus,
    HugeDelta,
    InvalidJson,
    LineEnds,
    NeverAnswer,
    NoEnd,
    NoIds,
    OneWrite,
    SameIds,
    Split,
    SplitCharacters,
    Stall,
    StreamError,
    VendorError,
)
from agio.testing.script import Call, Reply
from agio.testing.server import ModelServer

if TYPE_CHECKING:
    from agio.testing.in_process import ServingClient, serving

__all__ = [
    "serving",
    "ServingClient",
    "ModelServer",
    "Reply",
    "Call",
    "ModelCall",
    "ToolResult",
    "Fault",
    "VendorError",
    "HttpStatus",
    "StreamError",
    "CutAfterBytes",
    "CutAfterEvents",
    "NoEnd",
    "Split",
    "SplitCharacters",
    "OneWrite",
    "LineEnds",
    "Comments",
    "HugeDelta",
    "Endless",
    "NeverAnswer",
    "HeadersOnly",
    "Stall",
    "InvalidJson",
    "SameIds",
    "NoIds",
    "HtmlPage",
]


def __getattr__(name: str) -> Any:
    """Import the server lazily: it has many parts."""
    if name not in ("serving", "ServingClient"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agio.testing import in_process

    return getattr(in_process, name)
