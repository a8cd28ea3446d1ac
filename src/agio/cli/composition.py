"""Puts a gateway together from its parts: the one place that knows them all."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from agio.agents import demo
from agio.cli.first_start import make_first
from agio.cli.stores import open_database
from agio.core.config import ServerLimits
from agio.core.store import Store
from agio.core.tool import AnyTool
from agio.db.postgres_lock import lock_database
from agio.drivers.registry import PROVIDERS
from agio.gateway.auth import Authenticator, SignInLink
from agio.gateway.gateway import Gateway
from agio.gateway.hub import Hub
from agio.gateway.link import LinkService
from agio.gateway.road import Road
from agio.settings import ServerSettings, Settings
from agio.tools.echo_context import echo_context

BUILT_IN: dict[str, AnyTool] = {tool.name: tool for tool in (*demo.TOOLS, echo_context)}
"""The tools every agent may be given."""
STORE_NAME = "agio.db"


class Plan(Struct, frozen=True, kw_only=True):
    """What a gateway is to be made of."""

    database: str | Path
    """The URL of a Postgres database, or the file of an SQLite one."""
    limits: ServerLimits
    worker_key: str | None = None
    bootstrap_key: str | None = None
    hosts: Collection[str] = ()
    """The names it may be called by, beside loopback's and addresses."""


def database_of(settings: Settings, server: ServerSettings, data: Path | None) -> str | Path:
    """Say where the store is: in the named folder, else at AGIO_DATABASE_URL, else in the usual folder."""
    if data is None and server.database_url is not None:
        return server.database_url
    return (data or settings.data_dir).expanduser() / STORE_NAME


@asynccontextmanager
async def opened_gateway(plan: Plan, sign_in: SignInLink) -> AsyncGenerator[Gateway]:
    """Open the store and make the parts around it; closed in order at the end. Raises StoreError."""
    store: Store = await open_database(plan.database)
    lock = None
    try:
        if isinstance(plan.database, str):
            lock = await lock_database(plan.database)
        await make_first(store, plan.bootstrap_key)
        hub = Hub(store, plan.limits)
        link = LinkService(store, hub, plan.limits, BUILT_IN)
        gateway = Gateway(
            store=store,
            limits=plan.limits,
            hub=hub,
            link=link,
            road=Road(store, hub, link),
            auth=Authenticator(store, sign_in=sign_in, hosts=plan.hosts),
            tools=BUILT_IN,
            providers=frozenset(PROVIDERS),
            worker_key=plan.worker_key,
        )
        try:
            yield gateway
        finally:
            hub.close()
            await link.close()
    finally:
        await store.close()
        if lock is not None:
            await lock.release()
