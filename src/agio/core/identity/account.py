"""Accounts: people with an e-mail address, and every way they sign in."""

from typing import Protocol

from msgspec import Struct

from agio.core.identity.principal import Role


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


class AccountStore(Protocol):
    """People and how they sign in. Raises StoreError when the store fails, UserError as said."""

    async def add_sign_in_link(
        self, tenant: str, user: str, token_hash: bytes, expires_at: int, made_by: str | None = None
    ) -> None:
        """Keep a link that signs a browser in once. `made_by` is the owner who makes it for a member.

        An owner's link is good as long as its maker is an owner, and the member no owner and in no other team; it
        replaces the member's earlier links. Raises UserError `user_not_found`, `forbidden`, `member_elsewhere`.
        """
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

    async def find_identity(self, issuer: str, subject: str) -> Account | None:
        """The account of somebody who signs in at an OpenID provider."""
        ...

    async def add_identity(self, account_id: str, issuer: str, subject: str) -> None:
        """Let an account be signed in to at an OpenID provider. Raises UserError `identity_taken`."""
        ...

    async def list_identities(self, account_id: str) -> list[Identity]:
        """Where else an account can be signed in to, by issuer."""
        ...

    async def remove_identity(self, account_id: str, issuer: str) -> None:
        """Let an account be signed in to at an OpenID provider no more.

        Raises UserError `identity_not_found`, `last_sign_in` (there would be no way to sign in).
        """
        ...

    async def join_by_identity(
        self, account: Account, issuer: str, subject: str, tenant: str, role: Role
    ) -> str:
        """Make an account of somebody who signed in at an OpenID provider, a user of the tenant; returns its user id.

        Raises UserError `email_taken`, `identity_taken`, `tenant_not_found`.
        """
        ...

    async def create_account_by_identity(
        self, account: Account, issuer: str, subject: str, tenant: str, user: str
    ) -> None:
        """Give a user who has none an account that is signed in to at an OpenID provider.

        Raises UserError as `create_account`, and `identity_taken`.
        """
        ...

    async def add_sign_in_flow(self, state_hash: bytes, flow: bytes, expires_at: int) -> None:
        """Keep what must be remembered while somebody signs in elsewhere."""
        ...

    async def take_sign_in_flow(self, state_hash: bytes) -> bytes | None:
        """Use it, once."""
        ...
