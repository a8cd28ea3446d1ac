"""Every page in every state: axe finds nothing, it fits every screen, and nothing moves for whoever wants that."""

from pathlib import Path

import pytest

from web.e2e.axe import violations
from web.e2e.measures import elsewhere, misfits, moving
from web.e2e.scene import needs_chromium, slow
from web.e2e.tour import Tour, tour_of_new, tour_of_team

pytestmark = [needs_chromium, slow]

PARTS = 2
"""How many walks the longer tour is, which can go on at once."""


async def looked_at(way: Tour) -> list[str]:
    """Walk it, and return what is wrong on the way."""
    found: list[str] = []
    async for stop, page in way.walk():
        wrong = await elsewhere(page)
        wrong += await moving(page)
        wrong += await violations(page)
        wrong += await misfits(page, stop)
        found += [f"{stop.name}: {each}" for each in wrong]
    return found


async def test_everybody_can_use_every_page_of_a_new_server(tmp_path: Path) -> None:
    """C9, C10: in light and in dark, on a phone, a tablet and a desktop, with reduced motion; nothing leads away."""
    async with tour_of_new(tmp_path) as way:
        found = await looked_at(way)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("part", range(PARTS))
async def test_everybody_can_use_every_page_of_a_teams_server(tmp_path: Path, part: int) -> None:
    """C9, C10: the same with people, agents, tools, runs, and an answer that streams."""
    async with tour_of_team(tmp_path) as way:
        way.stops = way.stops[part::PARTS]
        found = await looked_at(way)
    assert found == [], "\n".join(found)
