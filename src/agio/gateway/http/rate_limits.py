"""Rate limits: a token bucket in memory for each kind of request and caller.

Each gateway counts for itself. Of several that share a store, each allows its share of the rate; attempts to
authenticate they count together (auth/attempts.py). A bucket is one number, the time at which it is full again. When
there are too many, the least recently used are dropped.
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
"""`sign_in`: attempts to authenticate, by address and email address. `bad_key`: unknown credentials, by address.
The others by credential, and messages also by user."""

_BUCKETS = 16_384
"""How many buckets are kept per kind and key position."""
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
    """`every_s` is the refill time of one request, `burst_s` that of a full bucket."""

    every_s: float
    burst_s: float


class Bucket(Struct, frozen=True):
    """Where an attempt is counted in the store, and its rule in milliseconds."""

    keys: list[str]
    every_ms: int
    burst_ms: int


class Rates:
    """The buckets of one gateway. A check takes about a microsecond."""

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused: Counter[str] = Counter()
        """How many requests were refused, by kind."""
        self.gateways = 1
        """How many gateways share the rates of requests."""
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
        """Count a request, with the cost of `count` requests, for each key; if refused, for none.

        Keys are separate by position, and an empty key is skipped. Raises LimitExceeded `rate_limited` with
        `retry_after_s`.
        """
        rule = self._rules[kind]
        now = self._clock()
        every_s, most = rule.every_s * count * self._share(kind), now + rule.burst_s
        taken: list[tuple[OrderedDict[str, float], str, float]] = []
        for place, key in enumerate(keys):
            if not key:
                continue
            kept, key = self._place(kind, place, key)
            before = kept.get(key, now)
            full_at = (before if before > now else now) + every_s
            if full_at > most:
                raise self.refusal(kind, full_at - most)
            taken.append((kept, key, full_at))
        for kept, key, full_at in taken:
            if key not in kept and len(kept) >= _BUCKETS:
                kept.popitem(last=False)
            kept[key] = full_at
            kept.move_to_end(key)

    def check(self, kind: Kind, *keys: str) -> None:
        """Raise what `take` would raise, without counting."""
        rule = self._rules[kind]
        most = self._clock() + rule.burst_s
        for place, key in enumerate(keys):
            if not key:
                continue
            kept, key = self._place(kind, place, key)
            if (full_at := kept.get(key, 0.0) + rule.every_s * self._share(kind)) > most:
                raise self.refusal(kind, full_at - most)

    def bucket(self, kind: Kind, *keys: str) -> Bucket:
        """Return where gateways count a request together."""
        rule = self._rules[kind]
        named = [f"{place} {self._place(kind, place, key)[1]}" for place, key in enumerate(keys) if key]
        return Bucket(named, int(rule.every_s * 1000), int(rule.burst_s * 1000))

    def _share(self, kind: Kind) -> int:
        """Attempts to authenticate are counted for all gateways together."""
        return 1 if kind in _BY_ADDRESS else self.gateways

    def _place(self, kind: Kind, place: int, key: str) -> tuple[OrderedDict[str, float], str]:
        kept = self._full_at.get((kind, place))
        if kept is None:
            kept = self._full_at[kind, place] = OrderedDict()
        if place == 0 and kind in _BY_ADDRESS:
            key = network_of(key)
        if len(key) > _KEY_CHARS:
            key = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return kept, key

    def refusal(self, kind: Kind, wait_s: float) -> LimitExceeded:
        """Count a refusal and return its error."""
        self.refused[kind] += 1
        seconds = max(1, math.ceil(wait_s))
        return LimitExceeded(
            "rate_limited", f"{_WHAT[kind]}. Try again in {seconds} s.", {"retry_after_s": seconds}
        )


def _per_minute(count: int) -> _Rule:
    return _Rule(60.0 / count, 60.0)
