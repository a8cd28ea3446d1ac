"""One search at a time per gateway: a search reads all messages of a user, and other reads must not wait for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from agio.core.identity.principal import Principal
from agio.errors import LimitExceeded

_WAITING = 5
"""How many searches of one user may run or wait."""
_RETRY_AFTER_S = 2


class Searches:
    """One search at a time; each user holds one place in the queue."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(1)
        self._users: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._asked: Counter[tuple[str, str]] = Counter()

    @asynccontextmanager
    async def turn(self, who: Principal) -> AsyncGenerator[None]:
        """Wait for the caller's turn. Raises LimitExceeded `rate_limited`."""
        user = who.tenant, who.user
        if self._asked[user] >= _WAITING:
            raise LimitExceeded(
                "rate_limited",
                "Too many searches at once. Wait for one to finish.",
                {"retry_after_s": _RETRY_AFTER_S},
            )
        own = self._users.setdefault(user, asyncio.Lock())
        self._asked[user] += 1
        try:
            async with own, self._room:
                yield
        finally:
            self._asked[user] -= 1
            if not self._asked[user]:
                del self._asked[user]
