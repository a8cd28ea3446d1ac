"""Flows run over every transport, on each database and over each link."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agio.bus.options import NatsOptions
from tests.flows.server.home import PAIRS, Home, open_home
from tests.support.nats import NatsServer
from tests.support.served import LinkKind

TRANSPORTS = ("websocket", "sse", "ag-ui")


@pytest.fixture(params=PAIRS, ids="-".join)
def place(request: pytest.FixtureRequest) -> tuple[str, LinkKind]:
    """A database and a link. Tests of resume, cancel and cuts take all four combinations: `every_home`."""
    return request.param


@pytest.fixture
def database(request: pytest.FixtureRequest, place: tuple[str, LinkKind], tmp_path: Path) -> str | Path:
    """Where the store is: a folder, or the URL of a database."""
    return tmp_path if place[0] == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def link(place: tuple[str, LinkKind]) -> LinkKind:
    """How the worker is linked."""
    return place[1]


@pytest.fixture
def nats(request: pytest.FixtureRequest, link: LinkKind) -> NatsOptions | None:
    """The bus, where there are two gateways."""
    if link != "other gateway":
        return None
    server: NatsServer = request.getfixturevalue("nats_server")
    return NatsOptions(servers=[server.url])


@pytest.fixture
async def home(database: str | Path, link: LinkKind, nats: NatsOptions | None) -> AsyncGenerator[Home]:
    """A server in one of its homes."""
    async with open_home(database, link, nats=nats) as home:
        yield home


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    """How the client talks to it."""
    return request.param
