"""One gateway on a Postgres database at a time."""

import pytest

from agio.db.postgres.lock import lock_database
from agio.errors import StoreError


async def test_a_second_gateway_is_refused_until_the_first_is_gone(postgres_url: str) -> None:
    """B1: a server that is started twice does not take the first one's runs."""
    first = await lock_database(postgres_url)
    with pytest.raises(StoreError) as refused:
        await lock_database(postgres_url)
    assert refused.value.code == "store_locked"
    await first.release()
    again = await lock_database(postgres_url)
    await again.release()
