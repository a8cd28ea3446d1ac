"""The caller: who it is, its team, its API keys, signing in and out."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import RedirectResponse, Response

from agio.core.identity import TenantRecord
from agio.gateway.auth import describe_key, hash_secret, new_api_key
from agio.gateway.pages import page_response
from agio.gateway.routes.bodies import KeyBody, TenantChange
from agio.gateway.routes.query import Id
from agio.gateway.routes.rendering import key_view
from agio.gateway.routes.route import Call, answer
from agio.gateway.routes.views import Keys, Me, NewKey, TenantView


async def me(call: Call) -> Response:
    """Say who the credential stands for."""
    name, role = await call.gateway.store.get_user(call.who.tenant, call.who.user)
    return answer(Me(tenant=call.who.tenant, user=call.who.user, name=name, role=role))


async def get_tenant(call: Call) -> Response:
    """Show the caller's team."""
    return answer(_tenant_view(await call.gateway.store.get_tenant(call.who.tenant)))


async def change_tenant(call: Call, body: TenantChange) -> Response:
    """Say how long the team's sessions are kept. Owners and admins may."""
    return answer(_tenant_view(await call.gateway.store.set_retention(call.who.tenant, body.retention_days)))


async def list_keys(call: Call) -> Response:
    """List the caller's API keys."""
    keys = await call.gateway.store.list_api_keys(call.who.tenant, call.who.user)
    return answer(Keys([key_view(key) for key in keys]))


async def create_key(call: Call, body: KeyBody) -> Response:
    """Make an API key. It is shown in this answer and never again."""
    secret = new_api_key()
    key = describe_key(secret, call.who.tenant, call.who.user, body.name)
    await call.gateway.store.add_api_key(key, hash_secret(secret))
    shown = key_view(key)
    return answer(NewKey(**{name: getattr(shown, name) for name in shown.__struct_fields__}, key=secret), 201)


async def revoke_key(call: Call, key_id: Id) -> Response:
    """Revoke an API key: it is refused from now on, by other gateways within 5 seconds."""
    await call.gateway.store.revoke_api_key(call.who.tenant, call.who.user, key_id)
    call.gateway.auth.forget(key_id)
    return Response(status_code=204)


async def sign_in(call: Call, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Sign a browser in with the link the server printed, which works once."""
    cookie = await call.gateway.auth.sign_in(token)
    if cookie is None:
        return page_response("sign-in.html", 403)
    return RedirectResponse("/", 303, {"set-cookie": cookie, "cache-control": "no-store"})


async def sign_out(call: Call) -> Response:
    """Sign the browser out: its session ends on the server."""
    call.gateway.auth.check_origin("POST", call.scope["headers"])
    cookie = await call.gateway.auth.sign_out(call.scope["headers"])
    return Response(status_code=204, headers={"set-cookie": cookie, "cache-control": "no-store"})


def _tenant_view(tenant: TenantRecord) -> TenantView:
    return TenantView(id=tenant.id, name=tenant.name, retention_days=tenant.retention_days)
