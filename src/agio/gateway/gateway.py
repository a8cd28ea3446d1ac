"""Gateway: the parts of one gateway, composed by server/composition.py. It has no behaviour of its own."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agio.core.config import ServerLimits
from agio.core.run.metrics import wall_ms
from agio.core.store.store import Store
from agio.core.tool import AnyTool
from agio.egress import Egress
from agio.gateway.auth.authenticator import Authenticator
from agio.gateway.auth.oidc import OidcProviders
from agio.gateway.auth.passwords import Passwords
from agio.gateway.http.address import Addresses
from agio.gateway.http.rate_limits import Rates
from agio.gateway.intake.forks import Forks
from agio.gateway.intake.intake import Intake
from agio.gateway.searches import Searches
from agio.gateway.stream.connections import Connections
from agio.gateway.stream.folds import Folds
from agio.gateway.stream.hub import Hub
from agio.gateway.workers.link import LinkService
from agio.vault import Vault


@dataclass(frozen=True)
class Gateway:
    """The parts that routes and streams use."""

    store: Store
    limits: ServerLimits
    hub: Hub
    link: LinkService
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
    """The OpenID providers."""
    egress: Egress = field(default_factory=Egress)
    """Calls addresses that users choose."""
    vault: Vault | None = None
    """Encrypts credentials; None without a master key: credentials are then refused."""
    worker_key: str | None = None
    """The key that workers authenticate with over the network; None: none may connect."""
    dialect: Literal["sqlite", "postgres"] = "sqlite"
    """The store's database."""
    home: Literal["embedded", "distributed"] = "embedded"
    """Whether a worker runs in this process, or only in others."""
    currency: str = "USD"
    """The currency of model prices."""
    started_at: int = field(default_factory=wall_ms)
    searches: Searches = field(default_factory=Searches)
    folds: Folds = field(default_factory=Folds)
    storing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    """Limits concurrent uploads to the store: each holds a megabyte."""
