"""The time, which models cannot know."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agio.core.tool import tool


@tool(effect="read")
def clock(timezone: str = "UTC") -> str:
    """Tell the date and the time.

    Args:
        timezone: An IANA name such as `Europe/Vienna`.
    """
    try:
        zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone named {timezone!r}") from None
    return datetime.now(zone).strftime("%A, %d %B %Y, %H:%M:%S ") + timezone
