"""The clock."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from agio.tools.clock import clock


@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "Asia/Kolkata"])
def test_the_time_is_told_in_the_zone_asked_for(zone: str) -> None:
    """L2: the date and the time, with the name of the zone."""
    before = datetime.now(UTC).replace(microsecond=0)
    text = clock(zone) if zone != "UTC" else clock()
    told = datetime.strptime(text.removesuffix(f" {zone}"), "%A, %d %B %Y, %H:%M:%S")
    # The hour that comes twice when summer ends may be meant either way.
    either = [told.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1)]
    assert any(before <= each.astimezone(UTC) <= datetime.now(UTC) for each in either)


@pytest.mark.parametrize(
    "zone",
    ["", "Mars", "Europe", "Europe/", "../../etc/passwd", "/etc/localtime", "\x00", "\ud800", "x" * 5000],
)
def test_a_zone_that_does_not_exist_is_a_value_error(zone: str) -> None:
    """L13: whatever is asked, no file outside the zones is read and the reason is clear."""
    with pytest.raises(ValueError, match="no time zone named"):
        clock(zone)
