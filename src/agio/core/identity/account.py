"""Accounts: people with an e-mail address, and the ways they sign in."""

from typing import Protocol

from msgspec import Struct

from agio.core.identity.principal import Role


class Account(Struct, frozen=True):
    """A person. `password_hash` is an Argon2id hash; None for a person who signs in without a password."""

    id: str
    email: str
    name: str
    password_hash: str | None


class Identity(Struct, frozen=True):
    """An account's identity at an OpenID provider."""

    issuer: str
    subject: str
    created_at: int


class AccountStore(Protocol):
    """The store of accounts and sign-ins. Raises StoreError when the store fails, UserError as documented."""

    async def add_sign_in_link(
        self, tenant: str, user: str, token_hash: bytes, expires_at: int, made_by: str | None = None
    ) -> None:
        """Store a link that signs a browser in once. `made_by` is the owner who makes it for a member.

        An owner's link is valid while its maker is an owner, and while the member is no owner and in no other team. It
        replaces the member's earlier links. Raises UserError `user_not_found`, `forbidden`, `member_elsewhere`.
        """
        ...

    async def take_sign_in_link(self, token_hash: bytes) -> tuple[str, str] | None:
        """Consume a link and return its tenant and user. Returns None for a link that is invalid or already used."""
        ...

    async def has_account(self) -> bool:
        """Whether an account exists, so that sign-in without a link is possible."""
        ...

    async def create_account(self, account: Account, tenant: str, user: str) -> None:
        """Create an account for a user without one and set the user's name. The user's sign-in links become invalid.

        Raises UserError `email_taken`, `account_exists` (the user has one), `user_not_found`.
        """
        ...

    async def get_account(self, account_id: str) -> Account:
        """Return an account. Raises UserError `account_not_found`."""
        ...

    async def find_account(self, email: str) -> Account | None:
        """Return the account with this e-mail address, ignoring case, or None."""
        ...

    async def change_account(self, account_id: str, name: str, email: str) -> Account:
        """Change a person's e-mail address, and their name in every team.

        Raises UserError `account_not_found`, `email_taken`.
        """
        ...

    async def set_password(
        self, account_id: str, password_hash: str, *, instead_of: str | None = None
    ) -> None:
        """Replace an account's password hash; with `instead_of`, only if it is the current one.

        Raises UserError `account_not_found`.
        """
        ...

    async def find_identity(self, issuer: str, subject: str) -> Account | None:
        """Return the account linked to an identity at an OpenID provider, or None."""
        ...

    async def add_identity(self, account_id: str, issuer: str, subject: str) -> None:
        """Link an account to an identity at an OpenID provider. Raises UserError `identity_taken`."""
        ...

    async def list_identities(self, account_id: str) -> list[Identity]:
        """List the OpenID identities linked to an account, by issuer."""
        ...

    async def remove_identity(self, account_id: str, issuer: str) -> None:
        """Unlink an account from an OpenID provider.

        Raises UserError `identity_not_found`, `last_sign_in` (no way to sign in would be left).
        """
        ...

    async def join_by_identity(
        self, account: Account, issuer: str, subject: str, tenant: str, role: Role
    ) -> str:
        """Create an account for a person who signed in at an OpenID provider, and add them to the tenant.

        Returns the user id. Raises UserError `email_taken`, `identity_taken`, `tenant_not_found`.
        """
        ...

    async def create_account_by_identity(
        self, account: Account, issuer: str, subject: str, tenant: str, user: str
    ) -> None:
        """Create an account, linked to an OpenID identity, for a user without one.

        Raises UserError as `create_account`, and `identity_taken`.
        """
        ...

    async def add_sign_in_flow(self, state_hash: bytes, flow: bytes, expires_at: int) -> None:
        """Store the state of a sign-in at an OpenID provider."""
        ...

    async def take_sign_in_flow(self, state_hash: bytes) -> bytes | None:
        """Return and delete the state of a sign-in; None if it is unknown."""
        ...
