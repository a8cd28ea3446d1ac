"""Bytes in flight per caller: requests and WebSocket messages being received, and responses not yet sent.

The protocols in server/ count what they buffer; body.py counts bodies.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from agio.errors import LimitExceeded

IN_FLIGHT = "agio.in_flight"
"""The key of a request's `Held` in its scope."""


class InFlight:
    """The bytes in flight of one gateway, by credential, or by address for a request without one.

    A caller's only request may exceed the limit, so that a large response can always be sent.
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
        """Stop counting: this connection has its own limits."""
        self._move(None)

    def set_received(self, size: int) -> None:
        """Set how many received bytes are buffered. Raises LimitExceeded `too_many_bytes`."""
        if size != self._received:
            self._add(size - self._received)
            self._received = size

    def set_unsent(self, size: int) -> None:
        """Set how many unsent bytes are buffered. Raises LimitExceeded `too_many_bytes`."""
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
    """Return the count of a request; outside a gateway, an unlimited one."""
    held: Held | None = scope.get(IN_FLIGHT)
    return Held(InFlight(sys.maxsize), None) if held is None else held
