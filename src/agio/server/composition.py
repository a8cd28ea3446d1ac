"""Puts a gateway together from its parts: the one place that knows them all."""

import socket
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, field

from agio.agents import demo
from agio.core.config import AgentRunConfig, Price, ServerLimits
from agio.core.identity.oidc import OidcProvider
from agio.core.link.wire import MAX_UP_BYTES
from agio.core.store.store import Store
from agio.db.postgres.lock import lock_database
from agio.drivers.registry import PROVIDERS
from agio.egress import Egress
from agio.gateway.app import create_app
from agio.gateway.auth.authenticator import Authenticator
from agio.gateway.gateway import Gateway
from agio.gateway.http.address import Addresses, Network
from agio.gateway.http.origin import Origins
from agio.gateway.http.rate_limits import Rates
from agio.gateway.intake.forks import Forks
from agio.gateway.intake.intake import Intake
from agio.gateway.stream.connections import Connections
from agio.gateway.stream.hub import Hub
from agio.gateway.workers.link import LinkService
from agio.server.descriptors import raise_descriptor_limit
from agio.server.first_start import make_first
from agio.server.http_server import HttpServer
from agio.server.oidc import open_oidc
from agio.server.stores import check_secrets, open_database, open_vault
from agio.settings import ServerSettings, Settings
from agio.tools.registry import built_in_tools

STORE_NAME = "agio.db"


class GatewayConfig(Struct, frozen=True, kw_only=True):
    """What a gateway is to be made of."""

    database: str | Path
    """The URL of a Postgres database, or the file of an SQLite one."""
    limits: ServerLimits
    worker_key: str | None = None
    bootstrap_key: str | None = None
    secret_keys: Sequence[bytes] = ()
    """The master keys of credentials at rest; a file's store has one of its own beside it."""
    egress_allow: Sequence[str] = ()
    """What may be called although it is not public: hosts, addresses and networks."""
    hosts: Collection[str] = ()
    """The names it may be called by, beside loopback's, the public URL's, and addresses."""
    behind_tls: bool = False
    trusted_proxies: Collection[Network] = ()
    oidc: Sequence[OidcProvider] = ()
    public_url: str | None = None
    """The address people use; None: nobody has named one, and it cannot be told."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """What models cost, by `provider:model`; the demo model costs nothing."""
    currency: str = "USD"
    works: bool = True
    """Whether a worker will run in this process."""


def database_of(settings: Settings, server: ServerSettings, data: Path | None) -> str | Path:
    """Say where the store is: in the named folder, else at AGIO_DATABASE_URL, else in the usual folder."""
    if data is None and server.database_url is not None:
        return server.database_url
    return (data or settings.data_dir).expanduser() / STORE_NAME


@asynccontextmanager
async def opened_gateway(plan: GatewayConfig) -> AsyncGenerator[Gateway]:
    """Open the store and make the parts around it; closed in order at the end. Raises StoreError."""
    store: Store = await open_database(plan.database)
    lock = None
    try:
        if isinstance(plan.database, str):
            lock = await lock_database(plan.database)
        await make_first(store, plan.bootstrap_key)
        vault = await open_vault(plan.database, plan.secret_keys, store)
        await check_secrets(store, vault)
        egress = Egress(plan.egress_allow)
        tools = built_in_tools(store, egress)
        oidc = await open_oidc(store, plan.oidc, plan.public_url, plan.egress_allow)
        hub = Hub(store, plan.limits)
        config = AgentRunConfig(prices={demo.MODEL: Price(0, 0), **plan.prices})
        link = LinkService(store, hub, plan.limits, tools, config, vault=vault, egress=egress)
        rates = Rates(plan.limits)
        addresses = Addresses(list(plan.trusted_proxies))
        connections = Connections(store, plan.limits.recheck_s, plan.limits.streams_per_credential)
        origins = Origins(plan.hosts, public_url=plan.public_url, behind_tls=plan.behind_tls)
        gateway = Gateway(
            store=store,
            limits=plan.limits,
            hub=hub,
            link=link,
            forks=Forks(store, plan.limits),
            intake=Intake(store, hub, link, rates=rates, egress=egress),
            auth=Authenticator(store, rates=rates, addresses=addresses, origins=origins),
            rates=rates,
            addresses=addresses,
            connections=connections,
            egress=egress,
            tools=tools,
            providers=frozenset(PROVIDERS),
            oidc=oidc,
            vault=vault,
            worker_key=plan.worker_key,
            dialect="postgres" if isinstance(plan.database, str) else "sqlite",
            home="embedded" if plan.works else "distributed",
            currency=plan.currency,
        )
        connections.start()
        try:
            yield gateway
        finally:
            await connections.close()
            hub.close()
            await link.close()
            await gateway.forks.close()
            await oidc.aclose()
            await egress.aclose()
    finally:
        await store.close()
        if lock is not None:
            await lock.release()


def make_http_server(gateway: Gateway, sock: socket.socket) -> HttpServer:
    """Make the HTTP server of a gateway, with the gateway's limits."""
    limits = gateway.limits
    return HttpServer(
        create_app(gateway),
        sock,
        max_message_bytes=limits.json_body_bytes,
        message_bytes={"/link": MAX_UP_BYTES},
        max_connections=min(limits.open_connections, raise_descriptor_limit() * 3 // 4),
        write_timeout_s=limits.write_timeout_s,
    )
