"""Model providers: the team's own, with their keys, and those the operator has. A key is written and never read."""

from typing import Literal

from fastapi.responses import Response
from msgspec import Struct

from agio.core.provider import ModelEndpoint, ProviderKind, ProviderRecord, Sealed
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id, IfMatch, expected_version
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.provider_address import read_base_url
from agio.gateway.routes.provider_bodies import ConnectionBody, ProviderBody, ProviderTestBody
from agio.gateway.tools.endpoints import DEMO, key_place, need_vault
from agio.gateway.workers.provider_test import try_endpoint
from agio.protocol.ids import new_id


class ProviderView(Struct, frozen=True, kw_only=True):
    """A model provider. One of the operator's has no id: it is in the environment of the workers."""

    id: str | None
    name: str
    kind: str
    """openai, openai-chat, anthropic, gemini or demo: how it is spoken to."""
    source: Literal["team", "operator"]
    base_url: str | None
    has_key: bool
    """Whether the team entered a key. The key itself is never shown."""
    models: list[str]
    created_at: int | None
    updated_at: int | None


class Providers(Struct, frozen=True):
    """The providers the team's agents may name: its own, then the operator's."""

    items: list[ProviderView]


async def list_providers(call: Call) -> Response:
    """List the providers: the team's own, and those of the operator's that it has not replaced."""
    own = await call.gateway.store.list_providers(call.who.tenant)
    named = {provider.name for provider in own}
    others = [name for name in _operators(call.gateway, call.who.tenant) if name not in named]
    return answer(Providers([*map(_view, own), *map(_operators_view, others)]))


async def create_provider(call: Call, body: ProviderBody) -> Response:
    """Add a provider. Its key is sealed, and in no answer from then on."""
    gateway, tenant = call.gateway, call.who.tenant
    await _check(gateway, body.kind, body.base_url, has_key=body.api_key is not None)
    provider_id = new_id("prv")
    key = _sealed(gateway, tenant, provider_id, body.api_key)
    made = await gateway.store.create_provider(tenant, provider_id, body.fields(), key)
    gateway.endpoints.forget(tenant)
    return answer(_view(made), 201, version=made.updated_at)


async def get_provider(call: Call, provider_id: Id) -> Response:
    """Get a provider, without its key."""
    provider = await call.gateway.store.get_provider(call.who.tenant, provider_id)
    return answer(_view(provider), version=provider.updated_at)


async def replace_provider(
    call: Call, provider_id: Id, body: ProviderBody, if_match: IfMatch = None
) -> Response:
    """Replace a provider. A key that is left out stays, unless the address changes: then it must be entered again."""
    gateway, tenant = call.gateway, call.who.tenant
    known = await gateway.store.get_provider(tenant, provider_id)
    has_key = known.has_key if body.keeps_key else body.api_key is not None
    await _check(gateway, body.kind, body.base_url, has_key=has_key)
    key = "keep" if body.keeps_key else _sealed(gateway, tenant, provider_id, body.api_key)
    changed = await gateway.store.update_provider(
        tenant, provider_id, body.fields(), key, expected_version(call, if_match)
    )
    gateway.endpoints.forget(tenant)
    return answer(_view(changed), version=changed.updated_at)


async def delete_provider(call: Call, provider_id: Id) -> Response:
    """Delete a provider and its key. Agents that name it fail until they are given another."""
    await call.gateway.store.delete_provider(call.who.tenant, provider_id)
    call.gateway.endpoints.forget(call.who.tenant)
    return Response(status_code=204)


async def try_provider(call: Call, provider_id: Id, body: ProviderTestBody | None = None) -> Response:
    """Try a provider: a worker asks the model for a word, and the service for its models.

    What they make of it is answered with 200.
    """
    gateway, tenant = call.gateway, call.who.tenant
    provider = await gateway.store.get_provider(tenant, provider_id)
    model = (body and body.model) or next(iter(provider.models), None)
    _take(call)
    endpoint = await gateway.endpoints.read(provider)
    return answer(await try_endpoint(gateway.pool, tenant, endpoint, model))


async def try_connection(call: Call, body: ConnectionBody) -> Response:
    """Try a provider before it is kept."""
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
    """Raises UserError `missing_api_key`, `invalid_base_url`, `egress_refused`."""
    if base_url is None:
        if not has_key:
            raise UserError(
                "missing_api_key", f"{kind} needs an API key, or the base URL of a service that needs none."
            )
        return
    target = read_base_url(base_url)
    if target.address is not None or target.host == "localhost":
        await gateway.egress.addresses(target.host, target.port)


def _sealed(gateway: Gateway, tenant: str, provider_id: str, key: str | None) -> Sealed | None:
    if key is None:
        return None
    return need_vault(gateway.vault).seal(key_place(tenant, provider_id), key)


def _operators(gateway: Gateway, tenant: str) -> list[str]:
    """Return the providers of the workers that serve a tenant, and the one that needs none."""
    named = {name for worker in gateway.pool.serving(tenant) for name in worker.providers}
    return sorted((named | {DEMO}) & gateway.providers)


def _view(provider: ProviderRecord) -> ProviderView:
    return ProviderView(
        id=provider.id,
        name=provider.name,
        kind=provider.kind,
        source="team",
        base_url=provider.base_url,
        has_key=provider.has_key,
        models=provider.models,
        created_at=provider.created_at,
        updated_at=provider.updated_at,
    )


def _operators_view(name: str) -> ProviderView:
    return ProviderView(
        id=None,
        name=name,
        kind=name,
        source="operator",
        base_url=None,
        has_key=False,
        models=[],
        created_at=None,
        updated_at=None,
    )
