"""Who is asking, and what they may do: roles, permissions, API keys, browsers that are signed in.

A **user** belongs to one tenant (team.py) and is whom everything is kept for. An **account** (account.py) is a
person with an e-mail address: it is a user of every tenant it is a member of. Only hashes of secrets are kept.
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

    @property
    def key_id(self) -> str:
        """The id of the API key, empty for a person's web session."""
        return self.credential if self.authenticated_at is None else ""


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


class WebSession(Struct, frozen=True, kw_only=True):
    """A browser that is being signed in."""

    id: str
    tenant: str
    user: str
    token_hash: bytes
    authenticated_at: int
    expires_at: int


class IdentityStore(Protocol):
    """Credentials and whom they stand for. Raises StoreError when the store fails, UserError as said."""

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

    async def end_web_sessions(self, account_id: str, *, but: str | None = None) -> int:
        """End an account's sessions in all browsers, but for the one with the id `but`; returns how many."""
        ...

    async def end_user_sessions(self, tenant: str, user: str) -> int:
        """End a user's sessions in all browsers, who may have no account; returns how many."""
        ...

    async def find_credentials(self, ids: Sequence[str]) -> list[Principal]:
        """Those of these API keys and web sessions (by id) that are still good, as they stand now."""
        ...
