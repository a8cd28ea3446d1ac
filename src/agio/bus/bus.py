"""The bus port: what a gateway tells the others, and what it hears from them."""

from typing import Protocol

from agio.bus.signals import Signal
from agio.core.store.records import EventSlice

INLINE_BYTES = 512 * 1024
"""Events above this size travel as a pointer: their readers read them from the store."""


class Listener(Protocol):
    """A gateway, as the bus sees it. Its methods return at once and raise nothing."""

    def heard_events(self, session_id: str, events: EventSlice) -> None:
        """Take events that another gateway has committed."""
        ...

    def heard(self, signal: Signal) -> None:
        """Take another gateway's signal."""
        ...

    def missed(self, session_id: str | None) -> None:
        """Messages about a session may be lost, or not be sent inline; None: messages of any kind may be lost."""
        ...


class Bus(Protocol):
    """One gateway's end of the bus. Sending never waits and never fails: what cannot be sent is lost."""

    ignored: int
    """How many messages were forged, cut or unknown."""

    @property
    def connected(self) -> bool:
        """Whether messages are carried now."""
        ...

    def listen(self, listener: Listener) -> None:
        """Name the one who hears what the others send, before the first `watch`."""
        ...

    def publish(self, session_id: str, events: EventSlice) -> None:
        """Send committed events to the gateways that watch their session."""
        ...

    def send(self, signal: Signal) -> None:
        """Send a signal to all other gateways."""
        ...

    def watch(self, session_id: str) -> None:
        """Hear a session's events from now on. `missed` is called when nothing more can be lost unheard."""
        ...

    def unwatch(self, session_id: str) -> None:
        """Hear them no more."""
        ...

    async def close(self) -> None:
        """Send what is waiting, and leave."""
        ...
