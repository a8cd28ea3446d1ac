"""Authenticates workers: by the operator's key, or by a key in the store, which may be limited to tenants."""

import asyncio
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from agio.core.identity.worker_key import WorkerKeyStore
from agio.errors import LimitExceeded, StoreError
from agio.gateway.auth.attempts import Attempts
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.http.address import Addresses
from agio.gateway.workers.connected_worker import OPERATOR, Permit

_BEARER = b"Bearer "
_KEY_CHARS = range(20, 257)


def new_worker_key() -> str:
    """Make a key: `agiow_` and 43 characters of 256 random bits."""
    return f"agiow_{secrets.token_urlsafe(32)}"


class WorkerKeys:
    """The keys that admit workers. Without an operator's key, only those in the store."""

    def __init__(
        self,
        store: WorkerKeyStore,
        attempts: Attempts,
        addresses: Addresses,
        *,
        operators: str | None,
        recheck_s: float,
    ) -> None:
        self._store = store
        self._attempts = attempts
        self._addresses = addresses
        self._operators = None if operators is None else operators.encode()
        self._recheck_s = recheck_s
        self._last: dict[bytes, Permit] = {}
        """The last known permits of keys: they hold while the store fails."""

    async def permit(self, scope: Mapping[str, Any]) -> Permit | None:
        """Return a worker's permit; None if its key is unknown."""
        shown = _bearer(scope)
        if self._operators is not None and hmac.compare_digest(shown, self._operators):
            return OPERATOR
        address = self._addresses.client_of(scope)
        try:
            if (
                hash_secret(shown.decode("latin-1")) not in self._last
            ):  # others' bad keys do not shut out a good one
                await self._attempts.check("bad_key", address)
            found = await self._find(shown)
            if found is None:
                await self._attempts.take("bad_key", address)
            return found
        except LimitExceeded:
            return None

    async def wait_revoked(self, scope: Mapping[str, Any], permit: Permit) -> None:
        """Wait until the permit of a key is revoked or changed; forever for the operator's."""
        if not permit.key:
            await asyncio.Event().wait()
        while True:
            await asyncio.sleep(self._recheck_s)
            if await self._find(_bearer(scope)) != permit:
                return

    async def _find(self, shown: bytes) -> Permit | None:
        if len(shown) not in _KEY_CHARS:
            return None
        digest = hash_secret(shown.decode("latin-1"))
        try:
            key = await self._store.find_worker_key(digest)
        except StoreError:
            return self._last.get(digest)
        if key is None:
            self._last.pop(digest, None)
            return None
        found = Permit(key.id, None if key.tenants is None else frozenset(key.tenants))
        self._last[digest] = found
        return found


def _bearer(scope: Mapping[str, Any]) -> bytes:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    shown = next((value for name, value in headers if name == b"authorization"), b"")
    return shown[len(_BEARER) :] if shown.startswith(_BEARER) else b""
