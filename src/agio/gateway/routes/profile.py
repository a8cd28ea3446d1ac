"""The caller's profile: what they say of themselves, or let agents note."""

from fastapi.responses import Response
from msgspec import Struct, convert

from agio.gateway.http.route import Call, answer
from agio.gateway.routes.tool_bodies import ProfileChange


class ProfileView(Struct, frozen=True, kw_only=True):
    """A profile. `version` is 0, and `updated_at` null, for one that nobody wrote yet."""

    fields: dict[str, str]
    version: int
    updated_at: int | None


async def get_profile(call: Call) -> Response:
    """Show the caller's profile."""
    profile = await call.gateway.store.get_profile(call.who.tenant, call.who.user)
    return answer(convert(profile, ProfileView, from_attributes=True))


async def change_profile(call: Call, body: ProfileChange) -> Response:
    """Set and remove fields of the caller's profile."""
    profile = await call.gateway.store.put_profile(call.who.tenant, call.who.user, body.changes)
    return answer(convert(profile, ProfileView, from_attributes=True))
