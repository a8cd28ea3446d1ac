"""Tool names of agents: any client takes them, each once, and a new agent changes no other's."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agio.gateway.doors.mcp_server.tool_names import tool_names
from agio.protocol.ids import new_id

NAMES = st.lists(st.text(min_size=1, max_size=100), unique=True, max_size=8)


@given(names=NAMES)
def test_every_agent_has_a_tool_name_that_any_client_takes(names: list[str]) -> None:
    """B8: letters, digits, `_` and `-`, at most 64 with room for a client's prefix; those before stay."""
    agents = [(new_id("agt"), name) for name in names]
    tools = tool_names(agents)
    assert sorted(tools.values()) == sorted(agent_id for agent_id, _ in agents)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,55}", tool) for tool in tools)
    assert list(tool_names(agents[:-1]).items()) == list(tools.items())[: len(agents[:-1])]


def test_a_plain_name_is_the_tools_name() -> None:
    """B8: what is allowed stays; accents go; what has nothing left is an agent."""
    for name, tool in {
        "tea-shop_2": "tea-shop_2",
        "Café: Lüge!": "Cafe_Luge",
        "助手": "agent",
        "__": "agent",
    }.items():
        assert tool_names([("agt_1", name)]) == {tool: "agt_1"}
