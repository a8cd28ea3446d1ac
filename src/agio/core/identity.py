"""Who may see what: tenants, people and their accounts, API keys, browsers that are signed in, invitations, workers.

A **user** belongs to one tenant and is whom everything is kept for. An **account** is a person with an e-mail
address: it is a user of every tenant it is a member of. Only hashes of secrets are kept.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

DEFAULT_TENANT = "default"
"""The tenant every store begins with, the operator's own; the library's runs are its user `local`'s."""
LOCAL_USER = "local"

Role: TypeAlias = Literal["owner", "admin", "member"]
Permission: TypeAlias = Literal["use", "build", "manage", "own"]
"""`use`: talk to agents, and one's own sessions, files, drafts, keys. `build`: agents, tools, providers. `manage`:
members, invitations, the team's settings. `own`: owners, the audit log, new tenants."""

MAX_KEY_DAYS = 3650
"""How long an API key that ends may last."""
EVERYTHING: frozenset[Permission] = frozenset({"use", "build", "manage", "own"})
PERMISSIONS: dict[Role, frozenset[Permission]] = {
    "member": frozenset({"use"}),
    "admin": frozenset({"use", "build", "manage"}),
    "owner": EVERYTHING,
}


class Principal(Struct, frozen=True):
    """Who a credential stands for, and what it may do: what its user's role allows, less what an API key leaves out."""

    tenant: str
    user: str
    role: Role
    credential: str
    """The id of the API key or web session."""
    permissions: frozenset[Permission] = EVERYTHING
    account: str | None = None
    """The person's account; None for a user who has none."""
    authenticated_at: int | None = None
    """When the person behind a web session proved who they are; None for an API key."""


class TenantRecord(Struct, frozen=True):
    """A team."""

    id: str
    name: str
    retention_days: int | None
    """How long a session is kept that nobody changes; None: for ever."""


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


class Account(Struct, frozen=True):
    """A person. `password_hash` is an Argon2id hash, None for somebody who signs in elsewhere."""

    id: str
    email: str
    name: str
    password_hash: str | None


class Identity(Struct, frozen=True):
    """Who an account is at an OpenID provider."""

    issuer: str
    subject: str
    created_at: int


class ApiKey(Struct, frozen=True):
    """An API key as it is listed; the key itself is shown once, when it is made, and stored as a hash."""

    id: str
    tenant: str
    user: str
    name: str
    prefix: str
    """The first characters, for people to tell keys apart."""
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None
    permissions: frozenset[Permission] | None = None
    """None: all that its user may do."""
    expires_at: int | None = None
    made_by: str | None = None
    """The id of the API key that made it; None: a person did, or the operator."""


class WorkerKey(Struct, frozen=True):
    """A worker's key as it is listed. `tenants` None: it may be given every tenant's runs."""

    id: str
    name: str
    prefix: str
    tenants: list[str] | None
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None


class WebSession(Struct, frozen=True, kw_only=True):
    """A browser that is being signed in."""

    id: str
    tenant: str
    user: str
    token_hash: bytes
    authenticated_at: int
    expires_at: int


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


class Profile(Struct, frozen=True):
    """What a user says of themselves, or lets agents note. `version` is 0 for one that nobody wrote yet."""

    fields: dict[str, str]
    version: int
    updated_at: int | None


class IdentityStore(Protocol):
    """Everything about who is asking. Raises StoreError when the store fails, UserError as said."""

    async def add_tenant(self, tenant: str, name: str) -> None:
        """Add a tenant unless its id is there."""
        ...

    async def get_tenant(self, tenant: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
        ...

    async def set_retention(self, tenant: str, days: int | None) -> TenantRecord:
        """Say for how many days a tenant keeps sessions; None: for ever. Raises UserError `tenant_not_found`."""
        ...

    async def add_user(self, tenant: str, user: str, name: str, role: Role) -> None:
        """Add a user unless its id is there."""
        ...

    async def get_user(self, tenant: str, user: str) -> tuple[str, Role]:
        """A user's name and role. Raises UserError `user_not_found`."""
        ...

    async def add_api_key(self, key: ApiKey, key_hash: bytes, *, only_first: bool = False) -> bool:
        """Keep a key, unless the key that makes it was revoked; with `only_first` only if there is none at all.

        Returns whether it was kept.
        """
        ...

    async def list_api_keys(self, tenant: str, user: str | None) -> list[ApiKey]:
        """A user's keys, or with None all of the tenant's, newest first, revoked ones too."""
        ...

    async def revoke_api_key(self, tenant: str, user: str, key_id: str) -> list[str]:
        """End a key and all that were made with it, and with those; returns their ids, its own first.

        Raises UserError `key_not_found`.
        """
        ...

    async def find_api_key(self, key_hash: bytes) -> Principal | None:
        """Who a key stands for; None if there is none, or it is over, or its user is no member any more.

        Notes its use, at most once a minute.
        """
        ...

    async def add_web_session(self, session: WebSession) -> None:
        """Keep a browser's session."""
        ...

    async def find_web_session(self, token_hash: bytes) -> Principal | None:
        """Who a browser's session stands for; None if it is over."""
        ...

    async def end_web_session(self, token_hash: bytes) -> None:
        """End a browser's session."""
        ...

    async def refresh_web_session(self, token_hash: bytes) -> None:
        """Note that the person behind a browser's session proved anew who they are."""
        ...

    async def switch_tenant(
        self, token_hash: bytes, tenant: str, session_id: str, new_hash: bytes
    ) -> Membership:
        """End a browser's session and begin one, with this id and hash, of its account's user of another tenant.

        It lasts as long as the one that ends. Raises UserError `tenant_not_found`.
        """
        ...

    async def end_web_sessions(self, account_id: str, *, but: str | None = None) -> int:
        """End an account's sessions in all browsers, but for the one with the id `but`; returns how many."""
        ...

    async def end_user_sessions(self, tenant: str, user: str) -> int:
        """End a user's sessions in all browsers, who may have no account; returns how many."""
        ...

    async def find_credentials(self, ids: Sequence[str]) -> list[Principal]:
        """Those of these API keys and web sessions (by id) that are still good, as they stand now."""
        ...

    # Accounts

    async def add_sign_in_link(self, tenant: str, user: str, token_hash: bytes, expires_at: int) -> None:
        """Keep a link that signs a browser in once."""
        ...

    async def take_sign_in_link(self, token_hash: bytes) -> tuple[str, str] | None:
        """Use a link: its tenant and user, for the first who asks; None for everybody else."""
        ...

    async def has_account(self) -> bool:
        """Whether anybody can sign in without a link."""
        ...

    async def create_account(self, account: Account, tenant: str, user: str) -> None:
        """Give a user who has none an account, and its name; links that sign the user in are void from then on.

        Raises UserError `email_taken`, `account_exists` (the user has one), `user_not_found`.
        """
        ...

    async def get_account(self, account_id: str) -> Account:
        """Raises UserError `account_not_found`."""
        ...

    async def find_account(self, email: str) -> Account | None:
        """The account with this e-mail address, in whichever case."""
        ...

    async def find_identity(self, issuer: str, subject: str) -> Account | None:
        """The account of somebody who signs in at an OpenID provider."""
        ...

    async def add_identity(self, account_id: str, issuer: str, subject: str) -> None:
        """Let an account be signed in to at an OpenID provider. Raises UserError `identity_taken`."""
        ...

    async def join_by_identity(
        self, account: Account, issuer: str, subject: str, tenant: str, role: Role
    ) -> str:
        """Make an account of somebody who signed in at an OpenID provider, a user of the tenant; returns its user id.

        Raises UserError `email_taken`, `identity_taken`, `tenant_not_found`.
        """
        ...

    async def list_identities(self, account_id: str) -> list[Identity]:
        """Where else an account can be signed in to, by issuer."""
        ...

    async def remove_identity(self, account_id: str, issuer: str) -> None:
        """Let an account be signed in to at an OpenID provider no more.

        Raises UserError `identity_not_found`, `last_sign_in` (there would be no way to sign in).
        """
        ...

    async def join_by_invitation(
        self, token_hash: bytes, account: Account, issuer: str, subject: str
    ) -> Membership:
        """Accept an invitation with a new account that is signed in to at an OpenID provider.

        Raises UserError as `accept_invitation`, and `identity_taken`.
        """
        ...

    async def create_account_by_identity(
        self, account: Account, issuer: str, subject: str, tenant: str, user: str
    ) -> None:
        """Give a user who has none an account that is signed in to at an OpenID provider.

        Raises UserError as `create_account`, and `identity_taken`.
        """
        ...

    async def change_account(self, account_id: str, name: str, email: str) -> Account:
        """Change a person's name, in every team, and e-mail address.

        Raises UserError `account_not_found`, `email_taken`.
        """
        ...

    async def set_password(
        self, account_id: str, password_hash: str, *, instead_of: str | None = None
    ) -> None:
        """Replace an account's password, or only the hash `instead_of`. Raises UserError `account_not_found`."""
        ...

    async def memberships(self, account_id: str) -> list[Membership]:
        """The teams an account is in, by name."""
        ...

    async def add_sign_in_flow(self, state_hash: bytes, flow: bytes, expires_at: int) -> None:
        """Keep what must be remembered while somebody signs in elsewhere."""
        ...

    async def take_sign_in_flow(self, state_hash: bytes) -> bytes | None:
        """Use it, once."""
        ...

    # Teams

    async def create_tenant(self, name: str, account_id: str | None, owner_name: str) -> Membership:
        """Add a tenant with a first owner, the account's if there is one. Ids are made by the store."""
        ...

    async def rename_tenant(self, tenant: str, name: str) -> TenantRecord:
        """Raises UserError `tenant_not_found`."""
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

    # Workers

    async def add_worker_key(self, key: WorkerKey, key_hash: bytes) -> None:
        """Keep a worker's key. Raises UserError `tenant_not_found` for a tenant that is not there."""
        ...

    async def list_worker_keys(self) -> list[WorkerKey]:
        """All of them, newest first: the operator's."""
        ...

    async def revoke_worker_key(self, key_id: str) -> None:
        """Raises UserError `key_not_found`."""
        ...

    async def find_worker_key(self, key_hash: bytes) -> WorkerKey | None:
        """The key with this hash, unless it was revoked. Notes its use, at most once a minute."""
        ...

    # Profiles

    async def get_profile(self, tenant: str, user: str) -> Profile:
        """A user's profile; an empty one if there is none."""
        ...

    async def put_profile(self, tenant: str, user: str, changes: dict[str, str | None]) -> Profile:
        """Set these fields of a user's profile; None removes one. Raises UserError `invalid_profile`."""
        ...
