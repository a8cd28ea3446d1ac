"""Every flow runs in every home and over every transport."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.flows.server.home import Home, LinkKind, open_home
from tests.postgres import PostgresServer

TRANSPORTS = ("websocket", "sse", "ag-ui")


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """A private Postgres for as long as the tests run."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str | Path]:
    """An empty store of each kind."""
    if request.param == "sqlite":
        yield tmp_path / "agio.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture(params=["direct", "websocket"])
def link(request: pytest.FixtureRequest) -> LinkKind:
    """How the worker is linked."""
    return request.param


@pytest.fixture
async def home(database: str | Path, link: LinkKind) -> AsyncGenerator[Home]:
    """A server in each of its homes."""
    async with open_home(database, link) as home:
        yield home


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    """How the client talks to it."""
    return request.param
