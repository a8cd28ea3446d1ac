"""Calls from event loops to the store's threads, and their results."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")


class ThreadCall(Generic[S]):
    """A call that a store's thread makes on its own object, and the future of its result."""

    __slots__ = ("error", "future", "result", "work")

    def __init__(self, work: Callable[[S], object], future: asyncio.Future[object]) -> None:
        self.work = work
        self.future = future
        self.result: object = None
        self.error: BaseException | None = None


def new_call(work: Callable[[S], T]) -> tuple[ThreadCall[S], asyncio.Future[T]]:
    """Make a call whose result goes to the running event loop."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    return ThreadCall(work, cast("asyncio.Future[object]", future)), future


def settle(calls: Iterable[ThreadCall[S]]) -> None:
    """Set the results of calls, waking each event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[ThreadCall[S]]] = {}
    for call in calls:
        loops.setdefault(call.future.get_loop(), []).append(call)
    for loop, done in loops.items():
        with suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(_tell, done)


def _tell(calls: list[ThreadCall[S]]) -> None:
    for call in calls:
        if call.future.done():
            continue
        if call.error is None:
            call.future.set_result(call.result)
        else:
            call.future.set_exception(call.error)
