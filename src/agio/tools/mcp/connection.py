"""A connection to an MCP server: one owner task, which alone enters and leaves what the `mcp` package opens.

Callers put requests into its queue and wait for a future, so no cancel scope of a caller meets one of the package.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from importlib.metadata import version
from typing import TypeAlias, cast

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import Client
from mcp.client import ClientRequestContext, Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared._httpx_utils import McpHttpClientFactory  # pyright: ignore[reportPrivateImportUsage]
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from agio.core.mcp import McpOffer
from agio.core.trace_context import HEADER
from agio.egress import Egress
from agio.errors import AgioError, UpstreamError
from agio.tools.mcp.catalogue import Catalogue
from agio.tools.mcp.elicitation import declined, elicit_result, questions_of
from agio.tools.mcp.http import MESSAGE_BYTES, Failures, GuardedTransport, open_client
from agio.tools.mcp.link import Ask, Asked, Peer, Target
from agio.tools.mcp.stdio import StdioTransport

_log = logging.getLogger("agio.mcp")
for _noisy in ("mcp", "client", "httpx2", "httpcore2"):  # they log what servers send, with stack traces
    logging.getLogger(_noisy).setLevel(logging.CRITICAL)

Result: TypeAlias = types.CallToolResult | Asked

_CONNECT_S = 15.0
_CLOSE_S = 1.0
_IDLE_S = 300.0
_FRESH_S = 60.0
"""How long a catalogue is good without being listed again."""
_PAGES = 50
_AGAIN_S = 0.1
_ROUNDS = 100
"""How often a server of 2026 may answer a call with questions, or with its state alone."""
_STATE_CHARS = 64 * 1024
"""The longest state that is kept for a server while a person is asked."""
_ANSWER: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


class _Request:
    """Work sent to the owner task."""

    def __init__(self, work: "Work", timeout_s: float) -> None:
        self.work = work
        self.timeout_s = timeout_s
        self.done: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.scope = anyio.CancelScope()
        self.sent = False

    def fail(self, error: AgioError) -> None:
        """Fail it, unless it is done."""
        if not self.done.done():
            error.details.setdefault("sent", self.sent)
            self.done.set_exception(error)


Work: TypeAlias = Callable[[Client, _Request], Awaitable[Result | None]]


class Connection:
    """Connects when it is made. `on_catalogue` gets every catalogue that differs from the one before."""

    def __init__(
        self,
        target: Target,
        egress: Egress,
        on_catalogue: Callable[[Target, Sequence[McpOffer]], Awaitable[None]],
        on_end: "Callable[[Connection], None]",
    ) -> None:
        self.target = target
        self.used_at = time.monotonic()
        self.retired = False
        """Whether it takes no more calls: it is closed, or the server forgot it."""
        self._egress = egress
        self._on_catalogue = on_catalogue
        self._failures = Failures()
        self._http: GuardedTransport | None = None
        self._offers: dict[str, McpOffer] = {}
        self._listed_at = 0.0
        self._listing = asyncio.Lock()
        self._under_way: set[_Request] = set()
        self._queue: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._ready: asyncio.Future[Peer] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._owner = asyncio.create_task(self._own(), name=f"agio mcp {target.name}")
        self._owner.add_done_callback(lambda _: on_end(self))

    async def ready(self) -> Peer:
        """Wait until it is connected, and return what the server says of itself. Raises AgioError."""
        try:
            return await asyncio.shield(self._ready)
        except AgioError as error:
            raise _copy(error) from error

    async def offer(self, tool: str, *, anew: bool = False) -> McpOffer | None:
        """Return a tool as the server offers it now; `anew` asks it. Raises AgioError."""
        await self.ready()
        asked_at = time.monotonic()
        if self._listed_at < asked_at - (0.0 if anew else _FRESH_S):
            async with self._listing:
                if self._listed_at < asked_at - (0.0 if anew else _FRESH_S):
                    await self._ask(_Request(self._list, _CONNECT_S))
        return self._offers.get(tool)

    async def offers(self) -> list[McpOffer]:
        """Return what the server offers. Raises AgioError."""
        await self.ready()
        return list(self._offers.values())

    async def call(self, ask: Ask) -> Result:
        """Call a tool; cancelling this cancels the call at the server.

        Raises AgioError, whose details say with `sent` whether the server may have acted.
        """
        await self.ready()

        async def work(client: Client, request: _Request) -> Result:
            return await self._exchange(client, request, ask)

        result = await self._ask(_Request(work, ask.timeout_s))
        if result is None:
            raise self._lost()
        return result

    async def _ask(self, request: _Request) -> Result | None:
        """Have the owner task do some work."""
        if self.retired:
            raise self._lost()
        self.used_at = time.monotonic()
        self._under_way.add(request)
        self._queue.put_nowait(request)
        try:
            return await request.done
        except asyncio.CancelledError:
            request.scope.cancel()
            raise
        finally:
            self._under_way.discard(request)
            self.used_at = time.monotonic()

    @property
    def busy(self) -> bool:
        """Whether calls are under way."""
        return bool(self._under_way)

    def retire(self) -> None:
        """Take no more calls; end when those under way are done."""
        self.retired = True
        self._queue.put_nowait(None)

    async def close(self) -> None:
        """End it, and every call under way."""
        self.retired = True
        for _ in range(2):  # the second ends a server's part that does not answer its farewell
            self._owner.cancel()
            done, _ = await asyncio.wait([self._owner], timeout=_CLOSE_S)
            if done:
                return

    # The owner task

    async def _own(self) -> None:
        words = f"{self.target.name} did not answer within {_CONNECT_S:g} s."
        error: AgioError = UpstreamError("upstream_timeout", words)
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + _CONNECT_S) as limit:
                async with AsyncExitStack() as stack:
                    client = await stack.enter_async_context(self._client(await self._transport(stack)))
                    await self._list(client)
                    limit.deadline = math.inf
                    self._ready.set_result(_peer(client))
                    await self._serve(client)
                    self.retired = True
                    error = self._lost()
                    limit.deadline = anyio.current_time() + _CLOSE_S
        except Exception as failure:  # the edge to the package: what it raises ends this connection alone
            error = self._wrapped(failure)
            _log.info("the connection to MCP server %s ended: [%s]", self.target.server_id, error.code)
        finally:
            self.retired = True
            if not self._ready.done():
                self._ready.set_exception(error)
            while not self._queue.empty():
                if (request := self._queue.get_nowait()) is not None:
                    request.fail(error)

    async def _transport(self, stack: AsyncExitStack) -> Transport:
        target = self.target
        if target.command is not None:
            return StdioTransport(target.name, target.command, self._broken)
        pool = self._egress.open_pool()
        stack.push_async_callback(pool.aclose)
        self._http = GuardedTransport(pool, target.url, target.credential, self._failures)
        http = open_client(self._http)
        if target.transport == "sse":
            self._http.on_failure = self._broken
            return sse_client(target.url, httpx_client_factory=_always(http))
        await stack.enter_async_context(http)
        return streamable_http_client(target.url, http_client=http, max_sse_event_size=MESSAGE_BYTES)

    def _client(self, transport: Transport) -> Client:
        return Client(
            transport,
            mode="legacy" if self.target.transport == "sse" else "auto",
            client_info=types.Implementation(name="agio", version=version("agio")),
            elicitation_callback=_decline,
            message_handler=self._hear,
            cache=None,
        )

    async def _serve(self, client: Client) -> None:
        async with anyio.create_task_group() as group:
            hearing = anyio.CancelScope()
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                group.start_soon(self._listen, client, hearing)
            while await self._take(client, group):
                pass
            hearing.cancel()

    async def _take(self, client: Client, group: TaskGroup) -> bool:
        """Begin the next request. False: there will be none."""
        try:
            async with asyncio.timeout(_IDLE_S):
                request = await self._queue.get()
        except TimeoutError:
            return self.busy
        if request is not None:
            group.start_soon(self._perform, client, request)
        return request is not None

    async def _perform(self, client: Client, request: _Request) -> None:
        # A scope of anyio's own: the package's cleanup takes back a cancellation of asyncio's.
        request.scope.deadline = anyio.current_time() + request.timeout_s
        try:
            with request.scope:
                result = await request.work(client, request)
                self._failures.last = None
                if not request.done.done():
                    request.done.set_result(result)
        except Exception as failure:  # the edge to the package: it fails this call alone
            request.fail(self._wrapped(failure))
        finally:
            words = f"{self.target.name} took longer than {request.timeout_s:g} s."
            request.fail(UpstreamError("upstream_timeout", words))

    async def _exchange(self, client: Client, request: _Request, ask: Ask) -> Result:
        """Call a tool. A server of 2026 may answer with questions: they are returned, or declined."""
        state = ask.state
        answers: types.InputResponses | None = {
            key: elicit_result(given) for key, given in ask.answers.items()
        } or None

        async def report(progress: float, total: float | None, message: str | None) -> None:
            ask.report(message or "", progress / total if total else None)

        for _ in range(_ROUNDS):
            params = types.CallToolRequestParams(
                name=ask.tool,
                arguments=dict(ask.arguments),
                input_responses=answers,
                request_state=state,
                _meta={HEADER: ask.traceparent} if ask.traceparent else None,
            )
            request.sent = True
            # Not `call_tool`, which would check the result against the server's own schema, patterns and all.
            result = await client.session.send_request(
                types.CallToolRequest(params=params), _ANSWER, progress_callback=report
            )
            if isinstance(result, types.CallToolResult):
                return result
            state, asked = result.request_state, result.input_requests or {}
            questions = questions_of(asked)
            if questions is None:
                raise self._unreadable("it asks for what it was not offered")
            if questions and ask.takes_questions and len(state or "") <= _STATE_CHARS:
                return Asked(questions=questions, state=state)
            answers = declined(asked)
            await asyncio.sleep(0 if asked else _AGAIN_S)
        raise self._unreadable("it asks without an end")

    async def _list(self, client: Client, request: _Request | None = None) -> None:
        catalogue, cursor = Catalogue(), None
        self._listed_at = time.monotonic()
        for _ in range(_PAGES):
            page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                hints = tool.annotations
                catalogue.add(
                    tool.name,
                    tool.description or "",
                    tool.input_schema,
                    read_only=hints is not None and hints.read_only_hint is True,
                )
            cursor = page.next_cursor
            if cursor is None or catalogue.is_full:
                break
        self._offers = catalogue.offers
        await self._on_catalogue(self.target, list(self._offers.values()))

    async def _hear(self, message: object) -> None:
        """Hear of changed tools from a server before 2026."""
        if isinstance(message, types.ToolListChangedNotification):
            self._stale()

    async def _listen(self, client: Client, hearing: anyio.CancelScope) -> None:
        """Hear of changed tools from a server of 2026; one that does not offer it is listed in intervals."""
        capabilities = client.server_capabilities.tools
        if capabilities is None or not capabilities.list_changed:
            return
        with hearing, suppress(MCPError, SubscriptionLost, TimeoutError):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._stale()

    def _stale(self) -> None:
        """List again at once, to hold a changed tool back before it is called."""
        if self.retired or time.monotonic() - self._listed_at < _AGAIN_S:
            return  # a server may say so without end
        self._listed_at = time.monotonic()
        self._queue.put_nowait(_Request(self._list, _CONNECT_S))

    def _broken(self, error: AgioError) -> None:
        """Fail every call under way: the server's process has ended, or it takes no messages."""
        self._failures.last = error
        for request in self._under_way:
            request.fail(_copy(error))
            request.scope.cancel()
        self.retire()

    def _unreadable(self, why: str) -> AgioError:
        return UpstreamError("upstream_invalid", f"What {self.target.name} answers is not MCP: {why}.")

    def _lost(self) -> AgioError:
        return UpstreamError("upstream_unreachable", f"The connection to {self.target.name} was closed.")

    def _wrapped(self, failure: BaseException) -> AgioError:
        """Return an exception of the package as an error of ours."""
        name = self.target.name
        while isinstance(failure, BaseExceptionGroup):
            failure = cast("BaseExceptionGroup[BaseException]", failure).exceptions[0]
        match failure:
            case AgioError():
                return failure
            case MCPError():
                known = self._failures.of(failure.error.data)
                if known is None and failure.code == types.CONNECTION_CLOSED:
                    known = self._failures.last or self._lost()
                    self.retire()
                if self._http is not None and self._http.session_lost:
                    self.retire()
                    known = UpstreamError(
                        "upstream_unreachable", f"{name} was restarted.", {"sent": False, "again": True}
                    )
                if known is None and failure.code == types.PARSE_ERROR:
                    known = self._failures.last or self._unreadable("it is not JSON-RPC")
                return known or UpstreamError("mcp_error", f"{name} answers: {failure.message[:2000]}")
            case ValidationError():
                return self._unreadable(f"{failure.error_count()} fields do not fit")
            case OSError():
                return UpstreamError("upstream_unreachable", f"{name} cannot be reached: {failure.strerror}.")
            case _:
                return UpstreamError(
                    "upstream_invalid", f"{name} cannot be talked to: {type(failure).__name__}."
                )


async def _decline(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Answer a question of a server before 2026: it waits for the answer, and a person may take days."""
    return types.ElicitResult(action="decline")


def _always(client: httpx2.AsyncClient) -> McpHttpClientFactory:
    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return client

    return make


def _peer(client: Client) -> Peer:
    info = client.server_info
    return Peer(
        name="" if info is None else info.name[:200],
        version="" if info is None else info.version[:100],
        protocol=client.protocol_version,
        modern=client.protocol_version in MODERN_PROTOCOL_VERSIONS,
    )


def _copy(error: AgioError) -> AgioError:
    return type(error)(error.code, error.message, error.details)
