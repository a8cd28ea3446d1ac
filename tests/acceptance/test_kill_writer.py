"""kill -9 of a writing process."""

from pathlib import Path

from tests.acceptance.kill_writer import torture


async def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """B1, L9: no acknowledged event is lost, doubled or changed, no log has a gap, and the runs go on."""
    totals = await torture(20, tmp_path / "agio.db", seed=20)
    assert totals.kills == 20
    assert totals.interrupted > 0
    assert totals.events > 0
