"""The user's profile for agents (R11): read it, and record what users say about themselves."""

from agio.core.profile import Profile, ProfileStore
from agio.core.text import clean
from agio.core.tool import AnyTool, ToolContext, tool
from agio.protocol.messages import Json

PROFILE_TOOLS = frozenset({"read_profile", "update_profile"})
"""If an agent has one of these tools, its runs begin with the user's profile."""


def make_profile_tools(store: ProfileStore) -> list[AnyTool]:
    """Make the tools `read_profile` and `update_profile`."""

    @tool(effect="read")
    async def read_profile(context: ToolContext) -> dict[str, Json]:
        """Tell what is known of the user: name, language, time zone, preferences and other notes."""
        return _shown(await store.get_profile(context.tenant, context.user))

    @tool(effect="idempotent")
    async def update_profile(context: ToolContext, changes: dict[str, str | None]) -> dict[str, Json]:
        """Note something about the user for later conversations: only what they said themselves and want kept.

        Args:
            changes: Fields by name (name, language, timezone, about, preferences, or others in snake_case) with
                their new text; null removes a field. What is not named stays as it is.
        """
        cleaned = {name: None if value is None else clean(value) for name, value in changes.items()}
        return _shown(await store.put_profile(context.tenant, context.user, cleaned))

    return [read_profile, update_profile]


def _shown(profile: Profile) -> dict[str, Json]:
    return {"version": profile.version, "profile": dict(profile.fields)}
