"""One store for each backend, with somebody in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agio.core.store import Store
from tests.contract.repository.backends import KINDS, LASTING_KINDS, Backend, lasting_backend, open_kind


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A new store of every kind: the tenant `default` with its user `local`."""
    opened = await open_kind(request.param, tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(params=LASTING_KINDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A place for a store that stays when it is closed."""
    return lasting_backend(request.param, tmp_path)
