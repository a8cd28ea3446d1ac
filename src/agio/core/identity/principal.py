"""Principals and their credentials: roles, permissions, API keys, browser sessions.

A **user** belongs to one tenant (team.py) and owns sessions, files and keys there. An **account** (account.py) is a
person with an e-mail address, and has one user in every tenant it is a member of. Secrets are stored as hashes.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

DEFAULT_TENANT = "default"
"""The tenant that every store starts with, the operator's own. The library's runs belong to its user `local`."""
LOCAL_USER = "local"

Role: TypeAlias = Literal["owner", "admin", "member"]
Permission: TypeAlias = Literal["use", "build", "manage", "own"]
"""What each permission allows. `use`: talk to agents; manage one's own sessions, files, drafts and keys. `build`:
manage agents, tools, providers. `manage`: manage members, invitations, team settings. `own`: manage owners, read
the audit log, create tenants.
"""

MAX_KEY_DAYS = 3650
"""The longest lifetime of an API key that expires."""
EVERYTHING: frozenset[Permission] = frozenset({"use", "build", "manage", "own"})
PERMISSIONS: dict[Role, frozenset[Permission]] = {
    "member": frozenset({"use"}),
    "admin": frozenset({"use", "build", "manage"}),
    "owner": EVERYTHING,
}


class Principal(Struct, frozen=True):
    """The user behind a credential and its permissions: those of the user's role, restricted by the API key's own."""

    tenant: str
    user: str
    role: Role
    credential: str
    """The id of the API key or web session."""
    permissions: frozenset[Permission] = EVERYTHING
    account: str | None = None
    """The person's account; None for a user without one."""
    authenticated_at: int | None = None
    """When the person last authenticated in this web session; None for an API key."""

    @property
    def key_id(self) -> str:
        """The id of the API key; empty for a web session."""
        return self.credential if self.authenticated_at is None else ""


class ApiKey(Struct, frozen=True):
    """An API key's metadata. The key is shown once, when it is created, and stored as a hash."""

    id: str
    tenant: str
    user: str
    name: str
    prefix: str
    """The key's first characters, so that people can tell keys apart."""
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None
    permissions: frozenset[Permission] | None = None
    """The key's permissions; None: all of its user's."""
    expires_at: int | None = None
    made_by: str | None = None
    """The id of the API key that created it; None: a person or the operator did."""


class WebSession(Struct, frozen=True, kw_only=True):
    """The session of a signed-in browser."""

    id: str
    tenant: str
    user: str
    token_hash: bytes
    authenticated_at: int
    expires_at: int


class IdentityStore(Protocol):
    """The store of credentials. Raises StoreError when the store fails, UserError as documented."""

    async def add_api_key(self, key: ApiKey, key_hash: bytes, *, only_first: bool = False) -> bool:
        """Store a key unless its creating key was revoked; with `only_first`, only if the store has no key.

        Returns whether it was stored.
        """
        ...

    async def list_api_keys(self, tenant: str, user: str | None) -> list[ApiKey]:
        """List a user's keys, or with None all of the tenant's, newest first, including revoked ones."""
        ...

    async def revoke_api_key(self, tenant: str, user: str, key_id: str) -> list[str]:
        """Revoke a key and, recursively, the keys created with it. Returns their ids, its own first.

        Raises UserError `key_not_found`.
        """
        ...

    async def find_api_key(self, key_hash: bytes) -> Principal | None:
        """Return the principal of a key; None if it is unknown, revoked or expired, or its user is no longer a member.

        Records the key's use at most once a minute.
        """
        ...

    async def add_web_session(self, session: WebSession) -> None:
        """Store a browser's session."""
        ...

    async def find_web_session(self, token_hash: bytes) -> Principal | None:
        """Return the principal of a browser's session; None if it is unknown or has expired."""
        ...

    async def end_web_session(self, token_hash: bytes) -> None:
        """End a browser's session."""
        ...

    async def refresh_web_session(self, token_hash: bytes) -> None:
        """Record that the person behind a browser's session authenticated again."""
        ...

    async def end_web_sessions(self, account_id: str, *, but: str | None = None) -> int:
        """End an account's browser sessions except the one with the id `but`. Returns their number."""
        ...

    async def end_user_sessions(self, tenant: str, user: str) -> int:
        """End the browser sessions of a user, who may have no account. Returns their number."""
        ...

    async def find_credentials(self, ids: Sequence[str]) -> list[Principal]:
        """Return the current principals of those API keys and web sessions (by id) that are still valid."""
        ...
