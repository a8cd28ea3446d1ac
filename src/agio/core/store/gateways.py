"""The port of gateways that share a store: their leases, on the database's clock, and what they count together."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from agio.core.store.records import AgentFields
from agio.core.store.repository import RunInfo


class GatewayRecord(Struct, frozen=True, kw_only=True):
    """A gateway whose lease has not ended."""

    id: str
    """A new one at every start."""
    name: str
    master_key: str
    """The id of the key with which it seals credentials; empty: it has none."""
    version: str
    offers: bytes = b"[]"
    """What its workers offer, as JSON."""
    agents: bytes = b"{}"
    """Its workers' agents in code by tenant, as JSON."""


class GatewayStore(Protocol):
    """What gateways that share a store need of it."""

    async def cluster_secret(self, fresh: bytes) -> bytes:
        """Return the secret that the store's gateways share; the first caller's `fresh` becomes it."""
        ...

    async def join_gateway(self, gateway: GatewayRecord, lease_ms: int) -> bool:
        """Begin a gateway's lease, also again. False: another gateway with its name is alive."""
        ...

    async def renew_gateway(self, gateway: str, lease_ms: int) -> bool:
        """Extend a lease from now on. False: it has none."""
        ...

    async def leave_gateway(self, gateway: str) -> None:
        """End a lease: others may take over its runs at once."""
        ...

    async def live_gateways(self) -> list[GatewayRecord]:
        """List the gateways that are alive, the oldest first."""
        ...

    async def put_offers(
        self, gateway: str, offers: bytes, agents: Mapping[str, Sequence[AgentFields]]
    ) -> None:
        """Record what a gateway's workers offer. The store's agents in code are then those of all live gateways.

        Raises UserError `agent_exists`.
        """
        ...

    async def lost_runs(self, gateway: str, limit: int = 100) -> list[RunInfo]:
        """List running runs whose gateway is gone, and those that were freed; not this gateway's own."""
        ...

    async def flagged_runs(self, gateway: str) -> list[str]:
        """Return the ids of a gateway's running runs that are to be cancelled."""
        ...

    async def free_run(self, run_id: str, epoch: int, gateway: str) -> None:
        """Let any gateway take over a run that this one holds and has no worker for."""
        ...

    async def honour_run(self, run_id: str, epoch: int, gateway: str) -> bool:
        """Take over a run's claim with its worker, which came from another gateway. False: it is no longer valid."""
        ...

    async def session_heads(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Return the last stored positions of sessions; one that was deleted is left out."""
        ...

    async def call_lease(self, run_id: str, key: str) -> tuple[str, int]:
        """Return the owner of a call that has begun, and for how many milliseconds to wait for its result."""
        ...

    async def renew_calls(self, owner: str, calls: Sequence[tuple[str, str]], lease_ms: int) -> None:
        """Extend the leases of calls that this gateway performs, and take them over."""
        ...

    async def take_attempt(self, kind: str, keys: Sequence[str], every_ms: int, burst_ms: int) -> int:
        """Count an attempt for each key. Returns 0, or in how many milliseconds to try again: then none is counted."""
        ...

    async def attempt_wait(self, kind: str, keys: Sequence[str], every_ms: int, burst_ms: int) -> int:
        """Return in how many milliseconds an attempt is allowed, without counting one."""
        ...
