"""The same stream in other pieces is the same stream."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agio.core.model import ModelEvent
from agio.drivers.registry import open_driver
from agio.testing import Call, Comments, Fault, LineEnds, ModelServer, OneWrite, Reply, Split, SplitCharacters
from tests.contract.drivers.turns import ADD, WIRES, ask, calls_in, collect, text_in

TEXT = "Grüße, 世界! 👋🏽 data: not an event\n\nevent: neither\r\n"
REPLY = Reply(
    reasoning="Überlegen… 🤔",
    text=TEXT,
    tool_calls=[Call("add", {"a": 1, "note": "日本"}), Call("add", {"a": 2})],
    chunk_chars=5,
)
HARMLESS: list[Fault] = [
    Split((1,)),
    Split((2, 3, 5, 7, 11)),
    Split((1, 1000)),
    SplitCharacters(),
    OneWrite(),
    LineEnds("\r\n"),
    LineEnds("\n"),
    LineEnds("\r"),
    Comments(),
]


@pytest.mark.parametrize("fault", HARMLESS, ids=str)
async def test_bytes_in_other_pieces_give_the_same_events(wire: str, fault: Fault) -> None:
    """L3: splits, line ends and comments change nothing."""
    plain = await hear(wire, REPLY)
    assert text_in(plain) == TEXT
    assert calls_in(plain) == [(call.name, call.arguments) for call in REPLY.tool_calls]
    assert await hear(wire, replace(REPLY, fault=fault)) == plain


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=40))
async def test_random_splits_give_the_same_events(wire: str, sizes: list[int]) -> None:
    """L3: wherever the network splits the bytes, the events are the same."""
    assert await hear(wire, replace(REPLY, fault=Split(tuple(sizes)))) == await hear(wire, REPLY)


async def hear(wire: str, reply: Reply) -> list[ModelEvent]:
    """Return the events of a reply as the first of a new server, whose ids are always the same."""
    async with ModelServer() as server:
        driver = open_driver(wire, server.endpoint(wire))
        server.script(reply)
        try:
            return await collect(driver, ask(wire, tools=[ADD]))
        finally:
            await driver.aclose()
