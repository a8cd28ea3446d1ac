"""What the tests of the pages share: a browser, and the loop it belongs to."""

from collections.abc import AsyncGenerator
from inspect import iscoroutinefunction
from pathlib import Path

import pytest
import pytest_asyncio

from web.e2e.browser import shared

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let these tests run in the loop of the whole session, as the browser does.

    One that fails is begun once more, from nothing, and named at the end: a browser on a busy machine may stall.
    """
    for item in items:
        if item.path.is_relative_to(HERE) and iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def browser() -> AsyncGenerator[None]:
    """End the browser of this process after its last test."""
    yield
    await shared.close()
