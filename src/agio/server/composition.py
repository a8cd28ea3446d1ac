"""Puts a gateway together: the one place that knows all of its parts."""

import socket
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from agio.agents import demo
from agio.core.config import AgentRunConfig, Price, ServerLimits
from agio.core.identity.oidc import OidcProvider
from agio.core.link.wire import MAX_UP_BYTES
from agio.core.passage import EmbeddingModel
from agio.core.store.store import Store
from agio.core.tool import AnyTool
from agio.db.postgres.lock import lock_database
from agio.documents.block import ExtractLimits
from agio.documents.extractor import Extractor
from agio.drivers.registry import PROVIDERS
from agio.egress import Egress
from agio.gateway.app import create_app
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
from agio.gateway.jobs.ingestion import IngestionJobs
from agio.gateway.jobs.runner import JobRunner
from agio.gateway.jobs.sweeps import Sweeps
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
from agio.gateway.workers.shelf import Shelf
from agio.gateway.workers.tool_backend import ToolBackend
from agio.server.descriptors import raise_descriptor_limit
from agio.server.first_start import make_first
from agio.server.http_server import HttpServer
from agio.server.oidc import open_oidc
from agio.server.stores import check_secrets, open_database, open_vault
from agio.settings import ServerSettings, Settings
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
    shelf: Shelf


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
        oidc = await open_oidc(store, plan.oidc, plan.public_url, plan.egress_allow)
        recall = Recall(store)
        resources = Resources(
            store=store, egress=egress, vault=vault, oidc=oidc, recall=recall, shelf=Shelf(store, recall)
        )
        tools = built_in_tools(store, egress, recall, resources.shelf)
        gateway = make_gateway(plan, resources, tools)
        try:
            yield gateway
        finally:
            await gateway.close()
            await oidc.aclose()
            await egress.aclose()
    finally:
        await store.close()
        if lock is not None:
            await lock.release()


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
    hub = Hub(store, limits)
    rates = Rates(limits)
    addresses = Addresses(list(plan.trusted_proxies))
    origins = Origins(plan.hosts, public_url=plan.public_url, behind_tls=plan.behind_tls)
    endpoints = ModelEndpoints(store, vault)
    opener = partial(open_secrets, store, vault)
    grants = Grants(store, egress, partial(need_vault, vault))
    entered = TeamCredentials(opener)
    credentials = ServerCredentials(entered, grants)
    mcp = McpServers(store, credentials, egress, partial(keep_tool_file, store, limits), plan.mcp)
    rack = ToolRack(tools, config, opener, egress, mcp)
    backend = ToolBackend(store, rack, counters, limits.tick_s)
    pool = WorkerPool(store, hub, limits, backend, offer_tools(tools), counters, config.max_event_bytes)
    recall = resources.recall
    dispatcher = Dispatcher(store, hub, pool, endpoints, limits, counters, config.prices, recall)
    extraction = Extraction(store, pool, endpoints, recall, limits, config.prices)
    embedder = None if plan.embeddings is None else Embedder(pool, endpoints, plan.embeddings)
    recall.embedder = embedder
    embedding = Embedding(store, embedder, limits)
    extractor = Extractor(
        ExtractLimits(
            seconds=limits.document_seconds,
            memory_bytes=limits.document_memory_bytes,
            unpacked_bytes=limits.document_unpacked_bytes,
        )
    )
    ingestion = IngestionJobs(store, extractor, egress, limits)
    kinds = {
        **Sweeps(store, hub, dispatcher, limits).kinds,
        **extraction.kinds,
        **embedding.kinds,
        **ingestion.kinds,
    }
    jobs = JobRunner(store, kinds, limits)
    pool.on_settled = jobs.ring
    return Gateway(
        store=store,
        limits=limits,
        hub=hub,
        pool=pool,
        dispatcher=dispatcher,
        jobs=jobs,
        memories=recall,
        shelf=resources.shelf,
        extractor=extractor,
        extraction=extraction,
        endpoints=endpoints,
        rack=rack,
        mcp=mcp,
        grants=grants,
        connecting=Connecting(store, egress, entered, grants, partial(need_vault, vault)),
        tool_calls=ToolCalls(store, rack, counters, limits.tick_s),
        counters=counters,
        forks=Forks(store, limits),
        intake=Intake(store, hub, pool, dispatcher, rates=rates, egress=egress),
        auth=Authenticator(store, rates=rates, addresses=addresses, origins=origins),
        rates=rates,
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
