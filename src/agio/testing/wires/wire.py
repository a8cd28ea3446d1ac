"""The interface of a wire format to the model server, and the parts that all formats share."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import msgspec
from msgspec import Struct

from agio.protocol.messages import Json
from agio.testing.capture import Reading
from agio.testing.connection import HttpRequest
from agio.testing.faults import ProblemKind
from agio.testing.script import Reply


class ServerEvent(Struct, frozen=True):
    """One server-sent event. `ending` marks an event that a complete turn requires."""

    data: bytes
    name: str | None = None
    ending: bool = False


class Problem(Struct, frozen=True):
    """An error in a vendor's terms."""

    status: int
    type: str
    message: str
    code: str | None = None


class Rejected(Exception):
    """The vendor would refuse this request."""

    def __init__(self, message: str, kind: ProblemKind = "bad_request") -> None:
        super().__init__(message)
        self.message = message
        self.kind: ProblemKind = kind


class Answer(Struct, frozen=True):
    """The inputs of a response besides its reply: a number for its ids, and the request."""

    number: int
    reading: Reading

    def id(self, prefix: str, index: int = 0) -> str:
        """Return a vendor-style id, deterministic for an answer and index."""
        digest = hashlib.sha256(f"{prefix}{self.number}/{index}".encode()).hexdigest()
        return f"{prefix}{digest[:24]}"


class Wire(Protocol):
    """One vendor's format. An instance belongs to one server and may remember what it sent."""

    name: str
    base_path: str
    line_end: str

    def accepts(self, path: str) -> bool:
        """Whether requests to this path are in this format."""
        ...

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return a request's API key."""
        ...

    def read(self, request: HttpRequest) -> Reading:
        """Check a request as the vendor does, and decode it. Raises Rejected."""
        ...

    def lists(self, request: HttpRequest) -> bool:
        """Whether this requests the list of models, in this format."""
        ...

    def listing(self, models: Sequence[str]) -> Json:
        """Return the list of models."""
        ...

    def events(self, reply: Reply, answer: Answer) -> list[ServerEvent]:
        """Return all events of a reply's stream."""
        ...

    def document(self, reply: Reply, answer: Answer) -> Json:
        """Return the response to a request without streaming."""
        ...

    def problem(self, kind: ProblemKind, message: str | None = None) -> Problem:
        """Return the vendor's error for a kind of problem."""
        ...

    def error_body(self, problem: Problem) -> Json:
        """Return the body of an error response."""
        ...

    def error_event(self, problem: Problem, *, as_turn: bool) -> ServerEvent:
        """Return the error as a stream event; with `as_turn`, that of a failed turn, if the format has one."""
        ...


def sign(*parts: str) -> str:
    """Return an opaque signature of the content."""
    digest = hashlib.sha512("\x00".join(parts).encode()).digest()
    return base64.b64encode(b"\x08\x0a" + digest).decode()


def encode(value: Json) -> bytes:
    """Encode JSON as the vendors do: one line, UTF-8 unescaped."""
    return msgspec.json.encode(value)


def problem_for_status(status: int, message: str, type_: str = "server_error") -> Problem:
    """Return a problem with any status."""
    return Problem(status, type_, message)


def require_strict(schema: Json, where: str) -> None:
    """Refuse a schema that OpenAI's strict mode refuses. Raises Rejected."""
    if isinstance(schema, dict):
        table = cast(dict[str, Json], schema)
        if table.get("type") == "object" or "properties" in table:
            properties = msgspec.convert(table.get("properties", {}), dict[str, Json])
            required = msgspec.convert(table.get("required", []), list[str])
            if table.get("additionalProperties") is not False:
                raise Rejected(f"Invalid schema for {where}: 'additionalProperties' is required to be false.")
            if set(required) != set(properties):
                raise Rejected(
                    f"Invalid schema for {where}: 'required' must include every key in properties."
                )
        for value in table.values():
            require_strict(value, where)
    elif isinstance(schema, list):
        for value in cast(list[Json], schema):
            require_strict(value, where)
