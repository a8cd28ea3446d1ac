"""Model providers: the team's own, with their keys, and those the operator has. A key is written and never read."""

from fastapi.responses import Response

from agio.bus.signals import Changed
from agio.core.provider import ModelEndpoint, ProviderKind, Sealed
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id, IfMatch, expected_version
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.providers.address import read_base_url
from agio.gateway.routes.providers.bodies import ConnectionBody, ProviderBody, ProviderTestBody
from agio.gateway.routes.providers.views import Providers, operators_view, provider_view
from agio.gateway.tools.endpoints import DEMO, key_place, need_vault
from agio.gateway.workers.provider_test import try_endpoint
from agio.protocol.ids import new_id


async def list_providers(call: Call) -> Response:
    """List the providers: the team's own, then the operator's that the team has not replaced."""
    own = await call.gateway.store.list_providers(call.who.tenant)
    named = {provider.name for provider in own}
    others = [name for name in _operators(call.gateway, call.who.tenant) if name not in named]
    return answer(Providers([*map(provider_view, own), *map(operators_view, others)]))


async def create_provider(call: Call, body: ProviderBody) -> Response:
    """Add a provider. Its key is encrypted and never returned."""
    gateway, tenant = call.gateway, call.who.tenant
    await _check(gateway, body.kind, body.base_url, has_key=body.api_key is not None)
    provider_id = new_id("prv")
    key = _sealed(gateway, tenant, provider_id, body.api_key)
    made = await gateway.store.create_provider(tenant, provider_id, body.fields(), key)
    _forget(gateway, tenant)
    return answer(provider_view(made), 201, version=made.updated_at)


async def get_provider(call: Call, provider_id: Id) -> Response:
    """Get a provider, without its key."""
    provider = await call.gateway.store.get_provider(call.who.tenant, provider_id)
    return answer(provider_view(provider), version=provider.updated_at)


async def replace_provider(
    call: Call, provider_id: Id, body: ProviderBody, if_match: IfMatch = None
) -> Response:
    """Replace a provider. An omitted key is kept, unless the address changes; then it must be entered again."""
    gateway, tenant = call.gateway, call.who.tenant
    known = await gateway.store.get_provider(tenant, provider_id)
    has_key = known.has_key if body.keeps_key else body.api_key is not None
    await _check(gateway, body.kind, body.base_url, has_key=has_key)
    key = "keep" if body.keeps_key else _sealed(gateway, tenant, provider_id, body.api_key)
    changed = await gateway.store.update_provider(
        tenant, provider_id, body.fields(), key, expected_version(call, if_match)
    )
    _forget(gateway, tenant)
    return answer(provider_view(changed), version=changed.updated_at)


async def delete_provider(call: Call, provider_id: Id) -> Response:
    """Delete a provider and its key. Runs of agents that use it fail until the agents get another."""
    await call.gateway.store.delete_provider(call.who.tenant, provider_id)
    _forget(call.gateway, call.who.tenant)
    return Response(status_code=204)


async def try_provider(call: Call, provider_id: Id, body: ProviderTestBody | None = None) -> Response:
    """Test a provider: a worker requests one word from the model, and the service's list of models.

    What they make of it is answered with 200.
    """
    gateway, tenant = call.gateway, call.who.tenant
    provider = await gateway.store.get_provider(tenant, provider_id)
    model = (body and body.model) or next(iter(provider.models), None)
    _take(call)
    endpoint = await gateway.endpoints.read(provider)
    return answer(await try_endpoint(gateway.pool, tenant, endpoint, model))


async def try_connection(call: Call, body: ConnectionBody) -> Response:
    """Test a provider before it is saved."""
    gateway = call.gateway
    await _check(gateway, body.kind, body.base_url, has_key=body.api_key is not None)
    _take(call)
    endpoint = ModelEndpoint(body.kind, body.base_url, body.api_key)
    return answer(await try_endpoint(gateway.pool, call.who.tenant, endpoint, body.model))


async def check_provider(gateway: Gateway, tenant: str, name: str) -> None:
    """Refuse a name that agents of a tenant may not write in `model_provider`. Raises UserError `unknown_provider`."""
    if name in gateway.providers:
        return
    own = {provider.name for provider in await gateway.store.list_providers(tenant)}
    if name not in own:
        known = sorted(own | gateway.providers)
        raise UserError(
            "unknown_provider",
            f"There is no model provider {name!r}. Known: {', '.join(known)}.",
            {"known": known},
        )


def _take(call: Call) -> None:
    """Count a call out as one of a tool. Raises LimitExceeded `rate_limited`."""
    call.gateway.rates.take("tool", call.who.credential, f"{call.who.tenant}/{call.who.user}")


async def _check(gateway: Gateway, kind: ProviderKind, base_url: str | None, *, has_key: bool) -> None:
    """Raises UserError `missing_provider_key`, `invalid_base_url`, `egress_refused`."""
    if base_url is None:
        if not has_key:
            raise UserError(
                "missing_provider_key",
                f"{kind} needs an API key, or the base URL of a service that needs none.",
            )
        return
    target = read_base_url(base_url)
    if target.address is not None or target.host == "localhost":
        await gateway.egress.addresses(target.host, target.port)


def _forget(gateway: Gateway, tenant: str) -> None:
    """Have every gateway ask the store anew."""
    gateway.endpoints.forget(tenant)
    gateway.peers.bus.send(Changed(tenant))


def _sealed(gateway: Gateway, tenant: str, provider_id: str, key: str | None) -> Sealed | None:
    if key is None:
        return None
    return need_vault(gateway.vault).seal(key_place(tenant, provider_id), key)


def _operators(gateway: Gateway, tenant: str) -> list[str]:
    """Return the providers of the workers that serve a tenant, and the one that needs none."""
    return sorted((gateway.pool.providers_for(tenant) | {DEMO}) & gateway.providers)
