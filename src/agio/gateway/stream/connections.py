"""The open streams, by credential. A credential that is revoked or changed closes its streams.

A route that revokes one closes its streams here at once; revocations by other processes are found in the store.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType

from agio.core.identity.principal import IdentityStore, Principal
from agio.errors import AgioError, LimitExceeded

_log = logging.getLogger("agio.gateway")

REVOKED = "the credential was revoked"
CHANGED = "the credential's rights have changed"
_AT_ONCE = 500
"""How many credentials one query checks."""


class Cut(Exception):
    """A stream must end: its credential was revoked or changed. The message says which."""


class Connection:
    """An open stream, to be used like `asyncio.timeout`: what is in it is cancelled when the stream is cut.

    Raises Cut then, at its end.
    """

    def __init__(self, who: Principal, among: "dict[str, set[Connection]]") -> None:
        self.who = who
        self._among = among
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._why: str | None = None

    def cut(self, why: str) -> None:
        """End the stream."""
        if self._why is None and self._task is not None:
            self._why = why
            self._task.cancel()

    async def __aenter__(self) -> "Connection":
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a stream is opened in a task")
        self._cancelling = self._task.cancelling()
        self._among.setdefault(self.who.credential, set()).add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        others = self._among[self.who.credential]
        others.discard(self)
        if not others:
            del self._among[self.who.credential]
        task, self._task = self._task, None
        if self._why is None or task is None:
            return
        others_cancel = task.uncancel() > self._cancelling
        if not others_cancel and (kind is None or issubclass(kind, asyncio.CancelledError)):
            raise Cut(self._why) from error


class Connections:
    """The open streams of one gateway, by credential. `watch` is its task."""

    def __init__(self, store: IdentityStore, recheck_s: float, most: int) -> None:
        self._store = store
        self.recheck_s = recheck_s
        self._most = most
        self._streams: Counter[str] = Counter()
        self._open: dict[str, set[Connection]] = {}

    @contextmanager
    def room(self, who: Principal) -> Generator[None]:
        """Hold a place for a socket or an event stream. Raises LimitExceeded `too_many_streams` if there is none."""
        credential = who.credential
        if self._streams[credential] >= self._most:
            raise LimitExceeded(
                "too_many_streams",
                f"This credential has {self._most} open streams, and may have no more: close some.",
                {"streams_per_credential": self._most},
            )
        self._streams[credential] += 1
        try:
            yield
        finally:
            self._streams[credential] -= 1
            if not self._streams[credential]:
                del self._streams[credential]

    def open(self, who: Principal) -> Connection:
        """Register a stream: `async with connections.open(who): ...`. Raises Cut at its end if it was cut."""
        return Connection(who, self._open)

    def close_credential(self, credential: str, why: str = REVOKED) -> None:
        """End the streams of an API key or a browser's session."""
        for connection in list(self._open.get(credential, ())):
            connection.cut(why)

    def close_user(self, tenant: str, user: str, why: str = CHANGED) -> None:
        """End every stream of a user."""
        for connection in list(self._all()):
            if (connection.who.tenant, connection.who.user) == (tenant, user):
                connection.cut(why)

    async def recheck(self) -> None:
        """End the streams whose credential was revoked, has expired, or has other rights now. Raises StoreError."""
        ids = list(self._open)
        for first in range(0, len(ids), _AT_ONCE):
            asked = ids[first : first + _AT_ONCE]
            good = {who.credential: who for who in await self._store.find_credentials(asked)}
            for credential in asked:
                now = good.get(credential)
                if now is None:
                    self.close_credential(credential)
                    continue
                for connection in list(self._open.get(credential, ())):
                    if _rights(connection.who) != _rights(now):
                        connection.cut(CHANGED)

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def _all(self) -> Iterator[Connection]:
        for connections in self._open.values():
            yield from connections

    async def watch(self) -> None:
        """Check the credentials of open streams every `recheck_s`, forever."""
        while True:
            await asyncio.sleep(self.recheck_s)
            try:
                await self.recheck()
            except AgioError as error:
                _log.warning("the credentials of open streams could not be checked: %s", error)
            except Exception:
                _log.exception("the credentials of open streams could not be checked")


def _rights(who: Principal) -> tuple[str, str, str, frozenset[str]]:
    return who.tenant, who.user, who.role, who.permissions
