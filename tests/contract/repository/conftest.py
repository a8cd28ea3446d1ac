"""One store for each backend, and the backends that outlive a process."""

from collections.abc import AsyncIterator

import pytest

from agio.core.store.repository import AgentRunRepository
from tests.support.backends import KINDS, LASTING_KINDS, Backend, lasting_backend, open_kind


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[AgentRunRepository]:
    """An empty store of every kind."""
    opened = await open_kind(request)
    yield opened
    await opened.close()


@pytest.fixture(params=LASTING_KINDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """A place for a store that stays when it is closed."""
    return lasting_backend(request)
