"""Profiles: what is known of a user, for the agents they talk to."""

from typing import Protocol

from msgspec import Struct


class Profile(Struct, frozen=True):
    """What a user says of themselves, or lets agents note. `version` is 0 for one that nobody wrote yet."""

    fields: dict[str, str]
    version: int
    updated_at: int | None


class ProfileStore(Protocol):
    """Users' profiles. Raises StoreError when the store fails, UserError as said."""

    async def get_profile(self, tenant: str, user: str) -> Profile:
        """A user's profile; an empty one if there is none."""
        ...

    async def put_profile(self, tenant: str, user: str, changes: dict[str, str | None]) -> Profile:
        """Set these fields of a user's profile; None removes one. Raises UserError `invalid_profile`."""
        ...
