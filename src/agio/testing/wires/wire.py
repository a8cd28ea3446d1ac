"""What a wire format owes the model server, and the parts all of them use."""

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
    """One server-sent event. `ending` marks those without which a turn is not complete."""

    data: bytes
    name: str | None = None
    ending: bool = False


class Problem(Struct, frozen=True):
    """An error as a vendor words it."""

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
    """What an answer is made of besides its reply: a number that makes its ids, and the request."""

    number: int
    reading: Reading

    def id(self, prefix: str, index: int = 0) -> str:
        """Return an id in the vendors' manner, the same for the same answer and index."""
        digest = hashlib.sha256(f"{prefix}{self.number}/{index}".encode()).hexdigest()
        return f"{prefix}{digest[:24]}"


class Wire(Protocol):
    """One vendor's format. An instance serves one server and may remember what it sent."""

    name: str
    base_path: str
    line_end: str

    def accepts(self, path: str) -> bool:
        """Say whether requests to this path are in this format."""
        ...

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return the API key a request carries."""
        ...

    def read(self, request: HttpRequest) -> Reading:
        """Check a request as the vendor does and read it. Raises Rejected."""
        ...

    def lists(self, request: HttpRequest) -> bool:
        """Say whether this asks for the list of models, in this format."""
        ...

    def listing(self, models: Sequence[str]) -> Json:
        """Return the list of models."""
        ...

    def events(self, reply: Reply, answer: Answer) -> list[ServerEvent]:
        """Return the whole stream of a reply."""
        ...

    def document(self, reply: Reply, answer: Answer) -> Json:
        """Return the answer to a request that did not ask for a stream."""
        ...

    def problem(self, kind: ProblemKind, message: str | None = None) -> Problem:
        """Return the vendor's words for a problem."""
        ...

    def error_body(self, problem: Problem) -> Json:
        """Return the body of an error answer."""
        ...

    def error_event(self, problem: Problem, *, as_turn: bool) -> ServerEvent:
        """Return the error as an event of a stream; `as_turn` as that of a failed turn, if there is one."""
        ...


def sign(*parts: str) -> str:
    """Return an opaque artefact that only comes out the same for the same content."""
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
