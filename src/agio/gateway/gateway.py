"""Gateway: the parts of one gateway, put together by whoever starts it (cli/, tests). It does nothing itself."""

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
    """What the routes and the streams work with."""

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
    """Where people can sign in elsewhere."""
    egress: Egress = field(default_factory=Egress)
    """Calls what users name."""
    vault: Vault | None = None
    """Seals credentials; None: there is no master key, and none are taken."""
    worker_key: str | None = None
    """What a worker shows to be let in over the network; None: nobody is."""
    dialect: Literal["sqlite", "postgres"] = "sqlite"
    """What the store is kept in."""
    home: Literal["embedded", "distributed"] = "embedded"
    """Whether a worker runs in this process, or only elsewhere."""
    currency: str = "USD"
    """Of the prices of models."""
    started_at: int = field(default_factory=wall_ms)
    searches: Searches = field(default_factory=Searches)
    folds: Folds = field(default_factory=Folds)
    storing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    """How many uploads are written to the store at a time: each holds a megabyte."""
