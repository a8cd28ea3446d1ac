"""Teams: tenants, their users, and invitations."""

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from agio.core.identity.account import Account
from agio.core.identity.principal import Role

SdkSessions: TypeAlias = Literal["build", "use"]
"""The permission needed to define an agent for one session."""
TracesSent: TypeAlias = Literal["content", "structure", "off"]
"""What of a team's runs its traces have: everything, no texts, or nothing is sent to OpenAI's dashboard at all."""


class TenantRecord(Struct, frozen=True):
    """A team."""

    id: str
    name: str
    retention_days: int | None
    """How long an unchanged session is kept; None: forever."""
    sdk_sessions: SdkSessions = "build"
    traces: TracesSent = "content"


class Membership(Struct, frozen=True):
    """An account's membership of a team."""

    tenant: str
    name: str
    """The tenant's name."""
    user: str
    role: Role


class Member(Struct, frozen=True):
    """A tenant's user in a list."""

    user: str
    name: str
    role: Role
    email: str | None
    """The account's address; None for a user without an account."""
    created_at: int


class Invitation(Struct, frozen=True, kw_only=True):
    """An invitation to a team. `closed_at` is when it was accepted (by `accepted_by`) or revoked."""

    id: str
    tenant: str
    email: str | None
    """The invited address; None: the link works for any account."""
    role: Role
    invited_by: str
    created_at: int
    expires_at: int
    closed_at: int | None = None
    accepted_by: str | None = None


class TeamStore(Protocol):
    """The store of tenants and their users. Raises StoreError when the store fails, UserError as documented."""

    async def add_tenant(self, tenant: str, name: str) -> None:
        """Add a tenant unless its id exists."""
        ...

    async def get_tenant(self, tenant: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
        ...

    async def create_tenant(self, name: str, account_id: str | None, owner_name: str) -> Membership:
        """Add a tenant with its first owner, who gets the account if one is given. The store makes the ids."""
        ...

    async def rename_tenant(self, tenant: str, name: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
        ...

    async def set_retention(self, tenant: str, days: int | None) -> TenantRecord:
        """Set for how many days a tenant keeps sessions; None: forever. Raises UserError `tenant_not_found`."""
        ...

    async def set_sdk_sessions(self, tenant: str, needs: SdkSessions) -> TenantRecord:
        """Set the permission needed to define an agent for a session. Raises UserError `tenant_not_found`."""
        ...

    async def add_user(self, tenant: str, user: str, name: str, role: Role) -> None:
        """Add a user unless its id exists."""
        ...

    async def get_user(self, tenant: str, user: str) -> tuple[str, Role]:
        """Return a user's name and role. Raises UserError `user_not_found`."""
        ...

    async def memberships(self, account_id: str) -> list[Membership]:
        """List an account's teams, by name."""
        ...

    async def switch_tenant(
        self, token_hash: bytes, tenant: str, session_id: str, new_hash: bytes
    ) -> Membership:
        """Replace a browser's session by one, with this id and hash, of its account's user in another tenant.

        The new session expires when the old one would. Raises UserError `tenant_not_found`.
        """
        ...

    async def list_members(self, tenant: str) -> list[Member]:
        """List a tenant's users, by name."""
        ...

    async def set_role(
        self, tenant: str, user: str, role: Role, *, by_owner: bool = True, by: str | None = None
    ) -> Member:
        """Change a user's role. A lower role closes the user's open invitations. `by` is the acting user.

        Raises UserError `user_not_found`, `last_owner`, `forbidden` (owners are made and changed by owners).
        """
        ...

    async def remove_member(
        self, tenant: str, user: str, *, by_owner: bool = True, by: str | None = None
    ) -> None:
        """End a user's membership, and with it their keys, sessions and invitations. `by` is the acting user.

        Raises UserError `user_not_found`, `last_owner`, `forbidden` (owners are removed by owners).
        """
        ...

    async def add_invitation(self, invitation: Invitation, token_hash: bytes) -> None:
        """Store an invitation. Raises UserError `forbidden` if the inviting user is no longer allowed to invite."""
        ...

    async def list_invitations(self, tenant: str) -> list[Invitation]:
        """List a tenant's invitations, newest first, including closed ones."""
        ...

    async def find_invitation(self, token_hash: bytes) -> Invitation | None:
        """Return the open invitation with this token, or None."""
        ...

    async def revoke_invitation(self, tenant: str, invitation_id: str) -> None:
        """Raises UserError `invitation_not_found`."""
        ...

    async def accept_invitation(self, token_hash: bytes, account: Account) -> Membership:
        """Make an account a member; the account is added if its id is new. Only the first acceptance succeeds.

        A former member gets their earlier user again.

        Raises UserError `invitation_not_found` (or expired), `invitation_not_yours` (another e-mail address),
        `email_taken`, `already_member`.
        """
        ...

    async def join_by_invitation(
        self, token_hash: bytes, account: Account, issuer: str, subject: str
    ) -> Membership:
        """Accept an invitation with a new account that is linked to an OpenID identity.

        Raises UserError as `accept_invitation`, and `identity_taken`.
        """
        ...
