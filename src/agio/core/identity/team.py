"""Teams: tenants, their users, and who is invited to be one."""

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from agio.core.identity.account import Account
from agio.core.identity.principal import Role

SdkSessions: TypeAlias = Literal["build", "use"]
"""The permission that describing an agent for one session needs."""


class TenantRecord(Struct, frozen=True):
    """A team."""

    id: str
    name: str
    retention_days: int | None
    """How long a session is kept that nobody changes; None: for ever."""
    sdk_sessions: SdkSessions = "build"


class Membership(Struct, frozen=True):
    """A team an account is in."""

    tenant: str
    name: str
    """The tenant's."""
    user: str
    role: Role


class Member(Struct, frozen=True):
    """A user of a tenant as it is listed."""

    user: str
    name: str
    role: Role
    email: str | None
    """None: a user without an account."""
    created_at: int


class Invitation(Struct, frozen=True, kw_only=True):
    """An invitation into a team. `closed_at`: it was accepted (`accepted_by`) or revoked."""

    id: str
    tenant: str
    email: str | None
    """None: for whoever has the link."""
    role: Role
    invited_by: str
    created_at: int
    expires_at: int
    closed_at: int | None = None
    accepted_by: str | None = None


class TeamStore(Protocol):
    """Tenants and who is in them. Raises StoreError when the store fails, UserError as said."""

    async def add_tenant(self, tenant: str, name: str) -> None:
        """Add a tenant unless its id is there."""
        ...

    async def get_tenant(self, tenant: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
        ...

    async def create_tenant(self, name: str, account_id: str | None, owner_name: str) -> Membership:
        """Add a tenant with a first owner, the account's if there is one. Ids are made by the store."""
        ...

    async def rename_tenant(self, tenant: str, name: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
        ...

    async def set_retention(self, tenant: str, days: int | None) -> TenantRecord:
        """Say for how many days a tenant keeps sessions; None: for ever. Raises UserError `tenant_not_found`."""
        ...

    async def set_sdk_sessions(self, tenant: str, needs: SdkSessions) -> TenantRecord:
        """Set the permission that describing an agent for a session needs. Raises UserError `tenant_not_found`."""
        ...

    async def add_user(self, tenant: str, user: str, name: str, role: Role) -> None:
        """Add a user unless its id is there."""
        ...

    async def get_user(self, tenant: str, user: str) -> tuple[str, Role]:
        """A user's name and role. Raises UserError `user_not_found`."""
        ...

    async def memberships(self, account_id: str) -> list[Membership]:
        """The teams an account is in, by name."""
        ...

    async def switch_tenant(
        self, token_hash: bytes, tenant: str, session_id: str, new_hash: bytes
    ) -> Membership:
        """End a browser's session and begin one, with this id and hash, of its account's user of another tenant.

        It lasts as long as the one that ends. Raises UserError `tenant_not_found`.
        """
        ...

    async def list_members(self, tenant: str) -> list[Member]:
        """A tenant's users, by name."""
        ...

    async def set_role(
        self, tenant: str, user: str, role: Role, *, by_owner: bool = True, by: str | None = None
    ) -> Member:
        """Change a user's role; whoever may do less has no invitations open any more. `by` is the user who does it.

        Raises UserError `user_not_found`, `last_owner`, `forbidden` (owners are made and changed by owners).
        """
        ...

    async def remove_member(
        self, tenant: str, user: str, *, by_owner: bool = True, by: str | None = None
    ) -> None:
        """Let a user be no member any more: their keys, sessions and invitations end. `by` is the user who does it.

        Raises UserError `user_not_found`, `last_owner`, `forbidden` (owners are removed by owners).
        """
        ...

    async def add_invitation(self, invitation: Invitation, token_hash: bytes) -> None:
        """Keep an invitation. Raises UserError `forbidden` if whoever invites may not any more."""
        ...

    async def list_invitations(self, tenant: str) -> list[Invitation]:
        """A tenant's invitations, newest first, closed ones too."""
        ...

    async def find_invitation(self, token_hash: bytes) -> Invitation | None:
        """The open invitation of a link's token."""
        ...

    async def revoke_invitation(self, tenant: str, invitation_id: str) -> None:
        """Raises UserError `invitation_not_found`."""
        ...

    async def accept_invitation(self, token_hash: bytes, account: Account) -> Membership:
        """Make an account a member, adding the account if its id is new; the first who accepts wins.

        Whoever was a member before is the same user again.

        Raises UserError `invitation_not_found` (also one that is over), `invitation_not_yours` (another e-mail
        address), `email_taken`, `already_member`.
        """
        ...

    async def join_by_invitation(
        self, token_hash: bytes, account: Account, issuer: str, subject: str
    ) -> Membership:
        """Accept an invitation with a new account that is signed in to at an OpenID provider.

        Raises UserError as `accept_invitation`, and `identity_taken`.
        """
        ...
