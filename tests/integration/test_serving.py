"""The in-process server that agio offers to its users' tests."""

from pathlib import Path

import pytest

from agio import Agent, ScriptedCall, ScriptedDriver, ScriptedTurn, tool
from agio.errors import AgioError
from agio.gateway.routes.runs.views import Runs
from agio.testing import ModelServer, Reply, serving


@tool(effect="read")
def price(article: str) -> float:
    """Look up a price."""
    return {"tea": 3.5}[article]


async def test_agents_and_tools_of_a_test_are_served_and_their_data_stay_where_asked(tmp_path: Path) -> None:
    """L7, B2: `serving` is the embedded server: agents in code, agents over REST, errors with codes, a store."""
    turns = [ScriptedTurn(calls=[ScriptedCall("price", {"article": "tea"})]), ScriptedTurn(text="3.50.")]
    shop = Agent("shop", "Sell tea.", model=ScriptedDriver(turns), tools=[price])
    async with ModelServer() as model, serving(agents=[shop], model=model, data=tmp_path) as client:
        assert await client.ask("shop", "How much is tea?") == "3.50."
        model.script(Reply(text="Hello."))
        fields = {
            "name": "rest",
            "system_prompt": "Greet.",
            "model_provider": "openai",
            "model_name": "gpt-5",
        }
        await client.post("/api/agents", fields, dict)
        assert await client.ask("rest", "Hi") == "Hello."
        with pytest.raises(AgioError, match="nobody") as refused:
            await client.ask("nobody", "Hi")
        assert refused.value.code == "agent_not_found"
    async with serving(data=tmp_path) as client:
        runs = await client.get("/api/runs", Runs)
        assert [run.status for run in runs.items] == ["completed", "completed"]
