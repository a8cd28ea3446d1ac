"""Teams: the caller's, new ones, switching between them, and who is a member."""

from typing import Annotated, Self

from fastapi.responses import Response
from msgspec import Struct
from pydantic import ConfigDict, Field, model_validator

from agio.agents.demo import demo_agent
from agio.core.identity.principal import DEFAULT_TENANT, Role
from agio.core.identity.team import Member, Membership, SdkSessions, TenantRecord
from agio.errors import UserError
from agio.gateway.auth.authenticator import SignInLink
from agio.gateway.auth.revocation import revoke_credential, revoke_user
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import AS_WHOLE, Body, Identifier, Name

MAX_RETENTION_DAYS = 36_500


class TenantBody(Body):
    """A new team."""

    name: Name


class TenantChange(Body):
    """The fields of a team to change."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "allOf": [{"properties": {"name": {"type": "string"}, "sdk_sessions": {"type": "string"}}}],
        }
    )

    name: Name | None = None
    retention_days: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS), AS_WHOLE] | None = None
    """After how many days without a change a session is deleted; null: never."""
    sdk_sessions: SdkSessions | None = None
    """The permission that describing an agent at /api/sdk needs."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        given = self.model_fields_set
        if not given or any(
            name in given and getattr(self, name) is None for name in ("name", "sdk_sessions")
        ):
            raise ValueError("send a name, retention_days or sdk_sessions")
        return self


class SwitchBody(Body):
    """The team to switch to."""

    tenant: Identifier


class MemberChange(Body):
    """A member's new role."""

    role: Role


class TeamView(Struct, frozen=True, kw_only=True):
    """A team and the user's role in it."""

    tenant: str
    name: str
    user: str
    role: Role


class Teams(Struct, frozen=True):
    """The caller's teams, by name."""

    items: list[TeamView]


class TenantView(Struct, frozen=True, kw_only=True):
    """The caller's team. Sessions unchanged for `retention_days` are deleted; null: sessions are kept."""

    id: str
    name: str
    retention_days: int | None
    sdk_sessions: SdkSessions
    """The permission that describing an agent at /api/sdk needs."""


class MemberView(Struct, frozen=True, kw_only=True):
    """A member of the team; one without an account has no e-mail address."""

    user: str
    name: str
    role: Role
    email: str | None
    created_at: int


class Members(Struct, frozen=True):
    """The team's members, by name."""

    items: list[MemberView]


class NewSignInLink(Struct, frozen=True, kw_only=True):
    """A one-time sign-in link for a member. It is returned only here."""

    url: str
    expires_at: int


async def list_tenants(call: Call) -> Response:
    """List the caller's teams."""
    return answer(Teams([team_view(team) for team in await teams_of(call)]))


async def create_tenant(call: Call, body: TenantBody) -> Response:
    """Create a team owned by the caller. Only owners of the operator's team may."""
    store, who = call.gateway.store, call.who
    if who.tenant != DEFAULT_TENANT:
        raise UserError("forbidden", "Only owners of the operator's team `default` can create teams.")
    name, _ = await store.get_user(who.tenant, who.user)
    team = await store.create_tenant(body.name, who.account, name)
    await store.create_agent(team.tenant, demo_agent())
    return answer(team_view(team), 201)


async def switch_tenant(call: Call, body: SwitchBody) -> Response:
    """Switch to another of the caller's teams, with a new browser session."""
    if call.who.authenticated_at is None:
        raise UserError("forbidden", "An API key belongs to one team. Create a key in the other team.")
    cookie, team = await call.gateway.auth.switch(call.scope["headers"], body.tenant)
    await revoke_credential(call.gateway, call.who.credential)
    response = answer(team_view(team))
    response.headers["set-cookie"] = cookie
    return response


async def get_tenant(call: Call) -> Response:
    """Get the caller's team."""
    return answer(_tenant_view(await call.gateway.store.get_tenant(call.who.tenant)))


async def change_tenant(call: Call, body: TenantChange) -> Response:
    """Change the team: its name, its retention, who may define agents at /api/sdk."""
    store, tenant = call.gateway.store, call.who.tenant
    if body.name is not None:
        await store.rename_tenant(tenant, body.name)
    if "retention_days" in body.model_fields_set:
        await store.set_retention(tenant, body.retention_days)
        call.gateway.jobs.ring()
    if body.sdk_sessions is not None:
        await store.set_sdk_sessions(tenant, body.sdk_sessions)
    return answer(_tenant_view(await store.get_tenant(tenant)))


async def list_members(call: Call) -> Response:
    """List the team's members."""
    members = await call.gateway.store.list_members(call.who.tenant)
    return answer(Members([_member_view(member) for member in members]))


async def change_member(call: Call, user: Id, body: MemberChange) -> Response:
    """Change a member's role. Only owners appoint and change owners; the last owner cannot be changed."""
    by_owner = "own" in call.who.permissions
    member = await call.gateway.store.set_role(
        call.who.tenant, user, body.role, by_owner=by_owner, by=call.who.user
    )
    await revoke_user(call.gateway, call.who.tenant, user)
    return answer(_member_view(member))


async def create_sign_in_link(call: Call, user: Id) -> Response:
    """Create a one-time sign-in link, valid for a day. Not for owners or members of several teams."""
    who = call.who
    link = await SignInLink(who.tenant, user).keep(call.gateway.store, made_by=who.user)
    base = call.gateway.auth.origins.base_url(call.scope["headers"])
    return answer(NewSignInLink(url=link.url(base), expires_at=link.expires_at), 201)


async def remove_member(call: Call, user: Id) -> Response:
    """Remove a member, their keys and browser sessions. Only owners remove owners; the last owner stays."""
    by_owner = "own" in call.who.permissions
    await call.gateway.store.remove_member(call.who.tenant, user, by_owner=by_owner, by=call.who.user)
    await revoke_user(call.gateway, call.who.tenant, user)
    return Response(status_code=204)


async def teams_of(call: Call) -> list[Membership]:
    """Return the caller's teams: all of a person's in a browser, otherwise the credential's own."""
    store, who = call.gateway.store, call.who
    if who.account is not None and who.authenticated_at is not None:
        return await store.memberships(who.account)
    tenant = await store.get_tenant(who.tenant)
    return [Membership(tenant.id, tenant.name, who.user, who.role)]


def team_view(team: Membership) -> TeamView:
    """Show a team."""
    return TeamView(tenant=team.tenant, name=team.name, user=team.user, role=team.role)


def _tenant_view(tenant: TenantRecord) -> TenantView:
    """Show a team's settings."""
    return TenantView(
        id=tenant.id,
        name=tenant.name,
        retention_days=tenant.retention_days,
        sdk_sessions=tenant.sdk_sessions,
    )


def _member_view(member: Member) -> MemberView:
    """Show a member."""
    return MemberView(
        user=member.user,
        name=member.name,
        role=member.role,
        email=member.email,
        created_at=member.created_at,
    )
