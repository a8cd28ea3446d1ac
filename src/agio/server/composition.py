"""Puts a gateway together: the one place that knows all of its parts."""

import secrets
import socket
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct, field

from agio.agents import demo
from agio.bus.bus import Bus
from agio.bus.memory import MemoryBus
from agio.bus.nats import open_nats
from agio.bus.options import NatsOptions
from agio.bus.signals import Changed
from agio.core.config import AgentRunConfig, Price, ServerLimits
from agio.core.identity.oidc import OidcProvider
from agio.core.link.wire import MAX_UP_BYTES
from agio.core.passage import EmbeddingModel
from agio.core.store.gateways import GatewayRecord
from agio.core.store.store import Store
from agio.core.tool import AnyTool
from agio.drivers.registry import PROVIDERS
from agio.egress import Egress
from agio.gateway.app import create_app
from agio.gateway.auth.attempts import Attempts
from agio.gateway.auth.authenticator import Authenticator
from agio.gateway.auth.oidc import OidcProviders
from agio.gateway.counters import Counters
from agio.gateway.gateway import Gateway
from agio.gateway.http.address import Addresses, Network
from agio.gateway.http.origin import Origins
from agio.gateway.http.rate_limits import Rates
from agio.gateway.intake.forks import Forks
from agio.gateway.intake.intake import Intake
from agio.gateway.jobs.embedding import Embedding
from agio.gateway.jobs.extraction import Extraction
from agio.gateway.jobs.runner import JobRunner
from agio.gateway.jobs.sweeps import Sweeps
from agio.gateway.jobs.traces import TraceExport
from agio.gateway.membership import Membership
from agio.gateway.peers import Peers
from agio.gateway.stream.connections import Connections
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.calls import ToolCalls
from agio.gateway.tools.endpoints import ModelEndpoints, need_vault
from agio.gateway.tools.files import keep_tool_file
from agio.gateway.tools.offers import offer_tools
from agio.gateway.tools.rack import ToolRack, open_secrets
from agio.gateway.workers.dispatcher import Dispatcher
from agio.gateway.workers.embedder import Embedder
from agio.gateway.workers.pool import WorkerPool
from agio.gateway.workers.recall import Recall
from agio.gateway.workers.tool_backend import ToolBackend
from agio.protocol.ids import new_id
from agio.server.descriptors import raise_descriptor_limit
from agio.server.first_start import make_first
from agio.server.http_server import HttpServer
from agio.server.oidc import open_oidc
from agio.server.stores import check_secrets, open_database, open_vault
from agio.settings import ServerSettings, Settings
from agio.telemetry.export.config import TraceSettings
from agio.telemetry.export.services import open_services
from agio.tools.mcp.credentials import TeamCredentials
from agio.tools.mcp.link import Command
from agio.tools.mcp.oauth.connect import Connecting
from agio.tools.mcp.oauth.credentials import ServerCredentials
from agio.tools.mcp.oauth.grants import Grants
from agio.tools.mcp.servers import McpServers
from agio.tools.registry import built_in_tools
from agio.vault import Vault

STORE_NAME = "agio.db"


class GatewayConfig(Struct, frozen=True, kw_only=True):
    """The configuration of a gateway."""

    database: str | Path
    """The URL of a Postgres database, or the file of an SQLite one."""
    limits: ServerLimits
    worker_key: str | None = None
    bootstrap_key: str | None = None
    secret_keys: Sequence[bytes] = ()
    """The master keys of credentials at rest; an SQLite store has its own key file beside it."""
    egress_allow: Sequence[str] = ()
    """Hosts, addresses and networks that may be called although they are not public."""
    hosts: Collection[str] = ()
    """Host names it answers to, besides loopback, the public URL and addresses."""
    behind_tls: bool = False
    trusted_proxies: Collection[Network] = ()
    oidc: Sequence[OidcProvider] = ()
    public_url: str | None = None
    """The address people use; None: unknown."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices of models, by `provider:model`; the demo model is free."""
    currency: str = "USD"
    mcp: Mapping[str, Command] = field(default_factory=dict[str, Command])
    """The operator's stdio MCP servers, by name."""
    embeddings: EmbeddingModel | None = None
    """The model that makes vectors of memories; None: they are searched by words and time."""
    traces: TraceSettings = TraceSettings()
    """Where the traces of runs are sent."""
    nats: NatsOptions | None = None
    """The bus between the gateways of a Postgres database; None: they find everything in the store, more slowly."""
    name: str | None = None
    """This gateway's name among them; None: its id, which is new at every start."""
    works: bool = True
    """Whether a worker runs in this process."""


def database_of(settings: Settings, server: ServerSettings, data: Path | None) -> str | Path:
    """Return where the store is: in the given folder, else at AGIO_DATABASE_URL, else in the default folder."""
    if data is None and server.database_url is not None:
        return server.database_url
    return (data or settings.data_dir).expanduser() / STORE_NAME


class Resources(Struct, frozen=True, kw_only=True):
    """What a gateway uses and its opener closes."""

    store: Store
    egress: Egress
    vault: Vault | None
    oidc: OidcProviders
    recall: Recall
    bus: Bus | None = None
    """None: this gateway has its store for itself."""


@asynccontextmanager
async def opened_gateway(plan: GatewayConfig) -> AsyncGenerator[Gateway]:
    """Open the store and make the parts around it; closed in order at the end. Raises StoreError."""
    store: Store = await open_database(
        plan.database, plan.limits.database_connections, sinks=plan.traces.sinks
    )
    bus = None
    try:
        if isinstance(plan.database, str):
            bus = await _open_bus(plan.nats, store)
        await make_first(store, plan.bootstrap_key)
        vault = await open_vault(plan.database, plan.secret_keys, store)
        await check_secrets(store, vault)
        egress = Egress(plan.egress_allow)
        oidc = await open_oidc(store, plan.oidc, plan.public_url, plan.egress_allow)
        resources = Resources(
            store=store, egress=egress, vault=vault, oidc=oidc, recall=Recall(store), bus=bus
        )
        tools = built_in_tools(store, egress, resources.recall)
        gateway = make_gateway(plan, resources, tools)
        try:
            yield gateway
        finally:
            await gateway.close()
            await oidc.aclose()
            await egress.aclose()
    finally:
        if bus is not None:
            await bus.close()
        await store.close()


async def _open_bus(options: NatsOptions | None, store: Store) -> Bus:
    """Raises BusError, StoreError."""
    if options is None:
        return MemoryBus(carries=False)
    return await open_nats(options, await store.cluster_secret(secrets.token_bytes(32)))


def make_gateway(
    plan: GatewayConfig,
    resources: Resources,
    tools: Mapping[str, AnyTool],
    config: AgentRunConfig | None = None,
) -> Gateway:
    """Make the parts of a gateway. `start` begins its background tasks."""
    store, egress, vault, limits = resources.store, resources.egress, resources.vault, plan.limits
    config = config or AgentRunConfig(prices={demo.MODEL: Price(0, 0), **plan.prices})
    counters = Counters()
    shared = resources.bus is not None
    peers = Peers(resources.bus, new_id("gtw") if shared else "")
    hub = Hub(store, limits, peers.bus)
    rates = Rates(limits)
    attempts = Attempts(rates, store if shared else None)
    addresses = Addresses(list(plan.trusted_proxies))
    origins = Origins(plan.hosts, public_url=plan.public_url, behind_tls=plan.behind_tls)
    endpoints = ModelEndpoints(store, vault)
    opener = partial(open_secrets, store, vault)
    grants = Grants(store, egress, partial(need_vault, vault))
    entered = TeamCredentials(opener)
    credentials = ServerCredentials(entered, grants)
    mcp = McpServers(store, credentials, egress, partial(keep_tool_file, store, limits), plan.mcp)
    rack = ToolRack(tools, config, opener, egress, mcp)
    backend = ToolBackend(store, rack, counters, limits.tick_s, peers)
    pool = WorkerPool(
        store, hub, limits, backend, offer_tools(tools), counters, config.max_event_bytes, peers, vault
    )
    recall = resources.recall
    dispatcher = Dispatcher(store, hub, pool, endpoints, limits, counters, config.prices, recall)
    extraction = Extraction(store, pool, endpoints, recall, limits, config.prices)
    embedder = None if plan.embeddings is None else Embedder(pool, endpoints, plan.embeddings)
    recall.embedder = embedder
    recall.tell = lambda tenant: peers.bus.send(Changed(tenant))
    embedding = Embedding(store, embedder, limits)
    traces = TraceExport(
        store, endpoints, open_services(plan.traces, plan.egress_allow), limits, counters, plan.traces.link
    )
    kinds = {
        **Sweeps(store, hub, dispatcher, limits, peers.bus).kinds,
        **extraction.kinds,
        **embedding.kinds,
        **traces.kinds,
    }
    jobs = JobRunner(store, kinds, limits)
    pool.on_settled = jobs.ring
    membership = None
    if shared:
        me = GatewayRecord(
            id=peers.gateway,
            name=plan.name or peers.gateway,
            master_key="" if vault is None else vault.current_key_id,
            version=version("agio"),
        )
        membership = Membership(me, store, hub, pool, dispatcher, endpoints, recall, rates, limits)
    return Gateway(
        store=store,
        limits=limits,
        hub=hub,
        pool=pool,
        dispatcher=dispatcher,
        jobs=jobs,
        memories=recall,
        extraction=extraction,
        traces=traces,
        endpoints=endpoints,
        rack=rack,
        mcp=mcp,
        grants=grants,
        connecting=Connecting(store, egress, entered, grants, partial(need_vault, vault)),
        tool_calls=ToolCalls(store, rack, counters, limits.tick_s),
        counters=counters,
        forks=Forks(store, limits),
        intake=Intake(
            store, hub, pool, dispatcher, rates=rates, egress=egress, traced=bool(plan.traces.sinks)
        ),
        auth=Authenticator(store, rates=rates, addresses=addresses, origins=origins, attempts=attempts),
        rates=rates,
        attempts=attempts,
        peers=peers,
        membership=membership,
        addresses=addresses,
        connections=Connections(store, limits.recheck_s, limits.streams_per_credential),
        egress=egress,
        tools=tools,
        providers=frozenset(PROVIDERS),
        oidc=resources.oidc,
        vault=vault,
        worker_key=plan.worker_key,
        dialect="postgres" if isinstance(plan.database, str) else "sqlite",
        home="embedded" if plan.works else "distributed",
        currency=plan.currency,
    )


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
