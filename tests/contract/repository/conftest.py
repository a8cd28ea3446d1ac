"""One store for each backend, and the backends that outlive a process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agio.core.repository import AgentRunRepository
from tests.contract.repository.backends import KINDS, LASTING_KINDS, Backend, lasting_backend, open_kind


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AgentRunRepository]:
    """An empty store of every kind."""
    opened = await open_kind(request.param, tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(params=LASTING_KINDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A place for a store that stays when it is closed."""
    return lasting_backend(request.param, tmp_path)
