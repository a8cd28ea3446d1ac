"""Searches take turns, so that those of one person do not stop the rest."""

import asyncio

import pytest
from msgspec import structs

from agio.errors import LimitExceeded
from agio.gateway.searches import Searches
from tests.support.engine import ANN, soon

BOB = structs.replace(ANN, user="bob")


async def test_one_searches_at_a_time_and_the_next_is_somebody_elses() -> None:
    """S14: whoever asks often waits behind who asks once."""
    searches = Searches()
    order: list[str] = []
    gate = asyncio.Event()

    async def search(name: str) -> None:
        async with searches.turn(ANN if name.startswith("ann") else BOB):
            order.append(name)
            await gate.wait()

    async with asyncio.TaskGroup() as group:
        for name in ("ann 1", "ann 2", "ann 3", "bob"):
            group.create_task(search(name))
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert order == ["ann 1"]
        gate.set()
    assert order == ["ann 1", "bob", "ann 2", "ann 3"]


async def test_a_person_has_few_searches_waiting() -> None:
    """S14: more are refused with a time to come again; one that is given up makes room."""
    searches = Searches()

    async def search() -> None:
        async with searches.turn(ANN):
            await asyncio.Event().wait()

    waiting = [asyncio.create_task(search()) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(LimitExceeded) as refused:
        await search()
    assert (refused.value.code, refused.value.details) == ("rate_limited", {"retry_after_s": 2})
    for task in waiting:
        task.cancel()
    await soon(asyncio.wait(waiting))
    async with asyncio.timeout(10), searches.turn(ANN):
        pass
