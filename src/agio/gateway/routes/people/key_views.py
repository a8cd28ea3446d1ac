"""API keys as clients see them. Without FastAPI: the command line reads them too."""

from msgspec import Struct

from agio.core.identity.principal import ApiKey, Permission


class KeyView(Struct, frozen=True, kw_only=True):
    """An API key, without the key itself. `permissions` null: all permissions of its user."""

    id: str
    user: str
    name: str
    prefix: str
    permissions: list[Permission] | None
    created_at: int
    last_used_at: int | None
    expires_at: int | None
    revoked_at: int | None
    made_by: str | None
    """The id of the API key that made it; null: a person did, or the operator."""


class Keys(Struct, frozen=True):
    """API keys, newest first, including revoked ones."""

    items: list[KeyView]


class NewKey(KeyView, frozen=True, kw_only=True):
    """A new API key. The key is returned only here."""

    key: str


def key_view(key: ApiKey) -> KeyView:
    """Show an API key."""
    permissions = None if key.permissions is None else sorted(key.permissions)
    return KeyView(
        id=key.id,
        user=key.user,
        name=key.name,
        prefix=key.prefix,
        permissions=permissions,
        created_at=key.created_at,
        last_used_at=key.last_used_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        made_by=key.made_by,
    )
