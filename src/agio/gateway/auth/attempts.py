"""Attempts to authenticate: counted in this process, and by gateways that share a store in the store.

Otherwise a guesser would have the rate of each gateway. While the store fails, each counts for itself.
"""

from agio.core.store.gateways import GatewayStore
from agio.errors import StoreError
from agio.gateway.http.rate_limits import Kind, Rates


class Attempts:
    """The limits `sign_in` and `bad_key`. Without a store they are those of this process."""

    def __init__(self, rates: Rates, store: GatewayStore | None = None) -> None:
        self._rates = rates
        self._store = store

    async def take(self, kind: Kind, *keys: str) -> None:
        """Count an attempt for each key. Raises LimitExceeded `rate_limited`."""
        if self._store is not None:
            bucket = self._rates.bucket(kind, *keys)
            try:
                wait_ms = await self._store.take_attempt(kind, bucket.keys, bucket.every_ms, bucket.burst_ms)
            except StoreError:
                wait_ms = 0
            if wait_ms:
                raise self._rates.refusal(kind, wait_ms / 1000)
        self._rates.take(kind, *keys)

    async def check(self, kind: Kind, *keys: str) -> None:
        """Raise what `take` would raise, without counting."""
        self._rates.check(kind, *keys)
        if self._store is not None:
            bucket = self._rates.bucket(kind, *keys)
            try:
                wait_ms = await self._store.attempt_wait(kind, bucket.keys, bucket.every_ms, bucket.burst_ms)
            except StoreError:
                return
            if wait_ms > 0:
                raise self._rates.refusal(kind, wait_ms / 1000)
