"""What the tests of the pages share."""

from collections.abc import AsyncGenerator

import pytest_asyncio

from web.e2e.browser import shared


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def browser() -> AsyncGenerator[None]:
    """End the browser of this process after its last test."""
    yield
    await shared.close()
