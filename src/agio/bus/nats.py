"""The bus over NATS, core messages only. The client package is imported when a bus is opened.

The connection is restored for ever, with a growing pause. What is sent meanwhile is lost; after each connection the
listener is asked to look at the store.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from agio.bus.bus import INLINE_BYTES, Listener
from agio.bus.options import NatsOptions
from agio.bus.sealing import Sealing
from agio.bus.signals import Signal
from agio.core.store.records import EventSlice
from agio.errors import BusError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

_log = logging.getLogger("agio.bus")

OLDEST = (2, 10)
"""The oldest version of the server that is supported."""
_CONNECT_S = 3
_CLOSE_S = 2.0
_PING_S = 5
_PINGS = 2
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_QUEUED = 10_000
"""How many messages may wait to be sent. More are lost: a slow bus must not fill the memory."""
_REFUSED = ("authorization", "authentication", "user authentication", "permissions violation", "account")


async def open_nats(options: NatsOptions, secret: bytes) -> "NatsBus":
    """Connect to NATS with the secret that the gateways of a store share.

    Raises BusError `bus_unavailable`, `bus_refused`, `bus_too_old`.
    """
    bus = NatsBus(options, secret)
    await bus.open()
    return bus


class NatsBus:
    """A gateway's connection to NATS."""

    def __init__(self, options: NatsOptions, secret: bytes) -> None:
        self.ignored = 0
        self._options = options
        self._sealing = Sealing(secret)
        self._listener: Listener | None = None
        self._client: Client | None = None
        self._watched: dict[str, Subscription | None] = {}
        """The sessions this gateway has readers for; None: not subscribed yet."""
        self._outgoing: list[tuple[str, bytes]] = []
        self._changed: list[str] = []
        self._dropped: list[Subscription] = []
        self._work = asyncio.Event()
        self._lost = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._closing = False

    # Connection

    async def open(self) -> None:
        """Connect for the first time. Raises BusError."""
        self._client = await self._connect()
        self._keeper = asyncio.create_task(self._keep(), name="agio bus")

    @property
    def connected(self) -> bool:
        """See `Bus`."""
        return self._client is not None and self._client.is_connected

    def listen(self, listener: Listener) -> None:
        """See `Bus`."""
        self._listener = listener

    async def close(self) -> None:
        """See `Bus`."""
        self._closing = True
        if self._client is not None and self.connected:
            with suppress(Exception):
                async with asyncio.timeout(_CLOSE_S):
                    await self._send_waiting(self._client)
                    await self._client.flush()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await self._hang_up()

    async def _connect(self) -> "Client":
        """Raises BusError."""
        nats = import_module("nats.aio.client")
        client: Client = nats.Client()
        options, said = self._options, list[str]()
        self._lost.clear()

        async def note(error: Exception) -> None:
            said.append(str(error) or type(error).__name__)
            if isinstance(error, import_module("nats.errors").SlowConsumerError) and self._listener:
                self._listener.missed(None)

        async def lost() -> None:
            if self._client in (client, None):
                self._lost.set()

        given: dict[str, Any] = {}
        if options.credentials is not None:
            given["user_credentials"] = options.credentials
        try:
            if (context := self._tls()) is not None:
                given["tls"] = context
            async with asyncio.timeout(_CONNECT_S * (len(options.servers) + 1)):
                await client.connect(
                    servers=options.servers,
                    name="agio gateway",
                    error_cb=note,
                    disconnected_cb=lost,
                    closed_cb=lost,
                    allow_reconnect=False,
                    connect_timeout=_CONNECT_S,
                    max_reconnect_attempts=1,
                    ping_interval=_PING_S,
                    max_outstanding_pings=_PINGS,
                    no_echo=True,
                    **given,
                )
        except Exception as error:
            with suppress(Exception):
                await client.close()
            raise _failure(options.places, [*said, str(error) or type(error).__name__], error) from error
        version = client.connected_server_version
        if (version.major, version.minor) < OLDEST:
            await client.close()
            raise BusError(
                "bus_too_old",
                f"NATS at {options.places} has version {version.major}.{version.minor}.{version.patch}, and agio "
                f"needs {OLDEST[0]}.{OLDEST[1]} or newer: update it.",
            )
        await _subscribe(client, self._sealing.signals, self._take_signal)
        return client

    def _tls(self) -> ssl.SSLContext | None:
        options = self._options
        if options.ca_file is None and options.cert_file is None:
            return None
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.cert_file is not None:
            context.load_cert_chain(options.cert_file, options.key_file)
        return context

    async def _keep(self) -> None:
        """Send what waits while there is a connection, and restore it when it is lost, for ever."""
        pause_s = _FIRST_PAUSE_S
        while True:
            client = self._client
            if client is None:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
                try:
                    self._client = await self._connect()
                except BusError as error:
                    _log.warning("gateways go on through the store, more slowly: %s", error)
                    continue
                _log.info("NATS at %s can be reached again", self._options.places)
                self._watched = dict.fromkeys(self._watched)
                self._changed = list(self._watched)
                self._work.set()
                if self._listener is not None:
                    self._listener.missed(None)
                continue
            pause_s = _FIRST_PAUSE_S
            try:
                await self._carry(client)
            except Exception as error:
                _log.warning("NATS at %s was lost: %s", self._options.places, error or type(error).__name__)
            await self._hang_up()

    async def _hang_up(self) -> None:
        client, self._client = self._client, None
        self._outgoing.clear()
        if client is not None:
            with suppress(Exception):
                async with asyncio.timeout(_CLOSE_S):
                    await client.close()

    async def _carry(self, client: "Client") -> None:
        """Send and subscribe until the connection is lost."""
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            while client.is_connected:
                work = asyncio.ensure_future(self._work.wait())
                try:
                    await asyncio.wait((lost, work), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    work.cancel()
                if lost.done():
                    return
                self._work.clear()
                await self._send_waiting(client)
                await self._subscribe(client)
        finally:
            lost.cancel()

    # Sending

    def publish(self, session_id: str, events: EventSlice) -> None:
        """See `Bus`."""
        if self.connected:
            subject = self._sealing.subject(session_id)
            self._post(subject, self._sealing.seal_events(subject, session_id, events, INLINE_BYTES))

    def send(self, signal: Signal) -> None:
        """See `Bus`."""
        if self.connected:
            self._post(self._sealing.signals, self._sealing.seal_signal(signal))

    def _post(self, subject: str, message: bytes) -> None:
        if len(self._outgoing) < _QUEUED:
            self._outgoing.append((subject, message))
            self._work.set()

    async def _send_waiting(self, client: "Client") -> None:
        waiting, self._outgoing = self._outgoing, []
        for subject, message in waiting:
            await client.publish(subject, message)

    # Hearing

    def watch(self, session_id: str) -> None:
        """See `Bus`."""
        if session_id not in self._watched:
            self._watched[session_id] = None
        self._changed.append(session_id)
        self._work.set()

    def unwatch(self, session_id: str) -> None:
        """See `Bus`."""
        subscription = self._watched.pop(session_id, None)
        if subscription is not None:
            self._dropped.append(subscription)
        self._work.set()

    async def _subscribe(self, client: "Client") -> None:
        """Bring the subscriptions up to date. What is new may have missed something until the server has it."""
        dropped, self._dropped = self._dropped, []
        for subscription in dropped:
            with suppress(Exception):  # of an earlier connection
                await subscription.unsubscribe()
        changed, self._changed = self._changed, []
        begun: list[str] = []
        for session_id in dict.fromkeys(changed):
            if self._watched.get(session_id, self) is None:
                made = await _subscribe(client, self._sealing.subject(session_id), self._take_events)
                self._watched[session_id] = made
                begun.append(session_id)
        if begun:
            await client.flush()
            for session_id in begun:
                if session_id in self._watched and self._listener is not None:
                    self._listener.missed(session_id)

    async def _take_events(self, message: "Msg") -> None:
        found = self._sealing.open_events(message.subject, message.data)
        if found is None:
            self._ignore(message.subject)
        elif found.session_id in self._watched and self._listener is not None:
            if found.payload is None:
                self._listener.missed(found.session_id)
            else:
                events = EventSlice(found.run_id, found.first_pos, found.count, found.payload)
                self._listener.heard_events(found.session_id, events)

    async def _take_signal(self, message: "Msg") -> None:
        signal = self._sealing.open_signal(message.data)
        if signal is None:
            self._ignore(message.subject)
        elif self._listener is not None:
            self._listener.heard(signal)

    def _ignore(self, subject: str) -> None:
        self.ignored += 1
        if self.ignored & (self.ignored - 1) == 0:
            _log.warning(
                "%d messages on %s were forged, cut or unknown, and were ignored", self.ignored, subject
            )


async def _subscribe(
    client: "Client", subject: str, take: "Callable[[Msg], Coroutine[Any, Any, None]]"
) -> "Subscription":
    subscribe = cast("Callable[..., Coroutine[Any, Any, Subscription]]", client.subscribe)  # type: ignore[reportUnknownMemberType]
    return await subscribe(subject, cb=take)


def _failure(places: str, said: list[str], error: Exception) -> BusError:
    words = next((line for line in said if line and "no servers" not in line), type(error).__name__)
    details: Mapping[str, object] = {"bus": places}
    if any(mark in line.lower() for line in said for mark in _REFUSED):
        return BusError(
            "bus_refused",
            f"NATS at {places} does not admit this gateway ({words}): check the user and password in AGIO_NATS_URL, "
            "or AGIO_NATS_CREDENTIALS.",
            details,
        )
    return BusError(
        "bus_unavailable",
        f"NATS at {places} cannot be reached ({words}): check AGIO_NATS_URL, and that NATS runs.",
        details,
    )
