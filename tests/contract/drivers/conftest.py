"""Every driver meets the same server: each test of this folder runs once a wire format."""

from collections.abc import AsyncIterator

import pytest

from agio.core.model import ModelDriver
from agio.drivers.registry import open_driver
from agio.testing import ModelServer
from tests.contract.drivers.turns import WIRES


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    """The name of a wire format."""
    return str(request.param)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """A model server; what it refused without being told to fails the test."""
    async with ModelServer() as server:
        yield server
    assert server.problems == []


@pytest.fixture
async def driver(wire: str, server: ModelServer) -> AsyncIterator[ModelDriver]:
    """The driver of the wire format, pointed at the server."""
    driver = open_driver(wire, server.endpoint(wire))
    yield driver
    await driver.aclose()
