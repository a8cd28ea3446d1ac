"""The log as it was streamed: events as JSON lines, to the byte, read in pages of bounded size."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from fastapi.responses import Response, StreamingResponse

from agio.core.store.repository import RunInfo
from agio.core.store.store import Store
from agio.gateway.http.asgi import Receive, Scope, Send
from agio.gateway.http.query import AfterPos, Id
from agio.gateway.http.route import PRIVATE, Call
from agio.gateway.routes.runs.runs import seen_by
from agio.gateway.stream.connections import Cut

NDJSON = "application/x-ndjson"
_STEP = b'\n{"type":"STEP_STARTED"'
_PAGE_BYTES = 256 * 1024


async def session_events(call: Call, session_id: Id, after: AfterPos = 0) -> Response:
    """Read a session's log: each line is the event of the next position after `after`."""
    session = await call.gateway.store.get_session(call.who.tenant, call.who.user, session_id)
    return Download(call, _session_lines(call.gateway.store, session.id, after, session.last_pos))


async def run_events(call: Call, run_id: Id, after: AfterPos = 0) -> Response:
    """Read a run's log: each line is the event of the next sequence number after `after`."""
    run = await call.gateway.store.find_run(call.who.tenant, seen_by(call.who), run_id)
    return Download(call, _run_lines(call.gateway.store, run.run_id, after, run.last_seq))


async def _session_lines(store: Store, session_id: str, after: int, until: int) -> AsyncIterator[bytes]:
    while after < until:
        chunks = await store.read_session(session_id, after, _PAGE_BYTES)
        if not chunks:
            return
        yield b"".join(chunk.payload for chunk in chunks)
        after = chunks[-1].last_pos


async def _run_lines(store: Store, run_id: str, after: int, until: int) -> AsyncIterator[bytes]:
    while after < until:
        chunk = await store.read_run(run_id, after, _PAGE_BYTES)
        if not chunk.count:
            return
        yield chunk.payload
        after += chunk.count


async def count_steps(store: Store, run: RunInfo) -> int:
    """Count the steps a run has started, without decoding."""
    pages = _run_lines(store, run.run_id, 0, run.last_seq)
    return sum([(b"\n" + lines).count(_STEP) async for lines in pages])


class Download(StreamingResponse):
    """A download that is aborted, visibly to the client, when the credential is revoked."""

    def __init__(
        self,
        call: Call,
        pages: AsyncIterator[bytes],
        headers: Mapping[str, str] = PRIVATE,
        media_type: str = NDJSON,
    ) -> None:
        super().__init__(pages, headers=headers, media_type=media_type)
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pages."""
        with suppress(Cut):
            async with self._call.gateway.connections.open(self._call.who):
                await super().__call__(scope, receive, send)
