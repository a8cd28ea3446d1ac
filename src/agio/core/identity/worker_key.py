"""Worker keys: the credentials of workers that connect over the network."""

from typing import Protocol

from msgspec import Struct


class WorkerKey(Struct, frozen=True):
    """A worker key's metadata. `tenants` None: the worker may get runs of every tenant."""

    id: str
    name: str
    prefix: str
    tenants: list[str] | None
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None


class WorkerKeyStore(Protocol):
    """The store of worker keys. Raises StoreError when the store fails, UserError as documented."""

    async def add_worker_key(self, key: WorkerKey, key_hash: bytes) -> None:
        """Store a worker key. Raises UserError `tenant_not_found` for an unknown tenant."""
        ...

    async def list_worker_keys(self) -> list[WorkerKey]:
        """List all worker keys, newest first. For the operator."""
        ...

    async def revoke_worker_key(self, key_id: str) -> None:
        """Raises UserError `key_not_found`."""
        ...

    async def find_worker_key(self, key_hash: bytes) -> WorkerKey | None:
        """Return the key with this hash unless it was revoked. Records its use at most once a minute."""
        ...
