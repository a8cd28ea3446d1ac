"""Teams: the caller's, new ones, switching between them, and who is a member."""

from fastapi.responses import Response

from agio.agents.demo import demo_agent
from agio.core.identity.principal import DEFAULT_TENANT
from agio.errors import UserError
from agio.gateway.auth.authenticator import SignInLink
from agio.gateway.auth.revocation import revoke_credential, revoke_user
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.account import teams_of
from agio.gateway.routes.identity_bodies import MemberChange, SwitchBody, TenantBody, TenantChange
from agio.gateway.routes.identity_views import (
    Members,
    NewSignInLink,
    Teams,
    member_view,
    team_view,
    tenant_view,
)


async def list_tenants(call: Call) -> Response:
    """List the caller's teams."""
    return answer(Teams([team_view(team) for team in await teams_of(call)]))


async def create_tenant(call: Call, body: TenantBody) -> Response:
    """Make a team, owned by its maker. Owners of the operator's own team may."""
    store, who = call.gateway.store, call.who
    if who.tenant != DEFAULT_TENANT:
        raise UserError("forbidden", "Only owners of the team `default`, the operator's, make teams.")
    name, _ = await store.get_user(who.tenant, who.user)
    team = await store.create_tenant(body.name, who.account, name)
    await store.create_agent(team.tenant, demo_agent())
    return answer(team_view(team), 201)


async def switch_tenant(call: Call, body: SwitchBody) -> Response:
    """Go on in another of the caller's teams: the browser's session there is a new one."""
    if call.who.authenticated_at is None:
        raise UserError("forbidden", "An API key belongs to one team. Make one in the other team.")
    cookie, team = await call.gateway.auth.switch(call.scope["headers"], body.tenant)
    revoke_credential(call.gateway, call.who.credential)
    response = answer(team_view(team))
    response.headers["set-cookie"] = cookie
    return response


async def get_tenant(call: Call) -> Response:
    """Show the caller's team."""
    return answer(tenant_view(await call.gateway.store.get_tenant(call.who.tenant)))


async def change_tenant(call: Call, body: TenantChange) -> Response:
    """Change the team: its name, how long its sessions are kept, who may describe agents at /api/sdk."""
    store, tenant = call.gateway.store, call.who.tenant
    if body.name is not None:
        await store.rename_tenant(tenant, body.name)
    if "retention_days" in body.model_fields_set:
        await store.set_retention(tenant, body.retention_days)
    if body.sdk_sessions is not None:
        await store.set_sdk_sessions(tenant, body.sdk_sessions)
    return answer(tenant_view(await store.get_tenant(tenant)))


async def list_members(call: Call) -> Response:
    """List the team's members."""
    members = await call.gateway.store.list_members(call.who.tenant)
    return answer(Members([member_view(member) for member in members]))


async def change_member(call: Call, user: Id, body: MemberChange) -> Response:
    """Change what a member may do. Only owners make and change owners; the last one stays."""
    by_owner = "own" in call.who.permissions
    member = await call.gateway.store.set_role(
        call.who.tenant, user, body.role, by_owner=by_owner, by=call.who.user
    )
    revoke_user(call.gateway, call.who.tenant, user)
    return answer(member_view(member))


async def create_sign_in_link(call: Call, user: Id) -> Response:
    """Make a link that signs a member in once, within a day. Not for owners, nor for who is in other teams too."""
    who = call.who
    link = await SignInLink(who.tenant, user).keep(call.gateway.store, made_by=who.user)
    base = call.gateway.auth.origins.base_url(call.scope["headers"])
    return answer(NewSignInLink(url=link.url(base), expires_at=link.expires_at), 201)


async def remove_member(call: Call, user: Id) -> Response:
    """Remove a member: their keys and sessions end. Only owners remove owners; the last one stays."""
    by_owner = "own" in call.who.permissions
    await call.gateway.store.remove_member(call.who.tenant, user, by_owner=by_owner, by=call.who.user)
    revoke_user(call.gateway, call.who.tenant, user)
    return Response(status_code=204)
