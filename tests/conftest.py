"""Fixtures every test may use."""

from collections.abc import Iterator

import pytest

from tests import provoked
from tests.official import OfficialVerifier
from tests.postgres import PostgresServer


def pytest_configure(config: pytest.Config) -> None:
    """Note which errors the tests provoke."""
    config.pluginmanager.register(provoked, "provoked")


@pytest.fixture(scope="session")
def official() -> Iterator[OfficialVerifier]:
    """The official AG-UI client, started once for each test process."""
    verifier = OfficialVerifier()
    yield verifier
    verifier.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A Postgres server, started once for each test process that needs one."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A database with the tables of a new store."""
    url = postgres.take_database()
    yield url
    postgres.give_back(url)
