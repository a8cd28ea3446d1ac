"""How many bytes each caller has in flight: what is being received of requests and WebSocket messages, and what was
written of responses and not yet sent. The protocols in cli/ count what they buffer; body.py counts bodies.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from agio.errors import LimitExceeded

IN_FLIGHT = "agio.in_flight"
"""Where a request's scope has its `Held`."""


class InFlight:
    """The bytes in flight of one gateway, by caller: a credential, or the address of a request without one.

    One request may exceed the limit if its caller has no other: a large response can always be sent.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes_of: Counter[str] = Counter()

    def hold(self, caller: str) -> "Held":
        """Return the count of a new request."""
        return Held(self, caller)


class Held:
    """The bytes in flight of one request or WebSocket."""

    __slots__ = ("_all", "_caller", "_received", "_unsent")

    def __init__(self, among: InFlight, caller: str | None) -> None:
        self._all = among
        self._caller = caller
        self._received = 0
        self._unsent = 0

    def belong_to(self, credential: str) -> None:
        """Count for a credential from now on. Raises LimitExceeded `too_many_bytes` if it is at its limit."""
        if self._all.bytes_of[credential] >= self._all.limit_bytes:
            raise self._refusal()
        self._move(credential)

    def exempt(self) -> None:
        """Count no more: whoever this is has limits of its own."""
        self._move(None)

    def set_received(self, size: int) -> None:
        """Say how much is buffered of what is being received. Raises LimitExceeded `too_many_bytes`."""
        if size != self._received:
            self._add(size - self._received)
            self._received = size

    def set_unsent(self, size: int) -> None:
        """Say how much is buffered of what is being sent. Raises LimitExceeded `too_many_bytes`."""
        if size != self._unsent:
            self._add(size - self._unsent)
            self._unsent = size

    def _move(self, caller: str | None) -> None:
        received, unsent = self._received, self._unsent
        self.set_received(0)
        self.set_unsent(0)
        self._caller = caller
        self.set_received(received)
        self.set_unsent(unsent)

    def _add(self, change: int) -> None:
        if self._caller is None:
            return
        bytes_of = self._all.bytes_of
        total = bytes_of[self._caller] + change
        others = bytes_of[self._caller] - self._received - self._unsent
        if change > 0 and others and total > self._all.limit_bytes:
            raise self._refusal()
        if total:
            bytes_of[self._caller] = total
        else:
            del bytes_of[self._caller]

    def _refusal(self) -> LimitExceeded:
        limit = self._all.limit_bytes
        return LimitExceeded(
            "too_many_bytes",
            f"More than {limit} bytes of your requests and responses are in flight. Finish sending, or read the "
            "responses.",
            {"in_flight_bytes_per_credential": limit},
        )


def held_of(scope: Mapping[str, Any]) -> Held:
    """Return the count of a request; without a gateway's, one of its own."""
    held: Held | None = scope.get(IN_FLIGHT)
    return Held(InFlight(sys.maxsize), None) if held is None else held
