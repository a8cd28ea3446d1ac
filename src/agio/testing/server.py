"""`ModelServer`: a model service in your process, over real HTTP, in four wire formats at once."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agio.drivers.endpoint import Endpoint
from agio.protocol.messages import Json
from agio.testing.capture import ModelCall, Reading
from agio.testing.connection import Connection, HttpRequest
from agio.testing.delivery import Cut, deliver
from agio.testing.faults import (
    CutAfterBytes,
    CutAfterEvents,
    HtmlPage,
    HttpStatus,
    HugeDelta,
    NeverAnswer,
    NoIds,
    SameIds,
    VendorError,
)
from agio.testing.script import Reply
from agio.testing.wires.anthropic import AnthropicWire
from agio.testing.wires.gemini import GeminiWire
from agio.testing.wires.openai import OpenAIWire
from agio.testing.wires.openai_chat import OpenAIChatWire
from agio.testing.wires.wire import Answer, Problem, Rejected, Wire, encode, problem_for_status

_JSON = {"content-type": "application/json"}
_SSE = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "transfer-encoding": "chunked",
}


class ModelServer:
    """A scripted model behind the paths of OpenAI (both of its formats), Anthropic and Gemini.

    Use it with `async with`. Without a script it echoes the last user text. It checks requests as the vendors do.
    `calls` holds all requests, also refused ones. `problems` lists errors of requests and of the script; assert at
    the end of a test that it is empty. `requests_open` counts responses in progress, `connections` all connections
    so far. `models` are the names in its list of models, and `lists` holds the requests for it; without names it has
    no list. `embedding` makes the vectors of `/embeddings` and `:batchEmbedContents`, without it there are none;
    `embedded` holds the texts of those requests, and `hold` delays their answers until it is set.
    """

    def __init__(self, *, api_key: str | None = "test-key", models: Sequence[str] | None = None) -> None:
        self._api_key = api_key
        self.models = models
        self._wires: dict[str, Wire] = {
            wire.name: wire for wire in (OpenAIChatWire(), OpenAIWire(), AnthropicWire(), GeminiWire())
        }
        self._replies: deque[Reply] | None = None
        self._answer: Callable[[ModelCall], Reply] | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._left = 0
        self.calls: list[ModelCall] = []
        self.embedding: Callable[[str], list[float]] | None = None
        self.embedded: list[list[str]] = []
        self.hold: asyncio.Event | None = None
        self.lists: list[HttpRequest] = []
        self.requests_open = 0
        self.connections = 0
        self.problems: list[str] = []

    async def __aenter__(self) -> "ModelServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()

    def script(self, *replies: Reply) -> None:
        """Add replies, used in order by all formats. A call without a reply left gets a 500."""
        if self._replies is None:
            self._replies = deque()
        self._replies.extend(replies)

    def answer(self, callback: Callable[[ModelCall], Reply]) -> None:
        """Set a function that makes each reply not in the script."""
        self._answer = callback

    @property
    def url(self) -> str:
        """The server's address without any path."""
        if self._server is None:
            raise RuntimeError("The model server runs only inside `async with`.")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def base_url(self, wire: str) -> str:
        """Return the base URL for a wire format: openai-chat, openai, anthropic or gemini."""
        return self.url + self._wires[wire].base_path

    def endpoint(self, wire: str) -> Endpoint:
        """Return the endpoint to give to a driver of this wire format."""
        return Endpoint(base_url=self.base_url(wire), api_key=self._api_key)

    @property
    def closed_by_client(self) -> int:
        """How often a client disconnected before its response was complete."""
        return self._left

    async def wait_closed_by_client(self, count: int = 1, timeout_s: float = 30) -> None:
        """Wait until clients have disconnected `count` times before the end of a response. Raises TimeoutError."""
        await self._wait(lambda: self._left >= count, timeout_s)

    async def wait_for_calls(self, count: int = 1, timeout_s: float = 30) -> None:
        """Wait until the server has received this many calls. Raises TimeoutError."""
        await self._wait(lambda: len(self.calls) >= count, timeout_s)

    async def _wait(self, done: Callable[[], bool], timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            while not done():
                self._changed.clear()
                await self._changed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (start_server always makes a task)
        self._tasks.add(task)
        self.connections += 1
        connection = Connection(reader, writer)
        try:
            while request := await connection.read_request():
                await self._attend(connection, request)
        except (Cut, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # only our own exit cancels this; asyncio's streams would print a traceback
        finally:
            await connection.close()
            self._tasks.discard(task)

    async def _attend(self, connection: Connection, request: HttpRequest) -> None:
        self.requests_open += 1
        watch = asyncio.create_task(connection.watch())
        left = 0
        try:
            await self._respond(connection, request)
        except ConnectionError:
            left = 1
            raise
        finally:
            watch.cancel()
            await asyncio.wait([watch])
            self.requests_open -= 1
            self._left += left
            self._changed.set()

    async def _respond(self, connection: Connection, request: HttpRequest) -> None:
        wires = self._wires.values()
        if request.method == "GET" and self.models is not None:
            wire = next((wire for wire in wires if wire.lists(request)), None)
            if wire is not None:
                await self._list(connection, wire, request, self.models)
                return
        if self.embedding is not None and request.path.endswith(_EMBEDDINGS):
            await self._embed(connection, request, self.embedding)
            return
        wire = next((wire for wire in wires if wire.accepts(request.path)), None)
        if wire is None or request.method != "POST":
            await connection.write_document(404, b'{"error":{"message":"Not found"}}', _JSON)
            return
        call = ModelCall(wire.name, request.path, request.headers, _body(request.body))
        try:
            self._check_key(wire, request)
            reading = wire.read(request)
        except Rejected as rejected:
            self._note(replace(call, rejection=rejected.message))
            await _refuse(connection, wire, wire.problem(rejected.kind, rejected.message))
            return
        fields = {name: getattr(reading, name) for name in _SHARED}
        call = replace(call, **fields)
        self._note(call)
        try:
            reply = self._next_reply(call)
        except Exception as error:  # the test's own function: report its failure to the test
            message = f"The model server has no reply to call {len(self.calls)}: {error!r}."
            self.problems.append(message)
            await _refuse(connection, wire, problem_for_status(500, message))
            return
        await self._reply(connection, wire, reply, Answer(len(self.calls), reading))

    async def _list(
        self, connection: Connection, wire: Wire, request: HttpRequest, models: Sequence[str]
    ) -> None:
        self.lists.append(request)
        try:
            self._check_key(wire, request)
        except Rejected as rejected:
            await _refuse(connection, wire, wire.problem(rejected.kind, rejected.message))
        else:
            await connection.write_document(200, encode(wire.listing(models)), _JSON)

    async def _embed(
        self, connection: Connection, request: HttpRequest, embedding: Callable[[str], list[float]]
    ) -> None:
        is_gemini = request.path.endswith(_EMBEDDINGS[1])
        wire = self._wires["gemini" if is_gemini else "openai"]
        try:
            self._check_key(wire, request)
            texts = _texts_of(_body(request.body))
        except (Rejected, msgspec.ValidationError) as error:
            rejected = error if isinstance(error, Rejected) else Rejected(str(error))
            self.problems.append(rejected.message)
            await _refuse(connection, wire, wire.problem(rejected.kind, rejected.message))
            return
        self.embedded.append(texts)
        self._changed.set()
        if self.hold is not None:
            await self.hold.wait()
        vectors = [embedding(text) for text in texts]
        answer: Json = (
            {"embeddings": [{"values": list(vector)} for vector in vectors]}
            if is_gemini
            else {
                "object": "list",
                "data": [
                    {"object": "embedding", "index": index, "embedding": list(vector)}
                    for index, vector in enumerate(vectors)
                ],
                "usage": {
                    "prompt_tokens": sum(map(len, texts)) // 4,
                    "total_tokens": sum(map(len, texts)) // 4,
                },
            }
        )
        await connection.write_document(200, encode(answer), _JSON)

    def _check_key(self, wire: Wire, request: HttpRequest) -> None:
        key = wire.key(request.headers, request.query)
        if self._api_key is not None and key != self._api_key:
            words = wire.problem("invalid_api_key").message
            raise Rejected(f"{words} Got: {key}.", "invalid_api_key")

    def _note(self, call: ModelCall) -> None:
        self.calls.append(call)
        if call.rejection is not None:
            self.problems.append(call.rejection)
        self._changed.set()

    def _next_reply(self, call: ModelCall) -> Reply:
        if self._replies:
            return self._replies.popleft()
        if self._answer is not None:
            return self._answer(call)
        if self._replies is not None:
            raise LookupError("its script is used up")
        return Reply(text=call.last_user_text)

    async def _reply(self, connection: Connection, wire: Wire, reply: Reply, answer: Answer) -> None:
        match reply.fault:
            case VendorError(kind, retry_after_s):
                await _refuse(connection, wire, wire.problem(kind), retry_after_s)
            case HttpStatus(status, message, retry_after_s):
                await _refuse(connection, wire, problem_for_status(status, message), retry_after_s)
            case HtmlPage(status):
                page = b"<!doctype html><html><body><h1>Welcome to the network</h1></body></html>"
                await connection.write_document(status, page, {"content-type": "text/html"})
            case NeverAnswer():
                await connection.wait_gone()
            case _:
                await _say(connection, wire, _prepared(reply), answer)


class _Part(Struct, frozen=True):
    text: str


class _Content(Struct, frozen=True):
    parts: list[_Part]


class _Asked(Struct, frozen=True):
    model: str
    content: _Content


class _Embeddings(Struct, frozen=True):
    model: str = ""
    input: list[str] = []
    requests: list[_Asked] = []


_EMBEDDINGS = ("/embeddings", ":batchEmbedContents")


def _texts_of(body: dict[str, Json]) -> list[str]:
    """Return the texts of a request for vectors. Raises Rejected, ValidationError."""
    asked = msgspec.convert(body, _Embeddings)
    texts = asked.input or [part.text for each in asked.requests for part in each.content.parts]
    if not texts or not all(texts):
        raise Rejected("input must not be empty")
    return texts


_SHARED = tuple(name for name in Reading.__struct_fields__ if name != "wants")


async def _say(connection: Connection, wire: Wire, reply: Reply, answer: Answer) -> None:
    if not answer.reading.stream:
        await connection.write_document(200, encode(wire.document(reply, answer)), _JSON)
        return
    events = wire.events(reply, answer)
    await connection.write_head(200, _SSE)
    try:
        await deliver(connection, wire, events, reply)
    except Cut:
        fault = reply.fault
        connection.cut(reset=isinstance(fault, CutAfterBytes | CutAfterEvents) and fault.reset)
        raise


async def _refuse(
    connection: Connection, wire: Wire, problem: Problem, retry_after_s: float | None = None
) -> None:
    headers = dict(_JSON)
    if retry_after_s is not None:
        headers["retry-after"] = f"{retry_after_s:g}"
    await connection.write_document(problem.status, encode(wire.error_body(problem)), headers)


def _prepared(reply: Reply) -> Reply:
    match reply.fault:
        case HugeDelta(chars):
            return replace(reply, text=reply.text.ljust(chars, "x"), chunk_chars=chars)
        case SameIds():
            return replace(reply, tool_calls=[replace(call, id="call_same") for call in reply.tool_calls])
        case NoIds():
            return replace(reply, tool_calls=[replace(call, id="") for call in reply.tool_calls])
        case _:
            return reply


def _body(data: bytes) -> dict[str, Json]:
    try:
        return msgspec.json.decode(data, type=dict[str, Json])
    except msgspec.DecodeError:
        return {}
