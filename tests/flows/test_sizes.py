"""A model that does not stop: its turn, and its run, end at a number of bytes."""

import pytest

from agio import Agent, AgentRunConfig, ScriptedCall, ScriptedTurn, tool
from agio.protocol.events import REWIND, RunError
from agio.testing import Call, Endless, ModelServer, Reply
from tests.flows.scene import add, lines, play, scripted
from tests.support.official import OfficialVerifier
from tests.support.streams import customs

WORDS = "and so on " * 40
ENDLESS = {
    "text": Reply(WORDS, fault=Endless()),
    "reasoning": Reply(reasoning=WORDS, fault=Endless()),
    "arguments": Reply(tool_calls=[Call("add", {"a": WORDS})] * 3, interleave=True, fault=Endless()),
}
END_BYTES = 4096
"""What ends a log: calls that are closed, a rewind, figures, the error."""


@pytest.mark.parametrize("wire", ["openai-chat", "openai", "anthropic", "gemini"])
@pytest.mark.parametrize("said", ENDLESS)
async def test_an_endless_turn_ends_at_its_limit(wire: str, said: str, official: OfficialVerifier) -> None:
    """L6: `turn_too_large`, whatever the model says; it is hung up on, and what it said is taken back."""
    config = AgentRunConfig(max_turn_bytes=32 * 1024, max_event_bytes=8 * 1024)
    async with ModelServer() as server:
        server.script(ENDLESS[said])
        async with Agent(
            "e",
            model=f"{wire}:m",
            tools=[add],
            base_url=server.base_url(wire),
            api_key="test-key",
            config=config,
        ) as agent:
            events = await play(agent.arun_stream("Go"), official)
        await server.wait_closed_by_client()
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "turn_too_large"
    assert len(customs(events, REWIND)) == 1
    said_bytes = len(lines(events))
    assert 32 * 1024 < said_bytes < (32 + 8) * 1024 + END_BYTES
    assert len(server.calls) == 1


async def test_the_turns_of_a_run_have_a_limit_together(official: OfficialVerifier) -> None:
    """L6: `run_too_large` before the event that would break it, though each turn and result is small."""
    turn = ScriptedTurn("word " * 100, calls=[ScriptedCall("page")])

    @tool(effect="read")
    def page() -> str:
        """Read a page."""
        return "x" * 2000

    limit_bytes = 32 * 1024
    agent, driver = scripted(*[turn] * 50, tools=[page], config=AgentRunConfig(max_run_bytes=limit_bytes))
    async with agent:
        run = agent.arun_stream("Go")
        events = await play(run, official)
        log = await (await agent.repository()).get_log(run.run_id)
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "run_too_large"
    assert log.info.error_code == "run_too_large"
    assert 1 < len(driver.requests) < 50
    assert limit_bytes - 4096 < log.size_bytes < limit_bytes + END_BYTES
