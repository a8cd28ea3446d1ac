"""AG-UI over HTTP: `POST /api/agents/{id}/ag-ui` takes a RunAgentInput and streams that run as SSE.

Stock clients work. Their thread and run ids are aliases; a repeated run id joins the existing run.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace

from msgspec import structs

from agio.core.identity.principal import Principal
from agio.core.store.records import SessionRecord, SessionStart, Submission
from agio.core.store.repository import ENDED, RunInfo
from agio.errors import UserError
from agio.gateway.doors.ag_ui_input import ClientInput, Taken, begins, read_input, take
from agio.gateway.doors.projection import (
    CLEARED,
    ClientIds,
    ThreadView,
    View,
    branches_off,
    is_plain,
    rejoin,
    rename,
    rename_ends,
    renew,
    snapshot_after,
    takes_back,
)
from agio.gateway.doors.sse import cursor_of, owner_of, position
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.body import ClientGone, check_json_type, read_body
from agio.gateway.http.errors import send_error, wrapped
from agio.gateway.http.in_flight import held_of
from agio.gateway.http.route import check_permission
from agio.gateway.stream.connections import Cut
from agio.gateway.stream.event_slice import EncodedSlice, frame
from agio.gateway.stream.hub import Subscription
from agio.gateway.stream.sse import EventStream
from agio.protocol.frames import ends_run
from agio.protocol.ids import new_id

_OURS = ("ses_", "thr_")
"""Prefixes of session ids: those of the server, and those of the library."""


@dataclass(frozen=True)
class Visit:
    """One client's stream of a run: the client's ids, and the subscription it reads."""

    who: Principal
    session_id: str
    run_id: str
    ids: ClientIds
    events: Subscription
    opening: bytes = b""
    """Frames sent before those of the subscription."""
    over: bool = False
    """Whether the stream ends after `opening`."""
    greet: bool = False
    """Whether a snapshot follows RUN_STARTED: the client reconnected before it, or the session has branches, of which
    the client may show another one."""
    cancel_on_disconnect: bool = False


class RunAgent:
    """The ASGI application behind `POST /api/agents/{id}/ag-ui`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._store = gateway.store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start or join a run and stream it to its end."""
        with ExitStack() as held:
            try:
                visit = await self._admit(scope, receive, held)
            except ClientGone:
                return
            except Exception as error:
                await send_error(send, wrapped(error))
                return
            async with visit.events:
                await self._stream(visit, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, held: ExitStack) -> Visit:
        who = await self._gateway.auth.admit(scope)
        check_permission(who, "use")
        check_json_type(scope["headers"])
        body = await read_body(scope, receive, self._gateway.limits.ag_ui_body_bytes)
        who = await self._gateway.auth.identify(scope["headers"])  # again: reading may take a minute
        check_permission(who, "use")
        held.enter_context(self._gateway.connections.room(who))
        # A large body costs as much as several requests.
        limits = self._gateway.limits
        self._gateway.rates.take("request", who.credential, count=len(body) // limits.json_body_bytes)
        given = read_input(body, limits)
        del body
        held_of(scope).set_received(0)  # the response may stream for hours
        agent_id, ids, cursor = owner_of(scope), given.ids, cursor_of(scope)
        session = await self._own_session(who, agent_id, ids.thread_id)
        visit = None
        if session is None and cursor is None and begins(given):
            visit = await self._begin_thread(who, agent_id, take(given, ()))
        if visit is None:
            session = session or await self._store.start_session(
                who.tenant, who.user, agent_id, alias=ids.thread_id
            )
            visit = await self._go_on(who, session, given, cursor)
        return replace(visit, cancel_on_disconnect=given.cancel_on_disconnect)

    async def _own_session(self, who: Principal, agent_id: str, thread_id: str) -> SessionRecord | None:
        """Return the session if the thread id is one of our session ids."""
        if not thread_id.startswith(_OURS):
            return None
        try:
            session = await self._store.get_session(who.tenant, who.user, thread_id)
        except UserError as error:
            if error.code != "session_not_found":
                raise
            return None
        return session if session.agent_id == agent_id else None

    async def _begin_thread(self, who: Principal, agent_id: str, taken: Taken) -> Visit | None:
        """Accept a thread and its first run in one commit; None if the thread must be read first.

        It does not check whether the thread exists: if it does, this is its next run.
        """
        taken.check(self._gateway.limits)
        start = SessionStart(agent_id=agent_id, alias=taken.ids.thread_id)
        given = _submission(new_id("ses"), taken, start)
        events = self._gateway.hub.subscribe(given.session_id, 0, from_now=True)
        try:
            accepted = await self._gateway.intake.accept(who, given)
        except BaseException as error:
            events.close()
            if isinstance(error, UserError) and error.code == "idempotency_conflict":
                return None
            raise
        if accepted.session_id == given.session_id:
            return Visit(who, given.session_id, accepted.run_id, taken.ids, events)
        events.close()
        session = await self._store.get_session(who.tenant, who.user, accepted.session_id)
        run = await self._store.find_run(who.tenant, who.user, accepted.run_id)
        if accepted.repeated:
            return await self._join(who, session, run, taken.ids, None)
        after = session.last_pos if run.status == "queued" else run.first_pos
        events = self._gateway.hub.subscribe(session.id, after)
        return Visit(who, session.id, run.run_id, taken.ids, events, greet=run.branched)

    async def _go_on(
        self, who: Principal, session: SessionRecord, given: ClientInput, cursor: int | None
    ) -> Visit:
        """Start the next run of a session, or rejoin an existing one."""
        ids = given.ids
        is_new = session.last_run_id is None and session.state == "idle"
        run = None if is_new else await self._store.find_alias(who.tenant, who.user, session.id, ids.run_id)
        if run is None and cursor is not None:
            raise UserError("invalid_cursor", "Last-Event-ID resumes a run, and none has this runId.")
        taken = take(given, session.pending)
        if run is None and not is_new and taken.messages:
            sent = [message.id for message in taken.messages]
            seen = await self._store.find_messages(who.tenant, who.user, session.id, sent)
            runs = {record.id: record.run_id for record in seen}
            taken = taken.without(runs)
            if runs and not taken.messages and not taken.resume:
                # A repeated message belongs to the same run, even under a new run id.
                run = await self._store.find_run(who.tenant, who.user, runs[sent[-1]])
        if run is None:
            return await self._begin(who, session, taken)
        return await self._join(who, session, run, ids, cursor)

    async def _begin(self, who: Principal, session: SessionRecord, taken: Taken) -> Visit:
        """Accept a run. Subscribe before it is accepted, so that no event is missed."""
        taken.check(self._gateway.limits)
        events = self._gateway.hub.subscribe(session.id, session.last_pos, from_now=True)
        try:
            accepted = await self._gateway.intake.accept(who, _submission(session.id, taken))
            if not accepted.repeated:
                return Visit(who, session.id, accepted.run_id, taken.ids, events, greet=session.branched)
            run = await self._store.find_run(who.tenant, who.user, accepted.run_id)
        except BaseException:
            events.close()
            raise
        events.close()
        return await self._join(who, session, run, taken.ids, None)

    async def _join(
        self, who: Principal, session: SessionRecord, run: RunInfo, ids: ClientIds, cursor: int | None
    ) -> Visit:
        """Rejoin a run: after a cursor with the log's bytes, else with its start and a snapshot."""
        hub = self._gateway.hub
        if run.status == "queued":
            events = hub.subscribe(session.id, session.last_pos)
            return Visit(who, session.id, run.run_id, ids, events, greet=True)
        if cursor is not None:
            after = await position(self._store, who, session, cursor)
            if after < run.first_pos:
                raise UserError(
                    "invalid_cursor", f"The run's events come after {run.first_pos}, not {cursor}."
                )
            over = run.status in ENDED and after >= run.first_pos + run.last_seq
            return Visit(who, session.id, run.run_id, ids, hub.subscribe(session.id, after), over=over)
        started = await self._line(run.run_id, 1)
        view = await self._view(session.id, run.run_id, run.last_seq)
        over = run.status in ENDED
        *opening, last = rejoin(view, started, ids, self._gateway.limits.snapshot_bytes)
        pos = run.first_pos + view.seq
        frames = [frame(run.first_pos + 1, opening[0]), *(frame(None, line) for line in opening[1:])]
        frames.append(frame(pos, last))
        if over:
            frames.append(frame(pos + 1, rename(await self._line(run.run_id, run.last_seq), ids)))
        events = hub.subscribe(session.id, pos)
        return Visit(who, session.id, run.run_id, ids, events, b"".join(frames), over)

    async def _stream(self, visit: Visit, receive: Receive, send: Send) -> None:
        stream = EventStream(visit.events, receive, send, self._gateway.limits.keep_alive_s)
        await stream.start(
            [(b"agio-session-id", visit.session_id.encode()), (b"agio-run-id", visit.run_id.encode())]
        )
        over = visit.over
        try:
            async with self._gateway.connections.open(visit.who):
                if visit.opening:
                    await stream.write(visit.opening)
                while not over and (slices := await stream.take()):
                    own = [encoded for encoded in slices if encoded.run_id == visit.run_id]
                    if own:
                        frames = [
                            encoded.sse
                            if is_plain(encoded.events.payload)
                            else await self._project(visit, encoded)
                            for encoded in own
                        ]
                        await stream.write(frames[0] if len(frames) == 1 else b"".join(frames))
                        over = ends_run(own[-1].events.payload)
                await stream.finish()
        except Cut:
            await stream.break_off()
        finally:
            stream.release()
        if stream.left and not over and visit.cancel_on_disconnect:
            await self._gateway.intake.cancel(visit.who, run_id=visit.run_id)

    async def _project(self, visit: Visit, encoded: EncodedSlice) -> bytes:
        """Return the frames of a slice that contains a start, an end or a rewind."""
        events = encoded.events
        greet = visit.greet or branches_off(events.payload)
        if not greet and not takes_back(events.payload):
            payload = rename_ends(events.payload, visit.ids)
            return EncodedSlice(visit.session_id, structs.replace(events, payload=payload)).sse
        frames: list[bytes] = []
        for pos, line in encoded.lines():
            shown = rename(line, visit.ids, bare=greet)
            if seq := snapshot_after(line, start=greet):
                view = await self._view(visit.session_id, visit.run_id, seq)
                # Only the last frame carries the position: a client that lost it must get all of them again.
                *lines, last = renew(view, self._gateway.limits.snapshot_bytes)
                lines = [shown, CLEARED, *lines] if greet else [shown, *lines]
                frames += [*(frame(None, line) for line in lines), frame(pos, last)]
            else:
                frames.append(frame(pos, shown))
        return b"".join(frames)

    async def _view(self, session_id: str, run_id: str, seq: int) -> View:
        """Fold the logs of the path to a run, one run's at a time."""
        thread = ThreadView(run_id, seq)
        for run in await self._store.path_of(session_id, run_id):
            await self._gateway.folds.finish(thread.take(await self._store.get_log(run.run_id)))
        return thread.view()

    async def _line(self, run_id: str, seq: int) -> bytes:
        """Return the line of one event."""
        return (await self._store.read_run(run_id, seq - 1, 1)).payload[:-1]


def _submission(session_id: str, taken: Taken, start: SessionStart | None = None) -> Submission:
    return Submission(
        session_id=session_id,
        run_id=new_id("run"),
        start=start,
        messages=taken.messages,
        resume=taken.resume,
        tools=taken.tools,
        context=taken.context,
        alias=taken.ids.run_id,
        on_busy="queue",
    )


def run_agent(gateway: Gateway) -> Application:
    """Make the application of `POST /api/agents/{id}/ag-ui`."""
    return RunAgent(gateway)
