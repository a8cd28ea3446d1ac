"""The WebSocket `/realtime`: commands in; their answers and the events of subscribed sessions out.

One loop executes commands in order; each subscription has a task that sends its events. A client that reads
slowly delays only its own events.
"""

import asyncio
import logging
import time
from contextlib import ExitStack, suppress
from typing import Literal, assert_never

from agio.core.identity.principal import Principal
from agio.core.store.records import SessionStart, Submission
from agio.errors import AgioError, LimitExceeded, StoreError, UserError
from agio.gateway.auth.authenticator import Headers
from agio.gateway.doors.sse import position
from agio.gateway.gateway import Gateway
from agio.gateway.http.access import begin_command, write_command_line
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.body import decode_json
from agio.gateway.http.errors import refuse, wrapped
from agio.gateway.http.route import check_permission
from agio.gateway.stream.connections import Cut
from agio.gateway.stream.hub import Subscription
from agio.protocol.codec import encode
from agio.protocol.commands import (
    Ack,
    Answered,
    Approve,
    Cancel,
    Command,
    Deleted,
    Ping,
    Pong,
    Problem,
    Refused,
    SendMessage,
    Subscribe,
    Unsubscribe,
    decode_command,
    id_of,
)
from agio.protocol.ids import new_id
from agio.protocol.messages import UserMessage
from agio.telemetry.context import REQUEST_ID

POLICY_VIOLATION = 1008
TOO_BIG = 1009
SERVICE_RESTART = 1012

_NONSENSE = 20
"""How many consecutive invalid commands close the socket."""
_GOODBYE_S = 1.0
_ID_CHARS = 50
_log = logging.getLogger("agio.gateway")


class Realtime:
    """The ASGI application behind `/realtime`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate a client by its key, or by its cookie from our own pages, and serve it until it disconnects."""
        with ExitStack() as held:
            try:
                who = await self._gateway.auth.admit(scope)
                check_permission(who, "use")
                held.enter_context(self._gateway.connections.room(who))
            except Exception as error:
                await refuse(scope, send, wrapped(error))
                return
            await Socket(self._gateway, who, scope["headers"], receive, send).serve()


def realtime(gateway: Gateway) -> Application:
    """Make the ASGI application for `/realtime`."""
    return Realtime(gateway)


class Socket:
    """One client: its commands and its subscriptions."""

    def __init__(
        self, gateway: Gateway, who: Principal, headers: Headers, receive: Receive, send: Send
    ) -> None:
        self._gateway = gateway
        self._who = who
        self._headers = headers
        self._receive = receive
        self._send = send
        self._nonsense = 0
        self._commands = 0
        self._request_id = REQUEST_ID.get()[:_ID_CHARS]
        """The handshake's request id; each command appends its number."""
        self._revoked = False
        self._subscribed: dict[str, tuple[Subscription, asyncio.Task[None]]] = {}

    async def serve(self) -> None:
        """Serve commands until the client disconnects or the server stops."""
        await self._receive()
        await self._send({"type": "websocket.accept"})
        closing = asyncio.ensure_future(self._gateway.hub.closing.wait())
        try:
            async with self._gateway.connections.open(self._who):
                while (code := await self._turn(closing)) is None:
                    pass
            if code:
                await self._close(code)
        except Cut as cut:
            await self._close(POLICY_VIOLATION, str(cut))
        except OSError:
            pass  # the client disconnected during an answer
        finally:
            closing.cancel()
            await self._drop_all()

    async def _close(self, code: int, reason: str = "") -> None:
        """Close the socket, if the client is still connected."""
        await self._drop_all()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_GOODBYE_S):
                await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def _turn(self, closing: asyncio.Task[Literal[True]]) -> int | None:
        """Execute the next command; return the close code if it ends the socket, 0 if the client has disconnected."""
        incoming = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait((incoming, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not incoming.done():
                incoming.cancel()
        if not incoming.done():
            return SERVICE_RESTART
        message = incoming.result()
        if message["type"] == "websocket.disconnect":
            return 0
        text: str = message.get("text") or ""
        if len(text.encode()) > self._gateway.limits.json_body_bytes:
            return TOO_BIG
        await self._answer(text)
        return POLICY_VIOLATION if self._revoked or self._nonsense >= _NONSENSE else None

    async def _answer(self, text: str) -> None:
        """Execute a command and send its answer."""
        self._nonsense += 1
        self._commands += 1
        began, name, code = time.perf_counter(), "unreadable", None
        begin_command(f"{self._request_id}.{self._commands}")
        try:
            decode_json(text.encode(), self._gateway.limits)
            command = decode_command(text)
            name = command.__struct_config__.tag
            self._nonsense = 0
            await self._gateway.auth.identify(self._headers)  # the credential may have been revoked
            self._gateway.rates.take("request", self._who.credential)
            answer = await self._carry_out(command)
        except OSError:
            raise
        except Exception as error:
            problem = _problem(wrapped(error))
            self._revoked = problem.code == "unauthenticated"
            code = problem.code
            answer = Refused(id=id_of(text), error=problem)
        if answer is not None:
            await self._say(answer)
        write_command_line(str(name), began, code)

    async def _say(self, answer: Answered) -> None:
        await self._send({"type": "websocket.send", "text": encode(answer).decode()})

    async def _carry_out(self, command: Command) -> Answered | None:
        match command:
            case SendMessage():
                return await self._message(command)
            case Subscribe():
                return await self._subscribe(command)
            case Unsubscribe():
                await self._drop(command.session_id)
                return Ack(id=command.id, session_id=command.session_id)
            case Cancel():
                return await self._cancel(command)
            case Approve():
                return await self._approve(command)
            case Ping():
                return Pong(id=command.id)
            case _:
                assert_never(command)

    async def _message(self, command: SendMessage) -> Ack:
        session_id, start = _goal_of(command)
        accepted = await self._gateway.intake.accept(
            self._who,
            Submission(
                session_id=session_id,
                run_id=new_id("run"),
                start=start,
                messages=[UserMessage(id=new_id("msg"), content=command.content)],
                idempotency_key=command.client_message_id,
                on_busy=command.on_busy,
                parent_run_id=command.parent_run_id,
                copy_of=command.copy_of,
            ),
        )
        return Ack(
            id=command.id,
            session_id=accepted.session_id,
            run_id=accepted.run_id,
            message_id=accepted.message_id,
            repeated=accepted.repeated,
        )

    async def _approve(self, command: Approve) -> Ack:
        given = Submission(
            session_id=command.session_id,
            run_id=new_id("run"),
            resume=[answer.entry() for answer in command.answers],
        )
        accepted = await self._gateway.intake.accept(self._who, given)
        return Ack(id=command.id, session_id=command.session_id, run_id=accepted.run_id)

    async def _cancel(self, command: Cancel) -> Ack:
        if (command.session_id is None) == (command.run_id is None):
            raise UserError("invalid_command", "Cancel a session_id or a run_id.")
        runs = await self._gateway.intake.cancel(
            self._who, session_id=command.session_id, run_id=command.run_id
        )
        return Ack(id=command.id, session_id=command.session_id, run_ids=[run.run_id for run in runs])

    async def _subscribe(self, command: Subscribe) -> None:
        limit = self._gateway.limits.subscriptions_per_socket
        if command.session_id not in self._subscribed and len(self._subscribed) >= limit:
            raise LimitExceeded(
                "too_many_subscriptions", f"A socket may have {limit} subscriptions.", {"limit": limit}
            )
        store, who = self._gateway.store, self._who
        session = await store.get_session(who.tenant, who.user, command.session_id)
        after = await position(store, who, session, command.after)
        await self._drop(session.id)
        events = self._gateway.hub.subscribe(session.id, after)
        try:
            await self._say(Ack(id=command.id, session_id=session.id, after=after))
        except BaseException:
            events.close()
            raise
        self._subscribed[session.id] = (events, asyncio.ensure_future(self._relay(events)))

    async def _relay(self, events: Subscription) -> None:
        """Send a session's events until the session is deleted, unsubscribed or unreadable."""
        try:
            while slices := await events.take():
                for encoded in slices:
                    await self._send({"type": "websocket.send", "text": encoded.realtime})
            if events.ended == "deleted":
                await self._say(Deleted(session_id=events.session_id))
        except OSError:
            pass  # the client disconnected
        except StoreError as error:
            _log.warning("A subscription ends early; its reader can resume: %s", error)
            problem = Problem(error.code, error.message, {"session_id": events.session_id})
            await self._say(Refused(error=problem))
        finally:
            events.close()
            if (own := self._subscribed.get(events.session_id)) and own[0] is events:
                del self._subscribed[events.session_id]

    async def _drop_all(self) -> None:
        for session_id in list(self._subscribed):
            await self._drop(session_id)

    async def _drop(self, session_id: str) -> None:
        """End a subscription; none of its events are sent afterwards."""
        if found := self._subscribed.pop(session_id, None):
            events, relay = found
            events.close()
            relay.cancel()
            await asyncio.wait((relay,))


def _problem(error: AgioError) -> Problem:
    return Problem(error.code, error.message, error.details)


def _goal_of(command: SendMessage) -> tuple[str, SessionStart | None]:
    """Return a message's session. A message to an agent starts one, once per client_message_id."""
    match command:
        case SendMessage(session_id=str(session_id), agent_id=None):
            return session_id, None
        case SendMessage(session_id=None, agent_id=str(agent_id), client_message_id=key):
            alias = None if key is None else f"message:{key}"
            start = SessionStart(agent_id=agent_id, alias=alias, on_busy=command.on_busy or "queue")
            return new_id("ses"), start
        case _:
            raise UserError(
                "invalid_command", "A message goes to a session_id, or to an agent_id to start one."
            )
