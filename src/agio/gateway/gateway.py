"""Gateway: the parts of one gateway, put together in server/composition, and its background tasks."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agio.core.config import ServerLimits
from agio.core.run.metrics import wall_ms
from agio.core.store.store import Store
from agio.core.tool import AnyTool
from agio.documents.extractor import Extractor
from agio.egress import Egress
from agio.gateway.auth.authenticator import Authenticator
from agio.gateway.auth.oidc import OidcProviders
from agio.gateway.auth.passwords import Passwords
from agio.gateway.counters import Counters
from agio.gateway.http.address import Addresses
from agio.gateway.http.rate_limits import Rates
from agio.gateway.intake.forks import Forks
from agio.gateway.intake.intake import Intake
from agio.gateway.jobs.extraction import Extraction
from agio.gateway.jobs.runner import JobRunner
from agio.gateway.searches import Searches
from agio.gateway.stream.connections import Connections
from agio.gateway.stream.folds import Folds
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.calls import ToolCalls
from agio.gateway.tools.endpoints import ModelEndpoints
from agio.gateway.tools.rack import ToolRack
from agio.gateway.workers.dispatcher import Dispatcher
from agio.gateway.workers.pool import Takeover, WorkerPool
from agio.gateway.workers.recall import Recall
from agio.gateway.workers.shelf import Shelf
from agio.tools.mcp.oauth.connect import Connecting
from agio.tools.mcp.oauth.grants import Grants
from agio.tools.mcp.servers import McpServers
from agio.vault import Vault


@dataclass(frozen=True)
class Gateway:
    """What the routes and the streams work with. `start` begins the background tasks, `close` ends them."""

    store: Store
    limits: ServerLimits
    hub: Hub
    pool: WorkerPool
    dispatcher: Dispatcher
    jobs: JobRunner
    memories: Recall
    """Searches what agents remember."""
    shelf: Shelf
    """Searches documents."""
    extractor: Extractor
    """Reads documents in subprocesses."""
    extraction: Extraction
    """Suggests memories of sessions that have ended."""
    endpoints: ModelEndpoints
    rack: ToolRack
    mcp: McpServers
    grants: Grants
    """The tokens of OAuth connections to MCP servers."""
    connecting: Connecting
    """Begins and ends such connections."""
    tool_calls: ToolCalls
    counters: Counters
    forks: Forks
    intake: Intake
    auth: Authenticator
    rates: Rates
    addresses: Addresses
    connections: Connections
    tools: Mapping[str, AnyTool]
    """The built-in tools, by name."""
    providers: frozenset[str]
    """The model providers an agent may name."""
    passwords: Passwords = field(default_factory=Passwords)
    oidc: OidcProviders = field(default_factory=OidcProviders)
    """The identity providers people can sign in with."""
    egress: Egress = field(default_factory=Egress)
    """Makes requests to addresses that users name."""
    vault: Vault | None = None
    """Seals credentials; None: there is no master key, and credentials are refused."""
    worker_key: str | None = None
    """The operator's worker key; None: only workers with a key from the store connect over the network."""
    dialect: Literal["sqlite", "postgres"] = "sqlite"
    """The kind of the store's database."""
    home: Literal["embedded", "distributed"] = "embedded"
    """Whether a worker runs in this process, or only in others."""
    currency: str = "USD"
    """The currency of the prices of models."""
    started_at: int = field(default_factory=wall_ms)
    searches: Searches = field(default_factory=Searches)
    folds: Folds = field(default_factory=Folds)
    storing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    """How many uploads are written to the store at a time: each holds a megabyte."""
    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]], init=False)

    async def start(self, takeover: Takeover = "after grace") -> None:
        """Recover the runs that are running, and begin to dispatch. Raises StoreError."""
        self.tool_calls.others = takeover != "at once"
        await self.pool.recover(takeover)
        for name, work in (
            ("dispatcher", self.dispatcher.run()),
            ("heartbeats", self.pool.watch()),
            ("connections", self.connections.watch()),
            ("jobs", self.jobs.run()),
        ):
            self.tasks.append(asyncio.create_task(work, name=f"agio {name}"))

    async def watch(self) -> None:
        """Wait until a background task ends, which none should while the gateway is open. Raises its error."""
        done, _ = await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if not task.cancelled():
                task.result()

    async def close(self) -> None:
        """End every stream, task and call. Running runs continue at the next start."""
        self.hub.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.jobs.close()
        await self.dispatcher.close()
        await self.pool.tools.close()
        await self.tool_calls.close()
        await self.mcp.close()
        await self.grants.close()
        await self.forks.close()
