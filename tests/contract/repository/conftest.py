"""One store for each backend, and the backends that outlive a process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agio.core.repository import AgentRunRepository
from agio.db.repository import open_store
from tests.contract.repository.backends import Backend, SqliteFile


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AgentRunRepository]:
    """An empty store of every kind."""
    opened = await open_store(":memory:" if request.param == "memory" else tmp_path / "agio.db")
    yield opened
    await opened.close()


@pytest.fixture(params=["file"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A place for a store that stays when it is closed."""
    return SqliteFile(tmp_path)
