"""The server: health, readiness, version, metrics, OpenAPI."""

import platform
from functools import cache
from importlib.metadata import version
from typing import Literal

from fastapi.responses import Response
from msgspec import Struct

from agio.errors import StoreError
from agio.gateway.http.address import is_loopback
from agio.gateway.http.route import Call, answer

_FORWARDED = (b"forwarded", b"x-forwarded-for")


class Health(Struct, frozen=True):
    """The server is alive."""

    status: Literal["ok"] = "ok"


class Ready(Struct, frozen=True):
    """The server can take messages and run them."""

    status: Literal["ready"]
    workers: int


class About(Struct, frozen=True, kw_only=True):
    """The server's version, store, workers and limits."""

    version: str
    store: Literal["sqlite", "postgres"]
    home: Literal["embedded", "distributed"]
    """Whether the server works on runs in its own process, or leaves that to workers."""
    workers: int
    """How many are connected that work for this team."""
    started_at: int
    python: str
    running_per_key: int
    """How many sessions an API key may have runs in at once; one more message is refused."""
    running_per_tenant: int
    """How many runs of the team run at once; more are queued."""


async def health(call: Call) -> Response:
    """Report that the server is alive."""
    return answer(Health())


async def ready(call: Call) -> Response:
    """Report whether the server can accept and run messages: the store responds and a worker is connected."""
    missing: dict[str, object] = {}
    try:
        await call.gateway.store.check()
    except StoreError as error:
        missing["store"] = error.code
    workers = call.gateway.pool.count()
    if not workers:
        missing["worker"] = "no worker is connected"
    if missing:
        raise StoreError("not_ready", f"Not ready: {', '.join(missing)}.", {"missing": missing})
    return answer(Ready("ready", workers))


async def about(call: Call) -> Response:
    """Get the server's version, store, workers and limits."""
    gateway, tenant = call.gateway, call.who.tenant
    return answer(
        About(
            version=_version(),
            store=gateway.dialect,
            home=gateway.home,
            workers=gateway.pool.count(tenant),
            started_at=gateway.started_at,
            python=platform.python_version(),
            running_per_key=gateway.limits.running_per_key,
            running_per_tenant=gateway.limits.running_per_tenant,
        )
    )


async def metrics(call: Call) -> Response:
    """Get metrics in Prometheus format, from this machine or with an API key."""
    if "authorization" in call.headers or not _is_near(call):
        await call.gateway.auth.admit(call.scope)
    from agio.gateway.metrics import render  # slow to import, and few servers are scraped

    body, media_type = await render(call.gateway)
    return Response(body, media_type=media_type)


async def openapi(call: Call) -> Response:
    """Get this OpenAPI document."""
    return Response(call.app.state.openapi(), media_type="application/json")


@cache
def _version() -> str:
    return version("agio")


def _is_near(call: Call) -> bool:
    """Whether the request comes from this machine, and not through a proxy on it.

    Behind TLS every request comes through a proxy, so none is local.
    """
    if call.client is None or call.gateway.auth.origins.secure:
        return False
    address = call.gateway.addresses.client_of(call.scope)
    forwarded = any(name in _FORWARDED for name, _ in call.scope["headers"])
    by_trusted_proxy = address != call.client.host
    return is_loopback(address) and (by_trusted_proxy or not forwarded)
