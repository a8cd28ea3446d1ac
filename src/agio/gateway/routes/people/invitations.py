"""Invitations to a team: created and revoked by members with `manage`, accepted by the invited person."""

import secrets
import time
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from msgspec import Struct
from pydantic import Field

from agio.core.identity.email import checked_email
from agio.core.identity.principal import Role
from agio.core.identity.team import Invitation, Membership
from agio.errors import UserError
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.auth.revocation import revoke_credential
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import AS_WHOLE, Body, Name
from agio.gateway.routes.people.account import new_account
from agio.gateway.routes.people.sign_in import Email, Password, begin_session
from agio.gateway.routes.people.team import team_view
from agio.protocol.ids import new_id

MAX_INVITATION_DAYS = 30
INVITATION_DAYS = 7
_DAY_MS = 24 * 3600 * 1000


class InvitationBody(Body):
    """An invitation, bound to an e-mail address or, without one, open to anyone with the link."""

    email: Email | None = None
    role: Role = "member"
    expires_in_days: Annotated[int, Field(ge=1, le=MAX_INVITATION_DAYS), AS_WHOLE] = INVITATION_DAYS


class AcceptBody(Body):
    """An invitation's token; a caller who is not signed in also gives the fields of a new account."""

    token: Annotated[str, Field(min_length=1, max_length=200)]
    name: Name | None = None
    email: Email | None = None
    password: Password | None = None


class InvitationView(Struct, frozen=True, kw_only=True):
    """An invitation. A closed one was accepted, by the user it names, or revoked."""

    id: str
    email: str | None
    role: Role
    invited_by: str
    created_at: int
    expires_at: int
    closed_at: int | None
    accepted_by: str | None


class Invitations(Struct, frozen=True):
    """The team's invitations, newest first, including closed ones."""

    items: list[InvitationView]


class NewInvitation(InvitationView, frozen=True, kw_only=True):
    """A new invitation. Its token is returned only here."""

    token: str
    path: str
    """The path of the invitation's page on this server."""


class InvitationOffer(Struct, frozen=True, kw_only=True):
    """The team and role an invitation offers, for the holder of its token."""

    team: str
    role: Role
    invited_by: str
    email: str | None
    """The address it is for; None: anyone with the link."""
    expires_at: int
    signed_in_as: str | None
    """The e-mail address of the caller's account; None if not signed in or without an account."""


async def list_invitations(call: Call) -> Response:
    """List the team's invitations."""
    listed = await call.gateway.store.list_invitations(call.who.tenant)
    return answer(Invitations([_view(invitation) for invitation in listed]))


async def create_invitation(call: Call, body: InvitationBody) -> Response:
    """Create an invitation to the team. The token is returned only in this response."""
    if body.role == "owner" and "own" not in call.who.permissions:
        raise UserError("forbidden", "Only owners can invite owners.", {"needs": "own"})
    token = secrets.token_urlsafe(32)
    now = time.time_ns() // 1_000_000
    invitation = Invitation(
        id=new_id("inv"),
        tenant=call.who.tenant,
        email=None if body.email is None else checked_email(body.email),
        role=body.role,
        invited_by=call.who.user,
        created_at=now,
        expires_at=now + body.expires_in_days * _DAY_MS,
    )
    await call.gateway.store.add_invitation(invitation, hash_secret(token))
    shown = _view(invitation)
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return answer(NewInvitation(**fields, token=token, path=f"/invitation#{token}"), 201)


async def revoke_invitation(call: Call, invitation_id: Id) -> Response:
    """Revoke an invitation."""
    await call.gateway.store.revoke_invitation(call.who.tenant, invitation_id)
    return Response(status_code=204)


async def open_invitation(call: Call, token: Annotated[str, Query(min_length=1, max_length=200)]) -> Response:
    """Get the team and role an invitation offers."""
    invitation = await _open(call, token)
    store = call.gateway.store
    team = await store.get_tenant(invitation.tenant)
    inviter, _ = await store.get_user(invitation.tenant, invitation.invited_by)
    who = await call.gateway.auth.browser(call.scope["headers"])
    account = None if who is None or who.account is None else await store.get_account(who.account)
    return answer(
        InvitationOffer(
            team=team.name,
            role=invitation.role,
            invited_by=inviter,
            email=invitation.email,
            expires_at=invitation.expires_at,
            signed_in_as=None if account is None else account.email,
        )
    )


async def accept_invitation(call: Call, body: AcceptBody) -> Response:
    """Accept an invitation, with the signed-in account or a new one. The browser is signed in to the team."""
    headers = call.scope["headers"]
    call.gateway.auth.check_origin("POST", headers)
    invitation = await _open(call, body.token)
    who = await call.gateway.auth.browser(headers)
    if who is not None and who.account is not None and body.password is None:
        account = await call.gateway.store.get_account(who.account)
        joined = await call.gateway.store.accept_invitation(hash_secret(body.token), account)
        cookie, _ = await call.gateway.auth.switch(headers, joined.tenant)
        await revoke_credential(call.gateway, who.credential)
    else:
        joined = await _join(call, invitation, body)
        cookie = await begin_session(call, joined.tenant, joined.user)
    response = answer(team_view(joined))
    response.headers["set-cookie"] = cookie
    return response


async def _join(call: Call, invitation: Invitation, body: AcceptBody) -> Membership:
    """Create an account for a person who is not signed in, and join the team."""
    email = body.email or invitation.email
    if body.name is None or body.password is None or email is None:
        raise UserError(
            "unauthenticated",
            "Sign in first, or send a name, an email and a password to create an account.",
        )
    if invitation.email not in (None, checked_email(email)):
        raise UserError("invitation_not_yours", "This invitation is for another email address.")
    account = await new_account(call, email, body.name, body.password)
    return await call.gateway.store.accept_invitation(hash_secret(body.token), account)


async def _open(call: Call, token: str) -> Invitation:
    """Return the invitation of a token. Guesses are rate limited. Raises UserError `invitation_not_found`."""
    gateway = call.gateway
    address = gateway.addresses.client_of(call.scope)
    await gateway.attempts.check("sign_in", address)
    invitation = await gateway.store.find_invitation(hash_secret(token))
    if invitation is None:
        await gateway.attempts.take("sign_in", address)
        raise UserError("invitation_not_found", "This invitation was used, revoked, or has expired.")
    return invitation


def _view(invitation: Invitation) -> InvitationView:
    """Show an invitation."""
    return InvitationView(
        id=invitation.id,
        email=invitation.email,
        role=invitation.role,
        invited_by=invitation.invited_by,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
        closed_at=invitation.closed_at,
        accepted_by=invitation.accepted_by,
    )
