"""API keys: created, listed and revoked by their user, or by a member with `manage`."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from msgspec import structs
from pydantic import Field

from agio.core.identity.principal import MAX_KEY_DAYS, ApiKey, Permission
from agio.errors import UserError
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.gateway.auth.revocation import revoke_credential
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer, check_permission
from agio.gateway.routes.body import AS_WHOLE, Body, Name
from agio.gateway.routes.people.key_views import Keys, NewKey, key_view

_DAY_MS = 24 * 3600 * 1000
Everybody = Annotated[
    bool, Query(alias="all", description="List the keys of all members; needs permission to manage the team.")
]


class KeyBody(Body):
    """A new API key. Default: the caller's permissions, no expiry."""

    name: Name
    permissions: Annotated[list[Permission], Field(min_length=1, max_length=4)] | None = None
    expires_in_days: Annotated[int, Field(ge=1, le=MAX_KEY_DAYS), AS_WHOLE] | None = None


async def list_keys(call: Call, everybody: Everybody = False) -> Response:
    """List the caller's API keys, or all of the team."""
    if everybody:
        check_permission(call.who, "manage")
    keys = await call.gateway.store.list_api_keys(call.who.tenant, None if everybody else call.who.user)
    return answer(Keys([key_view(key) for key in keys]))


async def create_key(call: Call, body: KeyBody) -> Response:
    """Create an API key with at most the caller's permissions. The key is returned only in this response."""
    secret = new_api_key()
    made = describe_key(secret, call.who.tenant, call.who.user, body.name)
    maker = await _creator(call)
    permissions, expires_at = _bounds(call, maker, body, made.created_at)
    made_by = None if maker is None else maker.id
    key = structs.replace(made, permissions=permissions, expires_at=expires_at, made_by=made_by)
    if not await call.gateway.store.add_api_key(key, hash_secret(secret)):
        raise UserError("unauthenticated", "This API key was revoked.")
    shown = key_view(key)
    return answer(NewKey(**{name: getattr(shown, name) for name in shown.__struct_fields__}, key=secret), 201)


async def revoke_key(call: Call, key_id: Id) -> Response:
    """Revoke an API key and all keys created with it. Other gateways follow within 5 seconds."""
    store, who = call.gateway.store, call.who
    owner = who.user
    if "manage" in who.permissions:
        keys = await store.list_api_keys(who.tenant, None)
        owner = next((key.user for key in keys if key.id == key_id), who.user)
        if owner != who.user and "own" not in who.permissions:
            await _check_no_owner(call, owner)
    for revoked in await store.revoke_api_key(who.tenant, owner, key_id):
        await revoke_credential(call.gateway, revoked)
    return Response(status_code=204)


def _bounds(
    call: Call, maker: ApiKey | None, body: KeyBody, now: int
) -> tuple[frozenset[Permission] | None, int | None]:
    """Return the permissions and expiry of a new key, within its creator's. Raises UserError `forbidden`."""
    who = call.who
    permissions = maker.permissions if maker is not None else None
    if body.permissions is not None:
        permissions = frozenset(body.permissions)
        if more := sorted(permissions - who.permissions):
            raise UserError(
                "forbidden",
                f"A key cannot have more permissions than its creator. You lack {', '.join(more)}.",
                {"needs": more[0]},
            )
    ends = [] if body.expires_in_days is None else [now + body.expires_in_days * _DAY_MS]
    if maker is not None and maker.expires_at is not None:
        ends.append(maker.expires_at)
    return permissions, min(ends, default=None)


async def _creator(call: Call) -> ApiKey | None:
    """Return the API key that creates the key; None if a person does."""
    if call.who.authenticated_at is not None:
        return None
    keys = await call.gateway.store.list_api_keys(call.who.tenant, call.who.user)
    return next((key for key in keys if key.id == call.who.credential), None)


async def _check_no_owner(call: Call, user: str) -> None:
    members = await call.gateway.store.list_members(call.who.tenant)
    if any(member.user == user and member.role == "owner" for member in members):
        raise UserError("forbidden", "Only owners can revoke an owner's key.", {"needs": "own"})
