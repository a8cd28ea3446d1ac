"""One store for each backend, with somebody in it."""

from collections.abc import AsyncIterator

import pytest

from agio.core.store.store import Store
from tests.support.backends import KINDS, LASTING_KINDS, Backend, lasting_backend, open_kind


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A new store of every kind: the tenant `default` with its user `local`."""
    opened = await open_kind(request)
    yield opened
    await opened.close()


@pytest.fixture(params=LASTING_KINDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """A place for a store that stays when it is closed."""
    return lasting_backend(request)
