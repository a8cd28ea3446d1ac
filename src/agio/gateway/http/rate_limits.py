"""How often somebody may ask: a bucket for every kind of request and everybody who asks, in memory.

Each gateway counts for itself, so with N of them somebody may ask N times as often. A bucket is one number, the
time at which it will be full again; those that are full are forgotten first when there are too many.
"""

import hashlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from agio.core.config import ServerLimits
from agio.errors import LimitExceeded
from agio.gateway.http.address import network_of

Kind: TypeAlias = Literal["sign_in", "bad_key", "message", "tool", "file", "fork", "request"]
"""`sign_in`: anything that proves who somebody is, by address and e-mail address. `bad_key`: credentials that are
not known, by address. The others by credential, and messages also by user."""

_BUCKETS = 16_384
"""How many buckets are kept of each kind and key."""
_KEY_CHARS = 256
_BY_ADDRESS = frozenset({"sign_in", "bad_key"})
"""The kinds whose first key is a client's address."""
_WHAT: dict[Kind, str] = {
    "sign_in": "Too many sign-in attempts",
    "bad_key": "Too many unknown credentials from this address",
    "message": "Too many messages",
    "tool": "Too many tool calls",
    "file": "Too many files",
    "fork": "Too many forks",
    "request": "Too many requests",
}


class _Rule(Struct, frozen=True):
    """`every_s` is the time one request takes to be forgiven, `burst_s` that of as many as may come at once."""

    every_s: float
    burst_s: float


class Rates:
    """The buckets of one gateway. Asking costs about a microsecond, whoever asks and however many there are."""

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused: Counter[str] = Counter()
        """How many requests were refused, by kind."""
        self._clock = clock
        self._rules: dict[Kind, _Rule] = {
            "sign_in": _Rule(limits.sign_in_every_s, limits.sign_in_every_s * limits.sign_ins_at_once),
            "bad_key": _per_minute(limits.bad_keys_per_minute),
            "message": _per_minute(limits.messages_per_minute),
            "tool": _per_minute(limits.tool_calls_per_minute),
            "file": _per_minute(limits.files_per_minute),
            "fork": _per_minute(limits.forks_per_minute),
            "request": _per_minute(limits.requests_per_minute),
        }
        self._full_at: dict[tuple[Kind, int], OrderedDict[str, float]] = {}

    def take(self, kind: Kind, *keys: str, count: int = 1) -> None:
        """Count a request, or one that is as much work as `count`, for each of its keys; if refused, for none.

        The first key of a kind is never mistaken for its second. An empty key is nobody's. Raises LimitExceeded
        `rate_limited`, whose `retry_after_s` says when the next is taken.
        """
        rule = self._rules[kind]
        now = self._clock()
        every_s, most = rule.every_s * count, now + rule.burst_s
        taken: list[tuple[OrderedDict[str, float], str, float]] = []
        for place, key in enumerate(keys):
            if not key:
                continue
            kept, key = self._place(kind, place, key)
            before = kept.get(key, now)
            full_at = (before if before > now else now) + every_s
            if full_at > most:
                raise self._refusal(kind, full_at - most)
            taken.append((kept, key, full_at))
        for kept, key, full_at in taken:
            if key not in kept and len(kept) >= _BUCKETS:
                kept.popitem(last=False)
            kept[key] = full_at
            kept.move_to_end(key)

    def check(self, kind: Kind, *keys: str) -> None:
        """Raise what `take` would raise, and count nothing."""
        rule = self._rules[kind]
        most = self._clock() + rule.burst_s
        for place, key in enumerate(keys):
            if not key:
                continue
            kept, key = self._place(kind, place, key)
            if (full_at := kept.get(key, 0.0) + rule.every_s) > most:
                raise self._refusal(kind, full_at - most)

    def _place(self, kind: Kind, place: int, key: str) -> tuple[OrderedDict[str, float], str]:
        kept = self._full_at.get((kind, place))
        if kept is None:
            kept = self._full_at[kind, place] = OrderedDict()
        if place == 0 and kind in _BY_ADDRESS:
            key = network_of(key)
        if len(key) > _KEY_CHARS:
            key = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return kept, key

    def _refusal(self, kind: Kind, wait_s: float) -> LimitExceeded:
        self.refused[kind] += 1
        seconds = max(1, math.ceil(wait_s))
        return LimitExceeded(
            "rate_limited", f"{_WHAT[kind]}. Try again in {seconds} s.", {"retry_after_s": seconds}
        )


def _per_minute(count: int) -> _Rule:
    return _Rule(60.0 / count, 60.0)
