"""Worker keys: what workers show to be let in over the network."""

from typing import Protocol

from msgspec import Struct


class WorkerKey(Struct, frozen=True):
    """A worker's key as it is listed. `tenants` None: it may be given every tenant's runs."""

    id: str
    name: str
    prefix: str
    tenants: list[str] | None
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None


class WorkerKeyStore(Protocol):
    """The keys of workers. Raises StoreError when the store fails, UserError as said."""

    async def add_worker_key(self, key: WorkerKey, key_hash: bytes) -> None:
        """Keep a worker's key. Raises UserError `tenant_not_found` for a tenant that is not there."""
        ...

    async def list_worker_keys(self) -> list[WorkerKey]:
        """All of them, newest first: the operator's."""
        ...

    async def revoke_worker_key(self, key_id: str) -> None:
        """Raises UserError `key_not_found`."""
        ...

    async def find_worker_key(self, key_hash: bytes) -> WorkerKey | None:
        """The key with this hash, unless it was revoked. Notes its use, at most once a minute."""
        ...
