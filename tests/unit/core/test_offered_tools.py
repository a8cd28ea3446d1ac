"""What a client offers for its run is bounded as a whole, not only each tool by itself."""

from collections.abc import Callable

import pytest

from agio import ToolDeclaration, UserError
from agio.core.tool import offered_tools
from agio.protocol.messages import Json


def _long(tool: int) -> dict[str, Json]:
    return {"type": "object", "description": "x" * 5000}


def _wide(tool: int) -> dict[str, Json]:
    return {"type": "object", "properties": {f"p{tool}_{at}": {"type": "string"} for at in range(200)}}


def test_up_to_128_tools_may_be_offered() -> None:
    """S14: model providers take no more."""
    many = [ToolDeclaration(f"t{at}", "", {"type": "object"}) for at in range(129)]
    assert len(offered_tools(many[:128])) == 128
    with pytest.raises(UserError, match="up to 128") as caught:
        offered_tools(many)
    assert caught.value.code == "invalid_tool"


@pytest.mark.parametrize("schema_of", [_long, _wide], ids=["bytes", "parts"])
def test_tools_that_are_too_large_together_are_refused(
    schema_of: Callable[[int], dict[str, Json]],
) -> None:
    """S14: each is fine by itself; compiled one after the other they would hold up all others."""
    assert len(offered_tools([ToolDeclaration("one", "", schema_of(0))])) == 1
    many = [ToolDeclaration(f"t{at}", "", schema_of(at)) for at in range(100)]
    with pytest.raises(UserError, match="too large together") as caught:
        offered_tools(many)
    assert caught.value.code == "invalid_schema"


def test_a_large_and_usual_set_of_tools_is_taken() -> None:
    """C3: a hundred tools with twenty parameters each, some with patterns."""
    properties: dict[str, Json] = {f"p{at}": {"type": "string", "description": "One."} for at in range(18)}
    properties["to"] = {"type": "string", "pattern": r"^(?!\.)(?!.*\.\.)[\w.+-]+@[\w-]+(?:\.[\w-]+)+$"}
    properties["name"] = {"type": "string", "pattern": r"^[a-z0-9-]{1,63}$"}
    schema: Json = {"type": "object", "properties": properties, "required": ["to"]}
    assert len(offered_tools([ToolDeclaration(f"t{at}", "", schema) for at in range(100)])) == 100


def test_the_patterns_of_an_offered_tool_are_not_compiled() -> None:
    """S14: its client checks what it is called with; even a pattern that is none costs nothing here."""
    patterns: list[Json] = [{"pattern": f"({at}"} for at in range(700)]
    schema: Json = {
        "type": "object",
        "properties": {"a": {"allOf": patterns}},
        "patternProperties": {"(": {}},
    }
    assert len(offered_tools([ToolDeclaration(f"t{at}", "", schema) for at in range(10)])) == 10
