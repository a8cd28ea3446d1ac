"""The runner from its parts, without a library around it, as docs/architecture.md puts it together."""

from agio import AgentRunConfig, AgentRunner, RunHooks, ScriptedCall, ScriptedDriver, ScriptedTurn
from agio.core.run.spec import AgentSpec, RunRequest
from agio.db.repository import open_store
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.events import AgentEvent
from agio.protocol.messages import UserMessage
from agio.tools.calculator import calculator
from tests.support.official import OfficialVerifier, check_flow

TURNS = [ScriptedTurn(calls=[ScriptedCall("calculator", {"expression": "6 * 7"})]), ScriptedTurn(text="42")]


async def test_a_runner_runs_from_its_parts_to_a_result_or_as_a_stream(official: OfficialVerifier) -> None:
    """L4: run() and run_stream() drive the same run, and the hook comes before the first model call."""
    store = await open_store(":memory:")
    driver = ScriptedDriver([*TURNS, *TURNS])
    begun: list[tuple[str, int]] = []

    class Diary(RunHooks):
        async def run_started(self, request: RunRequest) -> None:
            begun.append((request.run_id, len(driver.requests)))

    runner = AgentRunner(
        AgentSpec(name="clerk", instructions="Count.", provider="scripted", model="scripted"),
        driver,
        ToolExecutor([calculator], AgentRunConfig(), store),
        store,
        hooks=Diary(),
    )
    question = [UserMessage(id="msg_1", content="What is 6 * 7?")]
    result = await runner.run(RunRequest(session_id="thr_1", messages=question))
    stream = runner.run_stream(RunRequest(session_id="thr_2", messages=question))
    events = [event async for event in stream]
    check_flow(events, official)
    assert (result.status, result.text, (await stream.result()).text) == ("completed", "42", "42")
    assert begun == [(result.run_id, 0), (stream.run_id, 2)]
    assert _types(await store.get_events(result.run_id)) == _types(events)
    await store.close()


def _types(events: list[AgentEvent]) -> list[str]:
    return [event.type for event in events]
