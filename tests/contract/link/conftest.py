"""A gateway with its tools, and a link of each kind to it."""

from collections.abc import AsyncIterator

import pytest

from agio import UserError, tool
from tests.support.engine import Engine, engine
from tests.support.served import LinkKind
from tests.support.wiring import Join, wired


class Counted:
    """A tool that counts how often it acted."""

    def __init__(self) -> None:
        self.times = 0

    def act(self, word: str) -> str:
        """Act once."""
        self.times += 1
        if word == "fail":
            raise UserError("no_luck", "It did not work.")
        return f"{word} {self.times}"


@pytest.fixture
def counted() -> Counted:
    """What the gateway's tool did."""
    return Counted()


@pytest.fixture
async def room(counted: Counted) -> AsyncIterator[Engine]:
    """A gateway's engine room on a real store."""
    async with engine(tools={"act": tool(name="act")(counted.act)}) as made:
        yield made


@pytest.fixture(params=["direct", "websocket"])
async def join(request: pytest.FixtureRequest, room: Engine) -> AsyncIterator[Join]:
    """A link of each kind."""
    kind: LinkKind = request.param
    async with wired(kind, room) as made:
        yield made
