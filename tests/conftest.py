"""Fixtures every test may use, and the order tests are begun in."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support import provoked
from tests.support.nats import NatsServer
from tests.support.official import OfficialVerifier
from tests.support.postgres import PostgresServer

# How long an example takes is the machine's affair.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
LONGEST = (
    "web/e2e/test_units.py",
    "web/e2e/test_every_page.py",
    "web/e2e/",
    "tests/acceptance/crash/",
    "tests/fuzz/test_openapi.py",
    "tests/integration/gateway/access/test_hostile_fields.py",
)
"""Where the tests are that take longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, in each of the test processes: none is left with it alone in the end.

    `--dist worksteal` gives each process a part of the list to begin with, one after the other.
    """
    found = (item for place in LONGEST for item in items if item.nodeid.startswith(place))
    long = list(dict.fromkeys(found))
    short = [item for item in items if not item.nodeid.startswith(LONGEST)]
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    whole, rest = divmod(len(items), count)
    ordered: list[pytest.Item] = []
    for process in range(count):
        begun = long[process::count]
        room = whole + (process >= count - rest) - len(begun)
        ordered += begun + short[: max(room, 0)]
        del short[: max(room, 0)]
    items[:] = ordered + short


def pytest_configure(config: pytest.Config) -> None:
    """Note which errors the tests provoke, and let no machine's proxy stand between programs on loopback."""
    for name in [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")]:
        del os.environ[name]
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


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    """A NATS server, started once for each test process that needs one."""
    with NatsServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A database with the tables of a new store."""
    url = postgres.take_database()
    yield url
    postgres.give_back(url)
