"""Profiles: facts about a user, for the agents they talk to."""

from typing import Protocol

from msgspec import Struct


class Profile(Struct, frozen=True):
    """Facts that a user states, or lets agents note. `version` is 0 before the first write."""

    fields: dict[str, str]
    version: int
    updated_at: int | None


class ProfileStore(Protocol):
    """The store of users' profiles. Raises StoreError when the store fails, UserError as documented."""

    async def get_profile(self, tenant: str, user: str) -> Profile:
        """Return a user's profile, empty if there is none."""
        ...

    async def put_profile(self, tenant: str, user: str, changes: dict[str, str | None]) -> Profile:
        """Set fields of a user's profile; None removes a field. Raises UserError `invalid_profile`."""
        ...
