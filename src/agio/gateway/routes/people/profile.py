"""The caller's profile: what they say of themselves, or let agents note."""

from typing import Annotated

from fastapi.responses import Response
from msgspec import Struct, convert
from pydantic import Field

from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import Body


class ProfileChange(Body):
    """The fields of a profile to set; null removes a field. Omitted fields are kept."""

    changes: Annotated[dict[str, str | None], Field(min_length=1, max_length=100)]


class ProfileView(Struct, frozen=True, kw_only=True):
    """A profile. Before the first write `version` is 0 and `updated_at` is null."""

    fields: dict[str, str]
    version: int
    updated_at: int | None


async def get_profile(call: Call) -> Response:
    """Get the caller's profile."""
    profile = await call.gateway.store.get_profile(call.who.tenant, call.who.user)
    return answer(convert(profile, ProfileView, from_attributes=True))


async def change_profile(call: Call, body: ProfileChange) -> Response:
    """Set and remove fields of the caller's profile."""
    profile = await call.gateway.store.put_profile(call.who.tenant, call.who.user, body.changes)
    return answer(convert(profile, ProfileView, from_attributes=True))
