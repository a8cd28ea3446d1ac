"""The bus of gateways in one process. A gateway that is alone has one too, with no other end."""

from agio.bus.bus import INLINE_BYTES, Listener
from agio.bus.signals import Signal
from agio.core.store.records import EventSlice


class MemoryBus:
    """One gateway's end. Ends made with `other()` belong together.

    Without `carries` it stands for a bus that is missing: gateways then find everything in the store.
    """

    def __init__(self, *, carries: bool = True) -> None:
        self.ignored = 0
        self._carries = carries
        self._ends: list[MemoryBus] = [self]
        self._listener: Listener | None = None
        self._watched: set[str] = set()

    def other(self) -> "MemoryBus":
        """Return the end of another gateway."""
        end = MemoryBus()
        self._ends.append(end)
        end._ends = self._ends
        return end

    @property
    def connected(self) -> bool:
        """See `Bus`."""
        return self._carries

    def listen(self, listener: Listener) -> None:
        """See `Bus`."""
        self._listener = listener

    def publish(self, session_id: str, events: EventSlice) -> None:
        """See `Bus`."""
        if len(self._ends) == 1:
            return
        for end in self._ends:
            if end is self or end._listener is None or session_id not in end._watched:
                continue
            if len(events.payload) > INLINE_BYTES:
                end._listener.missed(session_id)
            else:
                end._listener.heard_events(session_id, events)

    def send(self, signal: Signal) -> None:
        """See `Bus`."""
        for end in self._ends:
            if end is not self and end._listener is not None:
                end._listener.heard(signal)

    def watch(self, session_id: str) -> None:
        """See `Bus`. Nothing is lost in one process, so nothing is missed."""
        self._watched.add(session_id)

    def unwatch(self, session_id: str) -> None:
        """See `Bus`."""
        self._watched.discard(session_id)

    async def close(self) -> None:
        """See `Bus`."""
        if self in self._ends:
            self._ends.remove(self)
