"""The server itself: alive, ready, what it is, its metrics and its description."""

import platform
from functools import cache
from importlib.metadata import version

from fastapi.responses import Response

from agio.errors import StoreError
from agio.gateway.http.address import is_loopback
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.views import About, Health, Ready

_FORWARDED = (b"forwarded", b"x-forwarded-for")


async def health(call: Call) -> Response:
    """Say that the server is alive."""
    return answer(Health())


async def ready(call: Call) -> Response:
    """Say whether messages can be taken and run: the store answers and a worker is there."""
    missing: dict[str, object] = {}
    try:
        await call.gateway.store.check()
    except StoreError as error:
        missing["store"] = error.code
    workers = len(call.gateway.pool.connected)
    if not workers:
        missing["worker"] = "no worker is connected"
    if missing:
        raise StoreError("not_ready", f"Not ready: {', '.join(missing)}.", {"missing": missing})
    return answer(Ready("ready", workers))


async def about(call: Call) -> Response:
    """Say what this server is: its version, where it keeps things, who works for it."""
    gateway, tenant = call.gateway, call.who.tenant
    return answer(
        About(
            version=_version(),
            store=gateway.dialect,
            home=gateway.home,
            workers=sum(worker.may_serve(tenant) for worker in gateway.pool.connected),
            started_at=gateway.started_at,
            python=platform.python_version(),
            running_per_key=gateway.limits.running_per_key,
            running_per_tenant=gateway.limits.running_per_tenant,
        )
    )


async def metrics(call: Call) -> Response:
    """Show the server's figures in the format of Prometheus, to this machine or with an API key."""
    if "authorization" in call.headers or not _is_near(call):
        await call.gateway.auth.admit(call.scope)
    from agio.gateway.metrics import render  # few servers are scraped, and it takes a while to load

    body, media_type = await render(call.gateway)
    return Response(body, media_type=media_type)


async def openapi(call: Call) -> Response:
    """Describe every route."""
    return Response(call.app.state.openapi(), media_type="application/json")


@cache
def _version() -> str:
    return version("agio")


def _is_near(call: Call) -> bool:
    """Whether the request comes from this machine, and not through a proxy on it.

    Behind TLS everything comes through one, and nothing is near.
    """
    if call.client is None or call.gateway.auth.origins.secure:
        return False
    address = call.gateway.addresses.client_of(call.scope)
    forwarded = any(name in _FORWARDED for name, _ in call.scope["headers"])
    told = address != call.client.host  # by a proxy that is trusted
    return is_loopback(address) and (told or not forwarded)
