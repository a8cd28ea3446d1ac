"""SharedTasks: work is done once for a key, however many ask and whoever of them leaves."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agio.errors import LimitExceeded, StoreError, UserError
from agio.gateway.shared_tasks import SharedTasks
from tests.support.engine import soon

OWNER = ("default", "ann")


class Bench:
    """Work that counts how often it was begun, and ends when `gate` is set."""

    def __init__(self) -> None:
        self.tasks = SharedTasks[int]("call")
        self.begun = 0
        self.gate = asyncio.Event()

    async def work(self) -> int:
        self.begun += 1
        mine = self.begun
        await self.gate.wait()
        return mine

    async def fail(self) -> int:
        await self.gate.wait()
        raise UserError("invalid_tool", "It cannot be done.")

    async def ask(
        self,
        key: str | None = "k",
        *,
        owner: tuple[str, ...] = OWNER,
        asked: str = "this",
        begin: Callable[[], Coroutine[Any, Any, int]] | None = None,
    ) -> asyncio.Task[int]:
        """Let somebody ask, and come as far as to wait."""
        asking = asyncio.create_task(self.tasks.join(owner, key, asked, begin or self.work))
        await _come_round()
        return asking


async def _come_round() -> None:
    """Let everything go on that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_ask_for_a_key_get_what_one_task_comes_to() -> None:
    """C9: it is forgotten when it ends, and asked for again it is done again."""
    bench = Bench()
    asking = [await bench.ask() for _ in range(5)]
    assert (bench.begun, bench.tasks.owners) == (1, [OWNER])
    bench.gate.set()
    assert await soon(asyncio.gather(*asking)) == [1] * 5
    assert bench.tasks.owners == []
    assert await soon(await bench.ask()) == 2


async def test_other_owners_other_keys_and_no_key_are_tasks_of_their_own() -> None:
    """C9: nobody gets what was done for somebody else."""
    bench = Bench()
    asking = [
        await bench.ask(),
        await bench.ask("other"),
        await bench.ask(owner=("default", "bob")),
        await bench.ask(None),
        await bench.ask(None),
        await bench.ask(""),
    ]
    bench.gate.set()
    assert await soon(asyncio.gather(*asking)) == [1, 2, 3, 4, 5, 6]
    assert bench.tasks.owners == []


async def test_a_task_goes_on_when_the_first_who_asked_leaves() -> None:
    """C9: also when all have left; whoever comes back finds it."""
    bench = Bench()
    first, second = await bench.ask(), await bench.ask()
    for asking in (first, second):
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(asking)
    back = await bench.ask()
    bench.gate.set()
    assert await soon(back) == 1
    assert bench.begun == 1


async def test_all_who_wait_are_told_of_a_failure_and_the_key_is_free_again() -> None:
    """C9: what failed is not remembered."""
    bench = Bench()
    asking = [await bench.ask(begin=bench.fail) for _ in range(3)]
    bench.gate.set()
    told = await soon(asyncio.gather(*asking, return_exceptions=True))
    assert [error.code for error in told if isinstance(error, UserError)] == ["invalid_tool"] * 3
    assert bench.tasks.owners == []
    assert await soon(await bench.ask()) == 1


@pytest.mark.parametrize(
    ("wrong", "logged"), [(UserError("invalid_tool", "No."), []), (ZeroDivisionError(), ["a call failed"])]
)
async def test_only_a_failure_that_is_our_fault_is_logged_if_nobody_waits(
    wrong: Exception, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """C9: what a caller would have been told is theirs, and is no news without them."""
    bench = Bench()

    async def fail() -> int:
        await bench.gate.wait()
        raise wrong

    asking = await bench.ask(begin=fail)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(asking)
    bench.gate.set()
    await _come_round()
    assert bench.tasks.owners == []
    assert [record.message for record in caplog.records] == logged


async def test_what_cannot_begin_is_not_under_way() -> None:
    """C9: a refusal before the work is the caller's alone."""
    bench = Bench()

    def refuse() -> Coroutine[Any, Any, int]:
        raise LimitExceeded("too_many_forks", "No room.")

    with pytest.raises(LimitExceeded):
        await bench.tasks.join(OWNER, "k", "this", refuse)
    assert bench.tasks.owners == []


async def test_a_key_that_is_under_way_for_something_else_is_refused() -> None:
    """C9: the first goes on."""
    bench = Bench()
    first = await bench.ask()
    with pytest.raises(UserError) as refused:
        await soon(await bench.ask(asked="that"))
    assert refused.value.code == "idempotency_conflict"
    bench.gate.set()
    assert await soon(first) == 1


async def test_whoever_waits_when_the_gateway_stops_is_told_to_ask_again() -> None:
    """C9: also if the work had not begun."""
    bench = Bench()
    waiting = await bench.ask()
    unbegun = asyncio.create_task(bench.tasks.join(OWNER, "other", "this", bench.work))
    await asyncio.sleep(0)
    assert bench.begun == 1
    await soon(bench.tasks.close())
    for asking in (waiting, unbegun):
        with pytest.raises(StoreError) as stopped:
            await soon(asking)
        assert stopped.value.code == "store_closed"
    assert (bench.begun, bench.tasks.owners) == (1, [])
