"""What the routes about people and teams answer with."""

from msgspec import Struct

from agio.core.identity.account import Account
from agio.core.identity.principal import Permission, Role
from agio.core.identity.team import Invitation, Member, Membership, SdkSessions, TenantRecord


class AccountView(Struct, frozen=True, kw_only=True):
    """A person. One without a password signs in elsewhere."""

    id: str
    email: str
    name: str
    has_password: bool


class TeamView(Struct, frozen=True, kw_only=True):
    """A team somebody is in, and what they are there."""

    tenant: str
    name: str
    user: str
    role: Role


class Teams(Struct, frozen=True):
    """The caller's teams, by name."""

    items: list[TeamView]


class Me(Struct, frozen=True, kw_only=True):
    """Who the credential stands for, and what it may do."""

    tenant: str
    user: str
    name: str
    role: Role
    permissions: list[Permission]
    account: AccountView | None
    """None: a user who signs in with a link, or a program."""
    authenticated_at: int | None
    """When the person last proved who they are; None for an API key."""
    tenants: list[TeamView]
    """The teams the caller can switch to, this one among them."""
    currency: str
    """What costs are told in, by three letters."""


class TenantView(Struct, frozen=True, kw_only=True):
    """The caller's team. Sessions that nobody changes for `retention_days` are deleted; null: none are."""

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
    """A link that signs a member in once: the only time it is shown."""

    url: str
    expires_at: int


class InvitationView(Struct, frozen=True, kw_only=True):
    """An invitation. One that is closed was accepted, by the user it says, or taken back."""

    id: str
    email: str | None
    role: Role
    invited_by: str
    created_at: int
    expires_at: int
    closed_at: int | None
    accepted_by: str | None


class Invitations(Struct, frozen=True):
    """The team's invitations, newest first, closed ones too."""

    items: list[InvitationView]


class NewInvitation(InvitationView, frozen=True, kw_only=True):
    """An invitation that was just made: the only time its token is shown."""

    token: str
    path: str
    """The page to send somebody to: put the server's address before it."""


class InvitationOffer(Struct, frozen=True, kw_only=True):
    """What an invitation invites to, for whoever has its token."""

    team: str
    role: Role
    invited_by: str
    email: str | None
    """The address it is for; None: for whoever has the link."""
    expires_at: int
    signed_in_as: str | None
    """The address of the account that is signed in where this is asked; None: nobody is, or without an account."""


class SignInProvider(Struct, frozen=True):
    """Somewhere else where people can sign in: send the browser to the path."""

    id: str
    name: str
    url: str


class SignInMethods(Struct, frozen=True):
    """How people sign in. Nobody has a password before the first account is made, with the link the server printed."""

    password: bool
    providers: list[SignInProvider]


def account_view(account: Account) -> AccountView:
    """Show an account."""
    return AccountView(
        id=account.id,
        email=account.email,
        name=account.name,
        has_password=account.password_hash is not None,
    )


def team_view(team: Membership) -> TeamView:
    """Show a team."""
    return TeamView(tenant=team.tenant, name=team.name, user=team.user, role=team.role)


def tenant_view(tenant: TenantRecord) -> TenantView:
    """Show a team's settings."""
    return TenantView(
        id=tenant.id,
        name=tenant.name,
        retention_days=tenant.retention_days,
        sdk_sessions=tenant.sdk_sessions,
    )


def member_view(member: Member) -> MemberView:
    """Show a member."""
    return MemberView(
        user=member.user,
        name=member.name,
        role=member.role,
        email=member.email,
        created_at=member.created_at,
    )


def invitation_view(invitation: Invitation) -> InvitationView:
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
