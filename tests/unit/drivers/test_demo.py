"""The demo model uses the tools it is given, also those it has never heard of."""

import pytest

from agio.core.model import ModelRequest, ModelSettings, TextDelta, ToolCallBegin, ToolCallDelta
from agio.core.tool import AnyTool, tool
from agio.drivers.demo import DemoDriver
from agio.protocol.messages import UserMessage
from agio.tools.clock import clock


@tool(effect="read")
def stock(flower: str, shop: str = "main") -> str:
    """Say how many are left."""
    return f"{flower} in {shop}"


@tool
def set_count(name: str, count: int, price: float, *, sure: bool) -> str:
    """Say how many there are."""
    return f"{name} {count} {price} {sure}"


async def calls_to(text: str, tools: list[AnyTool]) -> list[tuple[str, str]]:
    request = ModelRequest(
        model="demo",
        system="",
        messages=[UserMessage(id="msg_1", content=text)],
        tools=[entry.spec for entry in tools],
        settings=ModelSettings(),
    )
    names: list[str] = []
    arguments: list[str] = []
    async for batch in DemoDriver(pace_s=0).stream(request):
        names += [event.name for event in batch if isinstance(event, ToolCallBegin)]
        arguments += [event.arguments for event in batch if isinstance(event, ToolCallDelta)]
    return list(zip(names, arguments, strict=True))


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Look at the stock: tulips?", [("stock", '{"flower":"tulips"}')]),
        ("set_count 12 roses", [("set_count", '{"name":"12 roses","count":12,"price":12.0,"sure":true}')]),
        ("Set count!", [("set_count", '{"name":"","count":1,"price":1.0,"sure":true}')]),
        ('Stock with {"flower": "{red}", "shop": "2"}, please', [("stock", '{"flower":"{red}","shop":"2"}')]),
        ("stock of {red}", [("stock", '{"flower":"of {red}"}')]),
        ("Stocks are flowers, too.", []),
    ],
)
async def test_a_tool_that_is_named_is_called_with_what_follows(
    text: str, calls: list[tuple[str, str]]
) -> None:
    """L15: whoever tries a tool of their own needs no model for it."""
    assert await calls_to(text, [stock, set_count]) == calls


async def test_the_welcome_offers_only_tools_that_the_agent_has() -> None:
    """L15: what it says to try works."""
    request = ModelRequest(
        model="demo",
        system="",
        messages=[UserMessage(id="msg_1", content="Hello")],
        tools=[clock.spec, stock.spec],
        settings=ModelSettings(),
    )
    stream = DemoDriver(pace_s=0).stream(request)
    said = "".join([each.text async for batch in stream for each in batch if isinstance(each, TextDelta)])
    assert "I call the clock" in said
    assert "calculator" not in said
    assert "postcard" not in said
    assert "agio chat" not in said
