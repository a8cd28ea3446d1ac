"""Every flow runs in every home and over every transport."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.flows.server.home import Home, open_home
from tests.support.served import LinkKind

TRANSPORTS = ("websocket", "sse", "ag-ui")


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """A place for a store of each kind: a folder, or the URL of a database."""
    return tmp_path if request.param == "sqlite" else request.getfixturevalue("postgres_url")


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
