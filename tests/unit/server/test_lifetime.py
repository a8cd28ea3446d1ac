"""How long a server lives, without the server."""

import asyncio
import logging
import os
import signal

import pytest

from agio.errors import StoreError
from agio.server.lifetime import Lifetime


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _fail() -> None:
    raise StoreError("store_failed", "The disk is gone.")


async def _end() -> None:
    return


async def test_a_part_that_fails_ends_the_server_and_the_reason_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """L13: a server never lives on with a part missing."""
    lifetime = Lifetime()
    healthy = lifetime.begin("link", _for_ever())
    lifetime.begin("HTTP server", _fail())
    with caplog.at_level(logging.ERROR, "agio"):
        await asyncio.wait_for(lifetime.last(), 60)
    assert lifetime.failed
    assert caplog.messages == ["The HTTP server ended, so agio stops: The disk is gone. [store_failed]"]
    healthy.cancel()


async def test_a_part_that_just_ends_counts_as_failed() -> None:
    """L13: no part has a reason to end by itself."""
    lifetime = Lifetime()
    lifetime.begin("link", _end())
    await asyncio.wait_for(lifetime.last(), 60)
    assert lifetime.failed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_ends_it_and_the_second_hurries(number: signal.Signals) -> None:
    """L14: stopping takes its time until somebody asks again."""
    lifetime = Lifetime()
    lifetime.listen()
    try:
        part = lifetime.begin("link", _for_ever())
        os.kill(os.getpid(), number)
        await asyncio.wait_for(lifetime.last(), 60)
        assert not lifetime.failed
        assert await lifetime.hurried(_end())
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), number)
        assert not await asyncio.wait_for(lifetime.hurried(_for_ever()), 60)
        part.cancel()
    finally:
        lifetime.deafen()


async def test_what_goes_wrong_while_stopping_is_not_lost() -> None:
    """L13: the error comes out where the stopping was asked for."""
    with pytest.raises(StoreError, match="The disk is gone"):
        await Lifetime().hurried(_fail())
